// A storm of classes while a session runs: many threads and loaders, each class used at once. Every class works, none is waited for
// longer than its bound, calls are counted exactly, and a class that could not be waited for gets its probes afterwards.

import { writeFileSync } from 'node:fs'
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
import { forEachJdk, newest } from '../support/jdks.ts'
import { callsByMethod, cli, type JsonProfile, readProfileJson, stderrLine } from '../support/jfluid.ts'
import { FULL, type Outcome, times, trials } from './trials.ts'
import { HELD_MS } from './witness.ts'

/** Two classes each; where the client has trouble, the storm is as long as that takes. */
const PAIRS = FULL ? 10_000 : 100
const PAIRS_IN_TROUBLE = FULL ? 500 : 100
/** One of so many is used inside the root; of those in trouble, each. */
const EVERY = 20
const THREADS = 8
const LOADERS = FULL ? 100 : 12
/** What the program does with each pair in the storm, and once more below `again`. */
const CALLS = 3
/** So long the client's main thread hangs, while its heart beats: longer than its threads wait for it, which is two seconds in all. */
const HANG_MS = 2_500

/**
 * From the load of a pair to the results of its calls, a thread waits for the client at two loads, at a call by reflection, and at first
 * calls, of which one may lead on; each time no longer than a second.
 */
const PAIR_MS = 4_000 + HELD_MS

/** If it takes longer, the calls tell. */
const AFTERWARDS_MS = 60_000

/** SIGUSR2: the client's main thread hangs. */
const HANG = `
const { isMainThread } = require('node:worker_threads')
if (isMainThread)
  process.on('SIGUSR2', () => { for (const end = Date.now() + ${HANG_MS}; Date.now() < end; ); })
`
const hanging = join(temporaryDirectory('jfluid-faults-'), 'hang.cjs')
writeFileSync(hanging, HANG)

/** What happens to the client in the middle of it. */
interface Weather {
  readonly what: string
  readonly pairs: number
  readonly every: number
  strike(client: JavaProcess): Promise<void> | void
}

