// What is left to do where an agent would make the requests of a busy JVM wait for seconds: to take stacks, which changes nothing in it.

import { BusyBeforeFlush } from '../attach/first-redefinition.ts'
import { JfluidError } from '../base/errors.ts'
import type { SessionFlags } from './options.ts'
import { wholeJvmSampling } from './whole-jvm-options.ts'

/** The same with stacks in place of calls; null where more is asked for than stacks tell. */
export function samplesInstead<T extends SessionFlags>(flags: T): T | null {
  if ((flags.mode ?? 'exact') !== 'exact' || flags.region !== undefined || flags.sampler !== undefined)
    return null
  const sampled = { ...flags, mode: 'sample', sampler: 'stacks' }
  try {
    wholeJvmSampling(sampled)
  } catch (problem) {
    if (!(problem instanceof JfluidError)) throw problem
    return null
  }
  return sampled
}

/** What a user is told who gets these; null for other problems, and where there are none. */
export function whySampled<T extends SessionFlags>(
  problem: unknown,
  flags: T,
): { readonly flags: T; readonly why: string } | null {
  const sampled = problem instanceof BusyBeforeFlush ? samplesInstead(flags) : null
  if (sampled === null) return null
  const { message } = problem as BusyBeforeFlush
  return { flags: sampled, why: `stacks only, no call is counted: ${message} (--yes attaches all the same)` }
}
