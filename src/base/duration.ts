// Durations in the syntax of the user: 500ms, 10s, 2m, 1h.

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Maximum duration: 24 days. A Node.js timer with a delay of more than 2^31 ms would fire at once. */
const MAX_DURATION_MS = 576 * UNITS.h!

/**
 * Parses a duration.
 *
 * @returns milliseconds, more than 0 and at most 24 days; undefined if the text is not a duration in this range
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text)
  const ms = match === null ? 0 : Number(match[1]) * UNITS[match[2]!]!
  return ms > 0 && ms <= MAX_DURATION_MS ? ms : undefined
}

/** Formats a duration as a user types it: 90000 ms is 90s, 120000 ms is 2m. */
export function durationText(ms: number): string {
  const unit = ['h', 'm', 's'].find((it) => ms % UNITS[it]! === 0) ?? 'ms'
  return `${ms / UNITS[unit]!}${unit}`
}
