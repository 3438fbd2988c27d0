// What a profile of each measure says of itself.

import type { Profile } from '../profile/profile.ts'
import { allocation } from './allocation/section.ts'
import { bytecodes } from './bytecodes/section.ts'
import type { Mode } from './columns.ts'
import { count } from './count/section.ts'
import { locks } from './locks/section.ts'
import { samples } from './samples/section.ts'
import { time } from './time/section.ts'

export interface Section {
  /** Columns that each of its trees has besides. */
  readonly fileColumns: readonly string[]
  /** The least that a reader of its files must know. */
  readonly fileVersion: 1 | 2 | 3
  /** Each wait has a row of its own; else where that was asked for. */
  readonly hasWaits: boolean
  /** Whether a list of methods by their own cost says something. */
  readonly hasHotMethods: boolean
  /** What it counts, beside another profile: "time". */
  measure(profile: Profile): string
  /** What was measured, and how, where that is not by a clock. */
  facts(profile: Profile): [label: string, text: string][]
  /** What a gate compares: "bytecodes (default blocks)"; or why it does not. */
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
