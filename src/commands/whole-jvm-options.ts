// --mode sample without a root: nothing is instrumented, and the whole JVM is looked at.

import { EX_USAGE, JfluidError } from '../base/errors.ts'
import type { Sampling } from '../profile/profile.ts'
import { parseEvery } from './every.ts'
import { DEFAULT_LOOK_AHEAD, type SessionFlags } from './options.ts'

export type SamplerName = Exclude<Sampling['by'], 'probes'>

export const SAMPLERS: readonly SamplerName[] = ['jfr', 'cpu', 'stacks']

const DEFAULT_EVERY = '10ms'

/** An option that says what is instrumented, or what instrumented methods do. */
export class NotForWholeJvm extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Name a root (--root), or leave the option out.'
  constructor(option: string) {
    super(`${option} is for instrumented methods, and without --root none is instrumented`)
  }
}

export class OnlyForWholeJvm extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Leave one of the two out.'
  constructor() {
    super('--sampler looks at the whole JVM, and with --root threads look at themselves inside the root')
  }
}

/** Shorter than this sampler can, or in a unit that it does not have. */
export class IntervalNotTaken extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'jfr takes whole milliseconds from 1ms on, stacks takes 1ms or more, cpu 0.1ms or more.'
  constructor(every: string, sampler: SamplerName) {
    super(`--sampler ${sampler} cannot sample every ${every}`)
  }
}

export function isWholeJvm({ mode, root, region }: SessionFlags): boolean {
  return mode === 'sample' && region === undefined && (root === undefined || root.length === 0)
}

/** @throws NotForWholeJvm, BadInterval, IntervalNotTaken */
export function wholeJvmSampling(flags: SessionFlags): Sampling {
  const given: readonly [string, boolean][] = [
    ['--scheme a', flags.scheme === 'a'],
    ['--include', flags.include !== undefined],
    ['--exclude', flags.exclude !== undefined],
    ['--jdk', flags.jdk === true],
    ['--look-ahead', flags.lookAhead !== DEFAULT_LOOK_AHEAD],
    ['--follow-threads', flags.followThreads === true],
    ['--rare watch', flags.rare === 'watch'],
    ['--waits', flags.waits === true],
    ['--max-overhead', flags.maxOverhead !== undefined],
    ['--slow', flags.slow !== undefined],
    ['--error-bars', flags.errorBars === true],
    ['--call-sites', flags.callSites === true],
    ['--random', flags.random !== undefined],
    ['--sample-every', flags.sampleEvery !== undefined],
    ['--liveness', flags.liveness === true],
    ['--bba', flags.bba !== undefined],
    ['--profiler', flags.profiler !== undefined],
    ['--reproducible', flags.reproducible === true],
    ['--trace', flags.trace !== undefined],
  ]
  const misplaced = given.find(([, is]) => is)
  if (misplaced !== undefined) throw new NotForWholeJvm(misplaced[0])
  const by = SAMPLERS.find((name) => name === flags.sampler) ?? 'jfr'
  const text = flags.every ?? DEFAULT_EVERY
  const { every, unit } = parseEvery(text)
  const isTaken =
    by === 'cpu' ? every >= 100_000 : by === 'jfr' ? every % 1_000_000 === 0 : every >= 1_000_000
  if (unit !== 'ns' || !isTaken) throw new IntervalNotTaken(text, by)
  return { every, unit, by }
}
