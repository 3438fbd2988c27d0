// Options of a JVM that concern an attach, an agent or native code: whether jfluid attaches, the message of a refusal, and what the JVM prints.
// `jfluid doctor` predicts the result. The results are a table in docs/jvm-options.md. JFLUID_UPDATE=1 writes the table.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { jfluid, startRecording } from '../support/jfluid.ts'
import { putRow } from './jvm-options-table.ts'

interface Case {
  readonly options: readonly string[]
  readonly from?: number
  readonly to?: number
  /** Message of the refusal; absent if jfluid attaches. */
  readonly refused?: readonly [code: number, message: RegExp]
  /** Exit code of `jfluid doctor`, if it differs. */
  readonly doctor?: number
  /** Whether the JVM warns about the agent. Default: since JDK 21. */
  readonly warns?: boolean
}

const DISABLED = /started with -XX:\+DisableAttachMechanism/
const CASES: readonly Case[] = [
  { options: ['-XX:+DisableAttachMechanism'], refused: [78, DISABLED] },
  { options: ['-XX:-EnableDynamicAgentLoading'], refused: [78, /EnableDynamicAgentLoading/] },
  { options: ['-XX:+EnableDynamicAgentLoading'], warns: false },
  { options: ['-Xrs'] },
  { options: ['-XX:+ReduceSignalUsage'] },
  { options: ['-XX:+StartAttachListener'] },
  { options: ['-XX:-UsePerfData'] },
  { options: ['-XX:+PerfDisableSharedMem'] },
  { options: ['-Xshare:off'] },
  { options: ['--limit-modules', 'java.base'] },
  { options: ['--illegal-native-access=deny'], from: 24 },
  { options: ['--illegal-native-access=warn'], from: 24 },
  { options: ['--sun-misc-unsafe-memory-access=deny'], from: 23 },
  { options: ['-Djava.security.manager'], to: 23, refused: [69, /security manager/] },
  { options: ['-Djava.security.manager=allow'], to: 23 },
  { options: ['-XX:+UnlockExperimentalVMOptions', '-XX:+EnableJVMCI'] },
  { options: ['-XX:+UnlockDiagnosticVMOptions', '-XX:+DebugNonSafepoints'] },
  { options: ['-Xverify:all'] },
  { options: ['-XX:TieredStopAtLevel=0'] },
  { options: ['-XX:+UnlockExperimentalVMOptions', '-XX:+UseEpsilonGC'] },
]

const DYNAMIC_AGENT = /A Java agent has been loaded dynamically/

forEachJdk((jdk) => {
  const tried = CASES.filter(
    ({ from = 0, to = Number.POSITIVE_INFINITY }) => jdk.version >= from && jdk.version <= to,
  ).map((it) => [it.options.join(' '), it] as const)

  it.each(tried)(
    'jfluid attaches to a JVM with %s, or refuses as jfluid doctor predicts',
    async (name, it) => {
      const classes = await compileFixture(jdk, 'KnownTree')
      const java = startJava(jdk, [...it.options, '-cp', classes, 'fix.KnownTree', '2', '20'])
      await java.line(/ready/)
      const beforehand = java.stderr()
      const doctor = await jfluid('doctor', `${java.pid}`)
      const root = ['--root', 'fix.KnownTree.task']
      if (it.refused !== undefined) {
        const [code, message] = it.refused
        const out = join(temporaryDirectory(), 'p.jfluid')
        const ran = await jfluid('record', `${java.pid}`, ...root, '--duration', '1s', '--out', out)
        expect([ran.code, doctor.code], ran.stderr).toEqual([code, it.doctor ?? code])
        expect(ran.stderr).toMatch(message)
        expect(ran.stderr).not.toMatch(/^\s+at /m)
      } else {
        expect(doctor.code, doctor.stdout).toBe(it.doctor ?? 0)
        const recording = startRecording(java.pid, ...root)
        await recording.started
        await ask(java, 'run 1', /^done/)
        const { merged } = await recording.stop()
        expect(merged[0]!.calls).toBe(2)
        expect(recording.process.stderr()).toContain('verified as original, nothing of jfluid remains')
      }
      await ask(java, 'run 1', /^done/)
      const said = java.stderr().slice(beforehand.length)
      const warns = it.refused === undefined && (it.warns ?? jdk.version >= 21)
      expect(DYNAMIC_AGENT.test(said), said).toBe(warns)
      expect(said.replaceAll(/^(WARNING: .*)?\n/gm, '')).toBe('')
      java.send('quit')
      expect((await java.exit).code).toBe(0)
      const message = it.refused === undefined ? 'attaches' : `refuses, exit code ${it.refused[0]}`
      const native = said.split('\n').filter((line) => line !== '' && !/agent|Xshare/i.test(line))
      putRow('option of an attach', [
        ...[`\`${name}\``, jdk.full, message],
        warns ? 'the warning about the agent' : native.length > 0 ? native.join(' ') : 'nothing',
      ])
    },
  )
})
