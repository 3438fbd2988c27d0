// jfluid in a path with non-ASCII letters, blanks, quotes and option separators. With locale C the JVM encodes such a path differently
// from the system.

import { chmodSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forOldestJdk, type Jdk } from '../support/jdks.ts'
import { callsByMethod, cli, lines, type Ran, readProfileJson } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'

const PLACE = `Größe 日本 𝒜 'x' "y" =;:%20#?!`

/** Copies the built package. @returns the path of its command */
function install(): string {
  const dist = dirname(cli)
  const dir = join(temporaryDirectory(), PLACE)
  mkdirSync(dir)
  cpSync(dist, join(dir, 'dist'), { recursive: true })
  cpSync(join(dist, '../package.json'), join(dir, 'package.json'))
  symlinkSync(join(dist, '../node_modules'), join(dir, 'node_modules'))
  return join(dir, 'dist/cli.js')
}

const installed = install()

/** Runs jfluid with locale C in a directory with a difficult name. */
async function jfluid(...args: string[]): Promise<Ran> {
  const p = startProcess(process.execPath, [installed, ...args], { env: LOCALE, cwd: dirname(installed) })
  const { code } = await p.exit
  return { code, stdout: p.stdout(), stderr: p.stderr() }
}

const LOCALE = { LC_ALL: 'C' }

const TASKS = `
  public class Tasks {
    static void task() { }
    public static void main(String[] args) throws Exception {
      for (int i = 0; i < 3; i++) task();
      System.out.println("ready");
      if (args.length > 0) while (System.in.read() != -1) { for (int i = 0; i < 3; i++) task(); System.out.println("ran"); }
    }
  }`

const classesOf = (jdk: Jdk) => compileJava(jdk, { 'Tasks.java': TASKS })

describe(`jfluid installed below ${PLACE}, with locale C`, () => {
  forOldestJdk((jdk) => {
    it('two consecutive attaches work and print nothing on the output of the program', async () => {
      const options = jdk.version >= 21 ? ['-XX:+EnableDynamicAgentLoading'] : []
      const cwd = join(temporaryDirectory(), PLACE)
      mkdirSync(cwd)
      const java = startJava(jdk, [...options, '-cp', await classesOf(jdk), 'Tasks', 'wait'], {
        env: LOCALE,
        cwd,
      })
      await java.line(/ready/)
      for (const name of ['first.jfluid', 'Größe.jfluid']) {
        const file = join(cwd, name)
        const { code, stderr } = await jfluid(
          ...['record', `${java.pid}`, '--root', 'Tasks.task', '--duration', '200ms', '--out', file],
        )
        expect(stderr).toMatch(/restored: \d+ class(es)? verified as original, nothing of jfluid remains/)
        expect(code, stderr).toBe(STATUS.rootNeverCalled)
        expect((await readProfileJson(file)).roots).toEqual(['Tasks.task'])
      }
      java.send('')
      await java.line(/^ran$/)
      expect(java.stderr()).toBe('')
    })

    itInFull(
      'jfluid run profiles a JVM that is started directly, and a JVM that a script starts',
      async () => {
        const dir = temporaryDirectory()
        const script = join(dir, 'twice.sh')
        const classes = await classesOf(jdk)
        writeFileSync(
          script,
          `#!/bin/sh\n"${jdk.java}" -cp ${classes} Tasks && exec "${jdk.java}" -cp ${classes} Tasks\n`,
        )
        chmodSync(script, 0o755)
        for (const [command, jvms] of [
          [[jdk.java, '-cp', classes, 'Tasks'], 1],
          [[script], 2],
        ] as const) {
          const file = join(dir, `${jvms}.jfluid`)
          const { code, stdout, stderr } = await jfluid(
            ...['run', '--root', 'Tasks.task', '--record', file, '--', ...command],
          )
          expect(code, stderr).toBe(0)
          expect(stdout).toBe('ready\n'.repeat(jvms))
          expect(stderr).not.toMatch(/Exception|Error|\tat /)
          for (const [, jar] of stderr.matchAll(/JAVA_TOOL_OPTIONS: -javaagent:([^=]+)=/g))
            expect(existsSync(dirname(jar!))).toBe(false) // the agent's directory is deleted
          // The profile of a script is the sum of its JVMs.
          expect(lines(callsByMethod(await readProfileJson(file)))).toEqual([`Tasks.task()V ${3 * jvms}`])
        }
      },
    )
  })
})
