// Times against a program that measures itself (fix.KnownTimes). Where both look at the same stretch of
// the same clock, the machine's load is in both and no figure of it is needed: what a profile charges to a
// method must lie between what the method saw and what its caller saw.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, type Recording, startRecording } from '../support/jfluid.ts'

/** One call of the root, in nanoseconds; `from` and `to` are the target's System.nanoTime(). */
interface Phase {
  inside: number
  around: number
  task: number
  from: number
  to: number
}

function phases(java: JavaProcess, name: string): Phase[] {
  const line = new RegExp(
    `^${name} \\S+ inside (\\d+) around (\\d+) task (\\d+) from (\\d+) to (\\d+)$`,
    'gm',
  )
  return [...java.stdout().matchAll(line)].map((found) => {
    const [inside, around, task, from, to] = found.slice(1).map(Number)
    return { inside, around, task, from, to }
  })
}

const sum = <T>(list: readonly T[], of: (item: T) => number): number =>
  list.reduce((total, item) => total + of(item), 0)
const least = <T>(list: readonly T[], of: (item: T) => number): number => Math.min(...list.map(of))

/** The only node at `path`, by method names from a root down. */
function nodeAt(roots: readonly JsonNode[], ...path: string[]): JsonNode {
  let nodes = roots
  let found: JsonNode | undefined
  for (const method of path) {
    found = nodes.find((it) => it.method === method)
    if (found === undefined) throw new Error(`no ${method} among ${nodes.map((it) => it.method).join()}`)
    nodes = found.children
  }
  if (found === undefined) throw new Error('an empty path')
  return found
}

/** Time between a node's stamps and those below it, probes included. */
const measured = (node: JsonNode): number => node.measuredNs + sum(node.children, measured)

/** Every total is the self times below it, summed: nothing is lost, nothing is there twice. */
function expectExactSums(profile: JsonProfile): void {
  const visit = (node: JsonNode): void => {
    const parts = node.selfNs + sum(node.children, (it) => it.totalNs)
    // Both are sums of doubles, in another order: 2^-53 of the largest for each of them.
    const largest = Math.max(Math.abs(node.totalNs), Math.abs(node.selfNs))
    const rounding = (node.children.length + 1) * largest * 2 ** -52
    expect(Math.abs(node.totalNs - parts), node.method).toBeLessThanOrEqual(rounding)
    for (const child of node.children) visit(child)
  }
  expect(profile.merged.length).toBeGreaterThan(0)
  for (const root of [...profile.merged, ...profile.threads.flatMap((it) => it.roots)]) visit(root)
}

/**
 * `inside` ≤ time ≤ `around`, give or take what the conversion of ticks may be wrong by: two pairs of
 * readings at most a microsecond off each, over a session of half a second at least, are 4 in a million. A
 * thousandth allows for a reading that was interrupted. And 50 us for t_I, t_O and short phases.
 */
function expectBetween(timeNs: number, inside: number, around: number): void {
  expect(timeNs).toBeGreaterThanOrEqual(inside * 0.999 - 50_000)
  expect(timeNs).toBeLessThanOrEqual(around * 1.001 + 50_000)
}

