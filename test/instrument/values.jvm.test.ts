// Probes that store the values of root calls, in code from javac, run with HotSpot's verifier: each root stores the arguments, the receiver
// and the result that it has.

import { expect, it } from 'vitest'
import { spliceClass } from '../../src/classfile/splice.ts'
import { instrumentClass } from '../../src/instrument/class.ts'
import type { ValueStart } from '../../src/instrument/values.ts'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { classesIn, compileRuntime, runJava, VALUE_EXITS, VERIFY_ALL, writeClass } from './jvm.ts'

/** Prints the stored values: number of the start, R for a result, type and value. */
const TELLING_RUNTIME = `
  package java.lang;
  public class JFluid1 {
    private static void say(int start, String value) {
      System.out.print((start & 7) + ((start & 8) != 0 ? "R" : "") + ":" + value + " ");
    }
    public static void rootValue(Object value, int start) { say(start, String.valueOf(value)); }
    public static void rootValue(long value, int start) { say(start, (char) (start >> 8) + " " + value); }
    public static void rootValue(double value, int start) { say(start, (char) (start >> 8) + " " + value); }
    public static void rootEntry(int id) { System.out.print("> "); }
    public static void rootExit(int id) { System.out.println("<"); }
    public static void methodEntry(int id) {}
    public static void methodExit(int id) {}
    public static void methodResume(int id) {}
    ${VALUE_EXITS}
    public static void reflectiveCall(Object method) {}
  }`

const ROOTS = `
  public class Roots {
    Roots(String a) { super(); }
    public String toString() { return "a Roots"; }
    static int ints(boolean z, byte b, short s, char c, int i) { return z ? i : b; }
    static long wide(long j, double d, float f, Object o, int[] array) { return j; }
    static float aFloat() { return 1.5f; }
    double aDouble(double d) { return d; }
    static synchronized char aChar(char c) { return c; }
    boolean many(int n) { for (int i = 0; i < n; i++) { if (i == 3) return true; } return false; }
    static Object fails(int n) { if (n > 0) throw new IllegalStateException(); return "none"; }
    static void nothing() {}
    static String text(String a) { try { return a.substring(1); } catch (RuntimeException e) { return "short"; } }
  }`

const MAIN = `
  public class RootsMain {
    public static void main(String[] none) {
      Roots it = new Roots("x");
      Roots.ints(true, (byte) 2, (short) 3, 'c', 5);
      Roots.wide(1L << 40, 2.5, 1.5f, "o", new int[0]);
      Roots.aFloat();
      it.aDouble(0.25);
      Roots.aChar('q');
      it.many(5);
      try { Roots.fails(1); } catch (IllegalStateException expected) {}
      Roots.nothing();
      Roots.text("");
    }
  }`

/** Output of the calls of MAIN, with these starts. */
async function outputOf(jdk: Parameters<Parameters<typeof forNewestJdk>[0]>[0], values: ValueStart[]) {
  const [runtime, before] = await Promise.all([
    compileRuntime(jdk, TELLING_RUNTIME),
    compileJava(jdk, { RootsMain: MAIN, Roots: ROOTS }, { options: ['-g'] }),
  ])
  const after = temporaryDirectory()
  for (const { classFile } of classesIn(before)) {
    const tasks = classFile.methods
      .filter(({ name }) => classFile.name === 'Roots' && name !== 'toString')
      .map(({ index }) => ({ methodIndex: index, id: 70_000 + index, probe: 'root' as const }))
    const done = instrumentClass(classFile, tasks, { tells: 'time', values })
    expect(done.skipped).toEqual([])
    writeClass(after, classFile.name, spliceClass(classFile, done.poolEntries, done.poolBytes, done.bodies))
  }
  const run = await runJava(jdk, [
    ...VERIFY_ALL,
    ...['--patch-module', `java.base=${runtime}`, '-cp', after, 'RootsMain'],
  ])
  expect(run.stderr).toBe('')
  return run.stdout.trim().split('\n')
}

forNewestJdk((jdk) => {
  it('stores the receiver, the first arguments and the result of each root that has them', async () => {
    expect(await outputOf(jdk, ['this', 0, 1, 'return'])).toEqual([
      '1:x > <',
      '1:Z 1 2:J 2 > 3R:J 5 <',
      '1:J 1099511627776 2:D 2.5 > 3R:J 1099511627776 <',
      '> 3R:F 1.5 <',
      '0:a Roots 1:D 0.25 > 3R:D 0.25 <',
      '1:C 113 > 3R:C 113 <',
      '0:a Roots 1:J 5 > 3R:Z 1 <',
      '1:J 1 > <',
      '> <',
      '1: > 3R:short <',
    ])
  })

  it('stores arguments behind arguments of two slots', async () => {
    expect((await outputOf(jdk, [4, 2, 3])).slice(1, 3)).toEqual([
      '0:J 5 1:J 3 2:C 99 > <',
      expect.stringMatching(/^0:\[I@\w+ 1:F 1\.5 2:o > <$/),
    ])
  })
})
