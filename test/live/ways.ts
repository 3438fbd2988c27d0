// Everything that jfluid can measure, tested with `fix.Sampled`.

import type { JsonNode, JsonProfile } from '../support/jfluid.ts'

export const SERVE = 'fix.Sampled.serve'
const ROOT = ['--root', SERVE] as const

/** Returns all nodes with this method name. */
function nodes(among: readonly JsonNode[], method: string): JsonNode[] {
  return among.flatMap((it) => (it.method === method ? [it] : nodes(it.children, method)))
}

const serve = ({ merged }: JsonProfile): JsonNode[] => nodes(merged, 'serve')
const sum = (found: readonly JsonNode[], key: 'totalNs' | 'totalBytecodes' | 'totalSamples' | 'calls') =>
  found.reduce((all, it) => all + (it[key] ?? 0), 0)

/** A measure: its title, its options, and a function that returns a value of the profile that must be above zero. */
export type Way = readonly [string, readonly string[], (profile: JsonProfile) => number]

export const WITH_PROBES: readonly Way[] = [
  ['exact time', ROOT, (it) => sum(serve(it), 'totalNs')],
  ['--mode locks', [...ROOT, '--mode', 'locks'], (it) => (it.waits === true ? sum(serve(it), 'calls') : 0)],
  ['--mode bytecodes', [...ROOT, '--mode', 'bytecodes'], (it) => sum(serve(it), 'totalBytecodes')],
  ['--mode count', [...ROOT, '--mode', 'count'], (it) => sum(serve(it), 'calls')],
  // The program allocates nothing.
  ['--mode alloc', [...ROOT, '--mode', 'alloc'], (it) => it.allocation?.sampleEvery ?? 0],
  ['--liveness', [...ROOT, '--mode', 'alloc', '--liveness'], (it) => (it.allocation?.liveness ? 1 : 0)],
  [
    'samples by bytecodes',
    [...ROOT, '--mode', 'sample', '--every', '100000bc'],
    (it) => sum(serve(it), 'totalSamples'),
  ],
  ['--region', ['--region', SERVE], (it) => it.regions?.[0]?.count ?? 0],
]

export const BY_JVM: readonly Way[] = [
  ['the whole JVM', ['--mode', 'sample'], (it) => sum(serve(it), 'totalSamples')],
  ['samples by time', [...ROOT, '--mode', 'sample'], (it) => sum(serve(it), 'totalSamples')],
]

export const WAYS: readonly Way[] = [...WITH_PROBES, ...BY_JVM]
