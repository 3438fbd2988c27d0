// Properties of the profiles of each measure: columns in files, and texts.

import type { Profile } from '../profile/profile.ts'
import { allocation } from './allocation/section.ts'
import { bytecodes } from './bytecodes/section.ts'
import type { Mode } from './columns.ts'
import { count } from './count/section.ts'
import { locks } from './locks/section.ts'
import { samples } from './samples/section.ts'
import { time } from './time/section.ts'

export interface Section {
  /** Columns of each tree in a file, in addition to calls, self and total cost. */
  readonly fileColumns: readonly string[]
  /** Version of files with this measure. A program that reads such a file must support this version. */
  readonly fileVersion: 1 | 2 | 3
  /** Whether waits always have separate rows. If false, waits have rows only if the user requests them. */
  readonly hasWaits: boolean
  /** Whether a list of methods by self cost is useful. */
  readonly hasHotMethods: boolean
  /** Returns the name of the measured quantity, such as "time", for a comparison with another profile. */
  measure(profile: Profile): string
  /** Returns report lines about the measured quantity and the method of measurement. Empty for times. */
  facts(profile: Profile): [label: string, text: string][]
  /** Quantity that a gate compares, such as "bytecodes (default blocks)", or the reason why a gate is not possible. */
  readonly gate:
    | { readonly compares: true; counts(profile: Profile): string }
    | { readonly compares: false; readonly holds: string }
}

export const SECTIONS: Readonly<Record<Mode, Section>> = {
  exact: time,
  locks,
  bytecodes,
  count,
  alloc: allocation,
  sample: samples,
}
