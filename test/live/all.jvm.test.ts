// --all: several JVMs in one session. One JVM may refuse the attach, and one JVM may end.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { type Jdk, newest, oldest } from '../support/jdks.ts'
import { callsByPath, jfluid, lines, readProfileJson, startJfluid, stderrLine } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { problemsOf } from '../support/schema.ts'
import { Terminal } from '../support/terminal.ts'

/** A class name that no other test and no other run of this test uses. */
const NAME = `Member${process.pid}`

/** "3" calls the root three times. The program ends at the end of its input. */
const MEMBER = `
package fix;
public class ${NAME} {
  static int step(int x) { return x + 1; }
  static int work(int x) { return step(step(x)); }
  public static void main(String[] args) throws Exception {
    System.out.println("ready");
    var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null; System.out.println("done " + line))
      for (int i = Integer.parseInt(line); i > 0; i--) work(i);
  }
}`

let classes: string
beforeAll(async () => {
  classes = await compileJava(oldest, { [`fix/${NAME}.java`]: MEMBER })
})

async function start(jdk: Jdk, ...options: string[]): Promise<JavaProcess> {
  const java = startJava(jdk, [...options, '-cp', classes, `fix.${NAME}`])
  await java.line(/ready/)
  return java
}

async function calls(java: JavaProcess, n: number): Promise<void> {
  java.send(String(n))
  await java.line(new RegExp(`^done ${n}$`))
}

it('--all records each JVM in a separate file and reports JVMs that refuse the attach or end', async () => {
  const [a, b, shut] = await Promise.all([
    start(oldest),
    start(newest),
    start(newest, '-XX:+DisableAttachMechanism'),
  ])
  const out = join(temporaryDirectory(), 'p.jfluid')
  const words = ['--all', `*.${NAME}`, '--root', `fix.${NAME}.work`, '--out', out]
  const recording = startJfluid('record', ...words, '--duration', '10m')
  await stderrLine(recording, /^recording 2 JVMs/)
  await Promise.all([calls(a, 3), calls(b, 5)])
  a.child.stdin?.end()
  await a.exit
  await stderrLine(recording, new RegExp(`JVM ${a.pid} .*ended|JVM ${a.pid} .*exited`))
  await calls(b, 6)
  recording.child.kill('SIGINT')
  const { code } = await recording.exit
  const said = recording.stderr()
  expect(said).toContain(`cannot attach to JVM ${shut.pid}: it was started with -XX:+DisableAttachMechanism`)
  expect(said).toMatch(/^jfluid: 2 of 3 JVMs were not recorded completely: /m)
  expect(code, said).toBe(78)
  expect(said).toContain(`detached from ${b.pid}`)
  expect(said).toContain('nothing of jfluid remains')

  const tree = (n: number) => [
    `fix.${NAME}.work(I)I ${n}`,
    `fix.${NAME}.work(I)I;fix.${NAME}.step(I)I ${2 * n}`,
  ]
  const all = await readProfileJson(out)
  expect(lines(callsByPath(all.merged))).toEqual(tree(14))
  expect(all.threads.map(({ id, name }) => [id, name])).toEqual(
    [a.pid, b.pid].sort((x, y) => x - y).map((pid) => [pid, `fix.${NAME}`]),
  )
  for (const [java, n] of [
    [a, 3],
    [b, 11],
  ] as const) {
    const own = await readProfileJson(out.replace('.jfluid', `.${java.pid}.jfluid`))
    expect(lines(callsByPath(own.merged))).toEqual(tree(n))
    expect(own.threads).toHaveLength(1)
  }
  const report = await jfluid('report', out, '--json', '--threads')
  expect(problemsOf('report', report.stdout), report.stderr).toEqual([])
  const { jvms } = await readProfile(out)
  expect(jvms?.map(({ pid, truncated }) => [pid, truncated]).sort()).toEqual(
    [
      [a.pid, true],
      [b.pid, false],
    ].sort(),
  )
  expect(existsSync(out.replace('.jfluid', `.${shut.pid}.jfluid`))).toBe(false)
  expect(a.stderr() + shut.stdout()).not.toMatch(/Full thread dump/)
})

itInFull('--all shows all JVMs together or a single JVM, and restores the code of all JVMs', async () => {
  const [a, b] = await Promise.all([start(newest), start(newest)])
  const out = join(temporaryDirectory(), 'p.jfluid')
  const words = ['attach', '--all', NAME, '--root', `fix.${NAME}.work`, '--out', out]
  const terminal = Terminal.jfluid(words, { columns: 110 })
  const shows = (pattern: RegExp) => terminal.until((lines) => lines.some((line) => pattern.test(line)))
  await shows(/^ jfluid {2}2 JVMs {2}fix\.Member/)
  await Promise.all([calls(a, 3), calls(b, 5)])
  await shows(/ 100\.0 +8 .*\.work$/)
  terminal.send('T')
  const row = new RegExp(` 15 .* ${b.pid} +fix\\.${NAME}$`)
  await terminal.until(
    (lines) => lines.some((line) => /\bJVM$/.test(line)) && lines.some((it) => row.test(it)),
  )
  terminal.send('q')
  const { code } = await terminal.exit
  const said = terminal.scrollback()
  expect(code, said.join('\n')).toBe(0)
  // A row below 1 % of the time may be left out.
  expect(said.join('\n')).toMatch(/^Calling context tree, all JVMs(?:, 1 smaller node left out)?$/m)
  for (const { pid } of [a, b]) {
    expect(said.filter((line) => line.startsWith(`detached from ${pid} `)).join()).toContain(
      'nothing of jfluid remains',
    )
  }
  expect(lines(callsByPath((await readProfileJson(out)).merged))[0]).toBe(`fix.${NAME}.work(I)I 8`)
})
