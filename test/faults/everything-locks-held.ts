// A program in which a thread holds locks forever, and a session with it.

import { expect } from 'vitest'
import { liveCode, probed, startDebuggable } from '../live/live-code.ts'
import { ownThreads, remainsOf, threadDump, until } from '../live/remains.ts'
import { ask, compileJava, type JavaProcess } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import type { Outcome } from './trials.ts'

/** Locks held by a thread of `Held`, keyed by name. */
export const LOCKS: Readonly<Record<string, string>> = {
  class: 'the monitor of the class of the root',
  loader: "the monitor of the application's class loader",
  own: 'the monitor of a loader that does not load in parallel, of a class below the root',
  out: 'System.out and System.err',
  thread: 'the monitor of every thread; from JDK 19 on of every thread group and of Thread, too',
  jdk: 'the monitors of Class, ClassLoader, Object, String and Runtime',
  properties: 'the monitor of the system properties',
  map: 'a bin of a ConcurrentHashMap, whose function does not return',
  initialiser: 'a class whose initialiser does not return',
  lock: 'a ReentrantLock, a ReadWriteLock and the log manager',
}

/**
 * Returns whether the JVM needs this lock for the attach commands: it reads its properties, makes the class loader add an agent's jar, and
 * prints the warning of JEP 451. If the lock is held, the client gives up, and no other thread waits.
 */
export const unattachable = (name: string, { version }: Jdk): boolean =>
  name === 'properties' || (name === 'loader' && version < 25) || (name === 'out' && version >= 21)

/**
 * hold name:  a thread takes the lock, or all locks, until `release`: "held"
 * release:    releases the locks: "released"
 * call:       a thread calls the root, which loads classes and calls by reflection and by method handles: "called <result>"
 */
