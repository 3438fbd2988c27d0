// Profiles of calls alone.

import type { Section } from '../sections.ts'

export const count: Section = {
  cost: 'calls',
  columns: [],
  fileVersion: 2,
  ...{ isTimed: false, isSampled: false, hasWaits: false, hasClasses: false, hasHotMethods: true },
  measure: () => 'calls',
  facts: () => [['measured', 'calls only, no time']],
  gate: { compares: true, counts: () => 'calls' },
}
