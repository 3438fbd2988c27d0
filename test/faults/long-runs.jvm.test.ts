// Long runs: a clock after weeks, more methods than 16 bits can number, a recursion as deep as a large stack, and tens of thousands of
// threads. All counts are exact, and no memory leaks.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { liveObjects, remainsOf, until } from '../live/remains.ts'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import {
  callsByMethod,
  type JsonNode,
  jfluid,
  lines,
  type Recording,
  startRecording,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { type Outcome, times, trials } from './trials.ts'

/** More methods than two bytes can number, in classes of a thousand methods. */
const CLASSES = FULL ? 70 : 4
const METHODS = 1000

function manyMethods(nth: number): string {
  const all = Array.from({ length: METHODS }, (_, i) => i)
  return `package fix; final class Many${nth} {
    ${all.map((i) => `static int m${i}(int x) { return x + ${i}; }`).join('\n')}
    static int all(int x) { ${all.map((i) => `x = m${i}(x);`).join('\n')} return x; }
  }`
}

/** A number of ticks that fits into an event. The time of these ticks in the profile shows the length of a tick. */
const RULE = 2 ** 39
/** Number of repetitions. One call that loses its processor during a clock reading then has little weight. */
const RULES = 64

/**
 * Changes fields of the runtime as if the session had started this time ago. The times per thread are changed only for the current thread.
 */
const MOVE = `
      start.setLong(null, start.getLong(null) - ticks);
      for (Object info : (Object[]) table.get(null)) {
        if (info != null && tid.getLong(info) == Thread.currentThread().getId()) base.setLong(info, base.getLong(info) - ticks);
      }`

/**
 * methods:       calls every method of the classes fix.Many… once
 * deep n:        a recursion n deep that returns, on a thread with a large stack; then a recursion whose last call throws,
 *                and whose first call catches the exception
 * threads n:     n threads, 16 at a time, call the root once each
 * frequency:     prints "<n> Hz, rule <n>": the clock's frequency, and the duration of rule() in ns
 * leap n:        the clock advances by n ticks inside leap(), without events of its thread; and by RULE in each of RULES calls of rule()
 */
const LONG = `
  package fix;
  import java.lang.reflect.Field;
  import java.util.concurrent.Semaphore;
  public class Long {
    static volatile int sink;
    static final RuntimeException BOTTOM = new RuntimeException(null, null, false, false) {};
    static int step(int x) { return x * 31 + 7; }
    static void visit() { sink = step(sink); }
    static void methods() {
      int x = sink;
      ${Array.from({ length: CLASSES }, (_, i) => `x = Many${i}.all(x);`).join('\n')}
      sink = x;
    }
    static int down(int n) { return n == 0 ? step(1) : down(n - 1) + 1; }
    static int fall(int n) { if (n == 0) throw BOTTOM; return fall(n - 1) + 1; }
    static void deep(int n) {
      sink = down(n);
      try { sink = fall(n); } catch (RuntimeException e) { sink = step(2); }
      step(3);
    }
    static void leaps(long ticks) throws Exception {
      step(1);
      leap(ticks);
      step(2);
      for (int i = 0; i < ${RULES} && ticks != 0; i++) rule(${RULE}L);
    }
    static void leap(long ticks) throws IllegalAccessException {
      ${MOVE}
    }
    static long ruleNanos;
    static void rule(long ticks) throws IllegalAccessException {
      long begun = System.nanoTime();
      ${MOVE}
      ruleNanos += System.nanoTime() - begun;
    }
    static Field start, table, tid, base;
    static Field field(String owner, String name) throws Exception {
      Field field = Class.forName("java.lang.JFluid1" + owner).getDeclaredField(name);
      field.setAccessible(true);
      return field;
    }
    static void threads(int n) throws InterruptedException {
      Semaphore inside = new Semaphore(16);
      for (int i = 0; i < n; i++) {
        inside.acquire();
        new Thread(null, () -> { try { visit(); } finally { inside.release(); } }, "one of many", 64 << 10).start();
      }
      inside.acquire(16);
    }
    /** Frequency of the clock that the runtime reads, in ticks per second, precise to some millionths. */
    static long frequency() throws Exception {
      var clock = Class.forName("java.lang.JFluid1Session").getMethod("ticks");
      clock.invoke(null); // loads the classes that it needs
      long nanos = System.nanoTime();
      long ticks = (long) clock.invoke(null);
      Thread.sleep(500);
      double passed = System.nanoTime() - nanos;
      return Math.round(((long) clock.invoke(null) - ticks) / passed * 1e9);
    }
    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        String[] word = line.split(" ");
        switch (word[0]) {
          case "methods" -> methods();
          case "threads" -> threads(Integer.parseInt(word[1]));
          case "deep" -> {
            Thread t = new Thread(null, () -> deep(Integer.parseInt(word[1])), "deep", 1L << 30);
            t.start();
            t.join();
          }
          case "leap" -> {
            start = field("Session", "start");
            table = field("Threads", "table");
            tid = field("Threads$ThreadInfo", "tid");
            base = field("Threads$ThreadInfo", "base");
            leaps(java.lang.Long.parseLong(word[1]));
          }
          case "frequency" -> System.out.println(frequency() + " Hz, rule " + ruleNanos);
        }
        System.out.println("done " + line);
      }
    }
  }`

