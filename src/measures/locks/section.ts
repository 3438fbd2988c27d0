// Profile section of mode `locks`: exact times with the focus on waits.

import type { Section } from '../sections.ts'
import { time } from '../time/section.ts'

export const locks: Section = {
  ...time,
  fileColumns: [],
  fileVersion: 2,
  hasWaits: true,
  hasHotMethods: false,
  measure: () => 'time that threads spent blocked or waiting',
}
