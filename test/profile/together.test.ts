// Profiles of several JVMs merged into one.

import { crc32 } from 'node:zlib'
import { pack, unpack } from 'msgpackr'
import { expect, it } from 'vitest'
import { CorruptProfile } from '../../src/profile/errors.ts'
import { decodeProfile, encodeProfile, HEADER_BYTES } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { reportText } from '../../src/profile/report.ts'
import { reproducible } from '../../src/profile/reproducible.ts'
import { together } from '../../src/profile/together.ts'
import { profileOf } from './trees.ts'

function jvm(pid: number, notation: string, more: Partial<Profile> = {}): Profile {
  const target = { pid, jdk: '17.0.15', vm: 'OpenJDK 64-Bit Server VM', mainClass: 'com.acme.Main' }
  return profileOf(notation, { target, ...more })
}

const PAIR = [
  jvm(11, 'App.main 2x 1000000ns ( App.work 4x 3000000ns )', { warnings: ['slow disk'] }),
  jvm(12, 'App.main 3x 2000000ns ( App.rest 1x 5000000ns App.work 5x 1000000ns )', {
    target: { pid: 12, jdk: '25', vm: 'OpenJDK 64-Bit Server VM', mainClass: 'com.acme.Other' },
    startedAt: '2026-11-21T07:59:59.000Z',
    durationMs: 4000,
    truncated: 'the JVM has ended',
    calibration: { innerNs: 20, outerNs: 5, clock: 'nanoTime' },
  }),
]

it('a profile of several JVMs has the sums of all JVMs and a tree of each JVM', () => {
  const all = together(PAIR)
  expect(all.jvms).toEqual([
    { pid: 11, mainClass: 'com.acme.Main', jdk: '17.0.15', durationMs: 10_000, threads: 1, truncated: false },
    { pid: 12, mainClass: 'com.acme.Other', jdk: '25', durationMs: 4000, threads: 1, truncated: true },
  ])
  expect(all.threads.map(({ id, name, tree }) => [id, name, [...tree.metrics.calls!]])).toEqual([
    [11, 'com.acme.Main', [2, 4]],
    [12, 'com.acme.Other', [3, 1, 5]],
  ])
  expect([...all.merged.metrics.calls!]).toEqual([5, 9, 1])
  expect([all.startedAt, all.durationMs, all.events.count, all.truncated]).toEqual([
    ...['2026-11-21T07:59:59.000Z', 10_000, 4000, true],
  ])
  expect(all.calibration).toEqual({ innerNs: 20, outerNs: 13.25, clock: 'nanoTime' })
  expect(all.warnings).toEqual(['JVM 11: slow disk', 'JVM 12: truncated: the JVM has ended'])
  expect([all.instrumentation.redefinitions, all.instrumentation.longestPauseMs]).toEqual([4, 2.5])
})

it('the report of several JVMs shows the sums of all JVMs, and each JVM separately', () => {
  expect(reportText(together(PAIR), { threads: true })).toBe(`jfluid profile of com.acme.Main, com.acme.Other
JVM 1     pid 11, com.acme.Main, JDK 17.0.15: 2 calls in 1 thread, 10.0 s
JVM 2     pid 12, com.acme.Other, JDK 25: 3 calls in 1 thread, 4.0 s, cut short
root      com.acme.App.main
recorded  10.0 s from 2026-11-21T07:59:59.000Z, scheme b
calls     5 calls of the root in 2 JVMs
methods   24 instrumented, 8 called; 4 redefinitions took 15 ms, max pause 3 ms
overhead  application threads stalled by jfluid: 3 ms (0.0 %); 4.00k events
warning   JVM 11: slow disk
warning   JVM 12: truncated: the JVM has ended

Calling context tree, all JVMs
    total      self  % root      calls  per call  method
 12.00 ms  3.000 ms   100.0          5  2.400 ms  com.acme.App.main
 5.000 ms  5.000 ms    41.7          1  5.000 ms    com.acme.App.rest
 4.000 ms  4.000 ms    33.3          9  444.4 µs    com.acme.App.work

JVM com.acme.Main (11)
    total      self  % root      calls  per call  method
 4.000 ms  1.000 ms   100.0          2  2.000 ms  com.acme.App.main
 3.000 ms  3.000 ms    75.0          4  750.0 µs    com.acme.App.work

JVM com.acme.Other (12)
    total      self  % root      calls  per call  method
 8.000 ms  2.000 ms   100.0          3  2.667 ms  com.acme.App.main
 5.000 ms  5.000 ms    62.5          1  5.000 ms    com.acme.App.rest
 1.000 ms  1.000 ms    12.5          5  200.0 µs    com.acme.App.work

Hot methods, by self time, 3 of 3
     self     total  % self      calls  per call  method
 5.000 ms  5.000 ms    41.7          1  5.000 ms  com.acme.App.rest
 4.000 ms  4.000 ms    33.3          9  444.4 µs  com.acme.App.work
 3.000 ms  12.00 ms    25.0          5  2.400 ms  com.acme.App.main

Details
probes    20.0 ns inside each call (t_I) and 13.3 ns in its caller (t_O),
          removed from all times; the largest values of all JVMs
clock     nanoTime
`)
})

it('a profile of several JVMs is read from its file; a file with inconsistent data is refused', () => {
  const all = together(PAIR)
  const bytes = encodeProfile(all)
  expect(decodeProfile(bytes, 'p')).toEqual(all)
  const spoilt = (change: (body: { jvms: unknown[] }) => void): Buffer => {
    const body = unpack(bytes.subarray(HEADER_BYTES))
    change(body)
    const packed = pack(body)
    const header = Buffer.from(bytes.subarray(0, HEADER_BYTES))
    header.writeUInt32LE(crc32(packed), 12)
    header.writeBigUInt64LE(BigInt(packed.length), 16)
    return Buffer.concat([header, packed])
  }
  expect(
    decodeProfile(
      spoilt(() => {}),
      'p',
    ).jvms,
  ).toHaveLength(2)
  const changes: ((body: { jvms: unknown[] }) => void)[] = [
    (body) => body.jvms.pop(),
    (body) => body.jvms.splice(0, 1, 'a JVM'),
    (body) => Object.assign(body.jvms[0]!, { pid: -1 }),
    (body) => Object.assign(body.jvms[0]!, { truncated: 'yes' }),
    (body) => Object.assign(body, { jvms: 2 }),
  ]
  for (const change of changes) expect(() => decodeProfile(spoilt(change), 'p')).toThrow(CorruptProfile)
})

it('a profile of one JVM and a reproducible profile have no list of JVMs', () => {
  const [one] = PAIR as [Profile]
  expect([...together([one]).merged.metrics.totalNs!]).toEqual([...one.merged.metrics.totalNs!])
  expect(reproducible(together(PAIR)).jvms).toBeUndefined()
})
