// --error-bars: what a call of the root takes without probes is known here, as the program times itself before somebody
// attaches and after; the times of a profile must reach as far. What is left out must be told to the call.
//
// Times of a busy machine differ by a factor, for the program as for us: what is compared leaves room for that, and a
// time without its error bar would still fail (`dense` takes three times as long with probes, or more).

import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import { newest, newestOrAll } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, jfluid, startRecording, stderrLine } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'

const ROOT = 'fix.Bars.root'
const STEPS = 2_000
/** Twice a call, in `parks`. */
const PARKED_NS = 2 * 100_000
/** What the machine may do to a time. */
const ROOM = 1.5
const PATIENCE = { timeout: 10_000, interval: 20 }

async function mean(java: JavaProcess, nth: number): Promise<number> {
  java.send('mean 300')
  return Number((await java.line(/^mean/, nth)).split(' ')[1])
}

async function pause(java: JavaProcess, nth: number): Promise<number> {
  java.send('pause')
  return Number((await java.line(/^paused/, nth)).split(' ')[1])
}

function nodesOf({ merged }: JsonProfile): JsonNode[] {
  const all = (nodes: readonly JsonNode[]): JsonNode[] => nodes.flatMap((it) => [it, ...all(it.children)])
  return all(merged)
}

function node(profile: JsonProfile, method: string): JsonNode {
  const found = nodesOf(profile).filter((it) => it.method === method)
  expect(found, method).toHaveLength(1)
  return found[0]!
}

/** Errors of one root are off together: they add up as times do. */
function addsUp({ errorNs, selfErrorNs, children }: JsonNode): boolean {
  const sum = children.reduce((all, it) => all + it.errorNs!, selfErrorNs!)
  return Math.abs(errorNs! - sum) <= 1e-6 * sum && children.every(addsUp)
}

