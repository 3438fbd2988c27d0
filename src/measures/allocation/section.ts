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
  facts: (profile) => [['allocated', measuredText(profile)]],
  gate: { compares: false, holds: 'allocations, which jfluid gate cannot compare' },
}

function measuredText({ allocation, merged }: Profile): string {
  const { sampleEvery = 1, jvmBytes } = allocation ?? {}
  const sites = `${plural(topSum(merged, 'totalObjects'), 'object')}, ${bytesText(rootTotal(merged))} at instrumented allocation sites`
  const sampled = sampleEvery > 1 ? `, estimated from 1 of ${count(sampleEvery)} allocations` : ''
  return `${sites}${sampled}; counted by the JVM: ${jvmBytes === undefined ? 'unknown' : bytesText(jvmBytes)}`
}
