// A thread that every JVM has and nobody waits for, "Common-Cleaner": it waits for objects that have gone, so that what they had outside of
// the heap goes, too. One that is interrupted looks after its queue and waits again (`jdk.internal.ref.CleanerImpl.run` says so), and so
// comes by when we want it to, in a JVM that is idle as well, and no thread of the program has to.

import * as jdwp from '../../jdwp-client/index.ts'

const NAME = 'Common-Cleaner'
const GROUP = 'InnocuousThreadGroup'
const ITS_CLASS = 'Ljdk/internal/misc/InnocuousThread;'
const QUEUE = 'Ljava/lang/ref/ReferenceQueue;'
const CLEANER = 'Ljdk/internal/ref/CleanerImpl;'
const REMOVE = 'remove(J)Ljava/lang/ref/Reference;'
/** Bci of a native method. */
const NATIVE = -1

export interface Cleaner {
  readonly thread: jdwp.ThreadId
  /** Where it comes by, no other thread. */
  readonly place: readonly jdwp.Modifier[]
  /** Its stack where it waits, the methods at its end: what it waits in, and who has called that. */
  readonly waiting: readonly [remove: jdwp.MethodId, run: jdwp.MethodId]
}

/** @returns null if there is none */
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
 * Has it look after its queue. It stands while its stack is read and it is interrupted: else it might have begun to clean up in between, by what the
 * program says (`MemorySegment.reinterpret` of an automatic arena), and that might take an interrupt amiss. One that is given something in
 * just that cleans it up with the interrupt still pending: nobody can tell from outside.
 *
 * @returns whether it waited, and so was interrupted; false if it is at work, or has ended
 */
export async function wakeIfWaiting(jvm: jdwp.JdwpTarget, cleaner: Cleaner): Promise<boolean> {
  // One that is at work does not stand for as long as the network takes, with the locks that it has.
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
    // Nothing is waited for in between: commands are carried out in their order. A connection that ends resumes it, too.
    void suspended.then(async (it) => it.ok && (await threads.resume(thread))).catch(() => {})
  }
  return (await interrupted).ok
}

/** It stands for the moment that the JVM takes to look: all three commands are there at once. */
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
  // What waits is native code, on all JDKs.
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
