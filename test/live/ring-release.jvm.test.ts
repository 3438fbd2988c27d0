// The target's mapping of the event buffer is unmapped as soon as no thread can write to it, and not before.

import { beforeAll, describe, expect, it } from 'vitest'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { callsByMethod, lines, startRecording } from '../support/jfluid.ts'
import { mappedFiles, until } from './remains.ts'

/**
 * ask n:   n threads continuously copy the agent properties, as an attach does.
 * load:    a thread enters the root, which loads a class. Its loader blocks when the JVM asks it for the runtime, which happens in jfluid's
 * load hook.
 * go:      unblocks the loader. Prints "done go" after the thread has ended.
 * visit n: enters the root n times without loading a class.
 */
const HOST = `
  package fix;
  import java.nio.file.*;
  import java.util.concurrent.CountDownLatch;
  public class Held {
    public interface Job { int run(int x); }
    static final CountDownLatch asked = new CountDownLatch(1), go = new CountDownLatch(1);
    static Path dir;
    static volatile int sink;

    static class Slow extends ClassLoader {
      Slow() { super(Held.class.getClassLoader()); }
      @Override protected Class<?> loadClass(String name, boolean link) throws ClassNotFoundException {
        if (name.startsWith("java.lang.JFluid")) {
          asked.countDown();
          try { go.await(); } catch (InterruptedException e) { throw new ClassNotFoundException(name, e); }
        }
        return super.loadClass(name, link);
      }
      @Override protected Class<?> findClass(String name) throws ClassNotFoundException {
        try {
          byte[] bytes = Files.readAllBytes(dir.resolve(name.replace('.', '/') + ".class"));
          return defineClass(name, bytes, 0, bytes.length);
        } catch (java.io.IOException e) {
          throw new ClassNotFoundException(name, e);
        }
      }
    }

    static int step(int x) { return x * 31 + 7; }
    static void root(ClassLoader loader) throws Exception {
      sink = step(sink);
      if (loader == null) return;
      Job job = (Job) Class.forName("fix.guest.Guest", true, loader).getDeclaredConstructor().newInstance();
      sink = job.run(sink);
    }

    public static void main(String[] args) throws Exception {
      dir = Path.of(args[0]);
      Thread loading = new Thread(() -> {
        try { root(new Slow()); } catch (Exception e) { e.printStackTrace(); }
      });
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        String[] words = line.split(" ");
        switch (words[0]) {
          case "ask" -> {
            for (int i = 0; i < Integer.parseInt(words[1]); i++) {
              Thread t = new Thread(() -> {
                while (true) sink += jdk.internal.vm.VMSupport.getAgentProperties().stringPropertyNames().size();
              });
              t.setDaemon(true);
              t.start();
            }
          }
          case "load" -> { loading.start(); asked.await(); }
          case "go" -> { go.countDown(); loading.join(); }
          case "visit" -> { for (int i = 0; i < Integer.parseInt(words[1]); i++) root(null); }
        }
        System.out.println("done " + line);
      }
    }
  }`

const GUEST = `
  package fix.guest;
  public class Guest implements fix.Held.Job {
    @Override public int run(int x) { return x ^ 5; }
  }`

const EXPORTS = ['--add-exports', 'java.base/jdk.internal.vm=ALL-UNNAMED']
const rings = (pid: number): string[] => mappedFiles(pid).filter((name) => /\/jfluid-.*\/ring/.test(name))
const KEPT = /a thread is still inside a probe, so the event buffer stays mapped/

forNewestJdk((jdk) => {
  let classes: string
  let guest: string
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Held': HOST }, { release: null, options: EXPORTS })
    guest = temporaryDirectory('jfluid-guest-')
    await compileJava(jdk, { 'fix/guest/Guest': GUEST }, { outDir: guest, options: ['-cp', classes] })
  })
  const start = async () => {
    const java = startJava(jdk, [...EXPORTS, '-cp', classes, 'fix.Held', guest])
    await java.line(/ready/)
    const ask = async (line: string): Promise<void> => {
      java.send(line)
      await java.line(new RegExp(`^done ${line}$`))
    }
    const record = async () => {
      const recording = startRecording(java.pid, '--root', 'fix.Held.root', '--scheme', 'a')
      await recording.started
      return recording
    }
    return { java, ask, record }
  }

  describe('the event buffer', () => {
    it('the event buffer is unmapped at the end of its session, even if another attach is in progress', async () => {
      const { java, ask, record } = await start()
      const recording = await record()
      expect(rings(java.pid)).toHaveLength(1)
      await ask('ask 3')
      await ask('visit 7')
      const profile = await recording.stop()
      expect(recording.process.stderr()).not.toMatch(KEPT)
      expect(rings(java.pid)).toEqual([])
      expect(lines(callsByMethod(profile))).toEqual([
        'fix.Held.root(Ljava/lang/ClassLoader;)V 7',
        'fix.Held.step(I)I 7',
      ])
    })

    it('the event buffer stays mapped while a thread is inside the agent, and is unmapped by the next session', async () => {
      const { java, ask, record } = await start()
      const first = await record()
      await ask('load')
      await first.stop()
      expect(first.process.stderr()).toMatch(KEPT)
      expect(rings(java.pid)).toHaveLength(1)
      // The blocked thread may still write to the first buffer, so this buffer stays mapped.
      const second = await record()
      expect(rings(java.pid)).toHaveLength(2)
      await ask('visit 3')
      await ask('go')
      await second.stop()
      await until(async () => rings(java.pid).length === 0)
      expect(java.stderr().replaceAll(/^WARNING: .*\n/gm, '')).toBe('')
    })
  })
})
