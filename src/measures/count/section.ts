// Profile section of mode `count`.

import type { Section } from '../sections.ts'

export const count: Section = {
  fileColumns: [],
  fileVersion: 2,
  hasWaits: false,
  hasHotMethods: true,
  measure: () => 'calls',
  facts: () => [['measured', 'number of calls, not time']],
  gate: { compares: true, counts: () => 'calls' },
}
