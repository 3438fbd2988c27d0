// Profile section of mode `alloc`: allocated objects per class.

import { topSum } from '../../cct/tree.ts'
import { type Profile, rootTotal } from '../../profile/profile.ts'
import { bytesText, count, plural } from '../../profile/text.ts'
import type { Section } from '../sections.ts'

export const allocation: Section = {
  fileColumns: ['objects', 'totalObjects'],
  fileVersion: 3,
  ...{ hasWaits: false, hasHotMethods: true },
  measure: () => 'allocated bytes',
  facts: (profile) => [['measured', measuredText(profile)]],
  gate: { compares: false, holds: 'allocations, which are not compared yet' },
}

function measuredText({ allocation, merged }: Profile): string {
  const { sampleEvery = 1, jvmBytes } = allocation ?? {}
  const sites = `sites executed: ${plural(topSum(merged, 'totalObjects'), 'object')}, ${bytesText(rootTotal(merged))}`
  const sampled = sampleEvery > 1 ? `, from one of ${count(sampleEvery)} allocations` : ''
  return `${sites}${sampled}; really allocated, as the JVM counts: ${jvmBytes === undefined ? 'not known' : bytesText(jvmBytes)}`
}
