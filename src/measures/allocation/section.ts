// Profile section of mode `alloc`: allocated objects per class.

import { topSum } from '../../cct/tree.ts'
import { type Attribution, attributionOf } from '../../profile/attribution.ts'
import type { Profile } from '../../profile/profile.ts'
import { bytesText, count, percent, plural } from '../../profile/text.ts'
import type { Section } from '../sections.ts'

export const allocation: Section = {
  fileColumns: ['objects', 'totalObjects'],
  fileVersion: 3,
  hasWaits: false,
  hasHotMethods: true,
  measure: () => 'allocated bytes',
  facts: (profile) => [['allocated', measuredText(profile)]],
  gate: { compares: false, holds: 'allocations, which jfluid gate cannot compare' },
}

function measuredText(profile: Profile): string {
  const { sampleEvery = 1, jvmBytes } = profile.allocation ?? {}
  const attribution = attributionOf(profile)
  const objects = plural(topSum(profile.merged, 'totalObjects'), 'object')
  const sites = `${objects}, ${bytesText(attribution.siteBytes)} at instrumented allocation sites`
  const sampled = sampleEvery > 1 ? `, estimated from 1 of ${count(sampleEvery)} allocations` : ''
  return `${sites}${sampled}; counted by the JVM: ${countedText(jvmBytes, attribution)}`
}

function countedText(
  jvmBytes: number | undefined,
  { siteBytes, sampledBytes, notAttributedBytes }: Attribution,
): string {
  if (jvmBytes === undefined) return 'unknown'
  const share = (bytes: number): string => `${percent(bytes, jvmBytes).trim()} %`
  if (sampledBytes + notAttributedBytes > 0) {
    const sampled = sampledBytes > 0 ? `, ${share(sampledBytes)} in methods without probes (sampled)` : ''
    return `${bytesText(jvmBytes)}${sampled}, ${share(notAttributedBytes)} not attributed`
  }
  return siteBytes > jvmBytes
    ? `${bytesText(jvmBytes)}; the JIT compilers have removed allocations`
    : bytesText(jvmBytes)
}
