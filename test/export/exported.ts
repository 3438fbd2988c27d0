// Exports of a profile, and profiles of every metric.

import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { exportProfile, formatNamed } from '../../src/export/formats.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { callOf } from '../profile/traced.ts'
import { Methods, profileOf, profileOfTree, treeOf } from '../profile/trees.ts'

export async function exportedBytes(profile: Profile, format: string, threads = false): Promise<Buffer> {
  const chunks: Buffer[] = []
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk)
      done()
    },
  })
  assert.equal(await exportProfile(profile, formatNamed(format), out, { threads }), true)
  return Buffer.concat(chunks)
}

export async function exported(profile: Profile, format: string, threads = false): Promise<string> {
  return (await exportedBytes(profile, format, threads)).toString()
}

/** Returns a profile of two threads. Only the second thread calls `work`. Merged, the two trees form one tree. */
export function twoThreads(): Profile {
  const methods = new Methods()
  const merged = treeOf('main 3x 30ns ( work 2x 54ns )', methods)
  const threads = [
    { id: 1, name: 'main', tree: treeOf('main 1x 10ns', methods) },
    { id: 21, name: 'pool "1";\n', tree: treeOf('main 2x 20ns ( work 2x 54ns )', methods) },
    { id: 22, name: 'idle', tree: treeOf('', methods) },
  ]
  return profileOfTree(merged, methods.names, { threads })
}

/** Returns a profile in which `main` allocates 2 strings of 48 bytes in total, and `work` allocates 1 array of 100 bytes. */
export function allocations(): Profile {
  const profile = profileOf('main 1x 0ns ( string 2x 48ns work 3x 0ns ( array 1x 100ns ) )')
  const { calls } = profile.merged.metrics
  const name = (of: string) => ({ class: of, method: 'new', descriptor: '', loader: 'bootstrap' })
  const methodNames = profile.methodNames.map((it) =>
    it.method === 'string' ? name('java.lang.String') : it.method === 'array' ? name('byte[]') : it,
  )
  const metrics = {
    calls: calls!,
    objects: Float64Array.of(2, 2, 1, 1),
    bytes: Float64Array.of(48, 48, 100, 100),
    totalObjects: Float64Array.of(3, 2, 1, 1),
    totalBytes: Float64Array.of(148, 48, 100, 100),
  }
  const merged = { ...profile.merged, metrics }
  const threads = [{ id: 21, name: 'worker-1', tree: merged }]
  return { ...profile, mode: 'alloc', allocation: { sampleEvery: 1 }, methodNames, merged, threads }
}

/** Returns a profile in which `lock` calls `(blocked on com.acme.Lock)`, which takes 700 of the 710 ns of `lock`. */
export function waits(): Profile {
  const profile = profileOf('lock 1x 10ns ( wait 2x 700ns )')
  const [none, lock] = profile.methodNames
  const wait = { class: 'com.acme.Lock', method: '(blocked on)', descriptor: '', loader: 'app' }
  const metrics = {
    ...profile.merged.metrics,
    ...{ blockedNs: Float64Array.of(700, 0), waitedNs: Float64Array.of(0, 0) },
    ...{ totalBlockedNs: Float64Array.of(700, 0), totalWaitedNs: Float64Array.of(0, 0) },
    ...{ selfWaitNs: Float64Array.of(0, 700), totalWaitNs: Float64Array.of(700, 700) },
  }
  const merged = { ...profile.merged, metrics }
  const threads = [{ id: 21, name: 'worker-1', tree: merged }]
  return { ...profile, mode: 'locks', methodNames: [none!, lock!, wait], merged, threads }
}

/** Returns a profile with costs in a unit without a name: `main` has 5 self, `work` 7. */
export function counted(mode: 'bytecodes' | 'count' | 'sample'): Profile {
  const profile = profileOf('main 5x 5ns ( work 7x 7ns )')
  const calls = Float64Array.of(5, 7)
  const [self, total] = [Float64Array.of(5, 7), Float64Array.of(12, 7)]
  const metrics = {
    bytecodes: { calls, selfBytecodes: self, totalBytecodes: total },
    count: { calls, totalCalls: total },
    sample: { calls, selfSamples: self, totalSamples: total },
  }[mode]
  const merged = { ...profile.merged, metrics }
  return { ...profile, mode, merged, threads: [{ id: 21, name: 'worker-1', tree: merged }] }
}

/** Returns a profile in which `main` calls `work` once from line 7 and twice from line 9. Each call costs 10 ns. */
export function callSites(): Profile {
  const profile = profileOf('main 1x 5ns ( seven 1x 10ns nine 2x 20ns )')
  const [none, main, seven] = profile.methodNames
  const work = { ...seven!, method: 'work' }
  const methodNames = [none!, main!, { ...work, bci: 3, line: 7 }, { ...work, bci: 11, line: 9 }]
  const merged = { ...profile.merged, methodOf: Int32Array.of(0, 1, 2, 2) }
  return {
    ...profile,
    ...{ callSites: true as const, methodNames, merged },
    threads: [{ id: 21, name: 'worker-1', tree: merged }],
  }
}

/** A profile of every metric, keyed by a description. */
export const PROFILES = {
  waits,
  bytecodes: () => counted('bytecodes'),
  calls: () => counted('count'),
  samples: () => counted('sample'),
  bytes: allocations,
  'call sites': callSites,
} as const

/** Returns rows of a test table: description, profile, and expected export. */
export function ofEveryMetric<Expected>(
  expected: Readonly<Record<keyof typeof PROFILES, Expected>>,
): [keyof typeof PROFILES, Profile, Expected][] {
  return (Object.keys(PROFILES) as (keyof typeof PROFILES)[]).map((name) => [
    name,
    PROFILES[name](),
    expected[name],
  ])
}

/** Returns a profile of two calls: one submits work, and the other has the same method twice. */
export function traced(): Profile {
  const methods = new Methods()
  const tree = treeOf('main 2x 30ns ( get 1x 15ns main 1x 2ns ) run 1x 13ns', methods)
  const calls = [
    callOf('main> 0 hand 1 5 get> 5 get< 20 main< 22.4 | run> 6 run< 19', methods, 1000),
    callOf('main> 0 main> 2 main< 4 main< 9', methods, 5000),
  ]
  return profileOfTree(tree, methods.names, { trace: { asked: 2, calls } })
}
