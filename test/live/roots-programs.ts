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

/**
 * A class loader of the program defines the class of the root and the classes that the root uses. `run` loads the root, calls it, and
 * prints the calls of the loader's methods that have the root on their stack: "fix.Own.findClass 2, fix.Own.loadClass 5".
 */
export const LOADER_OF_A_ROOT = {
  'fix/Own.java': `package fix;
import java.io.*;
import java.util.*;
public final class Own extends ClassLoader {
  static final Map<String, Integer> calls = new TreeMap<>();
  static void count(String method) {
    for (StackTraceElement frame : new Throwable().getStackTrace())
      if (frame.getClassName().equals("fix.own.LateRoot") && frame.getMethodName().equals("run")) {
        calls.merge("fix.Own." + method, 1, Integer::sum);
        return;
      }
  }
  Own() { super(null); }
  @Override protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    count("loadClass");
    Class<?> loaded = findLoadedClass(name);
    return loaded != null ? loaded : name.startsWith("fix.own.") ? findClass(name) : Own.class.getClassLoader().loadClass(name);
  }
  @Override protected Class<?> findClass(String name) throws ClassNotFoundException {
    count("findClass");
    try (InputStream in = Own.class.getResourceAsStream("/" + name.replace('.', '/') + ".class")) {
      byte[] bytes = in.readAllBytes();
      return defineClass(name, bytes, 0, bytes.length);
    } catch (IOException e) {
      throw new ClassNotFoundException(name, e);
    }
  }
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line; (line = in.readLine()) != null; ) {
      if (!line.equals("run")) continue;
      ((Runnable) Class.forName("fix.own.LateRoot", true, new Own()).getDeclaredConstructor().newInstance()).run();
      StringJoiner all = new StringJoiner(", ");
      calls.forEach((name, n) -> all.add(name + " " + n));
      System.out.println(all);
    }
  }
}`,
  'fix/own/LateRoot.java': `package fix.own;
public final class LateRoot implements Runnable {
  public void run() {
    First.use();
    Second.use();
  }
}`,
  'fix/own/First.java': 'package fix.own; final class First { static Object use() { return new Second(); } }',
  'fix/own/Second.java': 'package fix.own; final class Second { static void use() { } }',
}
