// An event as it is read: two 32-bit halves, because a BigInt would cost one heap object per event. The high
// half holds the kind, the method, and the ticks' high bits.

import { METHOD_BITS, TICK_BITS } from './event-layout.ts'

export const KIND_SHIFT = 30
export const METHOD_SHIFT = TICK_BITS - 32
export const METHOD_MASK = 2 ** METHOD_BITS - 1
export const HIGH_TICKS_MASK = 2 ** METHOD_SHIFT - 1