/** Other formats need a trace, or have a line of 512 frames for each level: more than a gigabyte. */
const FORMATS = ['json', 'html', 'pprof', 'markdown']

/** Returns the number of nested calls of `method`. */
function depthOf(nodes: readonly JsonNode[], method: string): { depth: number; calls: Set<number> } {
  const calls = new Set<number>()
  let depth = 0
  for (let at = nodes.find((it) => it.method === method); at !== undefined; depth++) {
    calls.add(at.calls)
    at = at.children.find((it) => it.method === method)
  }
  return { depth, calls }
}

const residentMib = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

forNewestJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    const many = Array.from({ length: CLASSES }, (_, i) => [`fix/Many${i}`, manyMethods(i)])
    classes = await compileJava(jdk, { 'fix/Long': LONG, ...Object.fromEntries(many) })
  }, 300_000)

  async function start(...vm: string[]): Promise<JavaProcess> {
    const opens = ['java.base/java.lang', 'jdk.jfr/jdk.jfr.internal'].flatMap((it) => [
      '--add-opens',
      `${it}=ALL-UNNAMED`,
    ])
    const java = startJava(jdk, ['-Xmx512m', ...opens, ...vm, '-cp', classes, 'fix.Long'])
    await java.line(/^ready/)
    return java
  }

  async function run(java: JavaProcess, line: string): Promise<void> {
    const nth =
      java
        .stdout()
        .split('\n')
        .filter((it) => it === `done ${line}`).length + 1
    java.send(line)
    await java.line(new RegExp(`^done ${line}$`), nth)
  }

  /** Ends the program and returns the outcome, with everything that the recording has left. */
  async function outcome(
    java: JavaProcess,
    recording: Recording,
    more: Pick<Outcome, 'wrong' | 'ms' | 'figures'>,
  ): Promise<Outcome> {
    const left = await remainsOf(java.pid, [recording.process.pid])
    await java.kill()
    return { harm: [], profile: 'kept', left, ...more }
  }

  it(`calls of ${CLASSES * METHODS} methods are counted exactly`, { timeout: 900_000 }, async () => {
    await trials(`${(CLASSES * METHODS).toLocaleString('en')} methods`, jdk, times(1, 3), async () => {
      const java = await start()
      await run(java, 'methods') // otherwise the classes would be loaded in the root, with a thousand methods each
      const begun = performance.now()
      const recording = startRecording(java.pid, '--root', 'fix.Long.methods', '--scheme', 'a', '--yes')
      await recording.started
      const ms = { attached: performance.now() - begun }
      await run(java, 'methods')
      await run(java, 'methods')
      const profile = await recording.stop()
      const { gaps, healed, instrumentedMethods } = profile.instrumentation
      expect(instrumentedMethods).toBe(CLASSES * (METHODS + 1) + 1)
      const found = callsByMethod(profile)
      const wrong = [...found].filter(([, calls]) => calls !== 2)
      expect([found.size, wrong, gaps, healed]).toEqual([CLASSES * (METHODS + 1) + 1, [], 0, 0])
      return await outcome(java, recording, { ms })
    })
  })

  const DEEP = FULL ? 100_000 : 20_000
  it(`a recursion ${DEEP} deep that returns or throws is counted exactly`, { timeout: 900_000 }, async () => {
    await trials(`a recursion ${DEEP.toLocaleString('en')} deep`, jdk, times(1, 5), async () => {
      const java = await start()
      const recording = startRecording(java.pid, '--root', 'fix.Long.deep', '--scheme', 'a')
      await recording.started
      await run(java, `deep ${DEEP}`)
      const profile = await recording.stop()
      const [root] = profile.merged
      const each = new Set([1])
      for (const method of ['down', 'fall'])
        expect(depthOf(root!.children, method), method).toEqual({ depth: DEEP + 1, calls: each })
      // The root calls both of the following methods: no frame of the recursions is open.
      expect(root!.children.find(({ method }) => method === 'step')?.calls).toBe(2)
      const { gaps, healed } = profile.instrumentation
      expect([gaps, healed, profile.truncated]).toEqual([0, 0, false])
      const wrong: string[] = []
      for (const name of FULL ? FORMATS : FORMATS.slice(0, 1)) {
        const out = join(temporaryDirectory(), `p.${name}`)
        const { code, stderr } = await jfluid('export', recording.file, '--format', name, '--out', out)
        if (code !== 0) wrong.push(`export to ${name} ended with ${code}: ${stderr}`)
      }
      for (const more of [[], ['--json'], ['--threads']]) {
        const { code, stderr } = await jfluid('report', recording.file, ...more)
        if (code !== 0) wrong.push(`report ${more.join(' ')} ended with ${code}: ${stderr}`)
      }
      return await outcome(java, recording, { wrong })
    })
  })

  const THREADS = FULL ? 10_000 : 1000
  it(`the calls of ${THREADS} short-lived threads are counted exactly`, { timeout: 900_000 }, async () => {
    await trials(`${THREADS.toLocaleString('en')} threads come and go`, jdk, times(1, 3), async () => {
      const java = await start()
      const recording = startRecording(java.pid, '--root', 'fix.Long.visit', '--scheme', 'a')
      await recording.started
      const some = Math.floor(THREADS / 10)
      await run(java, `threads ${some}`)
      const before = residentMib(recording.process.pid)
      await run(java, `threads ${THREADS - some}`)
      const grown = residentMib(recording.process.pid) - before
      // Records of ended threads are removed at the next status; one record belongs to the agent.
      const records = async () =>
        [...(await liveObjects(java.pid, /JFluid1Threads\$ThreadInfo$/)).values()].reduce((a, b) => a + b, 0)
      await until(async () => (await records()) <= 2)
      const profile = await recording.stop()
      expect(lines(callsByMethod(profile))).toEqual([
        `fix.Long.step(I)I ${THREADS}`,
        `fix.Long.visit()V ${THREADS}`,
      ])
      expect([profile.instrumentation.gaps, profile.instrumentation.healed]).toEqual([0, 0])
      expect(profile.threads.length).toBe(THREADS)
      return await outcome(java, recording, {
        wrong: grown < 100 ? [] : [`the client grew by ${grown.toFixed(0)} MiB`],
        figures: { [`the client grew for the last ${THREADS - some} by`]: [grown, 'MiB'] },
      })
    })
  })

  // 40 bits of ticks in an event are 7 minutes of a 2.5 GHz clock; 2^53 are 41 days.
  it.each(
    FULL ? [2 ** 39, 2 ** 40, 3 * 2 ** 40 + 5, 2 ** 46, 2 ** 53 + 2 ** 20, 2 ** 57] : [3 * 2 ** 40 + 5],
  )('a thread without events for %d ticks is timed correctly', { timeout: 300_000 }, async (ticks) => {
    await trials(
      `a thread that is silent for 2^${Math.log2(ticks).toFixed(1)} ticks`,
      jdk,
      times(1, 5),
      async () => {
        const java = await start()
        const recording = startRecording(java.pid, '--root', 'fix.Long.leaps', '--scheme', 'a')
        await recording.started
        await run(java, 'leap 0')
        await run(java, `leap ${ticks}`)
        await run(java, 'leap 0')
        const profile = await recording.stop()
        expect(lines(callsByMethod(profile))).toEqual([
          'fix.Long.leap(J)V 3',
          'fix.Long.leaps(J)V 3',
          `fix.Long.rule(J)V ${RULES}`,
          'fix.Long.step(I)I 6',
        ])
        const { gaps, healed } = profile.instrumentation
        expect([gaps, healed, profile.truncated]).toEqual([0, 0, false])
        const selfNs = (name: string) => profile.methods.find(({ method }) => method === name)!.selfNs
        const others = profile.methods.filter(({ method }) => method !== 'leap' && method !== 'rule')
        await run(java, 'frequency')
        const [hz, ruleNanos] = (await java.line(/Hz, rule/)).match(/\d+/g)!.map(Number)
        const nsPerTick = (selfNs('rule') - ruleNanos!) / (RULES * RULE)
        expect(Math.abs((nsPerTick * hz!) / 1e9 - 1)).toBeLessThan(1e-3)
        const leapNs = selfNs('leap')
        const expected = ticks * nsPerTick
        console.info(
          `JDK ${jdk.version}: ${ticks} ticks are ${expected / 1e9} s, and told as ${leapNs / 1e9}`,
        )
        // Only these two methods may take minutes. A lost overflow would show seven minutes in another method.
        const wrong = others.some((it) => Math.abs(it.selfNs) > 60e9) ? ['others took minutes'] : []
        if (Math.abs(leapNs - expected) > 60e9)
          wrong.push(`leap() took ${leapNs} ns of ${ticks} ticks, which are ${expected}`)
        return await outcome(java, recording, { wrong })
      },
    )
  })
})
