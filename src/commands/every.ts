// --every: the distance between samples, in the user's syntax: 10000bc, 0.5ms, 10ms, 1s.

import { UsageError } from '../base/errors.ts'
import type { Sampling } from '../profile/profile.ts'

export class BadInterval extends UsageError {
  static sample = () => new BadInterval('10')
  readonly hint =
    'Write a time from 1ms to 10s (with --sampler cpu from 0.1ms), or a number of bytecodes from 1bc to 2147483647bc.'
  constructor(text: string) {
    super(`'${text}' is not a sampling interval`)
  }
}

/** This command or target does not support samples by time, which require a single local JVM and a command that samples from outside. */
export class TimedSamplesElsewhere extends UsageError {
  static sample = () => new TimedSamplesElsewhere()
  readonly hint =
    'Sample by bytecodes (--every 10000bc), or leave --mode sample out: --scheme adaptive also samples below the roots.'
  constructor() {
    super('sampling by time works only for one JVM on this machine, with attach, record or run')
  }
}

const NANOS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 }
const MIN_NANOS = 100_000
const MAX_NANOS = 10_000_000_000
const MAX_BYTECODES = 2 ** 31 - 1

export interface Interval {
  readonly every: number
  readonly unit: Sampling['unit']
}

/**
 * Parses the value of --every.
 *
 * @returns whole bytecodes, 1 to 2^31 - 1, or whole nanoseconds, 0.1 ms to 10 s
 * @throws BadInterval
 */
export function parseEvery(text: string): Interval {
  const [, number = '', unit = ''] = /^(\d{1,15}(?:\.\d{1,9})?)(bc|ns|us|µs|ms|s)$/.exec(text) ?? []
  if (unit === 'bc') {
    const every = Number(number)
    if (Number.isInteger(every) && every >= 1 && every <= MAX_BYTECODES) return { every, unit: 'bytecodes' }
  } else if (unit !== '') {
    const every = Math.round(Number(number) * NANOS[unit]!)
    if (every >= MIN_NANOS && every <= MAX_NANOS) return { every, unit: 'ns' }
  }
  throw new BadInterval(text)
}
