// All forms of a root on the command line, and the methods that each form selects.

import { beforeAll, describe, expect, it } from 'vitest'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture, compileLate } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { ask, compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import {
  callsByMethod,
  callsByPath,
  calmWarnings,
  type JsonProfile,
  lines,
  startRecording,
  stderrLine,
} from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { EARLY, LATE, LOADER_OF_A_ROOT, NAMES, watched } from './roots-programs.ts'

const OVER = 'fix.Names.over'
const DOWN = 'fix.Names$Inner$Deeper.down(I)I'
const DEEP = 'fix.Names$Inner.deep()I'

describe.each(newestOrAll)('roots on JDK $version', (jdk) => {
  let names: string
  /** A JVM for all tests without special requirements. */
  let java: JavaProcess
  beforeAll(async () => {
    names = await compileJava(jdk, { 'fix/Names.java': NAMES })
    java = startJava(jdk, ['-cp', names, 'fix.Names'])
    await java.line(/ready/)
  })

  /** Runs Names once with these roots. Returns the counts and the client's messages. */
  async function counted(
    roots: readonly string[],
    ...flags: string[]
  ): Promise<{ calls: string[]; said: string; profile: JsonProfile }> {
    const recording = startRecording(java.pid, ...roots.flatMap((it) => ['--root', it]), ...flags)
    await recording.started
    await ask(java, 'run', /^done/)
    const profile = await recording.stop()
    return { calls: lines(callsByPath(profile.merged)), said: recording.process.stderr(), profile }
  }

  it('a root name without parameters selects all overloads and reports their number', async () => {
    const { calls, said } = await counted(['Names.over'])
    // over(I) is called once from main, and twice from down, outside any other root
    expect(calls).toEqual([
      `${OVER}()I 1`,
      `${OVER}(I)I 3`,
      `${OVER}(J)J 1`,
      `${OVER}(Ljava/lang/String;[I)I 1`,
    ])
    expect(said).toMatch(/^root Names\.over: 4 methods$/m)
  })

  // Each form is tested with another method (test/reveal/patterns.test.ts tests all forms).
  it('a root name with parameters selects one overload', async () => {
    const spelled = {
      'fix.Names.over(int)': `${OVER}(I)I 3`,
      'Names.over(J)J': `${OVER}(J)J 1`,
      'Names.over()': `${OVER}()I 1`,
      'fix/Names.over(String, int[])': `${OVER}(Ljava/lang/String;[I)I 1`,
    }
    const { calls, said } = await counted(Object.keys(spelled))
    expect(calls).toEqual(Object.values(spelled).toSorted())
    for (const root of Object.keys(spelled)) expect(said).toContain(`root ${root}: 1 method\n`)
  })

  it('a root in a nested class can be written with any separator', async () => {
    const spelled = ['Names.Inner.deep', 'fix.Names$Inner.deep', 'fix/Names/Inner.deep', 'Names$Inner#deep']
    const { calls, said } = await counted(spelled)
    for (const root of spelled) expect(said).toContain(`root ${root}: 1 method\n`)
    expect(calls).toEqual([
      `${DEEP} 1`,
      `${DEEP};${DOWN} 1`,
      `${DEEP};${DOWN};${DOWN} 1`,
      `${DEEP};${DOWN};${DOWN};${DOWN} 1`,
      `${DEEP};${DOWN};${DOWN};${OVER}(I)I 1`,
      `${DEEP};${DOWN};${OVER}(I)I 1`,
    ])
  })

  it('a root that another root calls is an ordinary node and is counted once', async () => {
    const { calls, profile } = await counted(['Inner.deep', 'Deeper.down', 'Names.over(int)'])
    expect(calls).toEqual([
      `${DEEP} 1`,
      `${DEEP};${DOWN} 1`,
      `${DEEP};${DOWN};${DOWN} 1`,
      `${DEEP};${DOWN};${DOWN};${DOWN} 1`,
      `${DEEP};${DOWN};${DOWN};${OVER}(I)I 1`,
      `${DEEP};${DOWN};${OVER}(I)I 1`,
      `${OVER}(I)I 1`,
    ])
    const total = profile.merged.reduce((sum, it) => sum + it.totalNs, 0)
    const self = profile.methods.reduce((sum, it) => sum + it.selfNs, 0)
    expect(Math.abs(total - self)).toBeLessThan(1)
  })

  it('calls of a root whose class is not loaded yet are counted from the first call on', async () => {
    const { classes, a, b } = await compileLate(jdk)
    const java = startJava(jdk, ['-cp', classes, 'fix.Late', a, b])
    await java.line(/ready/)
    const recording = startRecording(java.pid, '--root', 'fix.late.Greeter.greet')
    await recording.started
    java.send('inside a')
    await java.line(/done/)
    const profile = await recording.stop()
    expect(recording.process.stderr()).toMatch(
      /^root fix\.late\.Greeter\.greet: its class is not loaded yet/m,
    )
    java.send('expect')
    await java.line(/^end/)
    const expected = [...parseExpectation(java.stdout())].filter(([it]) => /Greeter\.(greet|word)/.test(it))
    expect(lines(callsByMethod(profile))).toEqual(
      lines(new Map(expected.map(([name, calls]) => [name.replace('@late-a', ''), calls]))),
    )
  })

  itInFull.each(['a', 'b'])(
    'calls that the JVM makes to the class loader of a late root are counted from the first call of the root on, with scheme %s',
    async (scheme) => {
      const classes = await compileJava(jdk, LOADER_OF_A_ROOT)
      const java = startJava(jdk, ['-cp', classes, 'fix.Own'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.own.LateRoot.run', '--scheme', scheme)
      await recording.started
      const counted = (await ask(java, 'run', /^fix/)).split(', ')
      const profile = await recording.stop()
      expect(profile.instrumentation.gaps).toBe(0)
      const found = [...callsByMethod(profile)].filter(([name]) => /^fix\.Own\.(load|find)Class/.test(name))
      expect(lines(new Map(found.map(([name, calls]) => [name.replace(/\(.*/, ''), calls])))).toEqual(counted)
    },
  )

  itInFull(
    'a root that is already running is reported with its thread and with callees that are possible roots',
    async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Blocker'), 'fix.Blocker'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Blocker.serve')
      await recording.started
      // The method that is running is listed first. `pause` is nearly always inside the JDK, and `handle` is not.
      const callees = '(?=.*\\bfix\\.Blocker\\.handle\\b)fix\\.Blocker\\.\\w+(, fix\\.Blocker\\.\\w+)+'
      await stderrLine(
        recording.process,
        new RegExp(
          `^fix\\.Blocker\\.serve is running in thread "server" since before the attach: recording starts with its next call; methods that it calls are possible roots: ${callees}$`,
        ),
      )
      java.send('stop')
      await java.line(/stopped/)
      java.send('start')
      await java.line(/started/)
      const handled = async (than: number): Promise<number> => {
        const now = Number((await ask(java, 'handled', /^handled \d+$/)).split(' ')[1])
        return now > than ? now : handled(than)
      }
      await handled(await handled(0))
      const profile = await recording.stop()
      expect(callsByMethod(profile).get('fix.Blocker.handle(I)V')).toBeGreaterThan(0)
      expect(profile.merged.map((it) => it.method)).toEqual(['serve'])
    },
  )

  itInFull('an uncalled root is reported after five seconds with its callees', async () => {
    const { recording, reported } = await watched(java, 'Inner.deep', 'Names.over()')
    const said = await reported(
      /^root Inner\.deep has not been called yet; possible roots, if other methods call them: fix\.Names\$Inner\$Deeper\.down$/,
    )
    expect(said).toBeGreaterThan(EARLY)
    expect(said).toBeLessThan(LATE)
    await reported(/^root Names\.over\(\) has not been called yet$/)
    const profile = await recording.stop(STATUS.rootNeverCalled)
    expect(recording.process.stderr()).toMatch(/^warning: no root was called$/m)
    expect(recording.process.stderr()).not.toMatch(/is running in thread/)
    expect(calmWarnings(profile.warnings)).toEqual(['no root was called'])
  })

  itInFull(
    'a root that waits inside the JDK is reported with its thread and its application callees',
    async () => {
      const { recording, reported } = await watched(java, 'Names.main', 'Inner.deep')
      await ask(java, 'run', /^done/)
      const said = await reported(
        /^fix\.Names\.main is running in thread "main" since before the attach: recording starts with its next call; methods that it calls are possible roots: fix\.Names\$Inner\.deep, fix\.Names\.over$/,
      )
      expect(said).toBeLessThan(LATE)
      expect(calmWarnings((await recording.stop()).warnings)).toEqual(['root Names.main was not called'])
    },
  )

  itInFull('--include and --exclude select classes', async () => {
    const run = async (...flags: string[]) => (await counted(['Inner.deep'], ...flags)).calls
    // A pattern of an outer class also matches its nested classes, so these patterns name a nested class. Callees of excluded code are
    // below the nearest instrumented caller.
    expect(await run('--exclude', 'fix.Names.Inner.Deeper')).toEqual([`${DEEP} 1`, `${DEEP};${OVER}(I)I 2`])
    expect(await run('--include', 'fix.Names.Inner.Deeper')).toEqual([
      `${DEEP} 1`,
      `${DEEP};${DOWN} 1`,
      `${DEEP};${DOWN};${DOWN} 1`,
      `${DEEP};${DOWN};${DOWN};${DOWN} 1`,
    ])
  })
})
