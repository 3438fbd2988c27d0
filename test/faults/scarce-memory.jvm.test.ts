// A target that has no memory left: metaspace or heap, before an attach, while it is profiled and at the detach. What is
// thrown in its methods may only be what they would have thrown without us.

import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { descriptors, filesOf, mappedFiles, threadNames, until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk, newest, oldest } from '../support/jdks.ts'
import { callsByMethod, jfluid, readProfileJson, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { type Outcome, times, trials } from './trials.ts'

/**
 * One thread calls `root` all the time, which allocates nothing. On stdin:
 *
 *   metaspace <KiB>  classes are loaded until so much may still be committed: "done"
 *   hold             the heap is filled but for 64 KiB, and stays full: "done"
 *   visit <n>        calls `visit` n times: "done"
 *   give             classes and heap are given back: "done"
 *   rounds <n>       n times the heap is filled inside the root `full` until it has an error: "done <errors> <of others>"
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
    /** Nothing is made where there is no memory: errors are looked at later. */
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
        try { at = last[i].getStackTrace(); } catch (OutOfMemoryError full) { // where it is made when it is asked for
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
            reserve = new byte[64 << 10]; // to speak with
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

class Lean {
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

const ROOTS = ['root', 'round', 'visit'].flatMap((it) => ['--root', `fix.Lean.${it}`])
/** Whether there is a profile, with what was recorded. */
async function keptIn(file: string): Promise<Outcome['profile']> {
  return existsSync(file) && (await readProfileJson(file)).events.count > 0 ? 'kept' : 'lost'
}

/** What is there of us, once our threads have gone. */
async function leftIn({ java: { pid } }: Lean): Promise<string[]> {
  await until(async () => !(await threadNames(pid)).some((name) => /jfluid/.test(name)))
  return [
    ...filesOf(pid).filter((it) => it !== `/tmp/.java_pid${pid}`),
    ...mappedFiles(pid).filter((it) => /jfluid-\d/.test(it)),
    ...descriptors(pid).filter((it) => /jfluid-\d/.test(it)),
  ]
}

/** What it says and does when it has memory again. */
async function nextAttach(lean: Lean): Promise<string[]> {
  const next = startRecording(lean.java.pid, ...ROOTS)
  await next.started
  await lean.ask('visit 20')
  const profile = await next.stop()
  const visits = callsByMethod(profile).get('fix.Lean.visit(I)V')
  return visits === 20 && !profile.truncated
    ? []
    : [`next attach: ${visits} of 20 visits, ${profile.warnings}`]
}

const METASPACE = ['-Xmx64m', '-XX:MaxMetaspaceSize=28m']

forEachJdk((jdk) => {
  const inShort = (which: Jdk): boolean => FULL || jdk === which

  it.runIf(inShort(oldest))(
    'with little metaspace it is refused before it loads a class',
    { timeout: 600_000 },
    async () => {
      await trials(
        'metaspace nearly full at attach, -XX:+ExitOnOutOfMemoryError',
        jdk,
        times(1, 15),
        async (chance) => {
          const lean = await Lean.start(jdk, ...METASPACE, '-XX:+ExitOnOutOfMemoryError')
          await lean.ask(`metaspace ${Math.floor(chance.between(130, 5500))}`)
          const out = `${temporaryDirectory()}/p.jfluid`
          const { code, stderr } = await jfluid('record', String(lean.java.pid), ...ROOTS, '--out', out)
          const harm = await lean.harm()
          const wrong = code === 75 && /of its metaspace are left/.test(stderr) ? [] : [`${code}: ${stderr}`]
          await lean.ask('give')
          wrong.push(...(await nextAttach(lean)))
          harm.push(...(await lean.harm()))
          const left = await leftIn(lean)
          await lean.java.kill()
          return { harm, wrong, profile: 'none', left }
        },
      )
    },
  )

  it.runIf(FULL)(
    'metaspace that fills up while it is profiled ends the session at most',
    { timeout: 900_000 },
    async () => {
      await trials('metaspace fills up while profiled', jdk, times(1, 10), async (chance) => {
        const lean = await Lean.start(jdk, ...METASPACE)
        const recording = startRecording(lean.java.pid, ...ROOTS)
        await recording.started
        await lean.ask(`metaspace ${Math.floor(chance.between(0, 200))}`)
        await lean.ask('visit 1') // has not been called yet
        await sleep(chance.between(0, 300))
        const harm = await lean.harm()
        const ended = performance.now()
        recording.process.child.kill('SIGINT')
        await until(
          async () => recording.process.child.exitCode !== null || performance.now() - ended > 5_000,
        )
        await lean.ask('give')
        await recording.process.exit
        const ms = { 'to leave': performance.now() - ended }
        const left = await leftIn(lean)
        const wrong = await nextAttach(lean)
        harm.push(...(await lean.harm()))
        await lean.java.kill()
        return { harm, wrong, profile: await keptIn(recording.file), left, ms } satisfies Outcome
      })
    },
  )

  it.runIf(inShort(newest))(
    'errors for want of heap inside the root are its own',
    { timeout: 600_000 },
    async () => {
      await trials('OutOfMemoryError inside the root, again and again', jdk, times(1, 10), async (chance) => {
        const lean = await Lean.start(
          jdk,
          '-Xmx24m',
          chance.of(['-XX:+UseSerialGC', '-XX:+UseG1GC', '-XX:+UseParallelGC']),
        )
        const rounds = FULL ? 30 : 5
        await lean.ask(`rounds ${rounds}`)
        const recording = startRecording(lean.java.pid, ...ROOTS)
        await recording.started
        const [, , others] = (await lean.ask(`rounds ${rounds}`)).split(' ').map(Number)
        recording.process.child.kill('SIGINT')
        await recording.process.exit
        const harm = await lean.harm()
        if (others !== 0) harm.push(`${others} errors came out of other places`)
        const left = await leftIn(lean)
        const wrong = await nextAttach(lean)
        await lean.java.kill()
        return { harm, wrong, profile: await keptIn(recording.file), left }
      })
    },
  )

  it.runIf(FULL)(
    'a heap that is full at the attach, or at the detach, costs the target nothing',
    { timeout: 900_000 },
    async () => {
      for (const when of ['attach', 'detach'] as const) {
        let refused = 0
        await trials(`heap full at ${when}`, jdk, times(1, 10), async () => {
          const lean = await Lean.start(jdk, '-Xmx24m', '-XX:+UseSerialGC')
          const harm: string[] = []
          const wrong: string[] = []
          if (when === 'attach') await lean.ask('hold')
          const recording = startRecording(lean.java.pid, ...ROOTS)
          const begun = await recording.started.then(
            () => true,
            () => false,
          )
          if (!begun) refused++
          if (when === 'detach') await lean.ask('hold')
          recording.process.child.kill('SIGINT')
          const { code } = await recording.process.exit
          if (code !== 0 && code !== STATUS.notNow)
            wrong.push(`the client ended with ${code}, saying:\n${recording.process.stderr()}`)
          harm.push(...(await lean.harm()))
          await lean.ask('give')
          const left = await leftIn(lean)
          wrong.push(...(await nextAttach(lean)))
          harm.push(...(await lean.harm()))
          await lean.java.kill()
          return { harm, wrong, profile: begun ? await keptIn(recording.file) : 'none', left }
        })
        if (when === 'attach') expect(refused).toBeGreaterThan(0)
      }
    },
  )
})
