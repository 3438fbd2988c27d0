// What is left to do where an agent would make the requests of a busy JVM wait for seconds: to take stacks, which changes nothing in it.

import { BusyBeforeFlush } from '../attach/first-redefinition.ts'
import { JfluidError } from '../base/errors.ts'
import { EVENTS } from '../measures/events.ts'
import type { SessionFlags } from '../options/table.ts'
import { mustDoWithDumps } from '../session/sampling/not-by-dumps.ts'
import type { WaitFlags } from './wait-for.ts'
import { wholeJvmSampling } from './whole-jvm-options.ts'

/** The same with stacks in place of calls; null where more is asked for than stacks tell. */
export function samplesInstead<T extends SessionFlags & WaitFlags>(flags: T): T | null {
  const { stacksWillDo } = EVENTS[flags.mode ?? 'exact']
  // Of several JVMs each is recorded in the same way.
  if (!stacksWillDo || 'all' in flags || flags.region !== undefined || flags.sampler !== undefined)
    return null
  // The JVM is known by now.
  const { waitFor: _for, waitTimeout: _timeout, ...now } = flags
  const sampled = { ...now, mode: 'sample' } as T
  try {
    mustDoWithDumps(wholeJvmSampling(sampled), '')
  } catch (problem) {
    if (!(problem instanceof JfluidError)) throw problem
    return null
  }
  return sampled
}

export interface SampledInstead<T> {
  readonly pid: string
  readonly flags: T
  /** For the user. */
  readonly why: string
}

/** @returns null for other problems, and where stacks will not do */
export function whySampled<T extends SessionFlags & WaitFlags>(
  problem: unknown,
  flags: T,
): SampledInstead<T> | null {
  const sampled = problem instanceof BusyBeforeFlush ? samplesInstead(flags) : null
  if (sampled === null) return null
  const { message, pid } = problem as BusyBeforeFlush
  const why = `stacks only, no call is counted: ${message} (--yes attaches all the same)`
  return { pid: `${pid}`, flags: sampled, why }
}
