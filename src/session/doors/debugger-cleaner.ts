// The thread "Common-Cleaner", which exists in every JVM. It waits for unreachable objects and frees their native resources. An interrupt
// makes the thread check its queue and wait again (see `jdk.internal.ref.CleanerImpl.run`). So it can be made to reach a breakpoint at any
// time, even in an idle JVM, and no thread of the program is needed.

import * as jdwp from '../../jdwp-client/index.ts'

const NAME = 'Common-Cleaner'
const GROUP = 'InnocuousThreadGroup'
const ITS_CLASS = 'Ljdk/internal/misc/InnocuousThread;'
const QUEUE = 'Ljava/lang/ref/ReferenceQueue;'
const CLEANER = 'Ljdk/internal/ref/CleanerImpl;'
const REMOVE = 'remove(J)Ljava/lang/ref/Reference;'
/** Bytecode index of a native method. */
const NATIVE = -1

export interface Cleaner {
  readonly thread: jdwp.ThreadId
  /** Breakpoint of the cleaner thread. No other thread stops at it. */
  readonly place: readonly jdwp.Modifier[]
  /** The methods on the stack of the waiting thread: the method in which it waits, and the caller of that method. */
  readonly waiting: readonly [remove: jdwp.MethodId, run: jdwp.MethodId]
}

/**
 * Finds the cleaner thread.
 * @returns null if there is none
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
 * Interrupts the cleaner thread if it waits. The thread is suspended while its stack is read and while it is interrupted. Otherwise it
 * might begin to run a cleanup action of the program (`MemorySegment.reinterpret` of an automatic arena), which might not tolerate an
 * interrupt. If an object arrives at just that moment, its action runs with the interrupt pending; this cannot be seen from outside.
 * @returns true if the thread waited and was interrupted; false if it is busy or has ended
 */
export async function wakeIfWaiting(jvm: jdwp.JdwpTarget, cleaner: Cleaner): Promise<boolean> {
  // A busy thread is not suspended for a network round trip, since it may hold locks.
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
    // The resume is sent without waiting for replies, since commands are executed in order. If the connection ends, the thread is resumed,
    // too.
    void suspended.then(async (it) => it.ok && (await threads.resume(thread))).catch(() => {})
  }
  return (await interrupted).ok
}

/**
 * Returns whether the cleaner thread waits. The three commands are sent together, so the thread is suspended only while the JVM reads its
 * stack.
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
  // The wait itself is a native method on all JDKs.
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
