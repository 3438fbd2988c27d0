// Maximum depth of a recursion on a stack of 1 MiB, with probes and before the attach, for interpreted, C1 and C2 code. Also the
// StackOverflowErrors of the program and their report.

import { beforeAll, describe, expect, it } from 'vitest'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { callsByMethod, calmWarnings, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itOnlyIf } from '../support/only-if.ts'

/**
 * `deepest <method>`: the maximum depth in several recursions, and the number of errors.
 * `within <method> <depth>`: the number of errors in ten recursions of this depth.
 * `calls`: the number of calls of each method so far.
 *
 * Each command runs in a new thread, or in a virtual thread if its first word is `virtual`.
 *
 * Before each recursion test the method is called often enough to be compiled, unless the JVM runs interpreted.
 */
const DEEP = `
  package fix;
  public class Deep {
    static final int SHALLOW = 300, WARM = 150, TRIES = 5, WITHIN = 10;
    static int limit, deepest, sink;
    static long tinyCalls, wideCalls;
    static int tiny(int n) {
      tinyCalls++;
      if (n >= limit) { deepest = n; return 0; }
      deepest = n;
      return tiny(n + 1) + 1;
    }
    static int wide(int n) {
      wideCalls++;
      if (n >= limit) { deepest = n; return 0; }
      deepest = n;
      int a = n * 3, b = a * 4 ^ n, c = b + a, d = c * 5 ^ b, e = d - a, f = e * 7 ^ c, g = f + d;
      return wide(n + 1) + a + b + c + d + e + f + g;
    }
    /** @return whether the stack overflowed */
    static boolean root(String method) {
      try {
        sink = method.equals("tiny") ? tiny(1) : wide(1);
        return false;
      } catch (StackOverflowError e) {
        return true;
      }
    }
    static String answer(String[] asked) {
      if (asked[0].equals("calls")) return "tiny " + tinyCalls + " wide " + wideCalls;
      String method = asked[1];
      limit = SHALLOW;
      for (int i = 0; i < WARM; i++) root(method);
      int errors = 0, most = 0;
      if (asked[0].equals("within")) {
        limit = Integer.parseInt(asked[2]);
        for (int i = 0; i < WITHIN; i++) if (root(method)) errors++;
      } else {
        limit = Integer.MAX_VALUE;
        for (int i = 0; i < TRIES; i++) {
          if (root(method)) errors++;
          most = Math.max(most, deepest);
        }
      }
      return "deepest " + most + " errors " + errors;
    }
    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        String[] asked = line.split(" ");
        String[] answer = new String[1];
        boolean isVirtual = asked[0].equals("virtual");
        String[] what = isVirtual ? java.util.Arrays.copyOfRange(asked, 1, asked.length) : asked;
        Runnable task = () -> answer[0] = answer(what);
        if (isVirtual) {
          ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task)).join();
        } else {
          Thread t = new Thread(null, task, "deep", 1 << 20);
          t.start();
          t.join();
        }
        System.out.println("answer " + answer[0]);
      }
    }
  }`

/** Compiles in the foreground, so that no depth is measured in code that waits for the compiler. */
const AT_ONCE = '-Xbatch'
/**
 * Minimum part of the recursion depth that remains with probes, for a method with eight variables. `tinyKeeps` is the minimum for one
 * variable: docs/target.md.
 */
const WIDE_KEEPS = 0.9
const COMPILERS: readonly (readonly [
  name: string,
  options: string[],
  tinyKeeps: number,
  onVirtualThreads: boolean,
])[] = [
  ['interpreted', ['-Xint'], 0.99, true],
  ['compiled by C1', ['-XX:TieredStopAtLevel=1', AT_ONCE], 0.6, FULL],
  ['compiled by C2', [AT_ONCE], 0.7, true],
]

/** Part of the depth that a recursive root keeps if its argument and its result are values. */
const VALUES_KEEP = 0.45

class Asked {
  readonly #java: JavaProcess
  #lines = 0
  constructor(java: JavaProcess) {
    this.#java = java
  }

