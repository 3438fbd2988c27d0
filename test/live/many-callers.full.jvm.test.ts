// Thousands of platform threads and a hundred thousand virtual threads that each call the root once: counts, memory, files, and the
// duration of the detach.

import { readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ask, compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { callsByMethod, lines, startRecording } from '../support/jfluid.ts'
import { remainsOf } from './remains.ts'

/**
 * platform n:  n platform threads, all alive at the same time, call the root once each: "done"
 * virtual n:   the same with virtual threads
 */
const PROGRAM = `
  package fix;
  import java.util.concurrent.*;
  import java.util.concurrent.atomic.AtomicInteger;
  public class Throng {
    static final AtomicInteger calls = new AtomicInteger();
    static int visit(int k) { calls.incrementAndGet(); return step(k) + step(k + 1); }
    static int step(int x) { return x * 31 + 7; }
    static Thread started(String kind, Runnable body) throws Exception {
      if (kind.equals("virtual")) return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
      Thread thread = new Thread(null, body, "throng", 128 << 10);
      thread.start();
      return thread;
    }
    static void run(String kind, int n) throws Exception {
      CountDownLatch go = new CountDownLatch(1), all = new CountDownLatch(n), leave = new CountDownLatch(1);
      Thread[] threads = new Thread[n];
      for (int i = 0; i < n; i++) {
        int k = i;
        threads[i] = started(kind, () -> {
          try { go.await(); visit(k); all.countDown(); leave.await(); } catch (InterruptedException e) { throw new AssertionError(e); }
        });
      }
      go.countDown();
      all.await();
      leave.countDown();
      for (Thread it : threads) it.join();
    }
    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
        String[] words = line.split(" ");
        int before = calls.get();
        run(words[0], Integer.parseInt(words[1]));
        System.out.println("done " + (calls.get() - before));
      }
    }
  }`

const VISIT = 'fix.Throng.visit'
const MIB = 1 << 20
const THREADS = { platform: 5_000, virtual: 100_000 } as const
/** Upper bounds. A quiet machine needs less than a third of these values. */
const CLIENT_BYTES = 600 * MIB
const FILE_BYTES = 40 * MIB
const DETACH_MS = 10_000

/** Returns the largest resident memory of a process so far, bytes. */
const peakOf = (pid: number): number =>
  1024 * Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])

forEachJdk((jdk) => {
  const kinds = jdk.version >= 21 ? (['platform', 'virtual'] as const) : (['platform'] as const)
  describe.each(kinds)(`many %s threads on JDK ${jdk.version}`, (kind) => {
    it.each(['b', 'adaptive'])(
      'with scheme %s, one call of each thread is counted, with bounded memory',
      {
        timeout: 300_000,
      },
      async (scheme) => {
        const classes = await compileJava(jdk, { 'fix/Throng': PROGRAM })
        const java = startJava(jdk, ['-Xmx2g', '-cp', classes, 'fix.Throng'])
        await java.line(/^ready/)
        const n = THREADS[kind]
        const times = scheme === 'adaptive' ? ['--time', 'fix.Throng.step'] : []
        const recording = startRecording(java.pid, '--root', VISIT, '--scheme', scheme, ...times)
        await recording.started
        expect(await ask(java, `${kind} ${n}`, /^done/)).toBe(`done ${n}`)
        const clientBytes = peakOf(recording.process.pid)
        const profile = await recording.stop()
        const { gaps, healed } = profile.instrumentation
        const { ms, proofMs, left } = profile.detach!
        const fileBytes = statSync(recording.file).size
        console.info(
          `JDK ${jdk.version}, ${n} ${kind} threads, scheme ${scheme}: client ${(clientBytes / MIB).toFixed(0)} MiB, ` +
            `file ${(fileBytes / MIB).toFixed(2)} MiB, detach ${ms} ms, proof ${proofMs} ms, ${profile.threads.length} threads in the profile, ` +
            `kept ${profile.kept.heapBytes} bytes of heap, ${gaps} gaps`,
        )
        expect([healed, left]).toEqual([0, []])
        const calls = callsByMethod(profile)
        if (gaps === 0) {
          expect(lines(calls)).toEqual([`fix.Throng.step(I)I ${2 * n}`, `${VISIT}(I)I ${n}`])
        } else {
          // There are more threads than chunks of the buffer, and a thread got no chunk in time. The missing calls are counted.
          const missing = n - calls.get(`${VISIT}(I)I`)!
          expect(missing).toBeGreaterThanOrEqual(0)
          expect(missing).toBeLessThanOrEqual(gaps)
        }
        expect(clientBytes).toBeLessThan(CLIENT_BYTES)
        expect(fileBytes).toBeLessThan(FILE_BYTES)
        expect(ms).toBeLessThan(DETACH_MS)
        expect(await remainsOf(java.pid, [recording.process.pid])).toEqual([])
        expect(await ask(java, `${kind} 100`, /^done/)).toBe('done 100')
        expect(java.stderr()).not.toMatch(/Exception|Error/)
      },
    )
  })
})
