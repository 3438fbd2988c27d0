// Maximum number of contexts in a call tree: limited by memory, or set by the user.

import { totalmem } from 'node:os'
import type { SessionRequest } from '../session-options.ts'

/** Approximate bytes per context. Includes a share of the lookup table, of the snapshot, and of the arrays for building the snapshot. */
const BYTES_PER_CONTEXT = 256
/** Contexts may use 1/MEMORY_DIVISOR of the memory. */
const MEMORY_DIVISOR = 8
/** Default maximum. A live view of a larger tree is too slow: one snapshot of the tree takes seconds. */
const DEFAULT_MAX_CONTEXTS = 2 ** 20
const MIN_CONTEXTS = 2 ** 16

/**
 * Returns the maximum number of contexts. It is a power of two, so that it stays the same on a machine with slightly varying memory.
 *
 * @param memoryBytes  memory available to this process
 */
export function contextsFor(memoryBytes: number): number {
  const room = 2 ** Math.floor(Math.log2(memoryBytes / MEMORY_DIVISOR / BYTES_PER_CONTEXT))
  return Math.min(DEFAULT_MAX_CONTEXTS, Math.max(MIN_CONTEXTS, room))
}

export function mostContexts({ maxContexts }: SessionRequest): number {
  const limit = process.constrainedMemory() // limit of the control group. If there is none: 0, or more than the machine's memory
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return maxContexts ?? contextsFor(memory)
}

export function collapsedWarning(options: SessionRequest): string {
  return `the tree had more than ${mostContexts(options)} contexts: the cheapest ones were merged into rows "(collapsed contexts)" below their callers`
}
