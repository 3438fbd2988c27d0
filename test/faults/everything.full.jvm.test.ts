// All classes of an attached program have probes, including the JDK, in all modes and at the exit of the program.

import { it } from 'vitest'
import { compileEverything } from '../fixtures/fixtures.ts'
import { liveCode, probed, startDebuggable } from '../live/live-code.ts'
import { added, filesOf, mappedFiles, threadNames, until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { differences, ending, goesOn, hung, isKept, MODES, told, withRoot } from './everything-run.ts'
import { times, trials } from './trials.ts'

/** Classes that contain calls of probes permanently: the runtime, and the sleeping agent. */
const OURS = /^L(java\/lang\/JFluid1|jfluid\/)/
/** The JVM does not redefine a class whose static initializer has failed, so the class keeps inactive probes. */
const FAILED_CLASS = 'Levery/Initialisers$InitFails;'
const KEPT =
  '1 class kept its probes, which are inactive: every.Initialisers$InitFails (its static initializer has failed, and the JVM does not redefine such a class)'

forEachJdk((jdk) => {
  it('if an attach instruments all methods, the output of the program is unchanged in all modes, and all code is restored', {
    timeout: 3_600_000,
  }, async () => {
    const { java, jvm } = await startDebuggable(jdk, ['-cp', await compileEverything(jdk), 'every.Main'])
    let asked = 0
    const run = async (): Promise<string | null> => {
      const from = java.stdout().length
      java.send('run')
      return (await goesOn(java, java.line(/^done/, ++asked))) ? java.stdout().slice(from) : null
    }
    const first = await run()
    let settled: string[] | null = null
    await trials('`attach --jdk`, each mode in turn', jdk, times(2) * MODES.length, async (_, n) => {
      const flags = MODES[n % MODES.length]!
      const recording = startRecording(java.pid, ...withRoot('every.Main.part', flags))
      await recording.started
      const text = await run()
      if (text === null) return hung(java, java.pid)
      recording.process.child.kill('SIGINT')
      const { code } = await recording.process.exit
      const said = recording.process.stderr()
      const kept = /; (.*kept (?:its|their) probes.*)/.exec(said)?.[1]
      const isRight = kept === undefined ? code === 0 : code === STATUS.notRestored && kept === KEPT
      const profile = await isKept(recording.file)
      // On a busy machine the client ends before thousands of classes are restored.
      await until(async () => !(await threadNames(java.pid)).some((name) => name.startsWith('jfluid-')))
      const harm =
        text === first ? [] : [`with ${flags.join(' ')} it printed\n${text}\nin place of\n${first}`]
      // After the first session, some files of jfluid stay mapped permanently.
      settled ??= mappedFiles(java.pid)
      const left = [
        ...probed(await liveCode(jvm, 'L')).filter((it) => !OURS.test(it) && !it.startsWith(FAILED_CLASS)),
        ...added(settled, mappedFiles(java.pid)).filter((it) => /jfluid/.test(it)),
        ...filesOf(java.pid, recording.process.pid).filter((it) => !it.includes('.java_pid')),
      ]
      return {
        harm,
        wrong: isRight ? [] : [`the client ended with ${code}, saying:\n${said}`],
        profile,
        left,
      }
    })
    await jvm.dispose()
  })

  it.each(['here', 'other', 'halt', 'hook', 'cleaner', 'finaliser', 'uncaught'])(
    'if the program exits inside the root (way: %s), its output, shutdown hooks and exit status are the same as without jfluid',
    { timeout: 3_600_000 },
    async (how) => {
      const classes = await compileEverything(jdk)
      const leave = async (profiled: boolean) => {
        const java = startJava(jdk, ['-cp', classes, 'every.Main'])
        await java.line(/^ready/)
        const recording = profiled
          ? startRecording(
              java.pid,
              '--root',
              'every.Main.leave',
              '--root',
              'every.Main.hook',
              '--jdk',
              '--yes',
            )
          : null
        await recording?.started
        java.send(`leave ${how}`)
        if (!(await goesOn(java, java.exit))) return { hung: await hung(java, java.pid) }
        await recording?.process.exit
        const profile = recording === null ? 'none' : await isKept(recording.file)
        const left = filesOf(java.pid, ...(recording === null ? [] : [recording.process.pid]))
        return { found: told(java, (await java.exit).code), profile, left } as const
      }
      const { found: expected } = await leave(false)
      await trials(`\`System.exit\` inside everything, ${how}`, jdk, times(10), async () => {
        const { hung: problem, found, profile, left } = await leave(true)
        if (found === undefined) return problem
        return { harm: [...differences(found, expected!), ...ending(found, expected!)], profile, left }
      })
    },
  )
})
