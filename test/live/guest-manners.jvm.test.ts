// The agent must not affect the application: it calls no overridable methods of threads, loses no interrupts, and throws no exceptions if
// memory is full.

import { beforeAll, describe, expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { forOldestJdk } from '../support/jdks.ts'
import { callsByMethod, type JsonProfile, lines, readProfileJson, startRecording } from '../support/jfluid.ts'
import { mappedFiles, threadNames, until } from './remains.ts'

/**
 * odd n:         n threads enter the root. Their class overrides all overridable methods of Thread, and each override throws.
 * interrupted n: n interrupted threads enter the root at once. Then the number of threads that are still interrupted is printed.
 * nag n:         the root is entered n times, and before each call all threads of jfluid are interrupted.
 */
const HOST = `
  package fix;
  import java.util.concurrent.CountDownLatch;
  import java.util.concurrent.atomic.AtomicInteger;
  public class Touchy {
    static volatile int sink;
    static int step(int x) { return x * 31 + 7; }
    static void visit() { sink = step(sink); }
    static void first() { sink = step(sink); }

    static class Odd extends Thread {
      Odd(Runnable task) { super(task); }
      static RuntimeException ours() { return new IllegalStateException("called by somebody else"); }
      @Override public long getId() { throw ours(); }
      @Override public Thread.State getState() { throw ours(); }
      @Override public StackTraceElement[] getStackTrace() { throw ours(); }
      @Override public int hashCode() { throw ours(); }
      @Override public boolean equals(Object o) { throw ours(); }
      @Override public String toString() { throw ours(); }
      @Override public ClassLoader getContextClassLoader() { throw ours(); }
      @Override public boolean isInterrupted() { throw ours(); }
    }

    static void odd(int n) throws Exception {
      CountDownLatch done = new CountDownLatch(n);
      for (int i = 0; i < n; i++) {
        // These threads stay alive until the detach.
        Thread t = new Odd(() -> {
          visit();
          done.countDown();
          try { Thread.sleep(Long.MAX_VALUE); } catch (InterruptedException e) { return; }
        });
        t.setDaemon(true);
        t.start();
      }
      done.await();
    }

    static void interrupted(int n) throws Exception {
      AtomicInteger still = new AtomicInteger();
      Thread[] all = new Thread[n];
      for (int i = 0; i < n; i++) {
        all[i] = new Thread(() -> {
          Thread.currentThread().interrupt();
          first();
          if (Thread.interrupted()) still.incrementAndGet();
        });
      }
      for (Thread t : all) t.start();
      for (Thread t : all) t.join();
      System.out.println("still interrupted " + still.get());
    }

    static void nag(int n) throws Exception {
      Thread self = Thread.currentThread();
      ThreadGroup top = self.getThreadGroup();
      while (top.getParent() != null) top = top.getParent();
      for (int i = 0; i < n; i++) {
        Thread[] all = new Thread[1000];
        int count = top.enumerate(all, true);
        for (int t = 0; t < count; t++) if (all[t] != self && all[t].getName().startsWith("jfluid-")) all[t].interrupt();
        visit();
        Thread.sleep(5);
      }
    }

    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        int n = Integer.parseInt(line.split(" ")[1]);
        switch (line.split(" ")[0]) {
          case "odd" -> odd(n);
          case "interrupted" -> interrupted(n);
          case "nag" -> nag(n);
        }
        System.out.println("done " + line);
      }
    }
  }`

/**
 * full n: n threads call three roots of the same name for the first time while the heap is full. One class is on the class path, one
 * belongs to a parallel capable loader, and one was just loaded by a loader that is not parallel capable. Prints the number of failed
 * calls. Before "ready", the same is done once without a profiler and with other loaders.
 */
const FULL_HEAP = `
  package fix;
  import java.util.concurrent.atomic.AtomicInteger;
  public class Full {
    public interface Job { void run(); }
    static byte[] bytes;
    static final Object lock = new Object();
    static boolean go;
    static volatile Throwable failure;

    static class Own extends ClassLoader {
      static { registerAsParallelCapable(); }
      Own() { super(Full.class.getClassLoader()); }
      @Override protected Class<?> loadClass(String name, boolean link) throws ClassNotFoundException {
        return name.equals("fix.Crowd") ? defineClass(name, bytes, 0, bytes.length) : super.loadClass(name, link);
      }
    }
    static class Locked extends Own {}

    static Job load(ClassLoader loader) throws Exception {
      return (Job) Class.forName("fix.Crowd", true, loader).getDeclaredConstructor().newInstance();
    }

    static void full(int n, Job... jobs) throws Exception {
      AtomicInteger hurt = new AtomicInteger(), there = new AtomicInteger();
      go = false;
      Thread[] all = new Thread[n];
      for (int i = 0; i < n; i++) {
        all[i] = new Thread(() -> {
          synchronized (lock) {
            there.incrementAndGet();
            while (!go) try { lock.wait(); } catch (InterruptedException e) { return; }
          }
          for (Job job : jobs) try { job.run(); } catch (Throwable t) { hurt.incrementAndGet(); failure = t; }
        });
        all[i].start();
      }
      while (there.get() < n) Thread.yield();
      Object[] chain = null;
      for (int size = 1 << 20; size > 0; ) {
        try {
          Object[] next = new Object[size];
          next[0] = chain;
          chain = next;
        } catch (OutOfMemoryError e) {
          size /= 2;
        }
      }
      synchronized (lock) { go = true; lock.notifyAll(); }
      for (Thread t : all) t.join();
      chain = null;
      System.out.println("hurt " + hurt.get());
      if (failure != null) failure.printStackTrace(System.out);
    }

    public static void main(String[] args) throws Exception {
      try (var in = Full.class.getResourceAsStream("Crowd.class")) { bytes = in.readAllBytes(); }
      full(4, load(Full.class.getClassLoader()), load(new Own()), load(new Locked()));
      Job early = load(Full.class.getClassLoader()), parallel = load(new Own());
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        full(Integer.parseInt(line.split(" ")[1]), early, parallel, load(new Locked()));
        System.out.println("done " + line);
      }
    }
  }`

const CROWD = `
  package fix;
  public class Crowd implements Full.Job {
    static volatile int sink;
    @Override public void run() { crowded(); }
    static int step(int x) { return x * 31 + 7; }
    static void crowded() { sink = step(sink); }
  }`

const counted = (profile: JsonProfile, method: string, calls: number): void => {
  expect(lines(callsByMethod(profile))).toEqual(
    [`fix.Touchy.${method}()V ${calls}`, `fix.Touchy.step(I)I ${calls}`].sort(),
  )
  const { gaps, healed } = profile.instrumentation
  expect([gaps, healed, profile.truncated]).toEqual([0, 0, false])
}

forOldestJdk((jdk) => {
  let classes: string
  let java: JavaProcess
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Touchy': HOST, 'fix/Full': FULL_HEAP, 'fix/Crowd': CROWD })
    java = startJava(jdk, ['-cp', classes, 'fix.Touchy'])
    await java.line(/ready/)
  })
  const start = async (root: string) => {
    const recording = startRecording(java.pid, '--root', `fix.Touchy.${root}`)
    await recording.started
    const ask = async (line: string): Promise<string> => {
      java.send(line)
      await java.line(new RegExp(`^done ${line}$`))
      return java.stdout()
    }
    return { recording, ask }
  }

  describe('the agent in the application', () => {
    it('the agent in the application calls no method that a thread class may override', async () => {
      const { recording, ask } = await start('visit')
      await ask('odd 20')
      counted(await recording.stop(), 'visit', 20)
      expect(java.stderr().replaceAll(/^WARNING: .*\n/gm, '')).toBe('')
      // A second session, in which these threads exist from the start.
      const next = startRecording(java.pid, '--root', 'fix.Touchy.visit')
      await next.started
      await ask('odd 3')
      counted(await next.stop(), 'visit', 3)
    })

    it('the agent in the application waits in interrupted threads and leaves them interrupted', async () => {
      const { recording, ask } = await start('first')
      expect(await ask('interrupted 40')).toContain('still interrupted 40')
      counted(await recording.stop(), 'first', 40)
    })

    it('the agent in the application is not disturbed by interrupts', async () => {
      const { recording, ask } = await start('visit')
      await ask('nag 100')
      counted(await recording.stop(), 'visit', 100)
    })

    it('an agent without free memory does not affect the program, reports missed calls and ends', async () => {
      const java = startJava(jdk, ['-Xmx24m', '-XX:+UseSerialGC', '-cp', classes, 'fix.Full'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Crowd.crowded')
      await recording.started
      java.send('full 16')
      await java.line(/^done full/)
      expect(java.stdout()).toBe('hurt 0\nready\nhurt 0\ndone full 16\n')
      recording.process.child.kill('SIGINT')
      const { code } = await recording.process.exit
      const profile = await readProfileJson(recording.file)
      // Each of the three classes of this name has its own row.
      const rows = profile.methods.filter((m) => m.method === 'crowded')
      const calls = rows.reduce((sum, { calls }) => sum + calls, 0)
      // If the agent ran out of memory as well, it has ended the session. If no call had memory, all calls are gaps, and nothing was recorded.
      const complete = calls > 0 ? 0 : STATUS.rootNeverCalled
      expect([profile.truncated, code]).toEqual(profile.truncated ? [true, STATUS.notNow] : [false, complete])
      if (!profile.truncated) expect(calls + profile.instrumentation.gaps).toBeGreaterThanOrEqual(3 * 16)
      await until(async () => !(await threadNames(java.pid)).includes('jfluid-agent'))
      expect(mappedFiles(java.pid).filter((name) => name.includes('/ring'))).toEqual([])
    })

    it('if the heap is full, an agent that samples by bytecodes throws no exception in application threads, and its client ends', async () => {
      const java = startJava(jdk, ['-Xmx24m', '-XX:+UseSerialGC', '-cp', classes, 'fix.Full'])
      await java.line(/ready/)
      const sampling = ['--mode', 'sample', '--every', '10bc']
      const recording = startRecording(java.pid, '--root', 'fix.Crowd.crowded', ...sampling)
      await recording.started
      java.send('full 16')
      await java.line(/^done full/)
      expect(java.stdout()).toBe('hurt 0\nready\nhurt 0\ndone full 16\n')
      recording.process.child.kill('SIGINT')
      // Without free heap, the agent may have taken no sample.
      expect([0, STATUS.notNow, STATUS.rootNeverCalled]).toContain((await recording.process.exit).code)
    })
  })
})
