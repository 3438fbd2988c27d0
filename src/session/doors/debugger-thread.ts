// A thread that jfluid creates in the JVM to run methods through the debugger. Loading an agent takes a while, and no program thread should
// be suspended for that time. So the suspended program thread only creates and starts the new thread: it runs two methods that take
// microseconds, plus network round trips.
// The new thread has no work of its own (its Runnable is null). It is suspended at its first instruction, and ends when it is resumed or
// when the debugger disconnects.

import { granted, type JdwpTarget, type Modifier, type ThreadId } from '../../jdwp-client/index.ts'
import { ranOut } from '../../wire/link.ts'
import { type DebuggerCalls, NULL, objectIn, ThrownInTarget } from './debugger-calls.ts'

const NAME = 'jfluid-door'
/** A thread class that inherits nothing from the thread that starts the new thread: no thread-locals and no class loader. */
const CLASS = 'jdk.internal.misc.InnocuousThread'
const NEW = 'newSystemThread(Ljava/lang/String;Ljava/lang/Runnable;I)Ljava/lang/Thread;'
const THREAD = 'java.lang.Thread'
const LOCKS = 'java.util.concurrent.locks.LockSupport'
/** Time limit for the start of the new thread. The thread starts within this time if it gets a processor. */
const BEGIN_TIMEOUT_MS = 5000

/** Sends the requests that need no suspended thread, before a thread is suspended. */
export async function foreseeThread(calls: DebuggerCalls): Promise<void> {
  await calls.foresee([CLASS, THREAD, LOCKS], [NAME])
}

/**
 * Makes `standing` start a new thread, and resumes `standing`.
 * @returns the new thread, which is suspended until it is resumed or the connection ends
 * @throws ThrownInTarget if the thread cannot be created
 */
export async function ownThread(
  jvm: JdwpTarget,
  calls: DebuggerCalls,
  standing: ThreadId,
): Promise<ThreadId> {
  calls.standsIn(standing)
  const type = await calls.neededClass(CLASS)
  const thread = await calls.neededClass(THREAD, CLASS)
  const made = await calls.staticOf(type, NEW, [await calls.string(NAME), NULL, { tag: 'INT', value: 5 }])
  const own = objectIn(made) as ThreadId | null
  if (own === null) throw new ThrownInTarget(NEW, 'there is no thread')
  const begun = jvm.events.next('BREAKPOINT', {
    where: (it) => it.thread === own,
    timeoutMs: BEGIN_TIMEOUT_MS,
  })
  begun.catch(() => {}) // the first error is reported
  const stands = jvm.eventRequest.set('BREAKPOINT', 'EVENT_THREAD', await itsBegin(calls, type, own))
  stands.catch(() => {})
  // The JVM executes the requests in the order in which they are sent: the breakpoint is set before the thread starts.
  try {
    await calls.of(own, thread, 'start()V')
  } catch (problem) {
    throw (problem instanceof ThrownInTarget && ranOut(problem.reason)) || problem
  }
  granted(await jvm.threadReference.resume(standing), 'to let the thread run')
  granted(await stands, 'to stop the new thread')
  if ((await begun) === null)
    throw new ThrownInTarget('Thread.start()', `it did not begin within ${BEGIN_TIMEOUT_MS / 1000} s`)
  calls.standsIn(own)
  return own
}

async function itsBegin(
  calls: DebuggerCalls,
  type: Parameters<DebuggerCalls['methodsOf']>[0],
  thread: ThreadId,
) {
  const methods = granted(await calls.methodsOf(type), 'methods of a thread')
  const run = methods.find((it) => it.name === 'run' && it.descriptor === '()V')
  if (run === undefined) throw new ThrownInTarget(`${CLASS}.run()`, 'the method does not exist')
  const place: Modifier[] = [
    { modifier: 'LocationOnly', location: { kind: 'CLASS', type, method: run.id, bci: 0 } },
    { modifier: 'ThreadOnly', thread },
    { modifier: 'Count', count: 1 },
  ]
  return place
}

/**
 * Restores the park permit of a program thread. The thread may have been suspended just before it parked, and methods that jfluid ran in
 * the thread may have consumed the permit. The permit is restored by a call in jfluid's own thread.
 */
export async function giveBackPermit(calls: DebuggerCalls, to: ThreadId): Promise<void> {
  const locks = await calls.bootClass(LOCKS)
  if (locks === null) return
  await calls.staticOf(locks, 'unpark(Ljava/lang/Thread;)V', [{ tag: 'THREAD', id: to }])
}
