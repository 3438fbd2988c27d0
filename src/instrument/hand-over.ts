// Probes for JDK methods that submit and run tasks (--follow-threads).
//
// Unlike probes of timed methods, these probes have no id. They pass the task object to the runtime, which recognises the same object in
// the submitting and in the running thread. Each probe is documented at the method of the same name in JFluid1.java.

import { ALOAD, DUP } from '../classfile/opcodes.ts'
import { accessCode } from './new-local.ts'
import { call } from './probe.ts'
import type { HandOverRefs } from './runtime.ts'

/** Probe at the start of a method. `local` and `pool` are indices of the local variables that the probe passes to the runtime. */
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
 * Probes of a method. The probe `exit` is called at every exit, including exceptions; the probe `returned` gets the method's
 * result.
 */
export interface HandOver {
  readonly entry: HandOverEntry
  readonly exit?: 'taskExit'
  readonly returned?: 'workerTakes'
}

/**
 * Classes with methods that submit or run tasks. These classes always get the pool entries for these probes, so that the added pool entries
 * of a class are the same in every session.
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

/** Maximum number of stack slots of these probes. */
export const HAND_OVER_SLOTS = 2

export function handOverEntry({ entry }: HandOver, refs: HandOverRefs): number[] {
  const locals = 'pool' in entry ? [entry.pool, entry.local] : 'local' in entry ? [entry.local] : []
  return [...locals.flatMap((local) => accessCode(ALOAD, local)), ...call(refs[entry.tell])]
}

/** Returns the code before every return, and before an exception is rethrown. */
export function handOverExit({ exit }: HandOver, refs: HandOverRefs): number[] {
  return exit === undefined ? [] : call(refs[exit])
}

/**
 * Returns the code that is inserted before each return instruction.
 * No code is inserted for exceptions. The returned reference is on the stack.
 */
export function handOverReturn({ returned }: HandOver, refs: HandOverRefs): number[] {
  return returned === undefined ? [] : [DUP, ...call(refs[returned])]
}
