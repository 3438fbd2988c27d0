// A thread of ours in the JVM, in which a debugger has methods run: loading an agent takes a while, and no thread of the program is to
// stand for that. The thread that came by starts it, and goes on: two methods that take microseconds, and the turns of the network.
//
// It has nothing to do by itself (its Runnable is null): it stands where it begins, and ends as soon as it is resumed, or the debugger has gone.

import { granted, type JdwpTarget, type Modifier, type ThreadId } from '../../jdwp-client/index.ts'
import { ranOut } from '../../wire/link.ts'
import { type DebuggerCalls, NULL, objectIn, ThrownInTarget } from './debugger-calls.ts'

const NAME = 'jfluid-door'
/** Without anything of whoever starts it: no locals, no loader. */
const CLASS = 'jdk.internal.misc.InnocuousThread'
const NEW = 'newSystemThread(Ljava/lang/String;Ljava/lang/Runnable;I)Ljava/lang/Thread;'
const THREAD = 'java.lang.Thread'
const LOCKS = 'java.util.concurrent.locks.LockSupport'
/** Of a thread that has its processor. */
const BEGIN_MS = 5000

/** Asks what will be needed and no thread has to stand for. */
export async function foreseeThread(calls: DebuggerCalls): Promise<void> {
  await calls.foresee([CLASS, THREAD, LOCKS], [NAME])
}

/**
 * Has `standing` start it, which runs on then.
 *
 * @returns the new one, which stands until the connection ends or it is resumed
 * @throws ThrownInTarget if there is none to be had
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
  const begun = jvm.events.next('BREAKPOINT', { where: (it) => it.thread === own, timeoutMs: BEGIN_MS })
  begun.catch(() => {}) // what comes first is told
  const stands = jvm.eventRequest.set('BREAKPOINT', 'EVENT_THREAD', await itsBegin(calls, type, own))
  stands.catch(() => {})
  // The JVM carries out what it is asked in that order.
  try {
    await calls.of(own, thread, 'start()V')
  } catch (problem) {
    throw (problem instanceof ThrownInTarget && ranOut(problem.reason)) || problem
  }
  granted(await jvm.threadReference.resume(standing), 'to let the thread run')
  granted(await stands, 'to have a thread of ours stand')
  if ((await begun) === null)
    throw new ThrownInTarget('Thread.start()', `it did not begin within ${BEGIN_MS / 1000} s`)
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
  if (run === undefined) throw new ThrownInTarget(`${CLASS}.run()`, 'there is no such method')
  const place: Modifier[] = [
    { modifier: 'LocationOnly', location: { kind: 'CLASS', type, method: run.id, bci: 0 } },
    { modifier: 'ThreadOnly', thread },
    { modifier: 'Count', count: 1 },
  ]
  return place
}

/** In our thread: the other one may have stood just before it parked, and what has run in it may have taken its permit. */
export async function giveBackPermit(calls: DebuggerCalls, to: ThreadId): Promise<void> {
  const locks = await calls.bootClass(LOCKS)
  if (locks === null) return
  await calls.staticOf(locks, 'unpark(Ljava/lang/Thread;)V', [{ tag: 'THREAD', id: to }])
}
