// Methods that javac does not write (test/fixtures/odd.ts), in a JVM that verifies all classes: they are counted exactly, or the reason why
// they have no probes is reported. The program counts its own calls.

import { beforeAll, describe, expect, it } from 'vitest'
import { EX_UNAVAILABLE } from '../../src/base/errors.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileOdd, LIES } from '../fixtures/odd.ts'
import { ask, type JavaProcess, startJava } from '../support/java-process.ts'
import { forOldestJdk } from '../support/jdks.ts'
import { callsByMethod, type JsonProfile, lines, startRecording } from '../support/jfluid.ts'

const VERIFY = ['-XX:+UnlockDiagnosticVMOptions', '-XX:+BytecodeVerificationLocal', '-Xverify:all']
const RUNS = 40

/** Methods that cannot have probes, with the reason. */
const REFUSED: Readonly<Record<string, string>> = {
  'odd.FullPool.run(I)I': 'no room in the constant pool',
  'odd.Longest.run(I)I': 'would exceed 65535 bytes',
  'odd.AlmostHuge.run(I)I': 'would exceed 8000 bytes: HotSpot never compiles larger methods',
}

/** Returns the calls so far as the program counts them, keyed by method. Methods with many parameters have no descriptor. */
async function countsOf(java: JavaProcess): Promise<Map<string, number>> {
  const before = java.stdout().length
  await ask(java, 'counts', /^end$/)
  const rows = [
    ...java
      .stdout()
      .slice(before)
      .matchAll(/^(odd\.\S+) (\d+)$/gm),
  ]
  return new Map(rows.map(([, method, calls]) => [method!, Number(calls)]))
}

/** Removes the parameters of the methods that have 255. */
const named = (method: string) => method.replace(/^(odd\.Arguments\.\w+)\(.*/, '$1')

function counted(profile: JsonProfile, among: ReadonlyMap<string, number>): Map<string, number> {
  const all = [...callsByMethod(profile)].map(([method, calls]) => [named(method), calls] as const)
  return new Map(all.filter(([method]) => among.has(method)))
}

forOldestJdk((jdk) => {
  describe(`odd code on JDK ${jdk.version}`, () => {
    let java: JavaProcess
    beforeAll(async () => {
      java = startJava(jdk, [...VERIFY, '-cp', await compileOdd(jdk), 'odd.Main'])
      await java.line(/^ready/)
    })

    /** Records calls of the program. Returns the profile, the calls according to the program, and the sums that it has printed. */
    async function recorded(...options: string[]) {
      const expected = await ask(java, `run ${RUNS}`, /^done/)
      const before = await countsOf(java)
      const recording = startRecording(java.pid, '--yes', ...options)
      await recording.started
      const sum = await ask(java, `run ${RUNS}`, /^done/)
      const after = await countsOf(java)
      const profile = await recording.stop()
      expect(sum).toBe(expected)
      expect(await ask(java, `run ${RUNS}`, /^done/)).toBe(expected)
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      expect(profile.detach).toMatchObject({ left: [], refusedClasses: 0, code: { different: [] } })
      expect(java.stderr()).not.toMatch(/Exception|Error/)
      const calls = [...after].map(([method, n]) => [method, n - before.get(method)!] as const)
      return { profile, calls: new Map(calls) }
    }

    const refusals = ({ instrumentation: { skipped } }: JsonProfile) =>
      Object.fromEntries(skipped.map(({ method, reason }) => [method, reason]))

    it.each(['a', 'b'])(
      'scheme %s counts odd methods exactly, and reports the methods without probes',
      async (scheme) => {
        const { profile, calls } = await recorded('--root', 'odd.Main.root', '--scheme', scheme)
        for (const method of Object.keys(REFUSED)) calls.delete(method)
        expect(lines(counted(profile, calls))).toEqual(lines(calls))
        expect(refusals(profile)).toEqual(REFUSED)
      },
    )

    it('scheme adaptive counts timed odd methods exactly', async () => {
      const before = await countsOf(java)
      const timed = [...before.keys()].filter((it) => !(it in REFUSED) && !it.startsWith('odd.Main'))
      const times = timed.flatMap((it) => ['--time', it.replace(/\(.*/, '')])
      const { profile, calls } = await recorded('--root', 'odd.Main.root', '--scheme', 'adaptive', ...times)
      for (const method of Object.keys(REFUSED)) calls.delete(method)
      expect(lines(counted(profile, calls))).toEqual(lines(calls))
    })

    it('odd methods are roots, and --by reads the last of 255 arguments', async () => {
      const names = ['Subroutines', 'Finally', 'WithoutFrames', 'WrongFrames', 'Long', 'Constants', 'Lies']
      const roots = [
        ...names.map((it) => `odd.${it}.run`),
        'odd.Arguments.many',
        'odd.Arguments.wide',
        'odd.Arguments.member',
      ]
      const options = ['--scheme', 'b', '--by', 'arg254', ...roots.flatMap((it) => ['--root', it])]
      const { profile, calls } = await recorded(...options)
      const expected = new Map([...calls].filter(([method]) => roots.includes(method.replace(/\(.*/, ''))))
      expect(lines(counted(profile, expected))).toEqual(lines(expected))
      const many = profile.merged.find((it) => it.method === 'many')!
      expect(Object.fromEntries(many.children.map((it) => [it.method, it.calls]))).toEqual({
        'by=even': RUNS / 2,
        'by=odd': RUNS / 2,
      })
    })

    it('regions are timed in odd methods, also by lines that are in no order', async () => {
      const places = [
        'Lies.run:65535',
        `Lies.run:${LIES.done}`,
        'Subroutines.run',
        'Finally.run',
        'Arguments.wide',
        'Arguments.member',
      ]
      const { profile, calls } = await recorded(...places.flatMap((it) => ['--region', `odd.${it}`]))
      // Calls i = 1 to RUNS of `Lies` execute their loop i & 3 times.
      const rounds = Array.from({ length: RUNS }, (_, i) => (i + 1) & 3).reduce((a, b) => a + b, 0)
      const all = new Map([...calls].map(([method, n]) => [method.replace(/\(.*/, ''), n]))
      const expected = places.map((it) =>
        it.endsWith('65535') ? rounds : all.get(`odd.${it.replace(/:.*/, '')}`),
      )
      expect(profile.regions!.map((it) => it.count)).toEqual(expected)
    })

    it.each(Object.entries(REFUSED))(
      'a root that cannot have probes is refused: %s',
      async (method, reason) => {
        const root = method.replace(/\(.*/, '')
        const door = await attachDoor(java.pid)
        const started = Session.start(door, sessionOptions({ root: [root], scheme: 'b' }))
        await expect(started).rejects.toMatchObject({
          message: `root '${root}' could not be instrumented: ${root}(int): ${reason}`,
          hint: 'Name another method, for example a caller of this one.',
          exitCode: EX_UNAVAILABLE,
        })
      },
    )
  })
})
