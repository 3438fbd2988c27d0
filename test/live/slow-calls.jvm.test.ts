// --slow with a program in which every hundredth call takes a separate branch and sleeps 300 ms, and the distribution of all calls.

import { beforeAll, expect, it } from 'vitest'
import type { SlowTimes } from '../../src/cct/slow-times.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, startJava } from '../support/java-process.ts'
import { forNewestTarget } from '../support/jdks.ts'
import {
  callsByPath,
  type JsonNode,
  type JsonProfile,
  jfluid,
  startRecording,
  sumsAreExact,
} from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'

const SERVE = 'fix.Slow.serve(I)V'
const RELOAD = `${SERVE};fix.Slow.reload()V`
const LOOK_UP = `${SERVE};fix.Slow.lookUp(I)I`
/** Number of calls of two threads. */
const CALLS = 600
const SLOW = 6
const HANDLE = 'fix.SlowKinds.handle(Lfix/SlowKinds$Request;)V'
/** Slow calls of each kind of SlowKinds, and its fast calls that throw, in 360 calls of each of two threads. */
const OF_A_KIND = 4
const VIRTUAL_THREADS = 21
const FAST_THROWING = 36

interface SlowTrace {
  readonly asked: number
  readonly calls: readonly {
    readonly slowCall: number
    readonly startNs: number
    readonly durationNs: number
    readonly state: string
    readonly tracks: readonly { readonly events: readonly number[] }[]
  }[]
}

