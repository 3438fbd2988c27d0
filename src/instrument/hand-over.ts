// Probes for methods of the JDK where work changes hands (--follow-threads).
//
// Unlike those of timed methods they carry no id: they hand the runtime the object that both sides of a
// hand-over see. What each does is said at the runtime's method of that name (JFluid1.java).

import { ALOAD, DUP } from '../classfile/opcodes.ts'
import { accessCode } from './new-local.ts'
import { call } from './probe.ts'
import type { HandOverRefs } from './runtime.ts'

/** What the runtime is told at the start of a method, and of which local variables. */
export type HandOverEntry =
  | {
      readonly tell:
        | 'submitted'
        | 'delayed'
        | 'withdrawn'
        | 'taskEntry'
        | 'workerTakes'
        | 'workerStarts'
        | 'threadStarts'
      readonly local: number
    }
  | { readonly tell: 'submittedTo'; readonly pool: number; readonly local: number }
  | { readonly tell: 'workerIsIdle' | 'threadEnds' }

/**
 * A probe pair. `exit` is called at every way out, an exception included; `returned` is told what the
 * method returns.
 */
export interface HandOver {
  readonly entry: HandOverEntry
  readonly exit?: 'taskExit'
  readonly returned?: 'workerTakes'
}

/**
 * Classes that have such methods. They are always given the pool entries for them, so that a class has the
 * same block in every session.
 */
export const HAND_OVER_CLASSES: ReadonlySet<string> = new Set([
  'java/lang/Thread',
  'java/lang/VirtualThread',
  'java/util/concurrent/ThreadPoolExecutor',
  'java/util/concurrent/ScheduledThreadPoolExecutor',
  'java/util/concurrent/ForkJoinPool',
  'java/util/concurrent/ForkJoinTask',
  'java/util/concurrent/DelayScheduler',
  'java/util/concurrent/DelayScheduler$ScheduledForkJoinTask',
])

/** Stack slots that these probes use at most. */
export const HAND_OVER_SLOTS = 2

export function handOverEntry({ entry }: HandOver, refs: HandOverRefs): number[] {
  const locals = 'pool' in entry ? [entry.pool, entry.local] : 'local' in entry ? [entry.local] : []
  return [...locals.flatMap((local) => accessCode(ALOAD, local)), ...call(refs[entry.tell])]
}

/** Before every return, and before what is thrown goes on. */
export function handOverExit({ exit }: HandOver, refs: HandOverRefs): number[] {
  return exit === undefined ? [] : call(refs[exit])
}

/** Before every return only, with the returned reference on the stack. */
export function handOverReturn({ returned }: HandOver, refs: HandOverRefs): number[] {
  return returned === undefined ? [] : [DUP, ...call(refs[returned])]
}
