// Time blocked and waiting, summed by context. A wait is a row of its own, a call of a pseudo method below the context that
// waits (events/wait-ids.ts); these columns say the same beside the calls and times of methods.

import type { Tree } from './tree.ts'

export const WAIT_COLUMNS = ['blockedNs', 'waitedNs', 'totalBlockedNs', 'totalWaitedNs'] as const

/** Whether waiting is told apart. */
export function tellsWaits({ metrics }: Tree): boolean {
  return metrics[WAIT_COLUMNS[0]] !== undefined
}
