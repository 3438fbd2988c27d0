// Parses durations that users type: 500ms, 10s, 2m, 1h.

import { UsageError } from './errors.ts'

export class BadDuration extends UsageError {
  static sample = () => new BadDuration('10 sec')
  readonly hint = 'Write a number and a unit, for example 500ms, 10s, 2m or 1h; at most 576h.'
  constructor(text: string) {
    super(`'${text}' is not a duration`)
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** 24 days: a timer longer than 2^31 ms fires at once. */
const MAX_DURATION_MS = 576 * UNITS.h!

/**
 * Parses a duration.
 *
 * @returns milliseconds, more than 0, at most 24 days
 * @throws BadDuration
 */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text)
  const ms = match === null ? 0 : Number(match[1]) * UNITS[match[2]!]!
  if (ms <= 0 || ms > MAX_DURATION_MS) throw new BadDuration(text)
  return ms
}
