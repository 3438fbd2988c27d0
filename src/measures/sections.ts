// What a profile of each measure says of itself.

import type { Mode, Profile } from '../profile/profile.ts'
import { allocation } from './allocation/section.ts'
import { bytecodes } from './bytecodes/section.ts'
import type { CostKind } from './columns.ts'
import { count } from './count/section.ts'
import { locks } from './locks/section.ts'
import { samples } from './samples/section.ts'
import { time } from './time/section.ts'

export interface Section {
  /** What its trees sum. */
  readonly cost: CostKind
  /** Columns that each of its trees has besides. */
  readonly columns: readonly string[]
  /** The least that a reader of its files must know. */
  readonly fileVersion: 1 | 2 | 3
  /** Its events are times, out of which the time of probes is taken. */
  readonly isTimed: boolean
  /** Its trees are of stacks: calls are those that were seen. */
  readonly isSampled: boolean
  /** Each wait has a row of its own; else where that was asked for. */
  readonly hasWaits: boolean
  /** A node may stand for a class, whose objects the method above it allocates. */
  readonly hasClasses: boolean
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
