// Names of classes, methods, loaders and threads that are not ASCII, outside the BMP, or invalid text such as a lone surrogate. The JVM
// encodes them in modified UTF-8, and locale C cannot encode them.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { AUTOSAVED, callsByMethod, lines, recordedSoFar, startRecording } from '../support/jfluid.ts'

const THREADS = ['日本', '\u{1f600} smile', '\ud800 lone', 'two\nlines', `q'"\`$(x)`]

/** Returns a Java string literal that does not depend on the encoding that javac uses. */
const literal = (text: string): string =>
  `"${text.replace(/["\n]/g, (it) => (it === '"' ? '\\"' : '\\n')).replace(/[^ -~]/g, escaped)}"`
const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Placeholders in class files, replaced by names with the same number of bytes. No compiler can create the last name. */
const STANDS_FOR = { AAAA: 'öß', BBBBBB: '𝒜', CCC: '日', XXX: '\ud800' }

/** Runs the class that is called GrAAAAe here. Its loader replaces the placeholders in all its classes. */
const START = `
  import java.io.*;
  import java.nio.charset.StandardCharsets;
  public class Start extends ClassLoader {
    static final String[][] NAMES = { ${Object.entries(STANDS_FOR)
      .map(([ascii, name]) => `{ "${ascii}", ${literal(name)} }`)
      .join(', ')} };
    Start() { super(${literal('loader \ud800 \u{1f600}')}, Start.class.getClassLoader()); }
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      String file = name;
      for (String[] it : NAMES) file = file.replace(it[1], it[0]);
      try (InputStream in = Start.class.getResourceAsStream("templates/" + file + ".class")) {
        if (in == null) throw new ClassNotFoundException(name);
        String bytes = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
        for (String[] it : NAMES) bytes = bytes.replace(it[0], modified(it[1]));
        byte[] all = bytes.getBytes(StandardCharsets.ISO_8859_1);
        return defineClass(null, all, 0, all.length); // without a name, the JVM uses the name in the class file
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    /** Returns the bytes of modified UTF-8, each as one character. */
    static String modified(String text) throws IOException {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      new DataOutputStream(out).writeUTF(text);
      return new String(out.toByteArray(), 2, out.size() - 2, StandardCharsets.ISO_8859_1);
    }
    public static void main(String[] args) throws Exception {
      new Start().loadClass(${literal('Größe')}).getMethod("main", String[].class).invoke(null, (Object) args);
    }
  }`
const NAMES = `
  public class GrAAAAe {
    static volatile double sum;
    public static void main(String[] args) throws Exception {
      Thread spinning = new Thread(() -> { while (true) drehBBBBBB(); });
      spinning.setDaemon(true);
      spinning.start();
      System.out.println("ready");
      while (System.in.read() != -1) {
        for (String name : new String[] { ${THREADS.map(literal).join(', ')} }) {
          Thread thread = new Thread(() -> { for (int i = 0; i < 10; i++) grAAAAeBBBBBB(new OddXXX()); }, name);
          thread.start();
          thread.join();
        }
        System.out.println("ran");
      }
    }
    static void grAAAAeBBBBBB(OddXXX odd) { odd.callXXX(null); BBBBBB().run(); new CCC<GrAAAAe>().grAAAAe(odd); }
    static Runnable BBBBBB() { return () -> last(); }
    static void last() { }
    static void drehBBBBBB() { for (int i = 0; i < 1000; i++) sum += Math.sin(i); }
    static class CCC<T> { void grAAAAe(OddXXX x) { } }
  }
  class OddXXX { OddXXX callXXX(OddXXX[] none) { return null; } }`

async function startNames(jdk: Jdk): Promise<JavaProcess> {
  const classes = await compileJava(jdk, { 'Start.java': START })
  await compileJava(jdk, { 'GrAAAAe.java': NAMES }, { outDir: join(classes, 'templates') })
  const tmp = join(temporaryDirectory(), 'Größe')
  mkdirSync(tmp)
  const options = jdk.version >= 21 ? ['-XX:+EnableDynamicAgentLoading'] : []
  const java = startJava(jdk, [...options, `-Djava.io.tmpdir=${tmp}`, '-cp', classes, 'Start'], {
    env: { LC_ALL: 'C' },
  })
  await java.line(/ready/)
  return java
}

/** Returns a name as it is read from a profile, in which all names are valid text. */
const asText = (name: string): string => name.replace(/\ud800|\ufffd+/g, '?')

describe('a program with non-ASCII names', () => {
  forNewestJdk((jdk) => {
    it('calls of methods with non-ASCII names are counted exactly, and thread names are kept', async () => {
      const java = await startNames(jdk)
      const recording = startRecording(java.pid, '--root', 'Größe.größe𝒜')
      await recording.started
      java.send('')
      await java.line(/^ran$/)
      const profile = await recording.stop()
      const calls = new Map([...callsByMethod(profile)].map(([name, count]) => [asText(name), count]))
      const expected: [string, number][] = [
        ['Größe.größe𝒜(LOdd?;)V', 50],
        ['Odd?.call?([LOdd?;)LOdd?;', 50],
        ['Größe.𝒜()Ljava/lang/Runnable;', 50],
        [`Größe.lambda$𝒜$${jdk.version === 17 ? 2 : 0}()V`, 50],
        ['Größe.last()V', 50],
        ['Größe$日.<init>()V', 50],
        ['Größe$日.größe(LOdd?;)V', 50],
        // Methods of the loader that loads Größe$日.
        ['Start.findClass(Ljava/lang/String;)Ljava/lang/Class;', 1],
        ['Start.modified(Ljava/lang/String;)Ljava/lang/String;', 4],
      ]
      expect(lines(calls)).toEqual(lines(new Map(expected)))
      expect(profile.instrumentation.gaps).toBe(0)
      expect(new Set(profile.threads.map((it) => asText(it.name)))).toEqual(new Set(THREADS.map(asText)))
      // JDK 17 initializes the clock of its flight recorder with java.io.tmpdir, which the locale cannot encode. The session therefore uses
      // another clock.
      if (jdk.version === 17) expect(profile.calibration.clock).toBe('nanoTime')
      expect(java.stderr()).not.toMatch(/Exception|\tat /)
    })

    it('sampled stacks contain the non-ASCII names of methods', async () => {
      const java = await startNames(jdk)
      const root = ['--mode', 'sample', '--root', 'Größe.dreh𝒜']
      const recording = startRecording(java.pid, ...root, ...AUTOSAVED)
      await recordedSoFar(recording)
      const { methods } = await recording.stop()
      expect(methods.map((it) => `${it.class}.${it.method}`)).toContain('Größe.dreh𝒜')
    })
  })
})
