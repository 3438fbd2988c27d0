// Profiles of executed bytecodes.

import { clean } from '../../profile/text.ts'
import type { Section } from '../sections.ts'

export const bytecodes: Section = {
  cost: 'bytecodes',
  columns: [],
  fileVersion: 2,
  ...{ isTimed: false, isSampled: false, hasWaits: false, hasClasses: false, hasHotMethods: true },
  measure: ({ blocks }) => `bytecodes (${blocks ?? 'default'} blocks)`,
  facts: ({ blocks }) => [
    ['measured', `executed bytecodes, no time (basic blocks: ${clean(blocks ?? 'default')})`],
  ],
  gate: { compares: true, counts: ({ blocks }) => `bytecodes (${blocks ?? 'default'} blocks)` },
}
