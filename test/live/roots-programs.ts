// Programs and sessions for tests of roots.

import { expect } from 'vitest'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { callsByMethod, startRecording, stderrLine } from '../support/jfluid.ts'

/** Overloads, nested classes, and a method without calls. */
export const NAMES = `
package fix;
public class Names {
  static int over() { return 1; }
  static int over(int i) { return i; }
  static long over(long l) { return l; }
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
      int sum = over() + over(1) + (int) over(2L) + over("two", new int[3]) + Inner.deep();
      System.out.println("done " + sum);
    }
  }
}`

/** Starts a recording. `reported(line)` waits until the client prints the line, and returns the time since the start, ms. */
export async function watched(java: JavaProcess, ...roots: string[]) {
  const recording = startRecording(java.pid, ...roots.flatMap((it) => ['--root', it]))
  await recording.started
  const begun = performance.now()
  const reported = async (line: RegExp): Promise<number> => {
    await stderrLine(recording.process, line)
    return performance.now() - begun
  }
  return { recording, reported }
}

// Bounds of the time until a message, ms. The client checks its roots twice a second, so on a busy machine a message is late but never
// early.
export const EARLY = 3000
export const LATE = 20_000

/**
 * Runs fixture programs with --jdk in one JVM. Returns their own counts and the recorded counts.
 *
 * @param programs  pairs of a program with its arguments, and its root
 */
export async function withJdk(jdk: Jdk, scheme: string, programs: readonly (readonly [string, string])[]) {
  const words = programs
    .map(([program]) => program)
    .join(' , ')
    .split(' ')
  const names = programs.map(([program]) => program.split(' ')[0]!)
  const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Several'), 'fix.Several', ...words])
  await java.line(/^all ready$/)
  const answers = async (): Promise<string[]> => {
    const answers: string[] = []
    for (const name of names) answers.push(await ask(java, `${name} run`, /^done/))
    return answers
  }
  // Loads all classes before the session. A load hook may continue without an answer, and the resulting missing calls are not the subject
  // of these tests.
  await answers()
  const before = await answers()
  const roots = programs.flatMap(([, root]) => ['--root', `fix.${root}`])
  const recording = startRecording(java.pid, ...roots, '--scheme', scheme, '--jdk', '--yes')
  await recording.started
  expect(await answers()).toEqual(before)
  const profile = await recording.stop()
  for (const name of names) await ask(java, `${name} expect`, /^end/)
  const calls = callsByMethod(profile)
  const own = new Map([...calls].filter(([method]) => method.startsWith('fix.')))
  return { own, calls, profile, expected: parseExpectation(java.stdout()) }
}
