// A thread that every JVM has and nobody waits for, "Common-Cleaner": it waits for objects that have gone, so that what they had outside of
// the heap goes, too. One that is interrupted looks after its queue and waits again (`jdk.internal.ref.CleanerImpl.run` says so), and so
// comes by when we want it to, in a JVM that is idle as well, and no thread of the program has to.

import {
  granted,
  type JdwpTarget,
  type Location,
  type Modifier,
  type ObjectId,
  type ThreadGroupId,
  type ThreadId,
} from '../../jdwp-client/index.ts'

const NAME = 'Common-Cleaner'
const GROUP = 'InnocuousThreadGroup'
const ITS_CLASS = 'Ljdk/internal/misc/InnocuousThread;'
const QUEUE = 'Ljava/lang/ref/ReferenceQueue;'
const CLEANER = 'Ljdk/internal/ref/CleanerImpl;'
const REMOVE = 'remove(J)Ljava/lang/ref/Reference;'

export interface Cleaner {
  readonly thread: ThreadId
  /** Where it comes by, no other thread. */
  readonly place: readonly Modifier[]
}

/** @returns null if there is none, or it is at work: it might have something in its hands then that takes an interrupt amiss */
export async function waitingCleaner(jvm: JdwpTarget): Promise<Cleaner | null> {
  const [thread, at, by] = await Promise.all([
    cleanerThread(jvm),
    methodOf(jvm, QUEUE, REMOVE),
    methodOf(jvm, CLEANER, 'run()V'),
  ])
  if (thread === null || at === null || by === null) return null
  const frames = await framesOf(jvm, thread)
  const depth = frames.findIndex((it) => it.type === at.type && it.method === at.method)
  if (depth < 0 || frames[depth + 1]?.method !== by.method) return null
  const location = { kind: 'CLASS', ...at, bci: 0 } as const
  return {
    thread,
    place: [
      { modifier: 'LocationOnly', location },
      { modifier: 'ThreadOnly', thread },
    ],
  }
}

/** It is stopped for as long as the JVM reads them. */
async function framesOf(jvm: JdwpTarget, thread: ThreadId): Promise<Location[]> {
  const threads = jvm.threadReference
  const [, frames] = await Promise.all([
    threads.suspend(thread),
    threads.frames(thread),
    threads.resume(thread),
  ])
  return frames.ok ? frames.value.map(({ location }) => location) : []
}

async function methodOf(jvm: JdwpTarget, signature: string, name: string) {
  for (const { id: type } of granted(await jvm.virtualMachine.classesBySignature(signature), signature)) {
    const methods = await jvm.referenceType.methods(type)
    const found = methods.ok && methods.value.find((it) => `${it.name}${it.descriptor}` === name)
    if (found) return { type, method: found.id }
  }
  return null
}

async function cleanerThread(jvm: JdwpTarget): Promise<ThreadId | null> {
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

async function childrenOf(jvm: JdwpTarget, group: ThreadGroupId) {
  const children = await jvm.threadGroupReference.children(group)
  return children.ok ? children.value : { threads: [], groups: [] }
}

async function isJdks(jvm: JdwpTarget, thread: ObjectId): Promise<boolean> {
  const type = await jvm.objectReference.referenceType(thread)
  if (!type.ok) return false
  const signature = await jvm.referenceType.signature(type.value.id)
  return signature.ok && signature.value === ITS_CLASS
}