describe.each(newestOrAll)('JDK $version', (jdk) => {
  async function started(...options: string[]): Promise<JavaProcess> {
    const classes = await compileFixture(jdk, 'KnownTimes')
    const java = startJava(jdk, [...options, '-cp', classes, 'fix.KnownTimes'])
    await java.line(/^ready/)
    return java
  }

  async function recorded(java: JavaProcess, ...flags: string[]): Promise<Recording> {
    const recording = startRecording(java.pid, '--root', 'fix.KnownTimes.task', ...flags)
    await recording.started
    return recording
  }

  async function stopped(recording: Recording): Promise<JsonProfile> {
    const profile = await recording.stop()
    expect(profile.truncated).toBe(false)
    expectExactSums(profile)
    return profile
  }

  async function finished(recording: Recording): Promise<JsonProfile> {
    const profile = await stopped(recording)
    expect(profile.instrumentation.gaps).toBe(0)
    return profile
  }

  /** Sends a command and waits until it has been carried out. */
  async function command(java: JavaProcess, line: string): Promise<void> {
    const before = java.stdout().length
    java.send(line)
    while (!/^done /m.test(java.stdout().slice(before))) await sleep(5)
  }

  it('a method that is busy has the time it saw itself, in one thread and in two', async () => {
    const java = await started()
    const recording = await recorded(java)
    await command(java, 'spin 0 2') // a first call stops other threads; not while they measure
    await command(java, 'spin 200 1')
    await command(java, 'spin 100 2')
    const profile = await finished(recording)
    const all = phases(java, 'spin')
    const inside = (it: Phase): number => it.inside
    expect(all).toHaveLength(5)
    expect(sum(all, inside)).toBeGreaterThanOrEqual(400e6)
    const spin = nodeAt(profile.merged, 'task', 'spin')
    expect(spin.calls).toBe(5)
    expectBetween(
      spin.selfNs,
      sum(all, inside),
      sum(all, (it) => it.around),
    )
    // Each thread by itself: their times are told apart by their sizes.
    const own = profile.threads.map((it) => nodeAt(it.roots, 'task', 'spin').selfNs).sort((a, b) => a - b)
    const seen = [...all].sort((a, b) => a.inside - b.inside)
    expect(own).toHaveLength(5)
    for (const [i, it] of seen.entries()) expectBetween(own[i], it.inside, it.around)
  })

  it.each(['sleep', 'wait', 'lock'])(
    'a thread that stands still in %s goes on being charged',
    async (name) => {
      const java = await started()
      const recording = await recorded(java)
      await command(java, `${name} 150`)
      const profile = await finished(recording)
      const [phase] = phases(java, name)
      expect(phase.inside).toBeGreaterThan(100e6)
      const node = nodeAt(profile.merged, 'task', name === 'wait' ? 'await' : name)
      expectBetween(node.selfNs, phase.inside, phase.around)
    },
  )

  // The least of many rounds counts, as in the report's calibration: one that nobody disturbed.
  it('what the probes of millions of calls cost is taken out again, t_I of the callee and t_O of the caller', async () => {
    const java = await started()
    await command(java, 'bare 20000 200')
    const bare = Number(/^bare (\d+)$/m.exec(java.stdout())?.[1])
    const recording = await recorded(java)
    await command(java, 'rounds 20000 200')
    const profile = await finished(recording)
    const rounds = profile.threads.map((it) => nodeAt(it.roots, 'task', 'leaves'))
    expect(rounds).toHaveLength(200)
    expect(sum(rounds, (it) => nodeAt([it], 'leaves', 'leaf').calls)).toBe(4e6)

    const { innerNs, outerNs } = profile.calibration
    const callee = least(rounds, (it) => nodeAt([it], 'leaves', 'leaf').measuredNs)
    const caller = least(rounds, (it) => it.measuredNs)
    const whole = least(rounds, measured)
    const total = least(rounds, (it) => it.totalNs)
    // Half of what was added must go; without its share of the compensation none of it does.
    expect(Math.abs(total - bare)).toBeLessThan((whole - bare) / 2)
    expect(Math.abs(callee - 20_000 * innerNs)).toBeLessThan(callee / 2)
    expect(Math.abs(caller - 20_000 * outerNs - bare)).toBeLessThan((caller - bare) / 2)
  })

  // The JVM's own log says when it stood still, on the clock that the program reads.
  it('pauses of redefinitions are not charged to a thread that was busy meanwhile', async () => {
    const log = join(temporaryDirectory(), 'safepoints.log')
    const java = await started(`-Xlog:safepoint:file=${log}:timenanos`)
    const recording = await recorded(java, '--root', 'fix.KnownTimes.steps', '--look-ahead', '0')
    await command(java, 'steps')
    const profile = await finished(recording)
    const [phase] = phases(java, 'steps')
    const pauses = safepoints(log).filter((it) => it.end - it.ns >= phase.from && it.end <= phase.to)
    const redefining = pauses.filter((it) => it.name.includes('RedefineClasses'))
    expect(redefining.length).toBeGreaterThanOrEqual(30)
    const node = nodeAt(profile.merged, 'task', 'spinUntilOver')
    // Of these at least half has gone, and no more than twice what all safepoints took.
    expect(node.selfNs).toBeLessThan(phase.around - sum(redefining, (it) => it.ns) / 2)
    expect(node.selfNs).toBeGreaterThan(phase.inside - sum(pauses, (it) => it.ns) * 2)
  })

  // The least of many rounds counts, as above. The client's answer takes far longer than a class so small.
  it('the time that classes spend in our load hook is charged to nobody', async () => {
    const java = await started()
    await command(java, 'bareLoads 50 20')
    const bare = Number(/^bare (\d+)$/m.exec(java.stdout())?.[1])
    const recording = await recorded(java)
    await command(java, 'loads 50 10')
    // On a busy machine a client that has just begun answers a first call after its bound, and that is told
    // as a gap. A round that met one is not the least of them, and it is charged no more for it.
    const profile = await stopped(recording)
    const rounds = phases(java, 'loads')
    const charged = profile.threads.map((it) => nodeAt(it.roots, 'task', 'loads').totalNs)
    expect([rounds.length, charged.length]).toEqual([10, 10])
    const seen = least(rounds, (it) => it.inside)
    const own = Math.min(...charged)
    // Charged with the wait, or with the half of it, it would not be below the middle.
    expect(own).toBeLessThan((bare + seen) / 2)
    // And what the JVM itself does is charged on.
    expect(own).toBeGreaterThan(bare / 2)
  })

  it('what is measured until the last redefinition has settled is told apart as warm-up', async () => {
    const java = await started()
    const recording = await recorded(java, '--root', 'fix.KnownTimes.steps', '--look-ahead', '0')
    const recordingAt = performance.now()
    await command(java, 'spin 200')
    const redefiningAt = performance.now()
    await command(java, 'steps') // a redefinition for each
    const redefinedAt = performance.now()
    // Which of them begins when it has settled is not known: the last one does.
    for (let i = 0; i < 20; i++) await command(java, 'spin 50')
    const overAt = performance.now()
    const profile = await finished(recording)

    // The client's clock began to count before it said so, and hears of a redefinition when it is done.
    expect(profile.instrumentation.redefinitions).toBeGreaterThanOrEqual(40)
    expect(profile.warmupMs).toBeGreaterThan(redefiningAt - recordingAt)
    expect(profile.warmupMs).toBeLessThan(profile.durationMs - (overAt - redefinedAt) / 2)

    const chain = Array.from({ length: 40 }, (_, i) => `s${String(i).padStart(2, '0')}`)
    for (let depth = 1; depth <= chain.length; depth++) {
      expect(nodeAt(profile.merged, 'steps', ...chain.slice(0, depth)).warmupCalls).toBe(1)
    }
    const spins = phases(java, 'spin')
    const spin = nodeAt(profile.merged, 'task', 'spin')
    expect([spins.length, spin.calls]).toEqual([21, 21])
    expect(spin.warmupCalls).toBeGreaterThanOrEqual(1)
    expect(spin.warmupCalls).toBeLessThan(21)
    const [first, last] = [spins[0].inside, spins[20].inside]
    expect(spin.warmupSelfNs).toBeGreaterThan(first * 0.999 - 50_000)
    expect(spin.warmupSelfNs).toBeLessThan(spin.selfNs - last * 0.999 + 50_000)
  })

  it('time that threads wait for the client is told, and charged to nobody', async () => {
    const java = await started()
    const recording = await recorded(java)
    await command(java, 'leaves 1')
    // Four threads write 48 million events, the buffer holds two: for a while, at least, they are faster than one reads.
    await command(java, 'leaves 6000000 4')
    const profile = await finished(recording)
    const waited = profile.events.waitMs * 1e6
    const elapsed = sum(phases(java, 'leaves'), (it) => it.task)
    const charged = sum(profile.merged, measured)
    expect(waited).toBeGreaterThan(20e6)
    // elapsed = charged + waited, but for the roots' own probes: half of the wait is room for these.
    expect(Math.abs(elapsed - charged - waited)).toBeLessThan(waited / 2)
  })
})

/** What `-Xlog:safepoint` has written: when each ended by System.nanoTime(), and how long it took. */
function safepoints(log: string): { name: string; end: number; ns: number }[] {
  const line = /^\[(\d+)ns\].*Safepoint "(\w+)".*Total: +(\d+) ns/gm
  return [...readFileSync(log, 'utf8').matchAll(line)].map(([, end, name, ns]) => ({
    name,
    end: Number(end),
    ns: Number(ns),
  }))
}
