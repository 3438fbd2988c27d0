// `jfluid run` with a command that starts a JVM that cannot be recorded: this JVM and the command run on, and the other JVMs are recorded.

import { chmodSync, cpSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect } from 'vitest'
import { compileJava, readableByAll, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
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
    System.out.println("worked " + args[0]);
  }
}`

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

forEachJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = readableByAll(await compileJava(jdk, { 'fix/Task': TASK }))
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
      expect(stdout).toBe('worked other\nworked own\n')
      expect((await readProfileJson(out)).merged[0]?.calls).toBe(5)
    },
  )
})
