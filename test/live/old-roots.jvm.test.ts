// A thread has called a root in the code of an earlier session, and is blocked at the root's monitor. If it gets the monitor during a later
// session, the old code must not open a call.

import { beforeAll, expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'

/** hold: a thread locks the monitor. call: another thread blocks at the monitor. free: both threads continue. other: calls other(). */
const HELD = `
  package fix;
  import java.util.concurrent.CountDownLatch;
  public class Held {
    static int sum;
    static void first() { sum++; }
    static void second() { sum++; }
    static void other() { sum++; }
    static synchronized void held() { sum++; }
    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      CountDownLatch free = new CountDownLatch(1);
      Thread holder = null, caller = null;
      for (String line; (line = in.readLine()) != null; ) {
        switch (line) {
          case "hold" -> {
            CountDownLatch has = new CountDownLatch(1);
            holder = new Thread(() -> {
              synchronized (Held.class) {
                has.countDown();
                try { free.await(); } catch (InterruptedException e) { throw new AssertionError(e); }
              }
            });
            holder.start();
            has.await();
          }
          case "call" -> {
            caller = new Thread(Held::held);
            caller.start();
            while (caller.getState() != Thread.State.BLOCKED) Thread.onSpinWait();
          }
          case "free" -> { free.countDown(); holder.join(); caller.join(); }
          case "other" -> other();
        }
        System.out.println("done " + line);
      }
    }
  }`

forNewestJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Held': HELD })
  })

  it.each([
    { mode: 'exact', flags: [] },
    { mode: 'sample by bytecodes', flags: ['--mode', 'sample', '--every', '1bc', '--random', '0'] },
  ])(
    'a thread that runs code of an earlier session records no call of the root in a later session in mode $mode',
    async ({ flags }) => {
      const java = startJava(jdk, ['-cp', classes, 'fix.Held'])
      await java.line(/ready/)
      const ask = async (line: string) => {
        java.send(line)
        await java.line(new RegExp(`^done ${line}$`))
      }
      const before = ['first', 'second', 'held'].flatMap((it) => ['--root', `fix.Held.${it}`])
      const first = startRecording(java.pid, ...before, ...flags)
      await first.started
      await ask('hold')
      await ask('call')
      await first.stop(STATUS.rootNeverCalled) // the thread that waits for the monitor has not begun its call
      // This session has fewer methods, so one method id of the first session is not valid in it.
      const second = startRecording(java.pid, '--root', 'fix.Held.other', ...flags)
      await second.started
      await ask('free')
      await ask('other')
      const profile = await second.stop()
      expect(profile.merged.map(({ method, calls }) => [method, calls])).toEqual([['other', 1]])
      expect(profile.instrumentation.gaps).toBe(0)
      expect([profile.truncated, profile.warnings]).toEqual([false, []])
    },
  )
})
