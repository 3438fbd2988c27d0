// The reader splits an event into two 32-bit halves, since a BigInt would cost one heap object per event. The high half holds the kind, the
// method, and the high bits of the ticks.

import { METHOD_BITS, TICK_BITS } from './event-layout.ts'

export const KIND_SHIFT = 30
export const METHOD_SHIFT = TICK_BITS - 32
export const METHOD_MASK = 2 ** METHOD_BITS - 1
export const HIGH_TICKS_MASK = 2 ** METHOD_SHIFT - 1

/**
 * Maximum number of epochs in a session: 2^58 ticks are three years of a 2.5 GHz clock. From 2^53 ticks on (41 days), a time in ticks is
 * rounded to the nearest double; the error is at most 16 ticks, or 6 ns. Errors do not accumulate in sums of times, since the rounding of
 * one interval is compensated by the next interval.
 */
export const MAX_EPOCHS = 2 ** (58 - TICK_BITS)