forNewestTarget((jdk) => {
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

    // A busy machine can make other calls slow too, but cannot make the expected slow calls fast.
    const slow = callsByPath(slowCalls!.roots)
    expect(slowCalls).toMatchObject({ unit: 'ns', threshold: expect.closeTo(200e6, -5), dropped: 0 })
    expect(slow.get(RELOAD)).toBe(SLOW)
    expect(slow.get(SERVE)).toBe(slowCalls!.count)
    expect(slow.get(LOOK_UP) ?? 0).toBe(5 * (slowCalls!.count - SLOW))
    expect(slow.get(`${RELOAD};fix.Slow.lookUp(I)I`)).toBe(SLOW)
    expect(sumsAreExact(slowCalls!.roots)).toBe(true)

    const { slowest } = slowCalls!
    expect(slowest).toHaveLength(Math.min(10, slowCalls!.count))
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

  it.each(jdk.version >= VIRTUAL_THREADS ? ['platform', 'virtual'] : ['platform'])(
    'the report names the exceptions that ended root calls, and keeps the latest of these calls, on %s threads',
    async (threads) => {
      const kinds = await compileFixture(jdk, 'SlowKinds')
      const java = startJava(jdk, [
        '-cp',
        kinds,
        'fix.SlowKinds',
        ...(threads === 'virtual' ? ['virtual'] : []),
      ])
      await java.line(/^ready/)
      const recording = startRecording(java.pid, '--root', 'fix.SlowKinds.handle', '--slow', '100ms,threw')
      await recording.started
      java.send('go 360')
      await java.line(/^done/)
      const profile = await recording.stop()
      expect(profile.instrumentation).toMatchObject({ gaps: 0 })
      const { rootCalls, slowCalls } = profile
      expect(rootCalls!.threw).toEqual([
        { class: 'java.lang.ArithmeticException', calls: FAST_THROWING },
        { class: 'java.lang.IllegalStateException', calls: OF_A_KIND },
      ])
      expect(slowCalls!.count).toBeGreaterThanOrEqual(3 * OF_A_KIND)
      const sorted = (kind: string) =>
        slowCalls!.slowest.filter(({ roots }) => callsByPath(roots).has(`${HANDLE};${kind}`))
      for (const call of sorted('fix.SlowKinds.order()V'))
        expect(call.threw).toBe('java.lang.IllegalStateException')
      for (const kind of ['stock()V', 'query(I)V']) {
        expect(sorted(`fix.SlowKinds.${kind}`)).not.toHaveLength(0)
        for (const call of sorted(`fix.SlowKinds.${kind}`)) expect(call).not.toHaveProperty('threw')
      }
      // At most 20 callers are read in a second, and many calls throw at once.
      const callers = slowCalls!.slowest.flatMap(({ caller }) => caller ?? [])
      expect(new Set(callers)).toEqual(new Set(['fix.SlowKinds$Filter.next']))
      expect(slowCalls!.threwCount).toBe(FAST_THROWING + OF_A_KIND)
      expect(slowCalls!.threw).toHaveLength(10)
      const numbers = slowCalls!.threw!.map((it) => it.number)
      expect(numbers).toEqual(numbers.toSorted((a, b) => b - a))
      for (const { roots } of slowCalls!.threw!) expect(roots[0]!.calls).toBe(1)

      const report = await jfluid('report', recording.file)
      expect(report.stdout).toMatch(
        /^threw {5}40 of 720 root calls: java\.lang\.ArithmeticException 36, java\.lang\.IllegalStateException 4$/m,
      )
      expect(report.stdout).toMatch(/^ +\d+ ms .* {2}threw java\.lang\.IllegalStateException$/m)
    },
  )

  itInFull(
    '--slow with --trace traces the slowest of the slow calls instead of the first calls',
    async () => {
      const java = startJava(jdk, ['-cp', classes, 'fix.Slow'])
      await java.line(/^ready/)
      const recording = startRecording(
        java.pid,
        '--root',
        'fix.Slow.serve',
        '--slow',
        '200ms',
        '--trace',
        '3',
      )
      await recording.started
      java.send(`go ${CALLS / 2}`)
      await java.line(/^done/)
      const { slowCalls, trace } = (await recording.stop()) as JsonProfile & { readonly trace: SlowTrace }
      const slowest = slowCalls!.slowest.slice(0, 3)
      expect(trace).toMatchObject({ asked: 3, ofSlow: { tooLong: 0 }, cutAfter: 0 })
      expect(trace.calls.map((it) => it.slowCall).toSorted()).toEqual(
        slowest.map((it) => it.number).toSorted(),
      )
      expect(trace.calls.map((it) => it.startNs)).toEqual(
        trace.calls.map((it) => it.startNs).toSorted((a, b) => a - b),
      )
      for (const { slowCall, durationNs, state, tracks } of trace.calls) {
        expect(state).toBe('whole')
        const call = slowest.find((it) => it.number === slowCall)!
        // The trace and the tree of a call have the same total.
        expect(Math.abs(durationNs - call.time)).toBeLessThan(1)
        const calls = [...callsByPath(call.roots).values()].reduce((sum, it) => sum + it, 0)
        expect(tracks[0]!.events.filter((event) => event > 0)).toHaveLength(calls)
      }
    },
  )

  itInFull(
    'with scheme adaptive, a slow call has the samples that were taken in it, its values, and its exact time',
    async () => {
      const kinds = await compileFixture(jdk, 'SlowKinds')
      const java = startJava(jdk, ['-cp', kinds, 'fix.SlowKinds'])
      await java.line(/^ready/)
      await ask(java, 'go 1', /^done/) // loads the class of the root
      // No method is timed, so that the common tree has all slow calls. A filter cannot exclude the class of the root.
      const options = [
        '--exclude',
        'fix.SlowKinds',
        '--scheme',
        'adaptive',
        '--slow',
        '100ms',
        '--by',
        'arg0.uri',
        '--show',
        'arg0.tenant',
      ]
      const recording = startRecording(java.pid, '--root', 'fix.SlowKinds$Filter.next', ...options)
      await recording.started
      await ask(java, 'go 1200', /^done/) // six slow calls of each kind in each thread
      const profile = await recording.stop()
      const { slowest, roots } = profile.slowCalls!
      // On a busy machine, values of the first calls cannot be read yet.
      const read = slowest.filter(({ by }) => by !== '(not read yet)')
      expect(read.length).toBeGreaterThan(slowest.length / 2)
      for (const call of read) {
        const total = call.roots.reduce((sum, root) => sum + root.totalNs, 0)
        expect(Math.abs(total - call.time)).toBeLessThan(1e-6 * call.time + 1)
        expect(call.samples).toBeGreaterThanOrEqual(0)
        expect(call.by).toMatch(/^\/(?:order|stock|report)$/)
        expect(call.values).toEqual(['7'])
        expect(call.caller).toBe('fix.SlowKinds.serve')
        const rows = callsByPath(call.roots)
        expect([...rows.keys()].some((path) => path.includes(`by=${call.by}`))).toBe(true)
      }
      // The budget of the sampler allows few stacks: not each call has one.
      const isSampled = ({ samples, children }: JsonNode): boolean =>
        (samples ?? 0) > 0 || children.some(isSampled)
      expect(slowest.some(({ samples }) => samples! > 0)).toBe(true)
      for (const call of slowest) expect(call.roots.some(isSampled)).toBe(call.samples! > 0)
      expect(roots.some(isSampled)).toBe(true)

      const report = await jfluid('report', recording.file)
      expect(report.stdout).toMatch(/fix\.SlowKinds\$Filter\.next {2}by=\/\w+ {2}arg0\.tenant=7/)
    },
  )

  itInFull(
    'with scheme adaptive, slow calls from before a change of the timed methods stay listed with their own trees',
    async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'SlowKinds'), 'fix.SlowKinds'])
      await java.line(/^ready/)
      await ask(java, 'go 1', /^done/) // loads the class of the root
      const session = await Session.start(
        await attachDoor(java.pid),
        sessionOptions({ root: ['fix.SlowKinds.handle'], scheme: 'adaptive', slow: 100e6 }),
      )
      // One slow call of each kind in each thread. On a busy machine, the first calls may have no samples. At most ten calls stay listed, so
      // the calls before are removed.
      let before: SlowTimes
      do {
        session.reset()
        await ask(java, 'go 180', /^done/)
        before = (await session.profileSoFar('it goes on')).slowCalls!
      } while (!before.slowest.slice(0, 2).some(({ samples }) => samples! > 0))
      expect(await session.time('fix.SlowKinds.scan')).toBe(1)
      await ask(java, 'go 180', /^done/)
      await session.detach()
      const profile = JSON.parse([...jsonPieces(await session.profile())].join('')) as JsonProfile
      await session.close()

      const { slowest, count, treeCount, treeFromMs } = profile.slowCalls!
      const isEarly = ({ atMs }: { readonly atMs: number }) => atMs < treeFromMs!
      const early = slowest.filter(isEarly)
      const late = slowest.filter((it) => !isEarly(it))
      const scans = ({ roots }: { readonly roots: readonly JsonNode[] }): readonly JsonNode[] =>
        roots.flatMap((it) => [...(it.method === 'scan' ? [it] : []), ...scans({ roots: it.children })])
      const timed = (it: { readonly roots: readonly JsonNode[] }) =>
        scans(it).filter(({ known }) => known === 'timed')
      // `scan` takes 300 ms, the longest of the slow calls. It has samples before the change, and a time after it.
      const samplesOf = new Map(early.map((it) => [it.number, it.samples]))
      for (const it of before.slowest.slice(0, 2))
        expect(samplesOf.get(it.number)).toBeGreaterThanOrEqual(it.samples!)
      expect(early.flatMap(timed)).toEqual([])
      expect(late.flatMap(timed).map(({ calls }) => calls)).toEqual([1, 1])
      for (const { roots, time } of slowest) {
        const total = roots.reduce((sum, root) => sum + root.totalNs, 0)
        expect(Math.abs(total - time)).toBeLessThan(1e-6 * time + 1)
      }
      expect(early.some(({ samples }) => samples! > 0)).toBe(true)
      expect(count).toBeGreaterThanOrEqual(before.count + treeCount!)
      expect(callsByPath(profile.slowCalls!.roots).get(HANDLE)).toBe(treeCount)
      expect(timed({ roots: profile.slowCalls!.roots }).map(({ calls }) => calls)).toEqual([2])
    },
  )
}, 11)
