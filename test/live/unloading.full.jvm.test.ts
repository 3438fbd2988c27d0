// A target that creates and drops class loaders: during and after a session its classes are unloaded as without jfluid, and their calls
// stay in the profile.

import { beforeAll, describe, expect, it } from 'vitest'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { type JsonProfile, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { until } from './remains.ts'

/**
 * visit n: n times, a new loader loads the guest inside the root and is dropped.
 * keep n:  the same, but the guests stay reachable until `drop`.
 * alive:   collects garbage, and prints how many of all these loaders are still alive.
 */
const HOST = `
  package fix;
  import java.lang.ref.WeakReference;
  import java.nio.file.Files;
  import java.nio.file.Path;
  import java.util.ArrayList;
  import java.util.List;
  public class Host {
    public interface Job { int run(int x) throws Exception; }
    /** The agent must not call equals(), hashCode() or toString() of a loader. */
    static class OneShot extends ClassLoader {
      final Path dir;
      OneShot(Path dir) { super(Host.class.getClassLoader()); this.dir = dir; }
      @Override protected Class<?> findClass(String name) throws ClassNotFoundException {
        try {
          byte[] bytes = Files.readAllBytes(dir.resolve(name.replace('.', '/') + ".class"));
          return defineClass(name, bytes, 0, bytes.length);
        } catch (java.io.IOException e) {
          throw new ClassNotFoundException(name, e);
        }
      }
      @Override public boolean equals(Object o) { throw new IllegalStateException("equals"); }
      @Override public int hashCode() { throw new IllegalStateException("hashCode"); }
      @Override public String toString() { throw new IllegalStateException("toString"); }
    }
    static final List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
    static final List<Job> kept = new ArrayList<>();
    static int sum;
    static Job root(ClassLoader loader, int x) throws Exception {
      Job job = (Job) Class.forName("fix.guest.Guest", true, loader).getDeclaredConstructor().newInstance();
      sum += job.run(x);
      return job;
    }
    static Job once(Path dir, int x) throws Exception {
      ClassLoader loader = new OneShot(dir);
      loaders.add(new WeakReference<>(loader));
      return root(loader, x);
    }
    static int alive() {
      System.gc();
      int alive = 0;
      for (WeakReference<ClassLoader> loader : loaders) if (loader.get() != null) alive++;
      return alive;
    }
    public static void main(String[] args) throws Exception {
      Path dir = Path.of(args[0]);
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        String[] words = line.split(" ");
        switch (words[0]) {
          case "visit" -> { for (int i = 0; i < Integer.parseInt(words[1]); i++) once(dir, i); }
          case "keep" -> { for (int i = 0; i < Integer.parseInt(words[1]); i++) kept.add(once(dir, i)); }
          case "drop" -> kept.clear();
          case "alive" -> System.out.println("alive " + alive());
        }
        System.out.println("done " + line);
      }
    }
  }`

/** Runs two steps, a lambda, and a method by reflection, each of which is counted. */
const GUEST = `
  package fix.guest;
  public class Guest implements fix.Host.Job {
    int step(int x) { return x * 31 + 7; }
    public int mirrored(int x) { return x ^ 5; }
    @Override public int run(int x) throws Exception {
      java.util.function.IntUnaryOperator twice = y -> y + y;
      int y = twice.applyAsInt(step(step(x)));
      return (Integer) Guest.class.getMethod("mirrored", int.class).invoke(this, y);
    }
  }`

/** Returns calls per method name. Classes of the same name in different loaders are added. */
function calls(profile: JsonProfile): Map<string, number> {
  const sums = new Map<string, number>()
  for (const m of profile.methods.filter((it) => it.class.startsWith('fix.'))) {
    const name = `${m.class}.${m.method}`
    sums.set(name, (sums.get(name) ?? 0) + m.calls)
  }
  return sums
}

let asked = 0
async function alive(java: JavaProcess): Promise<number> {
  const before = java.stdout().length
  java.send(`alive #${++asked}`)
  await java.line(new RegExp(`^done alive #${asked}$`))
  return Number(/^alive (\d+)$/m.exec(java.stdout().slice(before))![1])
}

forNewestJdk((jdk: Jdk) => {
  let start: (...flags: string[]) => Promise<JavaProcess>
  beforeAll(async () => {
    const classes = await compileJava(jdk, { 'fix/Host': HOST })
    const guest = temporaryDirectory('jfluid-guest-')
    await compileJava(jdk, { 'fix/guest/Guest': GUEST }, { outDir: guest, options: ['-cp', classes] })
    start = async (...flags) => {
      const java = startJava(jdk, [...flags, '-cp', classes, 'fix.Host', guest])
      await java.line(/ready/)
      return java
    }
  })

  describe.each(FULL ? ['a', 'b'] : ['b'])('class unloading with scheme %s', (scheme) => {
    it('class loaders are unloaded during and after a session, and calls of their classes stay in the profile', async () => {
      const N = 60
      const KEPT = 20
      const java = await start()
      const recording = startRecording(java.pid, '--root', 'fix.Host.root', '--scheme', scheme)
      await recording.started
      java.send(`visit ${N}`)
      await java.line(/^done visit/)
      await until(async () => (await alive(java)) === 0)
      // New loaders are used after the old loaders are unloaded and the client has received the unloads.
      java.send(`visit ${N / 2}`)
      await java.line(new RegExp(`^done visit ${N / 2}$`))
      await until(async () => (await alive(java)) === 0)
      // Loaders that exist during the whole session are unloaded after it.
      java.send(`keep ${KEPT}`)
      await java.line(/^done keep/)
      expect(await alive(java)).toBe(KEPT)
      const profile = await recording.stop()
      expect(await alive(java)).toBe(KEPT)
      java.send('drop')
      await java.line(/^done drop/)
      await until(async () => (await alive(java)) === 0)

      const n = N + N / 2 + KEPT
      const found = calls(profile)
      const of = (name: string): number | undefined => found.get(name)
      expect(of('fix.Host.root')).toBe(n)
      expect(of('fix.guest.Guest.run')).toBe(n)
      expect(of('fix.guest.Guest.step')).toBe(2 * n)
      expect(of('fix.guest.Guest.lambda$run$0')).toBe(n)
      expect(of('fix.guest.Guest.mirrored')).toBe(n)
      const loaders = profile.methods.filter((m) => m.method === 'run').map((m) => m.loader)
      expect(new Set(loaders).size).toBe(n)
      for (const loader of loaders) expect(loader).toMatch(/^fix\.Host\$OneShot@\d+$/)
      const { gaps, healed } = profile.instrumentation
      expect([gaps, healed, profile.truncated]).toEqual([0, 0, false])
      expect(java.stderr().replaceAll(/^WARNING: .*\n/gm, '')).toBe('')
    })
  })
})
