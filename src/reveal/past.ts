// What is known of a method's past: evidence of what will run, before it does.

import type { MethodTarget } from './method-ids.ts'

export interface Past {
  /** False where nothing can be told of any method. */
  readonly isKnown: boolean
  /** Those of the methods that are known to run. That one is missing is no proof. */
  thatRan(targets: readonly MethodTarget[]): MethodTarget[]
}

export const NO_PAST: Past = { isKnown: false, thatRan: () => [] }