const CALM: Weather = { what: 'a client that is well', pairs: PAIRS, every: EVERY, strike() {} }
const HANGS: Weather = {
  what: `the client hangs for ${HANG_MS / 1000} s`,
  pairs: PAIRS_IN_TROUBLE,
  every: 1,
  strike: (client) => {
    client.child.kill('SIGUSR2')
  },
}
const STOPS: Weather = {
  what: 'the client is stopped five times for 0.1 s',
  pairs: PAIRS_IN_TROUBLE,
  every: 1,
  async strike(client) {
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

async function storm(java: JavaProcess, pairs: number, every: number, nth: number): Promise<Stormed> {
  java.send(`storm ${pairs} ${THREADS} ${every}`)
  const line = await java.line(/^stormed/, nth)
  const [, ms, longest, wrong, thrown] = (line.match(/\d+/g) ?? []).map(Number)
  return { ms: ms!, longestMs: longest! / 1000, harm: wrong! + thrown! === 0 ? [] : [line] }
}

const number = (n: number): string => String(n).padStart(5, '0')

/** Of all pairs: those with a method that was called more often than is told. What is told too often is harm. */
function outrun(profile: JsonProfile, { pairs: all, every }: Weather): { pairs: number; harm: string[] } {
  const counted = callsByMethod(profile)
  const harm: string[] = []
  let late = 0
  for (let n = 1; n <= all; n++) {
    const due = n % every === 0 ? CALLS + 1 : 0
    const [derived, base] = [`fix.Storm$Derv${number(n)}`, `fix.Storm$Base${number(n)}`]
    const each = [`${derived}.of(I)I`, `${base}.of(I)I`, `${base}.helped(I)I`, `${base}.inherited(I)I`]
    const calls = each.map((name) => counted.get(name) ?? 0)
    if (calls.some((it) => it > due)) harm.push(`pair ${n} has ${calls} calls, not ${due}`)
    // It has probes by now, whenever it got them. What it calls may have none in time, which is told as a gap.
    if (calls[0]! < Math.min(1, due)) harm.push(`pair ${n} was called once more in the end, and not counted`)
    if (calls.some((it) => it < due)) late++
  }
  return { pairs: late, harm: harm.length > 10 ? [...harm.slice(0, 10), `${harm.length} such`] : harm }
}

/** A class that is redefined while it is read may be read half before it and half after: none then, for now. */
async function probedNow(jvm: JdwpTarget, classes: string): Promise<string[]> {
  try {
    return probed(await liveCode(jvm, classes))
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return []
    throw problem
  }
}

/** What had no probes in the storm gets them: it is waited for, where there are not too many classes to look at again and again. */
async function afterwards(jvm: JdwpTarget, { pairs }: Weather): Promise<void> {
  const isLarge = pairs > PAIRS_IN_TROUBLE
  const classes = `Lfix/Storm$Derv${isLarge ? number(pairs).slice(0, 3) : ''}`
  const due = isLarge ? pairs % 100 : pairs
  const giveUp = performance.now() + AFTERWARDS_MS
  await until(async () => {
    const methods = await probedNow(jvm, classes)
    return methods.filter((it) => it.endsWith('.of(I)I')).length >= due || performance.now() > giveUp
  })
}

forEachJdk((jdk) => {
  async function stormed(scheme: string, weather: Weather, alone: Stormed): Promise<Outcome> {
    const { java, jvm } = await start()
    const file = join(temporaryDirectory('jfluid-profile-'), 'p.jfluid')
    const roots = ['--root', 'fix.Storm.use', '--root', 'fix.Storm.again']
    const args = [
      'record',
      String(java.pid),
      '--duration',
      '20m',
      '--out',
      file,
      '--scheme',
      scheme,
      ...roots,
    ]
    const client = startProcess(process.execPath, [cli, ...args], {
      env: { NODE_OPTIONS: `--require ${hanging}` },
    })
    await stderrLine(client, /recording/)
    const storming = storm(java, weather.pairs, weather.every, 1)
    await java.line(/^half/)
    await weather.strike(client)
    const { ms, longestMs, harm } = await storming
    await afterwards(jvm, weather)
    java.send('again')
    expect(await java.line(/^again/)).toBe(`again ${weather.pairs / weather.every} wrong 0`)
    client.child.kill('SIGINT')
    const { code } = await client.exit
    const ended = code === STATUS.notNow && weather !== CALM // a busy machine may make it longer
    if (code !== 0 && !ended) harm.push(`the client ended with ${code}, saying:\n${client.stderr()}`)
    const profile = await readProfileJson(file)
    const { gaps, healed } = profile.instrumentation
    if (!ended) {
      const late = outrun(profile, weather)
      harm.push(...late.harm)
      if (late.pairs > gaps)
        harm.push(`${late.pairs} pairs have calls that are missing, and ${gaps} gaps are told`)
      if (weather === CALM && gaps > 0)
        console.info(`JDK ${jdk.version}: ${gaps} gaps, ${late.pairs} pairs outrun`)
      if (weather === HANGS && late.pairs === 0) harm.push('no class has outrun a client that hung')
      if (healed > 0) harm.push(`${healed} exits were healed`)
    }
    if (longestMs > alone.longestMs + PAIR_MS) harm.push(`a class was there after ${longestMs.toFixed(0)} ms`)
    const left: string[] = []
    await until(async () => !(await threadNames(java.pid)).some((name) => /jfluid/.test(name)))
    const probes = probed(await liveCode(jvm, 'Lfix/Storm$Derv0000'))
    if (probes.length > 0) left.push(`probes in ${probes}`)
    if ((profile.detach?.refusedClasses ?? 0) > 0) left.push(`${profile.detach!.refusedClasses} classes`)
    java.send('again')
    expect(await java.line(/^again/, 2)).toBe(`again ${weather.pairs / weather.every} wrong 0`)
    harm.push(...(await storm(java, 10, 1, 2)).harm)
    const said = java.stderr().replaceAll(/^WARNING: .*\n/gm, '')
    if (said !== '') harm.push(`it said: ${said}`)
    await jvm.dispose()
    await java.kill()
    return {
      harm,
      profile: 'kept',
      left,
      ms: {
        'the storm': ms,
        'one class': longestMs,
        'the storm without us': alone.ms,
        'one class without us': alone.longestMs,
      },
    }
  }

  const start = async () =>
    await startDebuggable(jdk, ['-cp', await compileFixture(jdk, 'Storm'), 'fix.Storm', String(LOADERS)])

  const tried = ['a', 'b'].flatMap((scheme) =>
    [CALM, HANGS, STOPS].map((weather) => ({ scheme, weather, what: weather.what })),
  )
  for (const { scheme, weather, what } of tried) {
    const isShort = jdk === newest && scheme === 'b' && weather === HANGS
    it.runIf(FULL || isShort)(
      `${2 * weather.pairs} classes, scheme ${scheme}: ${what}`,
      { timeout: 3_600_000 },
      async () => {
        const { java, jvm } = await start()
        const alone = await storm(java, weather.pairs, weather.every, 1)
        expect(alone.harm).toEqual([])
        await jvm.dispose()
        await java.kill()
        await trials(
          `${2 * weather.pairs} classes in a storm, scheme ${scheme.toUpperCase()}: ${what}`,
          jdk,
          times(1, weather === CALM ? 2 : 5),
          () => stormed(scheme, weather, alone),
        )
      },
    )
  }
})