describe.each(newestOrAll)('JDK $version', (jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Bars')
  })

  it('children that lose more than their probes: the time reaches what it was, and no call is lost', async () => {
    const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Bars', 'dense'])
    const code = await liveCode(jvm, 'Lfix/Bars')
    await mean(java, 1) // compiled
    const before = await mean(java, 2)
    const callsBefore = await pause(java, 1)
    const recording = startRecording(java.pid, '--root', ROOT, '--error-bars')
    await recording.started
    java.send('resume')
    await stderrLine(recording.process, /error bars are known/)
    // `parks` calls the JDK, which may call back whatever it can reach.
    expect(probed(await liveCode(jvm, 'Lfix/Bars'))).toEqual(
      expect.arrayContaining(
        ['dense(I)I', 'forever(I)I', 'parks(I)I', 'plain(I)I', 'root(Ljava/lang/String;I)I', 'step(I)I'].map(
          (method) => `Lfix/Bars;.${method}`,
        ),
      ),
    )
    const callsAfter = await pause(java, 2)
    const profile = await recording.stop()
    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })

    const root = node(profile, 'root')
    const { rounds, leftOutCalls, roots } = profile.errorBars!
    expect(rounds).toBe(1)
    expect(leftOutCalls).toBeGreaterThan(0)
    expect(root.calls + leftOutCalls).toBe(callsAfter - callsBefore)
    expect(node(profile, 'step').calls).toBe(root.calls * STEPS)
    expect(roots).toMatchObject([{ class: 'fix.Bars', method: 'root', rounds: 1 }])

    expect(await liveCode(jvm, 'Lfix/Bars')).toEqual(code)
    java.send('resume')
    await mean(java, 3)
    const truth = [before, await mean(java, 4)]
    const [value, error] = [root.totalNs / root.calls, root.errorNs! / root.calls]
    const told = `${value} ± ${error} ns of ${truth}`
    expect(value - error, told).toBeLessThan(Math.max(...truth) * ROOM)
    expect(value + error, told).toBeGreaterThan(Math.min(...truth) / ROOM)
    // The bare root is what the program says, too.
    expect(roots[0]!.bareNs, told).toBeLessThan(Math.max(...truth) * 4)
    expect(roots[0]!.bareNs, told).toBeGreaterThan(Math.min(...truth) / 4)
    expect(profile.merged.every(addsUp)).toBe(true)
    const dense = profile.methods.find(({ method }) => method === 'dense')!
    expect(dense.errorNs).toBeCloseTo(node(profile, 'dense').errorNs!, 0)
  })

  it.runIf(jdk.version >= 21)(
    'virtual threads that change their carriers inside the root: timed as well, and no call is lost',
    async () => {
      const java = startJava(jdk, ['-cp', classes, 'fix.Bars', 'parks', 'virtual'])
      await java.line(/^ready/)
      await mean(java, 1)
      const before = await mean(java, 2)
      const callsBefore = await pause(java, 1)
      const recording = startRecording(java.pid, '--root', ROOT, '--error-bars')
      await recording.started
      java.send('resume')
      await stderrLine(recording.process, /error bars are known/)
      const callsAfter = await pause(java, 2)
      const profile = await recording.stop()
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      const root = node(profile, 'root')
      const { rounds, leftOutCalls, roots } = profile.errorBars!
      expect([rounds, profile.warnings]).toEqual([1, []])
      expect(leftOutCalls).toBeGreaterThan(0)
      expect(root.calls + leftOutCalls).toBe(callsAfter - callsBefore)
      expect(node(profile, 'step').calls).toBe(root.calls * STEPS)
      expect(profile.merged.every(addsUp)).toBe(true)
      // All that was timed began while the graph was closed, and ended before it was open again.
      expect(roots[0]!.bareCalls).toBeGreaterThan(0)
      expect(roots[0]!.bareCalls).toBeLessThanOrEqual(leftOutCalls)
      const told = `${roots[0]!.bareNs} ns of ${before}`
      expect(roots[0]!.bareNs, told).toBeGreaterThan(PARKED_NS)
      expect(roots[0]!.bareNs, told).toBeLessThan(before * 4)
      expect(root.errorNs! / root.calls).toBeGreaterThanOrEqual(
        Math.abs(roots[0]!.instrumentedNs - roots[0]!.bareNs) * 0.99,
      )
    },
  )

  it('a recording that is too short for a look in between has one at its end', async () => {
    const java = startJava(jdk, ['-cp', classes, 'fix.Bars', 'plain'])
    await java.line(/^ready/)
    await mean(java, 1)
    const before = await mean(java, 2)
    const recording = startRecording(java.pid, '--root', ROOT, '--error-bars')
    await recording.started
    await mean(java, 3)
    const profile = await recording.stop()
    expect(recording.process.stderr()).toMatch(/timing the roots without the probes/)
    expect(profile.errorBars).toMatchObject({ rounds: 1, leftOutCalls: 0 }) // the recording was over
    expect(profile.warnings).toEqual([])
    const root = node(profile, 'root')
    expect(node(profile, 'plain').calls).toBe(root.calls * 3) // nobody was inside when the last were counted
    const [value, error] = [root.totalNs / root.calls, root.errorNs! / root.calls]
    expect(value - error, `${value} ± ${error} ns of ${before}`).toBeLessThan(before * 2 * ROOM)
    const { code, stdout } = await jfluid('report', recording.file)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^sure +fix\.Bars\.root [\d.]+ ms a call with probes, [\d.]+ without:\s+±[\d.]+/m)
    expect(stdout).toMatch(/^ total ms {7}±/m)
    expect(stdout).toMatch(/ ±[\d.]+ .* fix\.Bars\.plain$/m)
  })

  it.runIf(FULL || jdk === newest)(
    'a client that is killed meanwhile leaves the code as it was',
    async () => {
      const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Bars', 'dense'])
      const code = await liveCode(jvm, 'Lfix/Bars')
      await mean(java, 1)
      const recording = startRecording(java.pid, '--root', ROOT, '--error-bars')
      await recording.started
      await mean(java, 2)
      recording.process.child.kill('SIGINT')
      await stderrLine(recording.process, /timing the roots without the probes/)
      const rootAlone = ['Lfix/Bars;.root(Ljava/lang/String;I)I']
      await expect.poll(async () => probed(await liveCode(jvm, 'Lfix/Bars')), PATIENCE).toEqual(rootAlone)
      await recording.process.kill()
      await expect.poll(() => liveCode(jvm, 'Lfix/Bars'), PATIENCE).toEqual(code)
      await mean(java, 3) // and it lives
    },
  )

  // What others on the machine do to times the program sees, too: bars may be as wide as that, and not wider.
  it.runIf(FULL || jdk === newest)(
    'probes that cost next to nothing leave an error that is the noise of the machine',
    async () => {
      const java = startJava(jdk, ['-cp', classes, 'fix.Bars', 'plain'])
      await java.line(/^ready/)
      for (let tries = 0, looks = 0; tries < (FULL ? 3 : 1); tries++) {
        const recording = startRecording(java.pid, '--root', ROOT, '--error-bars')
        await recording.started
        let known = false
        const bars = stderrLine(recording.process, /error bars are known/).then(() => {
          known = true
        })
        const means: number[] = []
        while (!known) {
          java.send('mean 100')
          const said = await java.line(/^mean/, ++looks)
          means.push(Number(said.split(' ')[1]))
        }
        await bars
        const root = node(await recording.stop(), 'root')
        const share = root.errorNs! / root.totalNs
        // How much longer calls took than when they took least: next to nothing, or several times as long.
        const noise = means.reduce((sum, it) => sum + it, 0) / means.length / Math.min(...means) - 1
        expect(share, `${means} ns a call`).toBeLessThan(0.25 + 2 * noise)
        expect(share).toBeGreaterThan(0)
      }
    },
    60_000,
  )

  it.runIf(jdk === newestOrAll[0])('a root that does not end is not timed, and says so', async () => {
    const java = startJava(jdk, ['-cp', classes, 'fix.Bars', 'long'])
    await java.line(/^ready/)
    await pause(java, 1)
    const recording = startRecording(java.pid, '--root', ROOT, '--error-bars')
    await recording.started
    java.send('resume')
    java.send('inside')
    await java.line(/^inside/)
    const profile = await recording.stop()
    expect(profile.warnings.join()).toMatch(/no error bars: a root was running all the time/)
    expect(profile.errorBars).toEqual({ rounds: 0, leftOutCalls: 0, roots: [] })
    expect(nodesOf(profile).every((it) => it.errorNs === undefined)).toBe(true)
    expect(node(profile, 'root').calls).toBe(1)
  })
})