const HELD = `
  package fix;
  import java.util.List;
  import java.util.concurrent.ConcurrentHashMap;
  import java.util.concurrent.CountDownLatch;
  import java.util.concurrent.locks.ReentrantLock;
  import java.util.concurrent.locks.ReentrantReadWriteLock;
  import java.util.function.IntUnaryOperator;
  public class Held {
    static final CountDownLatch never = new CountDownLatch(1);
    static final ConcurrentHashMap<Integer, Integer> map = new ConcurrentHashMap<>();
    static final ReentrantLock lock = new ReentrantLock();
    static final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
    static IntUnaryOperator own;
    static ClassLoader ownLoader;

    public static class Own implements IntUnaryOperator {
      public int applyAsInt(int x) { return twice(x) + 1; }
      static int twice(int x) { return x * 2; }
    }
    public static class Late {
      public static int of(int x) { return helped(x) + 1; }
      static int helped(int x) { return x + 2; }
    }
    static class Endless {
      static { Held.forEver(); }
    }
    static class Loader extends ClassLoader {
      Loader() { super(Held.class.getClassLoader()); }
      @Override protected Class<?> loadClass(String name, boolean link) throws ClassNotFoundException {
        if (!name.startsWith("fix.Held$Own") && !name.startsWith("fix.Held$Late")) return super.loadClass(name, link);
        Class<?> known = findLoadedClass(name);
        if (known != null) return known;
        try (var in = Held.class.getResourceAsStream(name.substring(4) + ".class")) {
          byte[] bytes = in.readAllBytes();
          return defineClass(name, bytes, 0, bytes.length);
        } catch (java.io.IOException e) {
          throw new ClassNotFoundException(name, e);
        }
      }
    }

    static void forEver() {
      try { never.await(); } catch (InterruptedException e) { throw new IllegalStateException(e); }
    }
    static void with(Object monitor, Runnable then) { synchronized (monitor) { then.run(); } }
    static void withAll(List<?> monitors, Runnable then) {
      if (monitors.isEmpty()) then.run();
      else with(monitors.get(0), () -> withAll(monitors.subList(1, monitors.size()), then));
    }
    static List<Object> threads() {
      List<Object> all = new java.util.ArrayList<>(Thread.getAllStackTraces().keySet());
      // Before JDK 19 the JVM itself needs these locks to create a thread, also for its attach listener.
      if (Runtime.version().feature() < 19) return all;
      all.add(Thread.class);
      for (ThreadGroup g = Thread.currentThread().getThreadGroup(); g != null; g = g.getParent()) all.add(g);
      return all;
    }
    static void hold(String name, Runnable then) {
      switch (name) {
        case "class" -> with(Held.class, then);
        case "loader" -> with(Held.class.getClassLoader(), then);
        case "own" -> with(ownLoader, then);
        case "out" -> with(System.out, () -> with(System.err, then));
        case "thread" -> withAll(threads(), then);
        case "jdk" -> withAll(List.of(Class.class, ClassLoader.class, Object.class, String.class,
          Runtime.getRuntime(), Runtime.class, System.class), then);
        case "properties" -> with(System.getProperties(), then);
        case "map" -> map.compute(1, (k, v) -> { then.run(); return 1; });
        case "initialiser" -> {
          then.run();
          new Endless();
        }
        case "lock" -> {
          lock.lock();
          both.writeLock().lock();
          with(java.util.logging.LogManager.getLogManager(), then);
        }
        default -> throw new IllegalArgumentException(name);
      }
    }

    static int root(int x) throws Exception {
      Class<?> late = new Loader().loadClass("fix.Held$Late");
      int sum = own.applyAsInt(x) + (int) late.getMethod("of", int.class).invoke(null, x);
      IntUnaryOperator f = y -> y + 1;
      var handle = java.lang.invoke.MethodHandles.lookup().findStatic(Held.class, "step",
        java.lang.invoke.MethodType.methodType(int.class, int.class));
      try {
        return (int) handle.invokeExact(f.applyAsInt(sum));
      } catch (Exception | Error e) {
        throw e;
      } catch (Throwable e) {
        throw new IllegalStateException(e);
      }
    }
    static int step(int x) { return x * 3; }

    public static void main(String[] args) throws Exception {
      // The output of main does not use System.out, whose lock may be held.
      var out = new java.io.FileOutputStream(java.io.FileDescriptor.out);
      ownLoader = new Loader();
      own = (IntUnaryOperator) ownLoader.loadClass("fix.Held$Own").getConstructor().newInstance();
      own.applyAsInt(1);
      // Up to JDK 18, a thread cannot be created while the lock of its thread group is held.
      CountDownLatch there = new CountDownLatch(2);
      for (int i = 0; i < 2; i++) caller.execute(() -> { there.countDown(); try { there.await(); } catch (InterruptedException e) { return; } });
      there.await();
      out.write("ready\\n".getBytes());
      for (String line; (line = line()) != null; ) {
        if (line.equals("call")) {
          int[] found = new int[1];
          CountDownLatch over = new CountDownLatch(1);
          caller.execute(() -> {
            try { found[0] = root(20); } catch (Exception e) { found[0] = -1; }
            over.countDown();
          });
          over.await();
          out.write(("called " + found[0] + "\\n").getBytes());
        } else if (line.equals("release")) {
          never.countDown();
          out.write("released\\n".getBytes());
        } else {
          String name = line.substring(5);
          CountDownLatch held = new CountDownLatch(1);
          Runnable then = () -> { held.countDown(); if (!name.equals("initialiser")) forEver(); };
          Thread holder = new Thread(() -> hold(name, then), "holds-" + name);
          holder.setDaemon(true);
          holder.start();
          held.await();
          if (name.equals("initialiser")) while (holder.getState() != Thread.State.WAITING) Thread.onSpinWait();
          out.write(("held " + name + "\\n").getBytes());
        }
      }
    }
    static final java.util.concurrent.ExecutorService caller = java.util.concurrent.Executors.newFixedThreadPool(2, r -> {
      Thread t = new Thread(r);
      t.setDaemon(true);
      return t;
    });
    static String line() throws java.io.IOException {
      StringBuilder text = new StringBuilder();
      for (int b; (b = System.in.read()) != '\\n'; text.append((char) b)) if (b < 0) return null;
      return text.toString();
    }
  }`

