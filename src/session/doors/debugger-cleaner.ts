// The thread "Common-Cleaner", which exists in every JVM. It waits for unreachable objects and frees their native resources. An interrupt
// makes the thread check its queue and wait again (see `jdk.internal.ref.CleanerImpl.run`). So jfluid can make this thread reach a
// breakpoint at any time, even in an idle JVM, and needs no thread of the program.

import * as jdwp from '../../jdwp-client/index.ts'

const NAME = 'Common-Cleaner'
const GROUP = 'InnocuousThreadGroup'
const ITS_CLASS = 'Ljdk/internal/misc/InnocuousThread;'
const QUEUE = 'Ljava/lang/ref/ReferenceQueue;'
const CLEANER = 'Ljdk/internal/ref/CleanerImpl;'
const REMOVE = 'remove(J)Ljava/lang/ref/Reference;'
/** Bytecode index that JDWP reports for a frame of a native method. */
const NATIVE = -1

export interface Cleaner {
  readonly thread: jdwp.ThreadId
  /** Modifiers of the breakpoint request for the cleaner thread. No other thread stops at this breakpoint. */
  readonly place: readonly jdwp.Modifier[]
  /** The methods on the stack of the waiting thread: the method in which it waits, and the caller of that method. */
  readonly waiting: readonly [remove: jdwp.MethodId, run: jdwp.MethodId]
}

/**
 * Finds the cleaner thread.
 * @returns null if the JVM has no cleaner thread
 */
export async function commonCleaner(jvm: jdwp.JdwpTarget): Promise<Cleaner | null> {
  const [thread, at, by] = await Promise.all([
    cleanerThread(jvm),
    methodOf(jvm, QUEUE, REMOVE),
    methodOf(jvm, CLEANER, 'run()V'),
  ])
  if (thread === null || at === null || by === null) return null
  const location = { kind: 'CLASS', ...at, bci: 0 } as const
  return {
    thread,
    place: [
      { modifier: 'LocationOnly', location },
      { modifier: 'ThreadOnly', thread },
    ],
    waiting: [at.method, by.method],
  }
}

/**
 * Interrupts the cleaner thread if it waits. The thread is suspended while its stack is read and while it is interrupted. Without the
 * suspension it might begin to run a cleanup action of the program (`MemorySegment.reinterpret` of an automatic arena), and the interrupt
 * might disturb the action. If an object arrives in the queue at this moment, its action still runs with a pending interrupt. A debugger
 * cannot detect this.
 * @returns true if the thread waited and was interrupted; false if it is busy or has ended
 */
export async function wakeIfWaiting(jvm: jdwp.JdwpTarget, cleaner: Cleaner): Promise<boolean> {
  // Checks first without a long suspension: a busy thread may hold locks, so it must not be suspended for a network round trip.
  if (!(await waitsNow(jvm, cleaner))) return false
  const { thread } = cleaner
  const threads = jvm.threadReference
  const suspended = threads.suspend(thread)
  let interrupted: ReturnType<typeof threads.interrupt>
  try {
    const [stands, frames] = await Promise.all([suspended, threads.frames(thread)])
    if (!stands.ok || !frames.ok || !isWaiting(frames.value, cleaner)) return false
    interrupted = threads.interrupt(thread)
  } finally {
    // The resume command is sent without waiting for replies, since the JVM executes commands in order. If the connection ends, the JVM
    // resumes the thread, too.
    void suspended.then(async (it) => it.ok && (await threads.resume(thread))).catch(() => {})
  }
  return (await interrupted).ok
}

/**
 * Returns whether the cleaner thread waits. The three commands (suspend, read the stack, resume) are sent together, so the thread is
 * suspended only while the JVM reads its stack.
 */
async function waitsNow(jvm: jdwp.JdwpTarget, cleaner: Cleaner): Promise<boolean> {
  const threads = jvm.threadReference
  const [, frames] = await Promise.all([
    threads.suspend(cleaner.thread),
    threads.frames(cleaner.thread),
    threads.resume(cleaner.thread),
  ])
  return frames.ok && isWaiting(frames.value, cleaner)
}

function isWaiting(frames: readonly jdwp.Frame[], { waiting }: Cleaner): boolean {
  const methods = frames.map(({ location }) => location.method)
  const depth = methods.indexOf(waiting[0])
  // On all JDKs, the innermost frame of a waiting thread is a native method.
  return depth >= 1 && methods[depth + 1] === waiting[1] && frames[0]?.location.bci === NATIVE
}

async function methodOf(jvm: jdwp.JdwpTarget, signature: string, name: string) {
  for (const { id: type } of jdwp.granted(
    await jvm.virtualMachine.classesBySignature(signature),
    signature,
  )) {
    const methods = await jvm.referenceType.methods(type)
    const found = methods.ok && methods.value.find((it) => `${it.name}${it.descriptor}` === name)
    if (found) return { type, method: found.id }
  }
  return null
}

async function cleanerThread(jvm: jdwp.JdwpTarget): Promise<jdwp.ThreadId | null> {
  const tops = await jvm.virtualMachine.topLevelThreadGroups()
  for (const top of tops.ok ? tops.value : []) {
    for (const group of (await childrenOf(jvm, top)).groups) {
      const name = await jvm.threadGroupReference.name(group)
      if (!name.ok || name.value !== GROUP) continue
      for (const thread of (await childrenOf(jvm, group)).threads) {
        const itsName = await jvm.threadReference.name(thread)
        if (itsName.ok && itsName.value === NAME && (await isJdks(jvm, thread))) return thread
      }
    }
  }
  return null
}

async function childrenOf(jvm: jdwp.JdwpTarget, group: jdwp.ThreadGroupId) {
  const children = await jvm.threadGroupReference.children(group)
  return children.ok ? children.value : { threads: [], groups: [] }
}

async function isJdks(jvm: jdwp.JdwpTarget, thread: jdwp.ObjectId): Promise<boolean> {
  const type = await jvm.objectReference.referenceType(thread)
  if (!type.ok) return false
  const signature = await jvm.referenceType.signature(type.value.id)
  return signature.ok && signature.value === ITS_CLASS
}
