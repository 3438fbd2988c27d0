// Profile section of mode `bytecodes`.

import { clean } from '../../profile/text.ts'
import type { Section } from '../sections.ts'

export const bytecodes: Section = {
  fileColumns: [],
  fileVersion: 2,
  hasWaits: false,
  hasHotMethods: true,
  measure: ({ blocks }) => `bytecodes (${blocks ?? 'default'} blocks)`,
  facts: ({ blocks }) => [
    ['measured', `executed bytecodes, not time (basic blocks: ${clean(blocks ?? 'default')})`],
  ],
  gate: { compares: true, counts: ({ blocks }) => `bytecodes (${blocks ?? 'default'} blocks)` },
}
