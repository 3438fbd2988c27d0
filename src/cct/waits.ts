// Blocked and waiting time, summed per context. A wait is a row of its own: a call of a pseudo method below the waiting context
// (events/wait-ids.ts). The columns of blocked and waiting time show the same time in the rows of methods.

import type { Tree } from './tree.ts'

export const WAIT_COLUMNS = ['blockedNs', 'waitedNs', 'totalBlockedNs', 'totalWaitedNs'] as const

/** Returns whether the tree has separate columns for waiting. */
export function tellsWaits({ metrics }: Tree): boolean {
  return metrics[WAIT_COLUMNS[0]] !== undefined
}
