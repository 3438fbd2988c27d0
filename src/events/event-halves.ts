// An event as it is read: two 32-bit halves, because a BigInt would cost one heap object per event. The high
// half holds the kind, the method, and the ticks' high bits.

import { METHOD_BITS, TICK_BITS } from './event-layout.ts'

export const KIND_SHIFT = 30
export const METHOD_SHIFT = TICK_BITS - 32
export const METHOD_MASK = 2 ** METHOD_BITS - 1
export const HIGH_TICKS_MASK = 2 ** METHOD_SHIFT - 1

/**
 * Epochs of a session: 2^58 ticks are three years of a 2.5 GHz clock. From 2^53 ticks on, 41 days, a tick is read as the nearest
 * that a double holds, at worst 16 off, or 6 ns: times still add up, as what one loses the next one gets.
 */
export const MOST_EPOCHS = 2 ** (58 - TICK_BITS)
