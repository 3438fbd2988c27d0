// --slow with a program in which every hundredth call takes a separate branch and sleeps 300 ms, and the distribution of all calls.

import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { jdks } from '../support/jdks.ts'
import { callsByPath, type JsonNode, jfluid, startRecording, sumsAreExact } from '../support/jfluid.ts'

const SERVE = 'fix.Slow.serve(I)V'
const RELOAD = `${SERVE};fix.Slow.reload()V`
const LOOK_UP = `${SERVE};fix.Slow.lookUp(I)I`
/** Number of calls of two threads. */
const CALLS = 600
const SLOW = 6

describe.each(jdks)('JDK $version', (jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Slow')
  })

  it('--slow records separate trees of slow calls, and a distribution and timeline of all calls', async () => {
    const java = startJava(jdk, ['-cp', classes, 'fix.Slow'])
    await java.line(/^ready/)
    const recording = startRecording(java.pid, '--root', 'fix.Slow.serve', '--slow', '200ms')
    await recording.started
    java.send(`go ${CALLS / 2}`)
    await java.line(/^done/)
    const profile = await recording.stop()
    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })

    const all = callsByPath(profile.merged)
    expect(all.get(SERVE)).toBe(CALLS)
    expect(all.get(RELOAD)).toBe(SLOW)
    const { rootCalls, course, slowCalls } = profile
    expect(rootCalls).toMatchObject({ unit: 'ns', count: CALLS })
    // All calls have ended, so their sum is the root's time.
    const total = profile.merged.reduce((sum, root) => sum + root.totalNs, 0)
    expect(Math.abs(rootCalls!.total - total)).toBeLessThan(1e-6 * total + CALLS)
    expect(rootCalls!.percentiles['50']).toBeLessThan(100e6)
    expect(rootCalls!.max).toBeGreaterThanOrEqual(300e6)
    const sum = (column: 'calls' | 'events') =>
      course!.seconds.reduce((before, second) => before + (second[column] ?? 0), 0)
    expect(sum('calls')).toBe(CALLS)
    expect(sum('events')).toBe(profile.events.count)

    // A busy machine may make other calls slow, but none of these calls fast.
    const slow = callsByPath(slowCalls!.roots)
    expect(slowCalls).toMatchObject({ unit: 'ns', threshold: expect.closeTo(200e6, -5), dropped: 0 })
    expect(slow.get(RELOAD)).toBe(SLOW)
    expect(slow.get(SERVE)).toBe(slowCalls!.count)
    expect(slow.get(LOOK_UP) ?? 0).toBe(5 * (slowCalls!.count - SLOW))
    expect(slow.get(`${RELOAD};fix.Slow.lookUp(I)I`)).toBe(SLOW)
    expect(sumsAreExact(slowCalls!.roots)).toBe(true)

    const { slowest } = slowCalls!
    expect(slowest).toHaveLength(10)
    expect(slowest.map((it) => it.time)).toEqual(slowest.map((it) => it.time).toSorted((a, b) => b - a))
    expect(slowest[0]!.time).toBeCloseTo(rootCalls!.max, -6)
    for (const call of slowest) {
      expect(call.threadName).toMatch(/^server [01]$/)
      const [root] = call.roots as [JsonNode]
      expect(root.calls).toBe(1)
      expect(sumsAreExact(call.roots)).toBe(true)
      expect(Math.abs(root.totalNs - call.time)).toBeLessThan(1)
      expect(call.atMs).toBeLessThanOrEqual(profile.durationMs + 100)
    }
    expect(slowest.filter(({ roots }) => callsByPath(roots).has(RELOAD))).toHaveLength(SLOW)

    const report = await jfluid('report', recording.file)
    expect(report.stdout).toMatch(/^latency {3}of 600 calls: p50 .*$/m)
    expect(report.stdout).toMatch(/^Slow calls: \d+ calls of 200 ms or more$/m)
    expect(report.stdout).toMatch(
      /^ +300 ms .*fix\.Slow\.reload$|^ +\d+ ms +[\d.]+ ms {2}fix\.Slow\.reload$/m,
    )
  })
})
