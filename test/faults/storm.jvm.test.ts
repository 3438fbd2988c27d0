// Many threads and class loaders load classes during a session and use each class at once. Every class works, no wait exceeds its limit,
// calls are counted exactly, and late classes get their probes afterwards.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { ClassFormatProblem } from '../../src/classfile/class-file.ts'
import type { JdwpTarget } from '../../src/jdwp-client/target.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { liveCode, probed, startDebuggable } from '../live/live-code.ts'
import { threadNames, until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type JavaProcess, startProcess, stop, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { callsByMethod, cli, type JsonProfile, readProfileJson, stderrLine } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { joined } from './lost-clients.ts'
import { type Outcome, times, trials } from './trials.ts'
import { HELD_MS } from './witness.ts'

/** Number of pairs of classes; with a disturbed client, the storm lasts as long as the disturbance. */
const PAIRS = FULL ? 10_000 : 100
const PAIRS_IN_TROUBLE = FULL ? 500 : 100
/** Of this number of pairs, one is used inside the root. With a disturbed client, every pair is used inside the root. */
const EVERY = 20
const THREADS = 8
const LOADERS = FULL ? 100 : 12
/** Calls made with each pair during the storm, and again below `again`. */
const CALLS = 3
/**
 * Time for which the client's main thread hangs while its heartbeat continues. It is longer than the two seconds for which threads wait.
 */
const HANG_MS = 2_500

/**
 * From the load of a pair to the results of its calls, a thread waits for the client at two class loads, at a reflective call, and at first
 * invocations, one of which may cause another; each wait takes a second at most.
 */
const PAIR_MS = 4_000 + HELD_MS

/** Maximum time until the last class of a storm has its probes, if the client could not follow. It includes the check of all classes. */
const AFTERWARDS_MS = FULL ? 300_000 : 60_000
/** A session that has ended by itself does not show what follows. Another session is tried then, up to this number. */
const SESSIONS_A_TRIAL = 3

/** SIGUSR2 makes the client's main thread hang, which it reports before. */
const HANG = `
const { isMainThread } = require('node:worker_threads')
if (isMainThread)
  process.on('SIGUSR2', () => {
    require('node:fs').writeSync(2, 'hangs\\n')
    for (const end = Date.now() + ${HANG_MS}; Date.now() < end; );
  })
`
const hanging = join(temporaryDirectory('jfluid-faults-'), 'hang.cjs')
writeFileSync(hanging, HANG)

/** Disturbance of the client during the storm. */
interface Weather {
  readonly what: string
  readonly pairs: number
  readonly every: number
  /** @param goOn  begins the second half of the storm */
  strike(client: JavaProcess, goOn: () => void): Promise<void> | void
}

const CALM: Weather = {
  what: 'the client runs normally',
  pairs: PAIRS,
  every: EVERY,
  strike: (_, goOn) => goOn(),
}
const HANGS: Weather = {
  what: `the client hangs for ${HANG_MS / 1000} s`,
  pairs: PAIRS_IN_TROUBLE,
  every: 1,
  async strike(client, goOn) {
    client.child.kill('SIGUSR2')
    await stderrLine(client, /^hangs$/)
    goOn()
  },
}
const STOPS: Weather = {
  what: 'the client is stopped five times for 0.1 s',
  pairs: PAIRS_IN_TROUBLE,
  every: 1,
  async strike(client, goOn) {
    goOn()
    for (let i = 0; i < 5; i++) {
      await stop(client)
      await sleep(100)
      client.child.kill('SIGCONT')
      await sleep(100)
    }
  },
}

interface Stormed {
  readonly ms: number
  readonly longestMs: number
  readonly harm: string[]
}

/** @param strike  called when half of the pairs are loaded */
async function storm(
  java: JavaProcess,
  pairs: number,
  every: number,
  nth: number,
  strike: (goOn: () => void) => Promise<void> | void = (goOn) => goOn(),
): Promise<Stormed> {
  java.send(`storm ${pairs} ${THREADS} ${every}`)
  await java.line(/^half/, nth)
  await strike(() => java.send('go on'))
  const line = await java.line(/^stormed/, nth)
  const [, ms, longest, wrong, thrown] = (line.match(/\d+/g) ?? []).map(Number)
  return { ms: ms!, longestMs: longest! / 1000, harm: wrong! + thrown! === 0 ? [] : [line] }
}

const PREFIX = 'Lfix/Storm$'
const number = (n: number): string => String(n).padStart(5, '0')

interface Counted {
  /** Pairs with a method that has fewer recorded calls than real calls. */
  readonly missing: number
  /** Methods with more recorded calls than real calls. */
  readonly tooOften: readonly string[]
  /** Pairs without probes at their last calls. Their callees may get no probes in time, which is reported as a gap. */
  readonly withoutProbes: readonly string[]
}

/** Returns the counts over all pairs. */
function counted(profile: JsonProfile, { pairs, every }: Weather): Counted {
  const found = callsByMethod(profile)
  const [tooOften, withoutProbes]: [string[], string[]] = [[], []]
  let missing = 0
  for (let n = 1; n <= pairs; n++) {
    const due = n % every === 0 ? CALLS + 1 : 0
    const [derived, base] = [`fix.Storm$Derv${number(n)}`, `fix.Storm$Base${number(n)}`]
    const each = [`${derived}.of(I)I`, `${base}.of(I)I`, `${base}.helped(I)I`, `${base}.inherited(I)I`]
    const calls = each.map((name) => found.get(name) ?? 0)
    if (calls.some((it) => it > due)) tooOften.push(`pair ${n} has ${calls} calls, not ${due}`)
    if (calls[0]! < Math.min(1, due))
      withoutProbes.push(`pair ${n} was called once more in the end, and not counted`)
    if (calls.some((it) => it < due)) missing++
  }
  return { missing, tooOften: few(tooOften), withoutProbes: few(withoutProbes) }
}

const few = (said: string[]): string[] =>
  said.length > 10 ? [...said.slice(0, 10), `${said.length} such`] : said

/** Returns the pairs without probes. A class may be redefined while it is read: then it is read again. */
async function withoutProbes(
  jvm: JdwpTarget,
  classes: string,
  methods: readonly string[],
): Promise<string[]> {
  try {
    const there = new Set(probed(await liveCode(jvm, classes)))
    return methods.filter((it) => !there.has(it))
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return [...methods]
    throw problem
  }
}

/**
 * Pairs without probes during the storm get them later. Waits for this while the session lasts. Checks all pairs until all have
 * probes, and in between only the first pair without probes.
 *
 * @returns pairs without probes at the end of the wait
 */
async function afterwards(jvm: JdwpTarget, client: JavaProcess, { pairs }: Weather): Promise<string[]> {
  const begun = performance.now()
  const isOver = () => client.child.exitCode !== null || performance.now() - begun > AFTERWARDS_MS
  const all = Array.from({ length: pairs }, (_, i) => `${PREFIX}Derv${number(i + 1)};.of(I)I`)
  let missing = await withoutProbes(jvm, `${PREFIX}Derv`, all)
  while (missing.length > 0 && !isOver()) {
    const [first] = missing as [string]
    const itsClass = first.slice(0, first.indexOf('.'))
    await until(async () => (await withoutProbes(jvm, itsClass, [first])).length === 0 || isOver())
    missing = await withoutProbes(jvm, `${PREFIX}Derv`, missing)
  }
  return client.child.exitCode === null ? missing : []
}

forNewestJdk((jdk) => {
  /** @returns whether the session continued until the client was asked to end it */
  async function stormed(
    scheme: string,
    weather: Weather,
    alone: Stormed,
  ): Promise<{ lasted: boolean; outcome: Outcome }> {
    const { java, jvm } = await start()
    const file = join(temporaryDirectory('jfluid-profile-'), 'p.jfluid')
    const roots = ['--root', 'fix.Storm.use', '--root', 'fix.Storm.again']
    const options = ['--duration', '20m', '--out', file, '--scheme', scheme, ...roots]
    const client = startProcess(process.execPath, [cli, 'record', String(java.pid), ...options], {
      env: { NODE_OPTIONS: `--require ${hanging}` },
    })
    await stderrLine(client, /recording/)
    const { ms, longestMs, harm } = await storm(java, weather.pairs, weather.every, 1, (goOn) =>
      weather.strike(client, goOn),
    )
    const missing = await afterwards(jvm, client, weather)
    java.send('again')
    expect(await java.line(/^again/)).toBe(`again ${weather.pairs / weather.every} wrong 0`)
    client.child.kill('SIGINT')
    const { code } = await client.exit
    const lasted = code !== STATUS.notNow || weather === CALM // on a busy machine the disturbance may end the session
    const wrong = lasted && code !== 0 ? [`the client ended with ${code}, saying:\n${client.stderr()}`] : []
    const profile = existsSync(file) ? await readProfileJson(file) : null
    if (profile !== null) wrong.push(...wrongIn(profile, weather, lasted))
    if (lasted && missing.length > 0)
      wrong.push(`${missing.length} classes had no probes ${AFTERWARDS_MS} ms later: ${few(missing)}`)
    if (longestMs > alone.longestMs + PAIR_MS) harm.push(`a class was there after ${longestMs.toFixed(0)} ms`)
    const left: string[] = []
    await until(async () => !(await threadNames(java.pid)).some((name) => /jfluid/.test(name)))
    const probes = probed(await liveCode(jvm, PREFIX))
    if (probes.length > 0) left.push(`probes in ${few(probes)}`)
    if ((profile?.detach?.refusedClasses ?? 0) > 0) left.push(`${profile!.detach!.refusedClasses} classes`)
    java.send('again')
    expect(await java.line(/^again/, 2)).toBe(`again ${weather.pairs / weather.every} wrong 0`)
    harm.push(...(await storm(java, 10, 1, 2)).harm)
    const said = java.stderr().replaceAll(/^WARNING: .*\n/gm, '')
    if (said !== '') harm.push(`it said: ${said}`)
    await jvm.dispose()
    await java.kill()
    const outcome: Outcome = {
      harm,
      wrong,
      profile: profile === null ? 'lost' : 'kept',
      left,
      ms: {
        'the storm': ms,
        'one class': longestMs,
        'the storm without us': alone.ms,
        'one class without us': alone.longestMs,
      },
    }
    return { lasted, outcome }
  }

  /** Returns the errors of the profile. */
  function wrongIn(profile: JsonProfile, weather: Weather, lasted: boolean): string[] {
    const { gaps, healed } = profile.instrumentation
    const { missing, tooOften, withoutProbes } = counted(profile, weather)
    const used = Math.max(0, ...profile.merged.filter((it) => it.method === 'use').map((it) => it.calls))
    const wrong = [...tooOften]
    // The disturbance of the client begins after half of the storm, so calls must have been recorded.
    if (used === 0) wrong.push('no class of the storm is in it')
    if (!lasted) return wrong
    wrong.push(...withoutProbes)
    if (used !== weather.pairs / weather.every) wrong.push(`${used} classes were used in it`)
    if (missing > gaps) wrong.push(`${missing} pairs have calls that are missing, and ${gaps} gaps are told`)
    if (weather === HANGS && missing === 0) wrong.push('no class has outrun a client that hung')
    if (healed > 0) wrong.push(`${healed} exits were healed`)
    if (weather === CALM && gaps > 0)
      console.info(`JDK ${jdk.version}: ${gaps} gaps, ${missing} pairs outrun`)
    return wrong
  }

  /** Repeats the session until one does not end by itself. */
  async function tried(scheme: string, weather: Weather, alone: Stormed): Promise<Outcome> {
    let { lasted, outcome } = await stormed(scheme, weather, alone)
    for (let n = 1; !lasted && n < SESSIONS_A_TRIAL; n++) {
      console.info(`JDK ${jdk.version}: ${weather.what}: the session ended by itself`)
      const next = await stormed(scheme, weather, alone)
      lasted = next.lasted
      outcome = joined(next.outcome, outcome)
    }
    return lasted ? outcome : joined(outcome, { wrong: ['each session ended by itself'] })
  }

  const start = async () =>
    await startDebuggable(jdk, ['-cp', await compileFixture(jdk, 'Storm'), 'fix.Storm', String(LOADERS)])

  const trialsOf = (FULL ? ['a', 'b'] : ['b']).flatMap((scheme) =>
    (FULL ? [CALM, HANGS, STOPS] : [HANGS]).map((weather) => ({ scheme, weather, what: weather.what })),
  )
  for (const { scheme, weather, what } of trialsOf) {
    it(`${2 * weather.pairs} classes are loaded and profiled with scheme ${scheme}: ${what}`, {
      timeout: 3_600_000,
    }, async () => {
      const { java, jvm } = await start()
      const alone = await storm(java, weather.pairs, weather.every, 1)
      expect(alone.harm).toEqual([])
      await jvm.dispose()
      await java.kill()
      await trials(
        `${2 * weather.pairs} classes in a storm, scheme ${scheme.toUpperCase()}: ${what}`,
        jdk,
        times(1, weather === CALM ? 2 : 5),
        () => tried(scheme, weather, alone),
      )
    })
  }
})
