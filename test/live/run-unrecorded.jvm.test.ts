// `jfluid run` with a command that starts a JVM that cannot be recorded: this JVM and the command run on, and the other JVMs are recorded.

import { chmodSync, cpSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { compileJava, readableByAll, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { cli, type Ran, readProfileJson } from '../support/jfluid.ts'
import { itOnlyIf } from '../support/only-if.ts'

const IS_ROOT = process.getuid?.() === 0
const NOBODY = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']

const TASK = `
package fix;
public class Task {
  static int sink;
  static void work() { sink++; }
  public static void main(String[] args) {
    for (int i = 0; i < 5; i++) work();
    System.out.println("worked " + args[0] + " in " + ProcessHandle.current().pid());
  }
}`

const OTHER = 'package fix; public class Other { public static void main(String[] args) { } }'

/** Copies the built package to a directory that other users cannot enter. @returns the path of its command */
function installPrivately(): string {
  const dist = dirname(cli)
  const dir = temporaryDirectory()
  cpSync(dist, join(dir, 'dist'), { recursive: true })
  cpSync(join(dist, '../package.json'), join(dir, 'package.json'))
  symlinkSync(join(dist, '../node_modules'), join(dir, 'node_modules'))
  chmodSync(dir, 0o700)
  return join(dir, 'dist/cli.js')
}

async function ran(...command: readonly [string, ...string[]]): Promise<Ran> {
  const [program, ...args] = command
  const p = startProcess(program, args)
  const { code } = await p.exit
  return { code, stdout: p.stdout(), stderr: p.stderr() }
}

forNewestJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = readableByAll(await compileJava(jdk, { 'fix/Task': TASK, 'fix/Other': OTHER }))
  })

  itOnlyIf(IS_ROOT, 'needs root')(
    'a JVM of another user, who cannot read the installed agent, runs without being recorded',
    async () => {
      const out = join(temporaryDirectory(), 'p.jfluid')
      const java = [jdk.java, '-cp', classes, 'fix.Task']
      const quoted = java.map((it) => `'${it}'`).join(' ')
      const { code, stdout, stderr } = await ran(
        ...([
          process.execPath,
          installPrivately(),
          'run',
          '--root',
          'fix.Task.work',
          '--record',
          out,
          '--',
        ] as const),
        ...['sh', '-c', `set -e; cd /; ${NOBODY.join(' ')} ${quoted} other; ${quoted} own`],
      )
      expect(code, stderr).toBe(0)
      expect(stdout).toMatch(/^worked other in \d+\nworked own in \d+\n$/)
      expect((await readProfileJson(out)).merged[0]?.calls).toBe(5)
    },
  )

  it('a JVM that is not profiled only loads the agent', async () => {
    const dir = temporaryDirectory()
    const log = (name: string): string => join(dir, `${name}.log`)
    const java = (name: string): string =>
      `'${jdk.java}' -Xlog:module=debug:file=${log(name)} -cp '${classes}' fix.${name} x`
    const { code, stderr } = await ran(
      ...([process.execPath, cli, 'run', '--root', 'fix.Task.work', '--jvm', 'fix.Task'] as const),
      ...['--record', join(dir, 'p.jfluid'), '--', 'sh', '-c', `${java('Task')}; ${java('Other')}`],
    )
    expect(code, stderr).toBe(0)
    const exported = /package jdk\/internal\/misc in module java\.base is exported to module unnamed/
    expect(readFileSync(log('Task'), 'utf8')).toMatch(exported)
    expect(readFileSync(log('Other'), 'utf8')).not.toMatch(exported)
  })

  it('a JVM whose agent cannot start runs on, and the message names its process id', async () => {
    const out = join(temporaryDirectory(), 'p.jfluid')
    const java = `'${jdk.java}' -cp '${classes}' fix.Task`
    const broken = `JAVA_TOOL_OPTIONS=$(echo "$JAVA_TOOL_OPTIONS" | sed 's|=jar=[^;]*|=jar=/none|')`
    const { code, stdout, stderr } = await ran(
      ...([process.execPath, cli, 'run', '--root', 'fix.Task.work', '--record', out, '--'] as const),
      ...['sh', '-c', `${broken} ${java} broken; ${java} own`],
    )
    expect(code, stderr).toBe(0)
    const [, pid] = /worked broken in (\d+)/.exec(stdout)!
    expect(stderr).toMatch(
      new RegExp(
        `^the agent in JVM ${pid} could not start: .*; this JVM continues without being recorded$`,
        'm',
      ),
    )
    const { merged, warnings } = await readProfileJson(out)
    expect(merged[0]?.calls).toBe(5)
    expect(warnings).toContainEqual(
      expect.stringMatching(`^1 JVM was not recorded: the agent in JVM ${pid} could not start: `),
    )
  })
})
