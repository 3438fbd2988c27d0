// Programs for tests of roots, and sessions on them.

import { expect } from 'vitest'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { callsByMethod, startRecording, stderrLine } from '../support/jfluid.ts'

/** Overloads, nested classes, and a method that is not called. */
export const NAMES = `
package fix;
public class Names {
  static int over() { return 1; }
  static int over(int i) { return i; }
  static int over(String s, int[] a) { return s.length() + a.length; }
  static int never() { return over(7); }
  static class Inner {
    static int deep() { return Deeper.down(2); }
    static class Deeper { static int down(int n) { return n == 0 ? 0 : over(n) + down(n - 1); } }
  }
  public static void main(String[] args) throws Exception {
    Inner.deep();
    System.out.println("ready");
    while (System.in.read() >= 0) {
      if (System.in.available() > 0) continue;
      int sum = over() + over(1) + over("two", new int[3]) + Inner.deep();
      System.out.println("done " + sum);
    }
  }
}`

/** Starts a recording; `reported` resolves with the time since then when the line is said. `names`: NAMES, compiled. */
export async function watched(jdk: Jdk, names: string, ...roots: string[]) {
  const java = startJava(jdk, ['-cp', names, 'fix.Names'])
  await java.line(/ready/)
  const recording = startRecording(java.pid, ...roots.flatMap((it) => ['--root', it]))
  await recording.started
  const begun = performance.now()
  const reported = async (line: RegExp): Promise<number> => {
    await stderrLine(recording.process, line)
    return performance.now() - begun
  }
  return { java, recording, reported }
}

// Reports come with the next look, twice a second; a busy machine looks late, and never early.
export const EARLY = 3000
export const LATE = 20_000

/** One run of a program of ours under --jdk: what it counted itself, and what was recorded. */
export async function withJdk(
  jdk: Jdk,
  scheme: string,
  name: 'KnownTree' | 'Callbacks' | 'Throws',
  root: string,
  ...args: string[]
) {
  const classes = await compileFixture(jdk, name)
  // Its classes are there before the session: a class-load hook may have to go on without an answer,
  // and what that loses is not the question here.
  const start = async (): Promise<JavaProcess> => {
    const java = startJava(jdk, ['-cp', classes, `fix.${name}`, ...args])
    await java.line(/ready/)
    await ran(java)
    return java
  }
  const ran = (java: JavaProcess): Promise<string> => ask(java, 'run', /^done/)
  const answer = await ran(await start())
  const java = await start()
  const recording = startRecording(
    java.pid,
    '--root',
    `fix.${name}.${root}`,
    '--scheme',
    scheme,
    '--jdk',
    '--yes',
  )
  await recording.started
  expect(await ran(java)).toBe(answer)
  const profile = await recording.stop()
  java.send('expect')
  await java.line(/^end/)
  const calls = callsByMethod(profile)
  const own = new Map([...calls].filter(([method]) => method.startsWith('fix.')))
  return { own, calls, profile, expected: parseExpectation(java.stdout()) }
}
