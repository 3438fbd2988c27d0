// --mode sample by time: nothing is instrumented, and the JVM samples its threads itself.

import { UsageError } from '../base/errors.ts'
import { METRICS } from '../measures/columns.ts'
import type { SamplerName } from '../options/how-exactly.ts'
import { checkSampledByJvm } from '../options/refusals.ts'
import type { SessionFlags } from '../options/table.ts'
import { parseRoot, type RootPattern } from '../reveal/patterns.ts'
import type { AskedSampling } from '../session/sampling/jvm-sampling.ts'
import { parseEvery } from './every.ts'

/** The interval is too short for this sampler, or has an unsupported unit. */
export class IntervalNotTaken extends UsageError {
  static sample = () => [new IntervalNotTaken('0.1ms', 'jfr'), new IntervalNotTaken('10000bc', 'jfr')]
  readonly hint: string
  constructor(every: string, sampler: SamplerName) {
    super(`--sampler ${sampler} cannot sample every ${every}`)
    this.hint = every.endsWith('bc')
      ? 'Leave --sampler out, and name a root with --root: bytecodes are counted only below a root.'
      : 'Use whole milliseconds from 1ms with --sampler jfr, and 0.1ms or more with --sampler cpu.'
  }
}

/** Whether the JVM samples its threads. Otherwise threads sample themselves by probes that count bytecodes. */
export function isSampledByJvm({ mode, root, region, sampler, every }: SessionFlags): boolean {
  if (mode === undefined || !METRICS[mode].isSampled || region !== undefined) return false
  return sampler !== undefined || root === undefined || root.length === 0 || every?.endsWith('bc') !== true
}

export interface JvmSamplingFlags {
  readonly sampling: AskedSampling
  /** Only samples inside these roots are kept. If there are no roots, all samples are kept. */
  readonly roots: readonly RootPattern[]
  readonly debugInfo: boolean
}

/** @throws BadPattern, OptionRefused, BadInterval, IntervalNotTaken */
export function wholeJvmSampling(flags: SessionFlags): JvmSamplingFlags {
  const roots = (flags.root ?? []).map(parseRoot)
  checkSampledByJvm(flags)
  const by = flags.sampler
  const every = flags.every === undefined ? undefined : intervalOf(flags.every, by ?? 'jfr')
  return { sampling: { by, every }, roots, debugInfo: flags.debugInfo === true }
}

/** @throws BadInterval, IntervalNotTaken */
function intervalOf(text: string, by: SamplerName): number {
  const { every, unit } = parseEvery(text)
  const isTaken = by === 'cpu' ? every >= 100_000 : every % 1_000_000 === 0
  if (unit !== 'ns' || !isTaken) throw new IntervalNotTaken(text, by)
  return every
}
