// Fallback to thread dumps, which change nothing in the JVM. Used if the agent's load would pause the requests of a busy JVM for seconds.

import { BusyBeforeFlush } from '../attach/first-redefinition.ts'
import { JfluidError } from '../base/errors.ts'
import { EVENTS } from '../measures/events.ts'
import type { SessionFlags } from '../options/table.ts'
import { mustDoWithDumps } from '../session/sampling/not-by-dumps.ts'
import type { Way } from './source.ts'
import type { WaitFlags } from './wait-for.ts'
import { wholeJvmSampling } from './whole-jvm-options.ts'

/** Returns the flags with stacks instead of calls; null if the flags need more than stacks can provide. */
export function samplesInstead<T extends SessionFlags & WaitFlags>(flags: T): T | null {
  const { stacksWillDo } = EVENTS[flags.mode ?? 'exact']
  // With several JVMs, all JVMs are recorded in the same way, so none of them falls back to stacks.
  if (!stacksWillDo || 'all' in flags || flags.region !== undefined || flags.sampler !== undefined)
    return null
  // The JVM has been found by now, so the options of --wait-for are dropped.
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
  readonly way: Way
  readonly flags: T
}

/** @returns null if the problem is no BusyBeforeFlush, or if stacks are not sufficient */
export async function sampledInstead<T extends SessionFlags & WaitFlags>(
  problem: unknown,
  flags: T,
): Promise<SampledInstead<T> | null> {
  const sampled = problem instanceof BusyBeforeFlush ? samplesInstead(flags) : null
  if (sampled === null) return null
  const { wholeJvm } = await import('./whole-jvm.ts')
  const { pid, message } = problem as BusyBeforeFlush
  return { way: wholeJvm(`${pid}`, sampled, whySampled(message)), flags: sampled }
}

/** Explanation for the user. */
export function whySampled(message: string): string {
  return `only sampling stacks, without counting calls: ${message} (--yes attaches anyway)`
}