  /** Returns the numbers of the answer, keyed by the word before each number. */
  async ask(question: string): Promise<Record<string, number>> {
    this.#java.send(question)
    const words = (await this.#java.line(/^answer /, ++this.#lines)).split(' ').slice(1)
    return Object.fromEntries(
      words.flatMap((word, i) => (i % 2 === 0 ? [[word, Number(words[i + 1])] as const] : [])),
    )
  }
}

forEachJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Deep': DEEP })
  })

  describe.each(FULL ? COMPILERS : COMPILERS.slice(-1))(
    'stack depth of code %s',
    (_, options, tinyKeeps, onVirtualThreads) => {
      let java: JavaProcess
      let program: Asked
      beforeAll(async () => {
        java = startJava(jdk, [...options, '-cp', classes, 'fix.Deep'])
        await java.line(/ready/)
        program = new Asked(java)
      })

      it('with probes, a recursion reaches most of the depth that it reaches without probes, and each StackOverflowError is counted with its method', async () => {
        const tiny = await program.ask('deepest tiny')
        const wide = await program.ask('deepest wide')
        const before = await program.ask('calls')

        const recording = startRecording(java.pid, '--root', 'fix.Deep.root')
        await recording.started
        const tinyInside = await program.ask('deepest tiny')
        const wideInside = await program.ask('deepest wide')
        const within = await program.ask(`within wide ${Math.floor(wide.deepest * WIDE_KEEPS)}`)
        const after = await program.ask('calls')
        const profile = await recording.stop()

        expect(wideInside.deepest / wide.deepest).toBeGreaterThanOrEqual(WIDE_KEEPS)
        expect(tinyInside.deepest / tiny.deepest).toBeGreaterThanOrEqual(tinyKeeps)
        expect(within.errors).toBe(0)

        const methods = {
          'fix.Deep.tiny(I)I': [tinyInside.errors, after.tiny - before.tiny],
          'fix.Deep.wide(I)I': [wideInside.errors, after.wide - before.wide],
        }
        const calls = callsByMethod(profile)
        const told = new Map(profile.instrumentation.overflows?.map((it) => [it.method, it.errors]))
        for (const [method, [errors, called]] of Object.entries(methods))
          expect([method, told.get(method), calls.get(method)]).toEqual([method, errors, called])
        expect(told.size).toBe(2)
        const all = tinyInside.errors + wideInside.errors
        expect(calmWarnings(profile.warnings)).toEqual([
          expect.stringMatching(
            new RegExp(`^${all} StackOverflowErrors were thrown out of methods with probes: `),
          ),
        ])
        const { gaps } = profile.instrumentation
        expect([gaps, profile.truncated]).toEqual([0, false])
      })

      it('with values of a recursive root, each StackOverflowError and each call is counted', async () => {
        const tiny = await program.ask('deepest tiny')
        const before = await program.ask('calls')
        const values = ['--by', 'arg0', '--show', 'return', '--slow', '1ms']
        const recording = startRecording(java.pid, '--root', 'fix.Deep.tiny', ...values)
        await recording.started
        const inside = await program.ask('deepest tiny')
        const after = await program.ask('calls')
        const profile = await recording.stop()

        const told = new Map(profile.instrumentation.overflows?.map((it) => [it.method, it.errors]))
        expect([callsByMethod(profile).get('fix.Deep.tiny(I)I'), told.get('fix.Deep.tiny(I)I')]).toEqual([
          after.tiny - before.tiny,
          inside.errors,
        ])
        expect(inside.deepest / tiny.deepest).toBeGreaterThanOrEqual(VALUES_KEEP)
        const [root] = profile.merged
        expect(root!.children.map(({ method }) => method)).toEqual(['by=1'])
        expect(profile.instrumentation.gaps).toBe(0)
      })

      if (!onVirtualThreads) return
      itOnlyIf(jdk.version >= 21, 'virtual threads need JDK 21')(
        'on a virtual thread each StackOverflowError is counted, and calls that did not begin are not counted',
        async () => {
          const before = await program.ask('calls')
          const recording = startRecording(java.pid, '--root', 'fix.Deep.root')
          await recording.started
          const tiny = await program.ask('virtual deepest tiny')
          const wide = await program.ask('virtual deepest wide')
          const called = await program.ask('calls')
          const profile = await recording.stop()

          const calls = callsByMethod(profile)
          const told = profile.instrumentation.overflows?.reduce((sum, it) => sum + it.errors, 0)
          expect([calls.get('fix.Deep.tiny(I)I'), calls.get('fix.Deep.wide(I)I'), told]).toEqual([
            called.tiny - before.tiny,
            called.wide - before.wide,
            tiny.errors + wide.errors,
          ])
          const { gaps } = profile.instrumentation
          expect([gaps, profile.truncated]).toEqual([0, false])
        },
      )
    },
  )
})
