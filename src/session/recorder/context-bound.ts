// How many contexts a tree of calls may have: what memory allows, unless the user says.

import { totalmem } from 'node:os'
import type { SessionRequest } from '../session-options.ts'

/** Of a context, with its part of what finds it, of the arrays of a picture while one is made, and of the picture: about. */
const CONTEXT_BYTES = 256
/** The part of memory that they may take. */
const PART = 8
/** A picture of more is no use to a live view: it takes seconds. */
const MOST_UNASKED = 2 ** 20
const LEAST = 2 ** 16

/**
 * A power of two, so that a machine has the same from day to day.
 *
 * @param memoryBytes  that there are for this process
 */
export function contextsFor(memoryBytes: number): number {
  const room = 2 ** Math.floor(Math.log2(memoryBytes / PART / CONTEXT_BYTES))
  return Math.min(MOST_UNASKED, Math.max(LEAST, room))
}

export function mostContexts({ maxContexts }: SessionRequest): number {
  const limit = process.constrainedMemory() // of a control group; 0, or more than there is, without one
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return maxContexts ?? contextsFor(memory)
}

export function collapsedWarning(options: SessionRequest): string {
  return `the tree had more than ${mostContexts(options)} contexts: those that cost least have become rows "(collapsed contexts)" below their callers`
}
