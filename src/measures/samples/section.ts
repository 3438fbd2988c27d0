// Profile section of mode `sample`. Stacks are sampled at intervals of time, or each thread samples itself after a number of bytecodes.

import type { Profile, Sampling } from '../../profile/profile.ts'
import { count, plural, shortSpan } from '../../profile/text.ts'
import type { Section } from '../sections.ts'

export const samples: Section = {
  fileColumns: [],
  fileVersion: 2,
  hasWaits: false,
  hasHotMethods: true,
  measure: ({ sampling }) => (sampling === undefined ? 'samples' : `samples (${dueText(sampling)})`),
  facts,
  gate: { compares: false, holds: 'samples, which do not contain every call' },
}

function facts({ sampling }: Profile): [string, string][] {
  if (sampling === undefined) return [['measured', 'samples']]
  return [['measured', samplingText(sampling)], ...takenFacts(sampling)]
}

function dueText({ every, unit, by }: Sampling): string {
  const each = unit === 'ns' ? shortSpan(every) : `${count(every)} bytecodes`
  return `${by}, one every ${each}`
}

const SAMPLED_BY: Readonly<Record<Sampling['by'], string>> = {
  probes: 'taken by the threads inside the root themselves',
  jfr: 'taken by its flight recorder',
  cpu: 'taken by CPU time of its threads',
  stacks: 'taken by thread dumps',
}

function samplingText({ every, unit, random = 0, by, outside, dumps, stoppedNs }: Sampling): string {
  const whom = by === 'probes' ? '' : outside === undefined ? 'of the whole JVM, ' : 'of the JVM, '
  const each = unit === 'ns' ? shortSpan(every) : `${count(every)} bytecodes`
  return `one sample every ${each}${random > 1 ? ` and up to ${count(random - 1)} more` : ''}, ${whom}${dumps === undefined ? SAMPLED_BY[by] : dumpsText(dumps, stoppedNs)}`
}

/** Describes the number of thread dumps, and how long each dump stopped the JVM. */
function dumpsText(dumps: number, stoppedNs = 0): string {
  return `taken by ${plural(dumps, 'thread dump')}, each of which stopped the JVM for ${shortSpan(stoppedNs / Math.max(1, dumps))}`
}

/** Describes the number of samples, and the delay between the time at which a sample was due and the sample. */
function takenFacts(sampling: Sampling): [string, string][] {
  const { samples, bytecodes, latencyNs } = sampling
  if (samples === undefined) return []
  const executed = bytecodes === undefined ? '' : ` in ${count(bytecodes)} executed bytecodes`
  const facts: [string, string][] = [['samples', `${count(samples)}${executed}`]]
  if (latencyNs === undefined || samples === 0) return facts
  const [p50, p99, max] = [latencyNs.p50, latencyNs.p99, latencyNs.max].map(shortSpan)
  facts.push([
    'latency',
    `samples were taken after their due time by ${p50} (median), ${p99} (p99), ${max} (max)`,
  ])
  return facts
}
