// A class whose definition takes long: between its load hook and its definition the JVM loads its superclass with a slow class loader. The
// session may end during this time.

import { beforeAll, expect, it } from 'vitest'
import type { JdwpTarget } from '../../src/jdwp-client/target.ts'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava } from '../support/java-process.ts'
import { forOldestJdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'
import { threadNames, until } from './remains.ts'

/**
 * load: a thread loads late.Sub, and its loader blocks at the superclass. Prints "asked" when the loader is asked for the superclass.
 * give: the loader returns the superclass. Prints "loaded" when the class is defined.
 * refuse: the loader does not find the superclass. Prints "failed" when the class cannot be defined.
 */
const PROGRAM = {
  'fix/Job': 'package fix; public interface Job { int run(); }',
  'fix/First': 'package fix; class First implements Job { public int run() { return 1; } }',
  'late/Base': 'package late; public class Base { }',
  'late/Sub':
    'package late; public class Sub extends Base implements fix.Job { public int run() { return 2; } }',
  'fix/Loading': `
    package fix;
    import java.io.*;
    import java.util.concurrent.CountDownLatch;
    public class Loading {
      static volatile CountDownLatch given;
      static volatile boolean refuses;
      static class Loader extends ClassLoader {
        @Override protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
          if (!name.startsWith("late.")) return super.loadClass(name, resolve);
          if (name.equals("late.Base")) {
            System.out.println("asked");
            try { given.await(); if (refuses) throw new ClassNotFoundException(name); } catch (InterruptedException e) { throw new AssertionError(e); }
          }
          try (InputStream in = Loading.class.getResourceAsStream("/" + name.replace('.', '/') + ".class")) {
            byte[] bytes = in.readAllBytes();
            return defineClass(name, bytes, 0, bytes.length);
          } catch (IOException e) { throw new ClassNotFoundException(name, e); }
        }
      }
      static volatile int sum;
      static int root(Job job) { return job.run(); }
      static void load() {
        try {
          Job job = (Job) new Loader().loadClass("late.Sub").getConstructor().newInstance();
          System.out.println("loaded " + root(job));
        } catch (NoClassDefFoundError expected) {
          System.out.println("failed");
        } catch (ReflectiveOperationException e) { throw new AssertionError(e); }
      }
      public static void main(String[] args) throws Exception {
        System.out.println("ready");
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
          if (line.equals("load")) {
            given = new CountDownLatch(1);
            new Thread(Loading::load).start();
          }
          else if (line.equals("give") || line.equals("refuse")) {
            refuses = line.equals("refuse");
            given.countDown();
          }
          else System.out.println("sum " + root(new First()));
        }
      }
    }`,
}

forOldestJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, PROGRAM)
  })

  /** Returns when the JVM is in the middle of defining a class whose bytes contain probes. */
  async function midway() {
    const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Loading'])
    const recording = startRecording(java.pid, '--root', 'fix.Loading.root', '--scheme', 'a')
    await recording.started
    java.send('call')
    await java.line(/^sum/)
    java.send('load')
    await java.line(/^asked/)
    return { java, jvm, recording }
  }
  const probes = async (jvm: JdwpTarget) => probed(await liveCode(jvm, 'Llate/Sub;'))

  it('a class whose definition ends during the session gets probes, and the session does not wait for a class whose loader fails', async () => {
    const { java, jvm, recording } = await midway()
    java.send('give')
    await java.line(/^loaded 2/)
    expect(await probes(jvm)).toEqual(['Llate/Sub;.run()I'])
    java.send('load')
    await java.line(/^asked/, 2)
    java.send('refuse')
    await java.line(/^failed/)
    const { detach } = await recording.stop()
    expect(await probes(jvm)).toEqual([])
    expect(detach).toMatchObject({ refusedClasses: 0, left: [] })
  })

  it('a class whose definition ends after the session is reported by detach and gets its original code', async () => {
    const { java, jvm, recording } = await midway()
    const { detach, warnings } = await recording.stop(STATUS.notRestored)
    expect(detach).toMatchObject({ refusedClasses: 1, left: ['thread jfluid-swap'] })
    expect(warnings.join()).toMatch(/after the detach, 1 of \d+ classes still had probes/)
    java.send('give')
    expect(await java.line(/^loaded/)).toBe('loaded 2')
    await until(async () => (await probes(jvm)).length === 0)
    await until(async () => !(await threadNames(java.pid)).some((it) => it.startsWith('jfluid-')))
  })
})
