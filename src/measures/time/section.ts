// Profile section of mode `time`.

import type { Section } from '../sections.ts'

export const time: Section = {
  fileColumns: ['measuredNs'],
  fileVersion: 1,
  hasWaits: false,
  hasHotMethods: true,
  measure: () => 'time',
  facts: () => [],
  gate: { compares: false, holds: 'times, which depend on the machine and its load' },
}
