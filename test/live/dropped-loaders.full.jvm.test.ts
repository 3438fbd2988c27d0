// A program replaces a class loader every 100 ms, as an application server with scripts or plugins. Methods of unloaded classes do not
// count against the maximum number of methods with probes.

import { describe, expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { ask, compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { remainsOf, until } from './remains.ts'

const METHODS = 80
/** Together their methods exceed the maximum number of methods with probes; those of one part do not. */
const LOADERS = 60
const PARTS = 3

/**
 * replace n: n times, every 100 ms, a new loader loads the guest, the root calls it, and the loader is dropped: "done"
 * alive:     collects garbage, and prints the number of live loaders: "alive <number>"
 */
const HOST = `
  package fix;
  import java.lang.ref.WeakReference;
  import java.nio.file.*;
  import java.util.*;
  public class Plugins {
    public interface Job { int run(int n); }
    static final class Loader extends ClassLoader {
      final byte[] guest;
      Loader(byte[] guest) { super(Plugins.class.getClassLoader()); this.guest = guest; }
      @Override protected Class<?> findClass(String name) { return defineClass(name, guest, 0, guest.length); }
    }
    static final List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
    static int root(Job job, int n) { return job.run(n); }
    public static void main(String[] args) throws Exception {
      byte[] guest = Files.readAllBytes(Path.of(args[0], "fix/guest/Guest.class"));
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
        String[] words = line.split(" ");
        if (words[0].equals("alive")) {
          System.gc();
          int alive = 0;
          for (WeakReference<ClassLoader> it : loaders) if (it.get() != null) alive++;
          System.out.println("alive " + alive);
          continue;
        }
          for (int i = 0; i < Integer.parseInt(words[1]); i++) {
            long next = System.nanoTime() + 100_000_000;
            Loader loader = new Loader(guest);
            loaders.add(new WeakReference<>(loader));
            Job job = (Job) Class.forName("fix.guest.Guest", true, loader).getDeclaredConstructor().newInstance();
            root(job, i);
            Thread.sleep(Math.max(0, (next - System.nanoTime()) / 1_000_000));
          }
          System.out.println("done");
      }
    }
  }`

/** A method that differs from the others, so that its constants are its own. */
const method = (i: number): string => `
  int m${i}(int n) {
    String text = "text of method ${i}" + n;
    try { if (n < 0) throw new IllegalStateException("${i} is negative"); } catch (IllegalStateException e) { n = ${i}; }
    return text.length() * ${1000 + i} + n;
  }`

const GUEST = `
  package fix.guest;
  public class Guest implements fix.Plugins.Job {
    ${Array.from({ length: METHODS }, (_, i) => method(i)).join('\n')}
    @Override public int run(int n) { return ${Array.from({ length: METHODS }, (_, i) => `m${i}(n)`).join(' + ')}; }
  }`

const aliveIn = async (java: JavaProcess) => Number((await ask(java, 'alive', /^alive/)).slice(6))

forEachJdk((jdk) => {
  describe(`loaders replaced every 100 ms on JDK ${jdk.version}`, () => {
    const start = async () => {
      const classes = await compileJava(jdk, { 'fix/Plugins': HOST })
      const guest = temporaryDirectory('jfluid-guest-')
      await compileJava(jdk, { 'fix/guest/Guest': GUEST }, { outDir: guest, options: ['-cp', classes] })
      const java = startJava(jdk, ['-cp', classes, 'fix.Plugins', guest])
      await java.line(/^ready/)
      return java
    }

    it.each(['b', 'adaptive'] as const)(
      'with scheme %s, loaders are unloaded, calls are counted or told as gaps, and the class table stays small',
      {
        timeout: 300_000,
      },
      async (scheme) => {
        const java = await start()
        const time = scheme === 'adaptive' ? { time: ['fix.guest.Guest.run'] } : {}
        const door = await attachDoor(java.pid)
        const session = await Session.start(
          door,
          sessionOptions({ root: ['fix.Plugins.root'], scheme, ...time }),
        )
        const classes: number[] = []
        for (let part = 0; part < PARTS; part++) {
          expect(await ask(java, `replace ${LOADERS / PARTS}`, /^done/)).toBe('done')
          await until(async () => (await aliveIn(java)) === 0)
          await until(async () => {
            await session.engine.turns.enqueue(async () => {})
            return [...session.engine.revealer.classes.hierarchy.nodes()].every(
              (it) => it.name !== 'fix/guest/Guest',
            )
          })
          classes.push([...session.engine.revealer.classes.hierarchy.nodes()].length)
        }
        const { warnings } = await session.status()
        await session.detach()
        const { merged, methodNames, instrumentation, rootCalls, detach } = await session.profile()
        await session.close()
        const calls = new Map<string, number>()
        for (const [node, id] of merged.method.entries()) {
          const { method: name } = methodNames[id]!
          calls.set(name, (calls.get(name) ?? 0) + merged.metrics.calls![node]!)
        }
        // With scheme adaptive, rows begin when the timed methods were chosen. Finished root calls are counted from the start.
        expect(rootCalls?.count).toBe(LOADERS)
        expect(warnings.join()).not.toContain('which is the limit')
        if (scheme === 'b') {
          expect(calls.get('root')).toBe(LOADERS)
          // On a busy machine, a class may be defined before its probes are known: a gap.
          console.info(`run ${calls.get('run')}, gaps ${instrumentation.gaps}`)
          expect(calls.get('run')! + instrumentation.gaps).toBeGreaterThanOrEqual(LOADERS)
          for (let i = 0; i < METHODS; i++) expect(calls.get(`m${i}`)).toBe(calls.get('run'))
        }
        expect(classes.at(-1)! - classes[0]!).toBeLessThan(50)
        expect(detach?.left ?? []).toEqual([])
        expect(await remainsOf(java.pid, [process.pid])).toEqual([])
        expect(java.stderr()).not.toMatch(/Exception|Error/)
      },
    )
  })
})
