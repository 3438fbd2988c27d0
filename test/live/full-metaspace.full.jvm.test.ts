// A program loads classes during a session until metaspace is full. It gets the OutOfMemoryErrors that it gets without jfluid, and only from
// its own class definitions. The detach restores the code as soon as metaspace is free.

import { describe, expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { ask, compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { remainsOf } from './remains.ts'

/** Failed class definitions after the first one. */
const MORE = 5

/** Methods of the class that fills the metaspace, so that some hundred classes fill it. */
const PART = Array.from(
  { length: 80 },
  (_, i) => `static int m${i}(int n) { return n * ${i} + ${100_000 + i}; }`,
).join(' ')

/**
 * fill:  the root `load` defines classes until a definition fails, then MORE times: "full <classes> <errors of each kind>"
 * give:  drops the classes and collects garbage: "given"
 * state: "state <wrong results and errors of the thread that calls the root `step` continuously>"
 */
const FILLS = `
  package fix;
  import java.util.*;
  public class Fills {
    static class Part { ${PART} }
    static class Own extends ClassLoader {
      Class<?> define(byte[] b) { return defineClass("fix.Fills$Part", b, 0, b.length); }
    }
    static final List<Object> classes = new ArrayList<>();
    static final Throwable[] failed = new Throwable[${MORE} + 1];
    static volatile long wrong, thrown, steps;
    static volatile Throwable first;

    static Class<?> load(byte[] bytes) { return new Own().define(bytes); }
    static int step(int i) { return late(i) ^ 5; }
    static int late(int i) { return i + 1; }

    static void fill(byte[] bytes) {
      int fails = 0;
      while (fails < failed.length) {
        try { classes.add(load(bytes)); } catch (Throwable e) { failed[fails++] = e; }
      }
    }
    static String kinds() {
      TreeMap<String, Integer> kinds = new TreeMap<>();
      for (Throwable it : failed) {
        StackTraceElement[] at = it.getStackTrace();
        kinds.merge(it + " at " + (at.length == 0 ? "?" : at[0].getMethodName()), 1, Integer::sum);
      }
      return kinds.toString();
    }
    public static void main(String[] args) throws Exception {
      byte[] bytes;
      try (var in = Fills.class.getResourceAsStream("Fills$Part.class")) { bytes = in.readAllBytes(); }
      try { new Own().define(new byte[] {0}); } catch (ClassFormatError example) { Arrays.fill(failed, example); }
      kinds(); // loads the classes that it needs, also for the frames of the JDK
      Thread t = new Thread(() -> {
        for (int i = 0; ; i++, steps++) {
          try { if (step(i) != (i + 1 ^ 5)) wrong++; } catch (Throwable e) { first = e; thrown++; }
          if ((i & 1023) == 0) Thread.yield();
        }
      });
      t.setDaemon(true);
      t.start();
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        switch (line) {
          case "fill" -> { fill(bytes); System.out.println("full " + classes.size() + " " + kinds()); }
          case "give" -> { classes.clear(); Arrays.fill(failed, null); System.gc(); System.out.println("given"); }
          case "state" -> System.out.println("state wrong " + wrong + " thrown " + thrown + " " + first);
        }
      }
    }
  }`

async function start(jdk: Jdk): Promise<JavaProcess> {
  const classes = await compileJava(jdk, { 'fix/Fills': FILLS }, { options: ['-XDstringConcat=inline'] })
  const java = startJava(jdk, ['-Xmx128m', '-XX:MaxMetaspaceSize=28m', '-cp', classes, 'fix.Fills'])
  await java.line(/^ready/)
  return java
}

/** Lets the program fill its metaspace. @returns number of classes, and the errors of the definitions that failed */
async function fill(java: JavaProcess): Promise<{ classes: number; errors: string }> {
  const [, classes, errors] = /^full (\d+) (.*)/.exec(await ask(java, 'fill', /^full/))!
  return { classes: Number(classes), errors: errors! }
}

/** The JVM has a few errors without a stack trace in reserve. */
const OWN_ERRORS = /^\{(?:java\.lang\.OutOfMemoryError: Metaspace at (?:defineClass1|\?)=\d(?:, )?)+\}$/
const UNHARMED = 'state wrong 0 thrown 0 null'

forEachJdk((jdk) => {
  describe(`metaspace that the program fills during a session, on JDK ${jdk.version}`, () => {
    it.each(['b', 'adaptive'])(
      'with scheme %s, the program gets its own errors only, and its code back when metaspace is free',
      { timeout: 400_000 },
      async (scheme) => {
        const alone = await start(jdk)
        const without = await fill(alone)
        await alone.kill()
        expect(without.errors).toMatch(OWN_ERRORS)

        const java = await start(jdk)
        const roots = ['load', 'step'].flatMap((it) => ['--root', `fix.Fills.${it}`])
        const recording = startRecording(java.pid, ...roots, '--scheme', scheme)
        await recording.started
        const within = await fill(java)
        console.info(`JDK ${jdk.version}, scheme ${scheme}: ${within.classes} of ${without.classes} classes`)
        expect(within.errors).toMatch(OWN_ERRORS)
        expect(within.classes).toBeGreaterThan(0.7 * without.classes)
        recording.process.child.kill('SIGINT')
        const { code } = await recording.process.exit
        const stderr = recording.process.stderr()
        expect(code).toBe(STATUS.notRestored)
        expect(stderr).toContain(
          `JVM ${java.pid} has no free metaspace, so it did not get its original code back`,
        )
        expect(await ask(java, 'state', /^state/)).toBe(UNHARMED)
        expect((await fill(java)).errors).toMatch(OWN_ERRORS)

        await ask(java, 'give', /^given/)
        expect(await remainsOf(java.pid, [recording.process.pid])).toEqual([])
        // The next session finds the original code, and restores it.
        const next = startRecording(java.pid, ...roots, '--scheme', 'a')
        await next.started
        const { detach, truncated } = await next.stop()
        expect(truncated).toBe(false)
        expect(detach).toMatchObject({ refusedClasses: 0, left: [], code: { different: [] } })
        expect(await ask(java, 'state', /^state/)).toBe(UNHARMED)
        expect(java.stderr()).not.toMatch(/Exception|Error/)
      },
    )
  })
})
