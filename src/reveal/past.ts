// What is known of a method's past: evidence of what will run, before it does.

import type { MethodTarget } from './method-ids.ts'

export interface Past {
  /** False where nothing can be told of any method. */
  readonly isKnown: boolean
  /** Those of the methods that are known to run. That one is missing is no proof. */
  thatRan(targets: readonly MethodTarget[]): MethodTarget[]
}

export const NO_PAST: Past = { isKnown: false, thatRan: () => [] }

/** A method that is reached and left alone, as it has run seldom or never. */
export interface RareMethod {
  readonly classId: number
  readonly methodIndex: number
  /** Internal name of the class. */
  readonly className: string
  readonly name: string
  readonly descriptor: string
}

/** Which methods may be left alone until they run. Whoever says so watches them. */
export interface Rarity {
  /** A class that is not known has been loaded since: its methods are rare only if recording had not begun. */
  isRare(classId: number, method: { name: string; descriptor: string }): boolean
  /** No method of the class may have probes now. */
  isDormant(classId: number): boolean
}
