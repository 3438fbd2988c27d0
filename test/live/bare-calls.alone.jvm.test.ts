// Scheme b estimates the error of its times: at the end some root calls run without probes below the root.

import { describe, expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { until } from './remains.ts'

/** Calls a root in an endless loop and prints the median time of one call before the attach. */
const PROGRAM = {
  'fix/Trust.java': `package fix;
    public class Trust {
      static volatile long sink;
      static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
      static void dense() { sink += fib(18); }
      static double step(double x) { for (int i = 0; i < 10_000; i++) x += 1 / (x + i); return x; }
      static void sparse() { sink += (long) step(sink); }
      public static void main(String[] args) throws Exception {
        boolean dense = !args[0].equals("sparse");
        Thread running = new Thread(() -> {
          long[] times = new long[4001];
          for (int i = 0; i < 8 * times.length; i++) {
            long begin = System.nanoTime();
            if (dense) dense(); else sparse();
            times[i % times.length] = System.nanoTime() - begin;
          }
          java.util.Arrays.sort(times);
          System.out.println("bare " + times[times.length / 2]);
          while (true) if (dense) dense(); else sparse();
        });
        running.setDaemon(true);
        running.start();
        while (System.in.read() != -1) { }
      }
    }`,
}

forNewestJdk((jdk) => {
  async function started(which: string) {
    const java = startJava(jdk, ['-cp', await compileJava(jdk, PROGRAM), 'fix.Trust', which])
    const bareNs = Number((await java.line(/^bare/)).split(' ')[1])
    const options = sessionOptions({ root: [`fix.Trust.${which}`], scheme: 'b' })
    const session = await Session.start(await attachDoor(java.pid), options)
    return { bareNs, java, session }
  }

  async function recorded(which: string) {
    const { bareNs, session } = await started(which)
    await until(async () => (await session.status()).elapsedMs > 3_500)
    const before = session.engine.installation.redefinitions
    const report = await session.detach()
    const profile = await session.profile()
    await session.close()
    return { bareNs, before, profile, report }
  }

  describe('a session with scheme b', () => {
    it('a session with scheme b compares root calls with and without probes if probes take a large part of the time of a root call', async () => {
      const { bareNs, before, profile, report } = await recorded('dense')
      const { bareCalls, instrumentation, merged, rootCalls } = profile
      expect(bareCalls).toBeDefined()
      expect(bareCalls!.calls).toBeGreaterThanOrEqual(16)
      // The program itself measured bareNs before the attach.
      expect(bareCalls!.bareNs / bareNs).toBeGreaterThan(0.5)
      expect(bareCalls!.bareNs / bareNs).toBeLessThan(2)
      const ratio = bareCalls!.chargedNs / bareCalls!.bareNs
      expect(bareCalls!.low).toBeLessThanOrEqual(ratio)
      expect(bareCalls!.high).toBeGreaterThanOrEqual(ratio)
      // No row contains the calls without probes.
      expect(Math.abs(merged.metrics.calls![0]! - rootCalls!.count)).toBeLessThanOrEqual(1)
      expect(instrumentation.redefinitions).toBe(before + 1)
      expect(report).toMatchObject({ refusedClasses: 0 })
      expect(profile.detach?.code.different).toEqual([])
      expect(profile.detach?.left).toEqual([])
    })

    it('a session with scheme b makes no comparison if the root calls only itself, because the probes of the root stay installed', async () => {
      const { before, profile } = await recorded('fib')
      expect(profile.bareCalls).toBeUndefined()
      expect(profile.instrumentation.redefinitions).toBe(before)
      expect(profile.detach?.left).toEqual([])
    })

    it('a session with scheme b keeps the recorded data if the JVM ends during the comparison', async () => {
      const { java, session } = await started('dense')
      await until(async () => (await session.status()).elapsedMs > 3_500)
      const before = session.engine.installation.redefinitions
      const detached = session.detach()
      await until(() => session.engine.installation.redefinitions > before)
      await java.kill()
      await detached
      const profile = await session.profile()
      await session.close()
      expect(profile.truncated).toBe(true)
      expect(profile.rootCalls!.count).toBeGreaterThan(200)
    })

    it('a session with scheme b makes no comparison if probe cost is small', async () => {
      const { before, profile } = await recorded('sparse')
      expect(profile.bareCalls).toBeUndefined()
      expect(profile.rootCalls!.count).toBeGreaterThan(1_000)
      expect(profile.instrumentation.redefinitions).toBe(before)
    })
  })
})
