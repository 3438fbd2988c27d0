// One course of ci/jfluid-ci.sh in a build: no baseline, the same program, a program that executes more, a program that fails.

import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { compileJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import type { Ran } from '../support/jfluid.ts'

/** `work` calls `step` as often as the argument says. A second argument is the exit code. */
export const TASK = `
package fix;
public class Task {
  static int sink;
  static void step() { sink++; }
  static void work(int steps) { for (int i = 0; i < steps; i++) step(); }
  public static void main(String[] args) throws Exception {
    work(Integer.parseInt(args[0]));
    if (args.length > 1) System.exit(Integer.parseInt(args[1]));
  }
}`

/** @param script  path of `jfluid-ci` */
export async function checkScript(jdk: Jdk, script: string, env: Record<string, string> = {}): Promise<void> {
  const classes = await compileJava(jdk, { 'fix/Task': TASK })
  const dir = temporaryDirectory()
  const out = join(dir, 'out of build')
  const baseline = join(dir, 'the baseline.jfluid')
  const options = ['--baseline', baseline, '--root', 'fix.Task.work', '--tolerance', '1%', '--out', out]
  const ci = async (...args: string[]): Promise<Ran> => {
    const p = startProcess(script, [...options, '--', jdk.java, '-cp', classes, 'fix.Task', ...args], {
      cwd: dir,
      env,
    })
    const { code } = await p.exit
    return { code, stdout: p.stdout(), stderr: p.stderr() }
  }
  const result = (name: string): string => readFileSync(join(out, name), 'utf8')

  const first = await ci('100')
  expect(first.code, first.stderr).toBe(0)
  expect(result('comment.md')).toMatch(/^<!-- jfluid-ci -->\nThere is no baseline yet/)
  copyFileSync(join(out, 'profile.jfluid'), baseline)

  const same = await ci('100')
  expect(same.code, same.stderr).toBe(0)
  expect(result('comment.md')).toMatch(/\*\*Passed\*\*[\s\S]*no method changed/)

  const more = await ci('200')
  expect(more.code, more.stderr).toBe(82)
  expect(result('comment.md')).toMatch(/\*\*FAILED\*\*: one call of the root costs [\d.]+ % more bytecodes/)
  expect(result('comment.md')).toContain('`fix.Task.step`')
  expect(result('flame.svg')).toMatch(/^<svg [\s\S]*fix\.Task\.step[\s\S]*<\/svg>\n$/)

  const failed = await ci('1', '7')
  expect(failed.code, failed.stderr).toBe(7)
  expect(result('comment.md')).toMatch(/\*\*Not compared\*\*: `jfluid run` ended with exit code 7/)
  expect(existsSync(join(out, 'flame.svg'))).toBe(false)
  expect(existsSync(baseline)).toBe(true)
}
