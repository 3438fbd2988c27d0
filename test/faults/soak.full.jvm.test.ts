// Long use of one JVM: a thousand sessions, and a session of an hour. The resources of JVM and client do not grow, except
// for lambda classes of redefined methods, which HotSpot never unloads: these are counted.
//
//   JFLUID_SOAK_CYCLES=1000 JFLUID_SOAK_MINUTES=60 npx vitest run test/faults/soak.full.jvm.test.ts
//
// test/live/lifecycle-repeat.jvm.test.ts has 25 sessions of other kinds, each with checks.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { compileShop } from '../fixtures/fixtures.ts'
import { added, descriptors, filesOf, mappedFiles, threadNames } from '../live/remains.ts'
import { type JavaProcess, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { readProfileJson, startJfluid, stderrLine, sumsAreExact } from '../support/jfluid.ts'
import { type Footprint, footprint, moreClasses, moreObjects, residentKib } from './footprint.ts'
import { isBelow, Throughput } from './throughput.ts'
import { keepRow, section, trials } from './trials.ts'
import { Witness } from './witness.ts'

const CYCLES = Number(process.env.JFLUID_SOAK_CYCLES ?? 1000)
const MINUTES = Number(process.env.JFLUID_SOAK_MINUTES ?? 60)
/** Heap of a lambda class that stays loaded: 1.5 times the measured size. */
const KIB_OF_LAMBDA = 0.6
/**
 * Returns the memory in KiB that the JVM does not free for a redefined class and its lambda class: 1.5 times the measured size. On JDK 17
 * this memory grows with the number of redefinitions. It is also not freed if another agent redefines the class with its own bytes
 * repeatedly.
 */
const kibOfRedefinition = (jdk: Jdk): number => (jdk.version < 25 ? 90 : 7.5)
/** koffi keeps about 50 KiB for each worker thread that has loaded it. */
const KIB_OF_WORKER = 80
/** Objects with which a collector fills gaps of the heap (JDK 25). */
const FILLER = '[Ljdk.internal.vm.FillerElement;'
/** Classes of the objects that the shop itself keeps for each order. */
const JOURNAL = ['[J', 'java.lang.Integer', 'java.util.HashMap$Node', '[Ljava.util.HashMap$Node;']
/** Minimum share of the earlier throughput, or of the throughput of an untouched JVM if that is lower. BACK_MS: time for the compilers. */
const GOAL = 0.97
const BACK_MS = 60_000
/** Starts a witness with one thread. Two threads could both create a lambda's class, of which one is discarded and stays loaded. */
const start = (jdk: Jdk) => Witness.start(jdk, { threads: 1, rest: 2, vm: ['-Xmx256m'] })
/**
 * Number of versions of each class that stay loaded: the current version, and one more if a method has been running since before the first
 * session, as `main` and the loop of the thread. Other versions are purged, but only when no compiled code of them is left. JDK 17 sweeps
 * compiled code when enough of all code has changed (SweeperThreshold, 0.5 % of the code cache), which takes about fifty sessions; with a
 * hundredth of this threshold, no old version was left. JDK 25 has no sweeper: each collection frees compiled code.
 */
const VERSIONS = {
  'fix.Witness': 2,
  'fix.Witness$1': 1,
  'fix.Witness$2': 1,
  'fix.Witness$Awake': 1,
  'fix.Witness$Step': 1,
  'fix.Witness$Worker': 2,
}
/** Maximum number of further sessions until the sweeper has run. */
const SWEPT = 250

const versionsOf = ({ classes }: Footprint): Record<string, number> =>
  Object.fromEntries(
    [...classes].filter(([name]) => name.startsWith('fix.') && name !== 'fix.Witness$$Lambda').sort(),
  )

/** Runs further sessions until the JVM has swept and purged old versions, or SWEPT sessions. Returns the last measurement. */
async function purged(
  witness: Witness,
  client: Client,
): Promise<{ readonly after: Footprint; readonly last: ClientMemory; readonly sessions: number }> {
  const isPurged = (it: Footprint) => isDeepStrictEqual(versionsOf(it), VERSIONS)
  const countOf = (it: Footprint) => Object.values(versionsOf(it)).reduce((sum, count) => sum + count, 0)
  let last = await client.sessions(0)
  let after = await footprint(witness.pid)
  for (let sessions = 0; ; sessions++) {
    const before = countOf(after)
    for (after = await footprint(witness.pid); countOf(after) < before && !isPurged(after); ) {
      // The sweeper is running: code that it frees in this round is purged by the collection after the next.
      await sleep(500)
      const now = await footprint(witness.pid)
      if (countOf(now) === countOf(after)) break
      after = now
    }
    if (isPurged(after) || sessions === SWEPT) return { after, last, sessions }
    last = await client.sessions(1)
  }
}

/** Number of measurements. */
const LOOKS = 20

interface ClientMemory {
  readonly sessions: number
  readonly withoutCalls: number
  readonly longestDetachMs: number
  /** Number of lambda classes that the last detach has counted. */
  readonly lambdaClasses: number
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
  readonly arrayBuffers: number
  readonly descriptors: number
}

/** Open descriptors, mapped files and threads of a JVM. */
interface Around {
  readonly threads: readonly string[]
  readonly descriptors: readonly string[]
  readonly mapped: readonly string[]
}

/** Threads for the shop's own requests, which start and end with the requests. */
const POOLED = /^HttpClient-\d+-Worker-\d+$/

/** Names of jfluid's files. The agent's jar stays open, like the jar of any agent (docs/target.md). */
const OURS = /jfluid-(?!agent\.jar$)/

/** The connection of the latest request to the JVM may still be open for a moment. */
const ATTACHED = 'socket'

async function around(pid: number): Promise<Around> {
  const threads = await threadNames(pid)
  return { threads, descriptors: descriptors(pid), mapped: mappedFiles(pid) }
}

/** A program that attaches repeatedly, from one process. */
class Client {
  readonly process: JavaProcess
  #answers = 0

  constructor(pid: number, root: string) {
    const program = join(import.meta.dirname, 'soak-client.mjs')
    this.process = startProcess(process.execPath, ['--expose-gc', program, `${pid}`, root])
  }

  async sessions(count: number): Promise<ClientMemory> {
    this.process.send(`${count}`)
    return JSON.parse(await this.process.line(/^\{/, ++this.#answers)) as ClientMemory
  }
}

const mib = (kib: number): string => `${(kib / 1024).toFixed(1)} MiB`
const told = (name: string, it: Footprint): string =>
  `${name}: heap ${mib(it.heapKib)}, metaspace ${mib(it.metaspaceKib)}, code ${mib(it.codeKib)}, ` +
  `resident ${mib(it.residentKib)}, ${it.classes.size} names of classes`

forEachJdk((jdk) => {
  describe(`${CYCLES} sessions on one JVM`, () => {
    it('many sessions leave only lambda classes of redefined methods behind', {
      timeout: 7_200_000,
    }, async () => {
      const [witness, control, other] = [await start(jdk), await start(jdk), await start(jdk)]
      const throughput = await Throughput.before(witness, control, other)
      for (const it of [control, other]) it.java.child.kill('SIGSTOP') // they would use processors that the sessions need
      await witness.settle()
      const client = new Client(witness.pid, 'fix.Witness.root')
      await client.sessions(2)
      const before = await footprint(witness.pid)
      const first = await client.sessions(0)
      const looks: {
        readonly sessions: number
        readonly client: ClientMemory
        readonly target: Footprint
      }[] = []
      const every = Math.max(1, Math.floor(CYCLES / LOOKS))
      await trials('attached and detached on one JVM', jdk, CYCLES, async (_, n) => {
        const memory = await client.sessions(1)
        const { harm, longest } = await witness.harm()
        if ((n + 1) % every === 0) {
          looks.push({ sessions: n + 1, client: memory, target: await footprint(witness.pid) })
          console.info(
            `JDK ${jdk.version}: ${told(`${n + 1} sessions`, looks.at(-1)!.target)}, client resident ` +
              `${mib(memory.rss / 1024)}, heap ${mib(memory.heapUsed / 1024)}, buffers ${mib(memory.arrayBuffers / 1024)}`,
          )
        }
        return {
          harm,
          profile: memory.withoutCalls > 0 ? 'lost' : 'kept',
          left: await witness.left(),
          ms: { 'stood still': longest, detach: memory.longestDetachMs },
        }
      })
      await witness.ownCode()
      for (const it of [control, other]) it.java.child.kill('SIGCONT')
      await throughput.until(GOAL, BACK_MS)
      const now = await throughput.now()
      await control.end()
      await other.end()
      const purge = await purged(witness, client)
      const { after, last } = purge
      console.info(`JDK ${jdk.version}: old versions were purged after ${purge.sessions} sessions more`)
      console.info(`JDK ${jdk.version}: ${told('before', before)}\n${told('after', after)}`)
      console.info(moreClasses(before, after))

      await trials(`what they leave of it`, jdk, 1, async () => ({
        harm: isBelow(GOAL, now) ? [`its throughput is ${now.target.median} of what it was`] : [],
        profile: 'none',
        left: null,
        figures: {
          throughput: [Number((100 * now.target.median).toFixed(1)), '%'],
          "another's": [Number((100 * now.other.median).toFixed(1)), '%'],
          'live objects': [Number(((after.heapKib - before.heapKib) / 1024).toFixed(1)), 'MiB more'],
          metaspace: [Number(((after.metaspaceKib - before.metaspaceKib) / 1024).toFixed(1)), 'MiB more'],
          'code cache': [Number(((after.codeKib - before.codeKib) / 1024).toFixed(1)), 'MiB more'],
          'the client, resident': [Number(((last.rss - first.rss) / 2 ** 20).toFixed(1)), 'MiB more'],
        },
      }))

      // The only lambda is linked again each time its class is redefined: with probes, and with its original code. On a busy machine, a
      // method that is found later than the others needs one more redefinition. The last detach has counted all lambda classes.
      expect(versionsOf(after)).toEqual(VERSIONS)
      const more = moreClasses(before, after).filter(([, count]) => count > 0)
      expect(after.classes.get('fix.Witness$$Lambda')).toBe(last.lambdaClasses + 1)
      const lambdas = new Map(more).get('fix.Witness$$Lambda')!
      const cycles = CYCLES + purge.sessions
      expect(lambdas).toBeGreaterThanOrEqual(2 * cycles)
      expect(lambdas).toBeLessThan(2.05 * cycles)
      expect(more.filter(([name]) => /jfluid/i.test(name))).toEqual([])
      // The JVM creates some more of its own call forms.
      const others = more.filter(([name]) => !/jfluid|^fix\./i.test(name))
      expect(others.reduce((sum, [, count]) => sum + count, 0)).toBeLessThan(64)
      expect(after.heapKib - before.heapKib).toBeLessThan(KIB_OF_LAMBDA * lambdas + 512)
      expect(after.metaspaceKib - before.metaspaceKib).toBeLessThan(kibOfRedefinition(jdk) * lambdas + 1024)
      expect(after.codeKib - before.codeKib).toBeLessThan(6 * 1024)
      expect(last.descriptors).toBe(first.descriptors)
      expect(last.heapUsed - first.heapUsed).toBeLessThan(6 * 2 ** 20)
      expect(last.arrayBuffers).toBeLessThan(32 * 2 ** 20)
      expect(last.rss - first.rss).toBeLessThan(KIB_OF_WORKER * 1024 * CYCLES + 64 * 2 ** 20)
      await witness.end()
    })
  })

  describe(`a recording of ${MINUTES} minutes of a busy shop service`, () => {
    it('a long recording uses the same memory at its end as at its start', {
      timeout: MINUTES * 60_000 + 600_000,
    }, async () => {
      const row = {
        section: section(),
        fault: `${MINUTES} minutes of a shop that serves`,
        jdk: jdk.full,
        tried: 1,
      }
      const none = {
        harmed: 0,
        wrong: 0,
        profilesDue: 0,
        profilesKept: 0,
        leftBehind: null,
        ms: {},
        figures: {},
      }
      // Takes longer than the timeout of a trial. A failed check throws.
      const found = await hour().catch((problem: unknown) => {
        keepRow({ ...row, ...none, failed: 1 })
        throw problem
      })
      const figures = Object.fromEntries(
        Object.entries(found).map(([name, it]) => [name, { low: it, median: it, high: it, unit: '' }]),
      )
      keepRow({ ...row, ...none, failed: 0, profilesDue: 1, profilesKept: 1, leftBehind: 0, figures })
    })

    async function hour(): Promise<{ 'calls of the root': number; events: number }> {
      const java = startJava(jdk, [
        ...['-Xmx256m', '-cp', await compileShop(jdk)],
        ...['shop.Main', '--rate', '200'],
      ])
      await java.line(/shop ready/)
      const file = join(temporaryDirectory(), 'hour.jfluid')
      const roots = ['--root', 'shop.OrderService.process', '--slow', 'p99']
      const recording = startJfluid('record', `${java.pid}`, '--duration', '24h', '--out', file, ...roots)
      await stderrLine(recording, /recording/)
      const client = recording.pid
      const looks: {
        readonly client: number
        readonly descriptors: number
        readonly target: Footprint
        readonly around: Around
      }[] = []
      for (let minute = 0; minute < MINUTES; minute++) {
        await sleep(60_000)
        looks.push({
          client: residentKib(client),
          descriptors: readdirSync(`/proc/${client}/fd`).length,
          target: await footprint(java.pid),
          around: await around(java.pid),
        })
        const { target, client: resident, around: there } = looks.at(-1)!
        console.info(
          `JDK ${jdk.version}: ${told(`${minute + 1} min`, target)}, client resident ${mib(resident)}, ` +
            `${there.threads.length} threads, ${there.descriptors.length} descriptors, ${there.mapped.length} mapped files`,
        )
      }
      recording.child.kill('SIGINT')
      expect((await recording.exit).code).toBe(0)
      const profile = await readProfileJson(file)
      console.info(moreObjects(looks[Math.min(9, MINUTES - 1)]!.target, looks.at(-1)!.target, 4096))
      expect(sumsAreExact(profile.merged)).toBe(true)
      const { gaps, healed } = profile.instrumentation
      const calls = profile.rootCalls?.count ?? 0
      console.info(
        `JDK ${jdk.version}: ${calls} calls of the root, ${profile.events.count} events, gaps ${gaps}, healed ${healed}`,
      )
      console.info(profile.warnings)
      // The first minutes are left out: code is compiled then, and the client's caches grow to their limits.
      const [from, to] = [looks[Math.floor(MINUTES / 4)]!, looks.at(-1)!]
      const grown = moreObjects(from.target, to.target, 64 * 1024).map(([name]) => name)
      expect(grown.filter((name) => !JOURNAL.includes(name) && name !== FILLER)).toEqual([])
      expect(to.target.metaspaceKib - from.target.metaspaceKib).toBeLessThan(512)
      expect(to.target.codeKib - from.target.codeKib).toBeLessThan(2048)
      expect(to.descriptors).toBe(from.descriptors)
      expect(added(from.around.threads, to.around.threads).filter((it) => !POOLED.test(it))).toEqual([])
      expect(added(from.around.mapped, to.around.mapped)).toEqual([])
      expect(added(from.around.descriptors, to.around.descriptors).filter((it) => it !== ATTACHED)).toEqual(
        [],
      )
      expect(to.client).toBeLessThan(from.client * 1.25 + 16 * 1024)
      expect(calls).toBeGreaterThan(MINUTES * 60 * 20)
      const after = await around(java.pid)
      expect([...after.threads, ...after.descriptors, ...after.mapped].filter((it) => OURS.test(it))).toEqual(
        [],
      )
      expect(filesOf(java.pid, client).filter((it) => !it.endsWith(`.java_pid${java.pid}`))).toEqual([])
      return { 'calls of the root': calls, events: profile.events.count }
    }
  })
})
