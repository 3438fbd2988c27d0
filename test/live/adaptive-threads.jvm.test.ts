// Scheme adaptive and what threads do: call the root by reflection, die inside it, or stand still because the whole process does.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { callsByMethod, startRecording } from '../support/jfluid.ts'

const CALLS = 4000
const THREADS = 150

/**
 * "reflected": the root is called by Method.invoke, as controllers are, CALLS times. It has been before the program is ready, so that
 * what calls it is compiled. "died": each of THREADS threads, and where there are any as many virtual ones, ends by an exception that
 * comes out of the root. "go": another thread calls it without end.
 */
const PROGRAM = `
  package fix;
  import java.lang.reflect.Method;
  import java.util.ArrayList;
  import java.util.List;
  import java.util.concurrent.atomic.AtomicInteger;
  public class Reached {
    static volatile int sink;
    static final AtomicInteger uncaught = new AtomicInteger();
    public static int root(int how) throws Exception { return below(how); }
    static int below(int how) throws Exception {
      if (how == 1) Thread.sleep(1);
      if (how == 1) throw new IllegalStateException("out of the root");
      if (how == 2) Thread.sleep(1);
      return how + 1;
    }
    static void reflected(int calls) throws Exception {
      Method method = Reached.class.getMethod("root", int.class);
      for (int i = 0; i < calls; i++) sink += (int) method.invoke(null, 0);
    }
    static void work(int how) {
      try { sink += root(how); } catch (Exception it) { throw new RuntimeException(it); }
    }
    static Thread virtual(Runnable work) throws Exception {
      try {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
      } catch (NoSuchMethodException | java.lang.reflect.InvocationTargetException older) {
        return null; // or still a preview
      }
    }
    static int died() throws Exception {
      uncaught.set(0);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < ${THREADS}; i++) {
        Thread platform = new Thread(() -> work(1));
        platform.start();
        threads.add(platform);
        Thread virtual = virtual(() -> work(1));
        if (virtual != null) threads.add(virtual);
      }
      for (Thread it : threads) it.join();
      return threads.size();
    }
    public static void main(String[] args) throws Exception {
      Thread.setDefaultUncaughtExceptionHandler((thread, problem) -> uncaught.incrementAndGet());
      reflected(20_000);
      System.out.println("ready");
      java.io.BufferedReader in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        switch (line) {
          case "reflected": reflected(${CALLS}); System.out.println("called"); break;
          case "died": int begun = died(); System.out.println("died " + begun + " " + uncaught.get()); break;
          default:
            Thread thread = new Thread(() -> { while (true) work(2); });
            thread.setDaemon(true);
            thread.start();
        }
      }
    }
  }`

const ROOT = 'fix.Reached.root(I)I'

async function start(jdk: Jdk) {
  const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Reached': PROGRAM }), 'fix.Reached'])
  await java.line(/^ready/)
  const recording = startRecording(java.pid, '--root', 'fix.Reached.root', '--scheme', 'adaptive')
  await recording.started
  return { java, recording }
}

forEachJdk((jdk) => {
  it('a root that is called by reflection has all its calls, though what calls it was compiled before', async () => {
    const { java, recording } = await start(jdk)
    java.send('reflected')
    await java.line(/^called/)
    const profile = await recording.stop()
    expect(callsByMethod(profile).get(ROOT)).toBe(CALLS)
    expect(profile.stacks).toMatchObject({ rootCalls: CALLS })
    expect(profile.instrumentation).toMatchObject({ gaps: 0, redefinitions: 1 })
    expect(profile.detach).toMatchObject({ left: [], refusedClasses: 0 })
  })

  it('threads that end by an exception out of the root: each call is counted, and their program gets the exception', async () => {
    const { java, recording } = await start(jdk)
    java.send('died')
    const [, begun, uncaught] = /^died (\d+) (\d+)/m.exec(await java.line(/^died /)) ?? []
    expect(Number(begun)).toBeGreaterThanOrEqual(THREADS)
    expect(uncaught).toBe(begun)
    const profile = await recording.stop()
    expect(callsByMethod(profile).get(ROOT)).toBe(Number(begun))
    expect(profile.openCalls).toBe(0)
    expect(profile.instrumentation.gaps).toBe(0)
    expect(profile.detach).toMatchObject({ left: [], refusedClasses: 0 })
  })

  it('a process that is suspended goes on afterwards, and the report says for how long it stood still', async () => {
    const { java, recording } = await start(jdk)
    java.send('go')
    const stalledMs = 1500
    process.kill(java.pid, 'SIGSTOP')
    await sleep(stalledMs) // the time is the point
    process.kill(java.pid, 'SIGCONT')
    const profile = await recording.stop()
    expect(profile.stacks!.longestStallMs).toBeGreaterThan(stalledMs * 0.9)
    expect(profile.stacks!.longestStallMs).toBeLessThan(stalledMs * 2)
    expect(profile.merged[0]!.calls).toBeGreaterThan(0)
    expect(profile.detach).toMatchObject({ left: [], refusedClasses: 0 })
  })
})