/** A call of the root loads a class and makes seven first invocations. Each may wait for the client, for at most a second. */
const LONGEST_MS = 10_000

/** Threads that wait for a loader's lock until it is released: decision 74. */
const STAYING = ['jfluid-link']

/** Result of the root: 20 * 2 + 1 plus 20 + 2 + 1; 64 and one more, three times. */
const RESULT = 'called 195'

/** Calls the root. Returns the duration in ms, and harm if there is any. */
async function called(java: JavaProcess): Promise<{ harm: string[]; ms: number }> {
  const begun = performance.now()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), 30_000)
  })
  const told = await Promise.race([ask(java, 'call', /^called/), late])
  clearTimeout(timer)
  const ms = performance.now() - begun
  if (told === null) return { harm: [`the root was not left\n${await threadDump(java.pid)}`], ms }
  const harm = told === RESULT ? [] : [`the root gave ${told}`]
  return { harm: ms > LONGEST_MS ? [...harm, `a call took ${ms.toFixed(0)} ms`] : harm, ms }
}

/** Releases the locks. */
async function release(java: JavaProcess): Promise<void> {
  java.send('release')
  await java.line(/^released/)
}

/** Runs a session with a program whose thread holds these locks forever. */
export async function heldFor(jdk: Jdk, names: readonly string[]): Promise<Outcome> {
  const classes = await compileJava(jdk, { 'fix/Held': HELD })
  const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Held'])
  for (const name of names) {
    java.send(`hold ${name}`)
    await java.line(new RegExp(`^held ${name}`))
  }
  const alone = await called(java)
  if (alone.harm.length > 0) throw new Error(`without us ${alone.harm}`)
  const begun = performance.now()
  const recording = startRecording(java.pid, '--root', 'fix.Held.root')
  if (names.some((it) => unattachable(it, jdk))) {
    const refused = recording.started.then(
      () => ['it was attached to'],
      () =>
        /no answer within 1\d000 ms/.test(recording.process.stderr()) ? [] : [recording.process.stderr()],
    )
    const [wrong, { harm, ms }] = await Promise.all([refused, called(java)])
    await recording.process.exit
    const left = await remainsOf(java.pid, [recording.process.pid])
    // The JVM continues to execute the requests of the client that has ended.
    await release(java)
    left.push(...(await remainsOf(java.pid, [recording.process.pid])))
    await jvm.dispose()
    return { harm, wrong, profile: 'none', left, ms: { called: ms } }
  }
  await recording.started
  const attached = performance.now()
  const inside = [await called(java), await called(java)]
  const ending = performance.now()
  const profile = await recording.stop()
  const detached = performance.now()
  await until(async () => probed(await liveCode(jvm, 'Lfix/')).length === 0)
  const after = await called(java)
  const staying = names.includes('own') ? STAYING : []
  const left = await remainsOf(java.pid, [recording.process.pid], staying)
  if (left.length === 0) expect(ownThreads(java.pid), 'what stays (decision 74)').toEqual(staying)
  await release(java)
  left.push(...(await remainsOf(java.pid, [recording.process.pid])))
  await jvm.dispose()
  // If the lock of the loader of `Own` is held, `Own` gets no probes, since the JVM would need the same lock.
  const skipped = profile.instrumentation.skipped.filter(({ reason }) =>
    reason.includes('its class loader has not answered in time'),
  )
  const isLeftOut = skipped.some(({ method }) => method.startsWith('fix.Held$Own.twice'))
  const known = profile.methods.find(({ method }) => method === 'twice')?.calls
  const { gaps } = profile.instrumentation
  const isTold = names.includes('own') ? isLeftOut && known === undefined : known === 2 || gaps > 0
  return {
    harm: [...inside, after].flatMap(({ harm }) => harm),
    profile: isTold && !profile.truncated ? 'kept' : 'lost',
    left,
    ms: {
      attached: attached - begun,
      called: Math.max(...inside.map(({ ms }) => ms)),
      detached: detached - ending,
    },
  }
}
