// --all: several JVMs at once, of which one may be refused, and one may end.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { newest, oldest } from '../support/jdks.ts'
import { callsByPath, lines, readProfileJson, startJfluid, stderrLine } from '../support/jfluid.ts'

/** No other test, and no other run of this one, has JVMs of that name. */
const NAME = `Member${process.pid}`

/** "3" has it call its root three times; the end of its input ends it. */
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

it('all are recorded together and each by itself; one that takes no attach, and one that ends, are told', async () => {
  const classes = await compileJava(oldest, { [`fix/${NAME}.java`]: MEMBER })
  const start = async (jdk: typeof oldest, ...options: string[]) => {
    const java = startJava(jdk, [...options, '-cp', classes, `fix.${NAME}`])
    await java.line(/ready/)
    return java
  }
  const [a, b, shut] = await Promise.all([
    start(oldest),
    start(newest),
    start(newest, '-XX:+DisableAttachMechanism'),
  ])
  const out = join(temporaryDirectory(), 'p.jfluid')
  const words = ['--all', `fix.${NAME.slice(0, -1)}*`, '--root', `fix.${NAME}.work`, '--out', out]
  const recording = startJfluid('record', ...words, '--duration', '10m')
  await stderrLine(recording, /^recording 2 JVMs/)
  const calls = async (java: typeof a, n: number) => {
    java.send(String(n))
    await java.line(new RegExp(`^done ${n}$`))
  }
  await Promise.all([calls(a, 3), calls(b, 5)])
  a.child.stdin?.end()
  await a.exit
  await stderrLine(recording, new RegExp(`JVM ${a.pid} .*ended|JVM ${a.pid} .*exited`))
  await calls(b, 6)
  recording.child.kill('SIGINT')
  const { code } = await recording.exit
  const said = recording.stderr()
  expect(said).toContain(`cannot attach to JVM ${shut.pid}: it was started with -XX:+DisableAttachMechanism`)
  expect(said).toMatch(/^jfluid: 2 of 3 JVMs not recorded as asked: /m)
  expect(code, said).toBe(78)
  expect(said).toContain(`detached from ${b.pid}`)
  expect(said).toContain('nothing left')

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
