// A session with more threads than it has thread numbers.

import { beforeAll, expect, it } from 'vitest'
import { compileJava, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { callsByMethod, lines, startRecording } from '../support/jfluid.ts'

/**
 * series n:   n threads enter the root once each and end, `WIDTH` threads at a time.
 * numbers n:  leaves thread numbers for only n further threads in the session.
 */
const THRONG = `
  package fix;
  import java.util.concurrent.Semaphore;
  public class Throng {
    static final int WIDTH = 16;
    static final Semaphore inside = new Semaphore(WIDTH);
    static volatile int sink;
    static int step(int x) { return x * 31 + 7; }
    static void visit() { sink = step(sink); }
    static Thread thread(Runnable task) { return new Thread(null, task, "throng", 64 << 10, false); }
    static void series(int n) throws InterruptedException {
      for (int i = 0; i < n; i++) {
        inside.acquire();
        thread(() -> { try { visit(); } finally { inside.release(); } }).start();
      }
      inside.acquire(WIDTH);
      inside.release(WIDTH);
    }
    static void numbers(int left) throws Exception {
      var field = Class.forName("java.lang.JFluid1Session").getDeclaredField("counters");
      field.setAccessible(true);
      ((int[]) field.get(null))[0] = (1 << 24) - 1 - left;
    }
    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        int n = Integer.parseInt(line.split(" ")[1]);
        switch (line.split(" ")[0]) {
          case "series" -> series(n);
          default -> numbers(n);
        }
        System.out.println("done " + line);
      }
    }
  }`

forNewestJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Throng': THRONG })
  })
  const start = async () => {
    const opens = ['--add-opens', 'java.base/java.lang=ALL-UNNAMED']
    const java = startJava(jdk, [...opens, '-cp', classes, 'fix.Throng'])
    await java.line(/ready/)
    const recording = startRecording(java.pid, '--root', 'fix.Throng.visit')
    await recording.started
    return { java, recording }
  }

  it('calls of threads that get no thread number are counted as missing, and no call is recorded under a wrong thread', async () => {
    const { java, recording } = await start()
    java.send('series 10')
    await java.line(/^done series/)
    java.send('numbers 5')
    await java.line(/^done numbers/)
    java.send('series 8')
    await java.line(/^done series 8/)
    java.send('series 9')
    await java.line(/^done series 9/)
    const profile = await recording.stop()
    expect(lines(callsByMethod(profile))).toEqual(['fix.Throng.step(I)I 15', 'fix.Throng.visit()V 15'])
    const { gaps, healed } = profile.instrumentation
    expect([gaps, healed, profile.truncated]).toEqual([3 + 9, 0, false])
    expect(profile.threads).toHaveLength(15)
    // In the next session all thread numbers are available again.
    const next = startRecording(java.pid, '--root', 'fix.Throng.visit')
    await next.started
    java.send('series 7')
    await java.line(/^done series 7/)
    const after = await next.stop()
    expect(lines(callsByMethod(after))).toEqual(['fix.Throng.step(I)I 7', 'fix.Throng.visit()V 7'])
    expect(after.instrumentation.gaps).toBe(0)
  })
})
