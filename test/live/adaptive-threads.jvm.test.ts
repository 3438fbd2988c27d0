// Scheme adaptive with threads that call the root by reflection, threads that die inside the root, more threads than slots, and a suspended
// process.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { reportText } from '../../src/profile/report.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { callsByMethod, jfluid, startRecording } from '../support/jfluid.ts'
import { until } from './remains.ts'

const CALLS = 4000
const THREADS = 150
/** Number of threads in the root at once. Each needs one of the ring's 512 chunks, so some threads get none. */
const THRONG = 600
const CHUNKS = 512
/** Time after which a thread that waits for a chunk gives up. */
const WAIT_MS = 250
/** Number of calls that "before" and "after" wait for. These calls take 100 ms, and the sampler's clock ticks every 5 ms. */
const MORE = 100

/**
 * "reflected": calls the root CALLS times by Method.invoke, as web frameworks call controllers. The program makes the same calls before it
 * prints that it is ready, so that the caller is compiled.
 * "died": starts THREADS threads, and THREADS virtual threads if the JDK has them. Each ends by an exception that leaves the root.
 * "throng": THRONG threads enter the root one after the other and stay inside. Prints the sum of the times that the threads took to enter.
 * "go": another thread calls the root in an endless loop.
 * "before", "after": answered after MORE further calls by the thread that "go" has started.
 */
const PROGRAM = `
  package fix;
  import java.lang.reflect.Method;
  import java.util.ArrayList;
  import java.util.List;
  import java.util.concurrent.CountDownLatch;
  import java.util.concurrent.Semaphore;
  import java.util.concurrent.atomic.AtomicInteger;
  public class Reached {
    static volatile int sink;
    static final AtomicInteger uncaught = new AtomicInteger();
    static final Semaphore inside = new Semaphore(0);
    static final CountDownLatch leave = new CountDownLatch(1);
    static volatile long enteringNanos, from;
    static volatile int going;
    public static int root(int how) throws Exception { return below(how); }
    static int below(int how) throws Exception {
      if (how == 3) {
        enteringNanos += System.nanoTime() - from;
        inside.release();
        leave.await();
      }
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
        return null; // virtual threads are missing or a preview
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
    static long throng() throws Exception {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < ${THRONG}; i++) {
        Thread one = new Thread(null, () -> { from = System.nanoTime(); work(3); }, "throng", 128 << 10);
        one.start();
        threads.add(one);
        inside.acquire();
      }
      leave.countDown();
      for (Thread it : threads) it.join();
      return enteringNanos / 1_000_000;
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
          case "throng": System.out.println("entered " + throng()); break;
          case "before":
          case "after":
            for (int from = going; going < from + ${MORE}; ) Thread.sleep(1);
            System.out.println(line);
            break;
          default:
            Thread thread = new Thread(() -> { while (true) { work(2); going++; } });
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

forNewestJdk((jdk) => {
  it('all reflective calls of a root are counted, even if the caller was compiled before the attach', async () => {
    const { java, recording } = await start(jdk)
    java.send('reflected')
    await java.line(/^called/)
    const profile = await recording.stop()
    expect(callsByMethod(profile).get(ROOT)).toBe(CALLS)
    expect(profile.stacks).toMatchObject({ rootCalls: CALLS })
    expect(profile.instrumentation).toMatchObject({ gaps: 0, redefinitions: 1 })
    expect(profile.detach).toMatchObject({ left: [], refusedClasses: 0 })
  })

  it('root calls that end by an exception are counted, and the program receives the exception', async () => {
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

  it('if more threads call the root than the event buffer has chunks, no thread waits, and each call is counted or reported as missing', async () => {
    const { java, recording } = await start(jdk)
    java.send('throng')
    const [, enteringMs] = /^entered (\d+)/m.exec(await java.line(/^entered /)) ?? []
    // If each thread without a chunk waited for one, they would take twice this time.
    expect(Number(enteringMs)).toBeLessThan(((THRONG - CHUNKS) * WAIT_MS) / 2)
    const profile = await recording.stop()
    const { gaps } = profile.instrumentation
    expect(gaps).toBeGreaterThanOrEqual(THRONG - CHUNKS)
    expect((callsByMethod(profile).get(ROOT) ?? 0) + gaps).toBe(THRONG)
    expect(profile.stacks).toMatchObject({ rootCalls: THRONG })
    expect((await jfluid('report', recording.file)).stdout.replace(/\s+/g, ' ')).toContain(
      `${gaps} gaps: calls of roots are missing, for lack of space in the event buffer`,
    )
    expect(profile.openCalls).toBe(0)
    expect(profile.detach).toMatchObject({ left: [], refusedClasses: 0 })
  })

  it('a suspended target process continues, and the report states how long the process was suspended', async () => {
    const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Reached': PROGRAM }), 'fix.Reached'])
    await java.line(/^ready/)
    java.send('go')
    const options = sessionOptions({ root: ['fix.Reached.root'], scheme: 'adaptive' })
    const session = await Session.start(await attachDoor(java.pid), options)
    // Waits until the sampler has read its counters at least once before the suspension.
    await until(async () => ((await session.status()).stacks?.samples ?? 0) > 5)
    await session.reset() // discards delays that the attach causes on a busy machine
    const stalledMs = 1500
    java.send('before')
    await java.line(/^before/)
    process.kill(java.pid, 'SIGSTOP')
    await sleep(stalledMs) // duration of the suspension
    process.kill(java.pid, 'SIGCONT')
    java.send('after') // when the answer arrives, the sampler's clock has ticked and shows the stall
    await java.line(/^after/)
    await session.detach()
    const profile = await session.profile()
    await session.close()
    expect(profile.stacks!.longestStallMs).toBeGreaterThan(stalledMs * 0.9)
    expect(profile.stacks!.longestStallMs).toBeLessThan(stalledMs * 2)
    expect(profile.stacks!.stallCause).toBe('suspended')
    expect(profile.stacks!.suspendedMs).toBeGreaterThanOrEqual(profile.stacks!.longestStallMs)
    // The times of the calls that were running during the suspension do not include the suspension.
    expect(profile.rootCalls!.max).toBeLessThan(stalledMs * 1e6)
    const text = reportText(profile, { width: 200 })
    expect(text).toMatch(/^stalls +longest [12]\.\d+ s, .*cause: the process was suspended/m)
    expect(text).toMatch(/^suspended +the process was suspended for [12]\.\d+ s in total/m)
    expect(profile.merged.metrics.calls![0]).toBeGreaterThan(0)
    expect(session.detachFacts).toMatchObject({ left: [], refusedClasses: 0 })
  })
})
