// Values of root calls (--by, --show) in a program whose requests have fields and getters: rows of --by and their calls, on platform
// threads and on virtual threads, and getters that throw, take long, wait, or call the root.

import { beforeAll, describe, expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { granted } from '../../src/jdwp-client/index.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestTarget } from '../support/jdks.ts'
import {
  AUTOSAVED,
  callsByPath,
  type JsonNode,
  type JsonProfile,
  recordedSoFar,
  startRecording,
  sumsAreExact,
} from '../support/jfluid.ts'
import { itInFull, itOnlyIf } from '../support/only-if.ts'
import { startDebuggable } from './live-code.ts'
import { liveObjects, ownThreads, until } from './remains.ts'

const HANDLE = 'fix.Endpoints.handle'
const BATCH = 'fix.Endpoints.batch'
const WORK = ';fix.Endpoints.work(I)I'
const URIS = ['/orders', '/orders/search', '/users', '/health']
const VERIFY = ['-XX:+UnlockDiagnosticVMOptions', '-XX:+BytecodeVerificationLocal', '-Xverify:all']
/** Calls of a round. */
const CALLS = 20
const ATTACHES = 20

/** Sends a line and waits for its answer. */
async function ask(java: JavaProcess, line: string, answer = /^done/): Promise<string> {
  const at = java.stdout().length
  java.send(line)
  const find = () =>
    java
      .stdout()
      .slice(at)
      .split('\n')
      .find((it) => answer.test(it))
  while (find() === undefined) await new Promise((resolve) => java.child.stdout!.once('data', resolve))
  return find()!
}

const NOT_YET = '(not read yet)'

/** Returns whether a value of --by or --show was read. */
function hasValues({ merged, slowCalls }: JsonProfile): boolean {
  const rows = merged.flatMap(({ children }) => children).filter(({ method }) => method.startsWith('by='))
  const shown = slowCalls?.slowest.flatMap(({ values }) => values ?? []) ?? []
  return rows.some(({ method }) => method !== `by=${NOT_YET}`) || shown.some((it) => it?.startsWith('/'))
}

/** Returns the calls of the rows of values directly below a root, keyed by the value. */
function byRows(profile: JsonProfile, root: string): Map<string, number> {
  const rows = new Map<string, number>()
  for (const node of profile.merged.filter((it) => `${it.class}.${it.method}` === root)) {
    for (const child of node.children) {
      if (!child.method.startsWith('by=')) throw new Error(`${child.method} is directly below ${root}`)
      rows.set(child.method.slice(3), child.calls)
    }
  }
  return rows
}

function rootOf(profile: JsonProfile, root: string): JsonNode {
  return profile.merged.find((it) => `${it.class}.${it.method}` === root)!
}

forNewestTarget((jdk) => {
  describe(`values on JDK ${jdk.version}`, () => {
    let classes: string
    beforeAll(async () => {
      classes = await compileFixture(jdk, 'Endpoints')
    })

    /**
     * Records root calls of the program with these options, until the profile has values. The first calls are made before the values can be
     * read.
     */
    async function recorded(command: string, ...options: string[]): Promise<JsonProfile & { calls: number }> {
      const java = startJava(jdk, [...VERIFY, '-cp', classes, 'fix.Endpoints'])
      await java.line(/^ready/)
      const recording = startRecording(java.pid, '--scheme', 'b', '--yes', ...options, ...AUTOSAVED)
      await recording.started
      let calls = 0
      const round = async () => {
        await ask(java, `${command} ${CALLS}`)
        calls += command === 'virtual' ? CALLS : 2 * CALLS
        if (options.includes('--show')) await ask(java, 'asleep')
      }
      let isRead = false
      const reading = recordedSoFar(recording, hasValues).finally(() => {
        isRead = true
      })
      while (!isRead) await round()
      await reading
      await round()
      const profile = await recording.stop()
      await ask(java, 'serve 1')
      java.send('quit')
      expect(await java.exit).toMatchObject({ code: 0 })
      expect(java.stderr()).not.toMatch(/Exception|Error/)
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      return { ...profile, calls }
    }

    /** Checks that each URI has the same number of calls, except calls before the values could be read, which have a row of their own. */
    function expectRows(
      profile: JsonProfile & { calls: number },
      root: string,
      names: readonly string[] = URIS,
    ) {
      const { calls } = profile
      const rows = byRows(profile, root)
      const isRead = (value: string) => !/^\((not read(able| yet)|switched off)\)$/.test(value)
      const notRead = [...rows].reduce((sum, [value, n]) => (isRead(value) ? sum : sum + n), 0)
      const read = [...rows.keys()].filter(isRead).sort()
      expect(read.filter((it) => !names.includes(it))).toEqual([])
      // On a busy machine a getter may twice take longer than 1 ms, and is then switched off.
      if (!rows.has('(switched off)')) expect(read).toEqual([...names].sort())
      for (const name of names) {
        expect(rows.get(name) ?? 0).toBeLessThanOrEqual(calls / names.length)
        expect(rows.get(name) ?? 0).toBeGreaterThanOrEqual(calls / names.length - notRead)
      }
      expect([...rows.values()].reduce((a, b) => a + b, 0)).toBe(calls)
      expect(rootOf(profile, root).calls).toBe(calls)
      // All time of the root is below its values.
      expect(rootOf(profile, root).selfNs).toBeLessThan(0.05 * rootOf(profile, root).totalNs + calls)
      expect(sumsAreExact(profile.merged)).toBe(true)
    }

    it('--by divides calls in platform threads by a field, and calls inside a root call have no row', async () => {
      const profile = await recorded('serve', '--root', HANDLE, '--by', 'arg0.uri')
      expectRows(profile, HANDLE)
      const inner = [...callsByPath(profile.merged)].filter(([path]) => path.match(/handle/g)?.length === 2)
      expect(inner.filter(([path]) => path.includes('by=/inside'))).toEqual([])
      const calls = inner.filter(([path]) => path.endsWith(WORK)).reduce((sum, [, n]) => sum + n, 0)
      expect(calls).toBe(profile.calls / 4)
    })

    itInFull('--by divides a static root by a getter of an argument behind a long and a double', async () => {
      const profile = await recorded('serve', '--root', BATCH, '--by', 'arg2.getURI()')
      expectRows(profile, BATCH)
    })

    it('--by divides by an inherited getter of a number', async () => {
      const profile = await recorded('serve', '--root', BATCH, '--by', 'arg2.getTenant()')
      const rows = byRows(profile, BATCH)
      expect([...rows.keys()].filter((it) => it !== NOT_YET).sort()).toEqual(['0', '1', '2'])
    })

    itInFull('--call-getters calls a default method and a method that runs code', async () => {
      const upper = await recorded('serve', '--root', BATCH, '--by', 'arg2.upper()', '--call-getters')
      expectRows(
        upper,
        BATCH,
        URIS.map((it) => it.toUpperCase()),
      )
      const label = await recorded('serve', '--root', BATCH, '--by', 'arg2.label()', '--call-getters')
      expectRows(label, BATCH, ['the request'])
    })

    itOnlyIf(jdk.version >= 21, 'virtual threads need JDK 21')(
      '--by divides calls in virtual threads, one thread per call',
      async () => {
        const profile = await recorded('virtual', '--root', HANDLE, '--by', 'arg0.uri')
        expectRows(profile, HANDLE)
      },
    )

    itInFull(
      'a getter that throws or that calls the root has no effect on the calls of the program',
      async () => {
        const fails = await recorded('serve', '--root', BATCH, '--by', 'arg2.fails()', '--call-getters')
        expect(rootOf(fails, BATCH).calls).toBe(fails.calls)
        const again = await recorded('serve', '--root', HANDLE, '--by', 'arg0.again()', '--call-getters')
        expectRows(again, HANDLE)
      },
    )

    it('a getter that takes 100 ms is not called again, and its time is not in the times of the root', async () => {
      const profile = await recorded('serve', '--root', BATCH, '--by', 'arg2.slow()', '--call-getters')
      expect(profile.warnings.join('\n')).toMatch(/slow\(\) took \d+(\.\d+)? ms and is not called again/)
      expect(rootOf(profile, BATCH).calls).toBe(profile.calls)
      // The second call is the last. Both threads may be in their first and in their second call at the same time.
      const read = URIS.reduce((sum, uri) => sum + (byRows(profile, BATCH).get(uri) ?? 0), 0)
      expect(read).toBeGreaterThanOrEqual(2)
      expect(read).toBeLessThanOrEqual(4)
      const called = rootOf(profile, BATCH).children.filter(({ method }) => URIS.includes(method.slice(3)))
      expect(called.reduce((sum, { totalNs }) => sum + totalNs, 0)).toBeLessThan(read * 100e6)
    })

    itInFull('--show keeps arguments, the result and the exception of slow calls', async () => {
      const shows = ['arg0.uri', 'arg0.getTenant()', 'return', 'thrown'].flatMap((it) => ['--show', it])
      const profile = await recorded('serve', '--root', HANDLE, '--slow', '300ms', ...shows)
      const values = profile.slowCalls!.slowest.map((it) => it.values)
      expect(values).toContainEqual(['/asleep', '5', '/asleep', '(none)'])
    })

    it('if the client is killed while a getter waits, the program continues, and another client can attach', async () => {
      const java = startJava(jdk, [...VERIFY, '-cp', classes, 'fix.Endpoints'])
      await java.line(/^ready/)
      const options = ['--root', HANDLE, '--by', 'arg0.waits()', '--call-getters', '--scheme', 'b', '--yes']
      const recording = startRecording(java.pid, ...options)
      await recording.started
      do await ask(java, `serve ${CALLS}`)
      while ((await ask(java, 'getters', /^getters/)) === 'getters 0')
      await ask(java, 'read', /^waiting/)
      process.kill(recording.process.child.pid!, 'SIGKILL')
      await recording.process.exit
      expect(await ask(java, 'a line for the getter', /^read/)).toBe('read /waits')
      await ask(java, 'serve 1')
      const again = startRecording(java.pid, '--root', HANDLE, '--scheme', 'b', '--yes')
      await again.started
      await ask(java, `serve ${CALLS}`)
      expect(rootOf(await again.stop(), HANDLE).calls).toBe(2 * CALLS)
      java.send('quit')
      expect(await java.exit).toMatchObject({ code: 0 })
      expect(java.stderr()).not.toMatch(/Exception|Error/)
    })

    itOnlyIf(!jdk.isRuntime, 'a runtime has no debugger agent')(
      'sessions with values leave no object, and constants only once',
      { timeout: 300_000 },
      async () => {
        const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Endpoints'])
        const pools: number[] = []
        const heaps: ReadonlyMap<string, number>[] = []
        for (let i = 0; i < ATTACHES; i++) {
          const door = await attachDoor(java.pid)
          const by = { by: 'arg0.upper()', show: ['return', 'arg0.tenant'], callGetters: true }
          const session = await Session.start(door, sessionOptions({ root: [HANDLE], scheme: 'b', ...by }))
          await ask(java, `serve ${CALLS}`)
          await session.detach()
          await session.close()
          await until(() => ownThreads(java.pid).length === 0)
          const types = granted(await jvm.virtualMachine.allClasses(), 'its classes')
          const type = types.find(({ signature }) => signature === 'Lfix/Endpoints;')
          pools.push(granted(await jvm.referenceType.constantPool(type!.id), 'a constant pool').count)
          heaps.push(await liveObjects(java.pid, /JFluid1Values|fix[.]Endpoints[$]Request/))
        }
        expect(new Set(pools).size).toBe(1)
        // Constants: the empty table, and the step of classes that have no space in a table.
        const constants = ['[Ljava.lang.JFluid1Values$Step;', 'java.lang.JFluid1Values$Step']
        for (const heap of heaps) expect(heap).toEqual(new Map(constants.map((it) => [it, 1])))
        await jvm.dispose()
      },
    )
  })
}, 11)
