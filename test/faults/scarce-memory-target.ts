// A target whose metaspace or heap can be exhausted.

import { existsSync } from 'node:fs'
import { descriptors, filesOf, mappedFiles, threadNames, until } from '../live/remains.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { callsByMethod, readProfileJson, startRecording } from '../support/jfluid.ts'
import type { Outcome } from './trials.ts'

/**
 * One thread calls `root` continuously; `root` allocates nothing. Commands on stdin:
 *
 *   metaspace <KiB>  loads classes until only this amount of metaspace can be committed: "done"
 *   hold             fills the heap except 64 KiB, and keeps it full: "done"
 *   visit <n>        calls `visit` n times: "done"
 *   give             frees classes and heap: "done"
 *   rounds <n>       fills the heap n times inside the root `full` until an error is thrown: "done <errors> <other errors>"
 *   state            "state wrong <n> thrown <n> …"
 */
const LEAN = `
  package fix;
  import java.util.*;
  public class Lean {
    static class Part {}
    static class Own extends ClassLoader {
      Class<?> define(byte[] b) { return defineClass("fix.Lean$Part", b, 0, b.length); }
    }
    static final List<Object> classes = new ArrayList<>();
    static volatile Object[] held;
    static volatile byte[] reserve;
    static volatile long wrong, thrown;
    static volatile Throwable first;

    static int root(int i) { return step(i) + other(i); }
    static int step(int i) { return i * 3; }
    static int other(int i) { return late(i) ^ 5; }
    static int late(int i) { return i + 1; }

    static Object[] grow(Object[] before, int size) { Object[] next = new Object[size]; next[0] = before; return next; }
    /** The last errors. They are stored without an allocation, since memory may be exhausted, and are examined later. */
    static final Throwable[] last = new Throwable[64];
    static Object[] full(int[] errors) {
      Object[] chain = null;
      for (int size = 1 << 18; size > 0; ) {
        try { chain = grow(chain, size); } catch (OutOfMemoryError e) {
          last[errors[0]++ & 63] = e;
          size /= 4;
        }
      }
      return chain;
    }
    static void visit(int i) { step(i); }
    static void look(int[] errors) {
      for (int i = 0; i < last.length; i++) {
        if (last[i] == null) continue;
        StackTraceElement[] at;
        try { at = last[i].getStackTrace(); } catch (OutOfMemoryError full) { // JDKs that create the stack trace only here
          System.gc();
          i--;
          continue;
        }
        if (at.length > 0 && !at[0].getMethodName().equals("grow")) { errors[1]++; first = last[i]; }
        last[i] = null;
      }
    }
    static void round(int[] errors) { full(errors); }

    public static void main(String[] args) throws Exception {
      byte[] bytes;
      try (var in = Lean.class.getResourceAsStream("Lean$Part.class")) { bytes = in.readAllBytes(); }
      java.lang.management.MemoryPoolMXBean pool = null;
      for (var it : java.lang.management.ManagementFactory.getMemoryPoolMXBeans()) if (it.getName().equals("Metaspace")) pool = it;
      int[] errors = new int[2];
      Thread t = new Thread(() -> {
        for (int i = 0; ; i++) {
          try { if (root(i) != i * 3 + (i + 1 ^ 5)) wrong++; } catch (Throwable e) { first = e; thrown++; }
          if ((i & 4095) == 0) Thread.yield();
        }
      }, "caller");
      t.setDaemon(true);
      t.start();
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        String[] word = line.split(" ");
        switch (word[0]) {
          case "metaspace" -> {
            long left = Long.parseLong(word[1]) << 10;
            while (pool.getUsage().getMax() - pool.getUsage().getCommitted() > left) classes.add(new Own().define(bytes));
            System.out.println("done");
          }
          case "hold" -> {
            reserve = new byte[64 << 10]; // needed for output
            held = full(errors);
            reserve = null;
            System.out.println("done");
          }
          case "visit" -> { for (int n = Integer.parseInt(word[1]); n > 0; n--) visit(n); System.out.println("done"); }
          case "give" -> { classes.clear(); held = null; System.gc(); System.out.println("done"); }
          case "rounds" -> {
            errors[0] = errors[1] = 0;
            for (int n = Integer.parseInt(word[1]); n > 0; n--) { round(errors); look(errors); }
            System.out.println("done " + errors[0] + " " + errors[1]);
          }
          case "state" -> System.out.println("state wrong " + wrong + " thrown " + thrown + " " + first);
        }
      }
    }
  }`

export class Lean {
  readonly java: JavaProcess
  #asked = new Map<string, number>()

  constructor(java: JavaProcess) {
    this.java = java
  }

  static async start(jdk: Jdk, ...options: string[]): Promise<Lean> {
    const classes = await compileJava(jdk, { 'fix/Lean': LEAN }, { options: ['-XDstringConcat=inline'] })
    const lean = new Lean(startJava(jdk, [...options, '-cp', classes, 'fix.Lean']))
    await lean.java.line(/^ready/)
    return lean
  }

  async ask(line: string, answer: 'done' | 'state' = 'done'): Promise<string> {
    const nth = (this.#asked.get(answer) ?? 0) + 1
    this.#asked.set(answer, nth)
    this.java.send(line)
    return this.java.line(new RegExp(`^${answer}`), nth)
  }

  async harm(): Promise<string[]> {
    if (this.java.child.exitCode !== null || this.java.child.signalCode !== null) {
      return [`it ended: ${this.java.stdout()}${this.java.stderr()}`]
    }
    const state = await this.ask('state', 'state')
    return state.startsWith('state wrong 0 thrown 0 ') ? [] : [state]
  }
}

export const ROOTS = ['root', 'round', 'visit'].flatMap((it) => ['--root', `fix.Lean.${it}`])
/** Returns whether there is a profile with recorded data. */
export async function keptIn(file: string): Promise<Outcome['profile']> {
  return existsSync(file) && (await readProfileJson(file)).events.count > 0 ? 'kept' : 'lost'
}

/** Returns traces of jfluid after its threads have ended. */
export async function leftIn({ java: { pid } }: Lean): Promise<string[]> {
  await until(async () => !(await threadNames(pid)).some((name) => /jfluid/.test(name)))
  return [
    ...filesOf(pid).filter((it) => it !== `/tmp/.java_pid${pid}`),
    ...mappedFiles(pid).filter((it) => /jfluid-\d/.test(it)),
    ...descriptors(pid).filter((it) => /jfluid-\d/.test(it)),
  ]
}

/** Returns an error if the next attach does not count exactly, after the program has memory again. */
export async function nextAttach(lean: Lean): Promise<string[]> {
  const next = startRecording(lean.java.pid, ...ROOTS)
  await next.started
  await lean.ask('visit 20')
  const profile = await next.stop()
  const visits = callsByMethod(profile).get('fix.Lean.visit(I)V')
  return visits === 20 && !profile.truncated
    ? []
    : [`next attach: ${visits} of 20 visits, ${profile.warnings}`]
}

export const METASPACE = ['-Xmx64m', '-XX:MaxMetaspaceSize=28m']
