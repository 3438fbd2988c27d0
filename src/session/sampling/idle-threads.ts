// Decides which threads of a dump are idle, that is, wait for work. All other threads count as samples, even if they wait inside a task
// (for a lock, for a database, or for a timeout). Pure functions.
// The callers of the waiting method show the reason of the wait: the queue of a pool, a selector, accept(). An unknown loop is recognised
// by its stack: a thread outside of any pool, with only a few application methods between the start of the thread and the wait.

import type { DumpedThread } from '../../attach/thread-dump.ts'
import { isJdkName } from '../../base/jdk-names.ts'
import { CPU, LOCK, stateOf } from '../../cct/sample-states.ts'

/** Native methods that wait but do not belong to an I/O class. */
const NATIVE_WAITS =
  /^(?:java\.lang\.ref\.Reference\.waitForReferencePendingList|sun\.nio\.fs\.LinuxWatchService\.poll|org\.apache\.tomcat\.jni\.Poll\.poll|\S*netty\S*\.channel\.(?:epoll|kqueue|uring|io_uring)\.Native\.\w+)$/

/** Library methods between the wait and the application's frames. A thread in one of these methods waits for work. */
const POLLS =
  /^(?:sun\.nio\.ch\.SelectorImpl\.\w+|(?:sun\.nio\.ch|java\.net)\.\S*[aA]ccept|java\.util\.concurrent\.(?:ThreadPoolExecutor\.getTask|ForkJoinPool\.awaitWork))$/

/** Loops of servers and libraries in which threads wait for work. They are among the first callers of the waiting method. */
const LOOPS = new RegExp(
  `(?:^|[.$])(?:${[
    'ThreadPoolExecutor\\.getTask', // also used by Tomcat
    '\\w+\\.(?:awaitShutdown|awaitTermination|blockUntilShutdown|waitForExit)', // main threads
    'StandardServer\\.await',
    'EnhancedQueueExecutor\\$PoolThreadNode\\.park', // JBoss threads, also used by Quarkus
    'QueuedThreadPool\\.idleJobPoll', // Jetty
    'ReservedThread\\.reservedWait',
    '(?:SingleThreadEventExecutor|GlobalEventExecutor)\\.takeTask', // Netty
    'HashedWheelTimer\\$Worker\\.waitForNextTick',
    'Native\\.(?:epollWait0?|epollBusyWait0?|keventWait|ioUringEnter)',
    'Poll\\.poll', // Tomcat with APR
    'RequestChannel\\.receiveRequest', // Kafka
    'SystemTimer\\.advanceClock',
    'ShutdownableThread\\.pause',
    'KafkaEventQueue\\$EventHandler\\.handleEvents',
  ].join('|')})$`,
)
const LOOP_FRAMES = 4

/** Frames which show that the thread runs a task of a pool, or is a virtual thread. So it has no loop of its own. */
const TASKS =
  /(?:^|\.)(?:ThreadPoolExecutor\.runWorker|FutureTask\.run|ForkJoinTask\.doExec|EnhancedQueueExecutor\$ThreadBody\.run|VirtualThread\.run\w*)$/

/** Returns whether a thread runs a task of a known pool, or is a virtual thread. */
export function isInPool(frames: readonly string[]): boolean {
  return frames.some((it) => TASKS.test(it))
}

/** Waiting methods that loops use to wait for work, and that tasks rarely use. */
const HANDS_OVER =
  /^java\.(?:lang\.Object\.wait0?|util\.concurrent\.(?:\w*(?:Queue|Deque)(?:\$\w+)*\.\w+|locks\.\w+\$ConditionObject\.\w+))$/
/** Maximum number of application methods in an idle loop: if it waits in a method of HANDS_OVER, and if it waits in another method. */
const MAX_LOOP_METHODS = 4
const MAX_OTHER_METHODS = 1
/** Matches the class of a lambda object. The body of the lambda is a separate method of another class. */
const LAMBDA = /\$\$Lambda/

/** Ordinal of RUNNABLE in Thread.State, as `stateOf` expects it. */
const RUNNABLE = 1

/** Returns whether a thread with Java frames waits for work. */
export function isIdle({ state, frames }: Pick<DumpedThread, 'state' | 'frames'>): boolean {
  if (state === 'CARRYING') return true
  if (!waits(state, frames)) return false
  const first = frames.findIndex((it) => !isJdkName(it))
  if (first < 0) return true // the thread has no application frames
  if (state === 'BLOCKED') return false
  const waiting = frames.slice(0, first)
  if (waiting.some((it) => POLLS.test(it))) return true
  if (frames.slice(first, first + LOOP_FRAMES).some((it) => LOOPS.test(it))) return true
  // Waiting for a lock of java.util.concurrent is not waiting for work.
  if (stateOf(RUNNABLE, (at) => namedAt(frames[at])) === LOCK) return false
  if (isInPool(frames)) return false
  const own = frames.filter((it) => !isJdkName(it) && !LAMBDA.test(it)).length
  return own <= (waiting.some((it) => HANDS_OVER.test(it)) ? MAX_LOOP_METHODS : MAX_OTHER_METHODS)
}

/** Returns whether a thread waits. The frames are checked too, since the JVM reports RUNNABLE for a thread that waits in native code. */
function waits(state: string, frames: readonly string[]): boolean {
  if (state !== 'RUNNABLE' || NATIVE_WAITS.test(frames[0] ?? '')) return true
  return stateOf(RUNNABLE, (at) => namedAt(frames[at])) !== CPU
}

export function namedAt(frame: string | undefined): { className: string; method: string } | undefined {
  if (frame === undefined) return undefined
  const dot = frame.lastIndexOf('.')
  return { className: frame.slice(0, dot), method: frame.slice(dot + 1) }
}
