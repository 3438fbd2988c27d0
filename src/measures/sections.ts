// Profile sections of all measures.

import type { Profile } from '../profile/profile.ts'
import { allocation } from './allocation/section.ts'
import { bytecodes } from './bytecodes/section.ts'
import type { Mode } from './columns.ts'
import { count } from './count/section.ts'
import { locks } from './locks/section.ts'
import { samples } from './samples/section.ts'
import { time } from './time/section.ts'

export interface Section {
  /** Additional columns in each tree. */
  readonly fileColumns: readonly string[]
  /** Minimum file version that a reader of the files must support. */
  readonly fileVersion: 1 | 2 | 3
  /** Whether each wait always has a row of its own. If not, waits have rows only on request. */
  readonly hasWaits: boolean
  /** Whether a list of methods by self cost is useful. */
  readonly hasHotMethods: boolean
  /** Name of the measured quantity, for comparisons with another profile: "time". */
  measure(profile: Profile): string
  /** Returns the measured quantity and the method of measurement, if it is not a clock. */
  facts(profile: Profile): [label: string, text: string][]
  /** Quantity compared by a gate: "bytecodes (default blocks)"; or the reason why a gate is not possible. */
  readonly gate:
    | { readonly compares: true; counts(profile: Profile): string }
    | { readonly compares: false; readonly holds: string }
}

export const SECTIONS: Readonly<Record<Mode, Section>> = {
  exact: time,
  ...{ locks, bytecodes, count },
  alloc: allocation,
  sample: samples,
}
