// More virtual threads than processors. They change carriers continuously and call methods for the first time at the same moment, so the
// calls of each thread are in the chunks of all carriers.

import { expect, it } from 'vitest'
import { compileJava, startJava } from '../support/java-process.ts'
import { forJdks } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'

const METHODS = 600
const THREADS = 64

const PROGRAM = `
  package fix;
  public class Many {
    static volatile int sum;
    static void task(int k) {
      for (int i = 0; i < ${METHODS}; i++) {
        call((i * 7 + k * 13) % ${METHODS});
        if ((i & 3) == 0) Thread.yield();
      }
    }
    static void call(int which) {
      switch (which) {
        ${Array.from({ length: METHODS }, (_, i) => `case ${i} -> m${i}();`).join('\n        ')}
        default -> throw new AssertionError();
      }
    }
    ${Array.from({ length: METHODS }, (_, i) => `static void m${i}() { sum += ${i}; }`).join('\n    ')}
    public static void main(String[] args) throws Exception {
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      System.out.println("ready");
      in.readLine();
      var all = new java.util.ArrayList<Thread>();
      for (int k = 0; k < ${THREADS}; k++) {
        int number = k;
        all.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) () -> task(number)));
      }
      for (Thread it : all) it.join();
      System.out.println("done");
      in.readLine();
    }
  }`

forJdks({ from: 21, reason: 'virtual threads need JDK 21' }, (jdk) => {
  it('calls of virtual threads on many carriers are assigned to the calling thread', async () => {
    const classes = await compileJava(jdk, { 'fix/Many': PROGRAM })
    const java = startJava(jdk, ['-Djdk.virtualThreadScheduler.parallelism=8', '-cp', classes, 'fix.Many'])
    await java.line(/ready/)
    const recording = startRecording(java.pid, '--root', 'fix.Many.task', '--scheme', 'b')
    await recording.started
    java.send('go')
    await java.line(/done/)
    const profile = await recording.stop()
    const [task, ...others] = profile.merged
    const [call, ...more] = task!.children
    expect([others.length, more.length]).toEqual([0, 0])
    expect(task!.calls).toBe(THREADS)
    const { gaps, healed } = profile.instrumentation
    expect(healed).toBe(0)
    if (gaps === 0) {
      expect(call!.calls).toBe(THREADS * METHODS)
      expect(call!.children.map((it) => it.calls)).toEqual(Array(METHODS).fill(THREADS))
    } else {
      // A thread has waited for more than a second because no processor was free. Its calls in this time are missing, but no call is
      // counted twice.
      console.info(`JDK ${jdk.version}: ${gaps} gaps`)
      expect(Math.max(call!.calls / METHODS, ...call!.children.map((it) => it.calls))).toBeLessThanOrEqual(
        THREADS,
      )
    }
  })
})
