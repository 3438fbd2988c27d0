// Which threads of a dump are in no task: they wait for work. All others count, those that wait inside a task among them:
// for a lock, for a database, for a time. Pure.
//
// What a thread waits for is told by the frames right below the wait: a pool's queue, a selector, accept(). A loop that is not
// known by name is told by its shape: a thread of its own, outside of any pool, in which only some methods of the application lie
// between the start of the thread and the wait.

import type { DumpedThread } from '../../attach/thread-dump.ts'
import { isJdkName } from '../../base/jdk-names.ts'
import { CPU, stateOf } from '../../cct/sample-states.ts'

/** Native waits that no class of I/O has. */
const NATIVE_WAITS =
  /^(?:java\.lang\.ref\.Reference\.waitForReferencePendingList|sun\.nio\.fs\.LinuxWatchService\.poll|org\.apache\.tomcat\.jni\.Poll\.poll|\S*netty\S*\.channel\.(?:epoll|kqueue|uring|io_uring)\.Native\.\w+)$/

/** Between a wait and the application: a thread in one of these waits for work. */
const POLLS =
  /^(?:sun\.nio\.ch\.SelectorImpl\.\w+|(?:sun\.nio\.ch|java\.net)\.\S*[aA]ccept|java\.util\.concurrent\.(?:ThreadPoolExecutor\.getTask|ForkJoinPool\.awaitWork))$/

/** Loops of servers and libraries, among the first frames below a wait. */
const LOOPS = new RegExp(
  `(?:^|[.$])(?:${[
    'ThreadPoolExecutor\\.getTask', // also Tomcat's
    '\\w+\\.(?:awaitShutdown|awaitTermination|blockUntilShutdown|waitForExit)', // of main threads
    'StandardServer\\.await',
    'EnhancedQueueExecutor\\$PoolThreadNode\\.park', // of JBoss threads, which Quarkus has
    'QueuedThreadPool\\.idleJobPoll', // Jetty's
    'ReservedThread\\.reservedWait',
    '(?:SingleThreadEventExecutor|GlobalEventExecutor)\\.takeTask', // Netty's
    'HashedWheelTimer\\$Worker\\.waitForNextTick',
    'Native\\.(?:epollWait0?|epollBusyWait0?|keventWait|ioUringEnter)',
    'Poll\\.poll', // Tomcat's by APR
    'RequestChannel\\.receiveRequest', // Kafka's
    'SystemTimer\\.advanceClock',
    'ShutdownableThread\\.pause',
    'KafkaEventQueue\\$EventHandler\\.handleEvents',
  ].join('|')})$`,
)
const LOOP_FRAMES = 4

/** Below these a thread runs a task of a pool, or is one: nothing there is a loop of the thread. */
const TASKS =
  /(?:^|\.)(?:ThreadPoolExecutor\.runWorker|FutureTask\.run|ForkJoinTask\.doExec|EnhancedQueueExecutor\$ThreadBody\.run|VirtualThread\.run\w*)$/

/** Waits by which hand-written loops wait for work, and requests seldom do. */
const HANDS_OVER =
  /^java\.(?:lang\.Object\.wait0?|util\.concurrent\.(?:\w*(?:Queue|Deque)(?:\$\w+)*\.\w+|locks\.\w+\$ConditionObject\.\w+))$/
/** Methods of the application in a loop that waits in such a way; in any other way. */
const MOST_IN_LOOP = 4
const MOST_OTHERWISE = 1
/** The object of a lambda: its body is a method of its own. */
const LAMBDA = /\$\$Lambda/

/** Ordinal in Thread.State, as `stateOf` wants it. */
const RUNNABLE = 1

/** Whether a thread with Java frames waits for work. */
export function isIdle({ state, frames }: Pick<DumpedThread, 'state' | 'frames'>): boolean {
  if (state === 'CARRYING') return true
  if (!waits(state, frames)) return false
  const first = frames.findIndex((it) => !isJdkName(it))
  if (first < 0) return true // nothing of the application would show
  if (state === 'BLOCKED') return false
  const waiting = frames.slice(0, first)
  if (waiting.some((it) => POLLS.test(it))) return true
  if (frames.slice(first, first + LOOP_FRAMES).some((it) => LOOPS.test(it))) return true
  if (frames.some((it) => TASKS.test(it))) return false
  const own = frames.filter((it) => !isJdkName(it) && !LAMBDA.test(it)).length
  return own <= (waiting.some((it) => HANDS_OVER.test(it)) ? MOST_IN_LOOP : MOST_OTHERWISE)
}

/** The JVM calls a thread RUNNABLE that waits in native code. */
function waits(state: string, frames: readonly string[]): boolean {
  if (state !== 'RUNNABLE' || NATIVE_WAITS.test(frames[0] ?? '')) return true
  return stateOf(RUNNABLE, (at) => namedAt(frames[at])) !== CPU
}

function namedAt(frame: string | undefined): { className: string; method: string } | undefined {
  if (frame === undefined) return undefined
  const dot = frame.lastIndexOf('.')
  return { className: frame.slice(0, dot), method: frame.slice(dot + 1) }
}
