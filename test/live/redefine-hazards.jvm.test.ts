// Obstacles to a redefinition: another agent that changes the same classes, or a full heap. The client must still know exactly which probes
// are installed.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { probed } from './live-code.ts'
import { CLASS, HIGHEST, method, openSwapped, PROGRAM } from './swapped.ts'

/**
 * Another agent, loaded before jfluid. After the command `spoil`, its transformer returns an invalid class A when jfluid redefines A. When
 * jfluid then redefines B without A, the transformer makes the JVM retransform A.
 */
const MEDDLER = `
  package fix;
  import java.lang.instrument.*;
  import java.security.ProtectionDomain;
  public class Meddler {
    static Instrumentation instrumentation;
    static volatile boolean spoils;
    static volatile boolean spoilt;
    static volatile boolean meddled;
    public static void premain(String options, Instrumentation given) {
      instrumentation = given;
      instrumentation.addTransformer(new Meddling(), true);
    }
    static void retransform(Class<?> c) {
      try {
        Thread thread = new Thread(() -> {
          try { instrumentation.retransformClasses(c); } catch (UnmodifiableClassException e) { throw new AssertionError(e); }
        });
        thread.start();
        thread.join();
      } catch (InterruptedException e) { throw new AssertionError(e); }
    }
    static final class Meddling implements ClassFileTransformer {
      @Override
      public byte[] transform(ClassLoader l, String name, Class<?> redefined, ProtectionDomain d, byte[] bytes) {
        if (!spoils || !Thread.currentThread().getName().equals("jfluid-swap")) return null;
        if ("fix/A".equals(name)) {
          spoilt = true;
          return new byte[] {0};
        }
        if ("fix/B".equals(name) && spoilt && !meddled) {
          meddled = true;
          retransform(A.class);
        }
        return null;
      }
    }
    public static void main(String[] args) throws Exception {
      System.out.println("ready " + Swapped.sum());
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        spoils |= line.equals("spoil");
        System.out.println("done " + line);
      }
    }
  }`

/** A class of one megabyte. */
const LARGE = CLASS('C').replace(
  /}\s*$/,
  `${Array.from({ length: 16 }, (_, i) => `static String text${i}() { return "${`${i % 10}`.repeat(60_000)}"; }`).join('\n')}
  }`,
)

/**
 * fill: fills the heap except for half a megabyte
 * give: frees this memory
 */
const FULL_HEAP = `
  package fix;
  public class Full {
    static byte[][] held = new byte[4096][];
    public static void main(String[] args) throws Exception {
      System.out.println("ready " + Swapped.sum());
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        if (line.equals("give")) {
          held = null;
        } else {
          int n = 0;
          try { for (; ; n++) held[n] = new byte[64 << 10]; } catch (OutOfMemoryError full) { }
          for (int i = 0; i < 8; i++) held[--n] = null;
        }
        System.out.println("done " + line);
      }
    }
  }`

forNewestJdk((jdk) => {
  let meddler: string[]
  beforeAll(async () => {
    const all = await compileJava(jdk, { ...PROGRAM, 'fix/Meddler': MEDDLER })
    const dir = temporaryDirectory('jfluid-agent-')
    const jar = join(dir, 'meddler.jar')
    writeFileSync(
      join(dir, 'manifest'),
      'Premain-Class: fix.Meddler\nCan-Retransform-Classes: true\nCan-Redefine-Classes: true\n',
    )
    execFileSync(join(jdk.tools, 'jar'), ['cfm', jar, join(dir, 'manifest'), '-C', all, '.'])
    meddler = [`-javaagent:${jar}`, '-cp', jar, 'fix.Meddler']
  })

  it('method bodies that the JVM refused are not installed when another agent redefines the class', async () => {
    const { java, agent, a, b, before, live, extend, leave } = await openSwapped(jdk, meddler)
    await Promise.all([extend(a), extend(b)])
    java.send('spoil')
    await java.line(/^done spoil/)
    const { refused } = await agent.redefineMethods([a.body('one'), b.body('one')], [], HIGHEST)
    expect(refused).toEqual([{ classId: a.id, reason: expect.stringMatching(/ClassFormatError/) }])
    expect(probed(await live())).toEqual([method('B', 'one')])
    await leave(async () => {
      expect([...(await live())].filter(([name]) => before.has(name))).toEqual([...before])
    })
  })

  it('a class whose retransformation runs out of memory is reported as refused and not as redefined', async () => {
    const all = await compileJava(jdk, { ...PROGRAM, 'fix/C': LARGE, 'fix/Full': FULL_HEAP })
    const vm = ['-Xmx24m', '-XX:+UseSerialGC']
    const { java, agent, b, c, before, live, extend, leave } = await openSwapped(jdk, [
      ...vm,
      '-cp',
      all,
      'fix.Full',
    ])
    await Promise.all([extend(b), extend(c)])
    java.send('fill')
    await java.line(/^done fill/)
    const bodies = [b.body('one'), c.body('one')]
    const { refused } = await agent.redefineMethods(bodies, [], HIGHEST)
    expect(refused).toEqual([{ classId: c.id, reason: expect.stringMatching(/lacked memory/) }])
    expect(probed(await live())).toEqual([method('B', 'one')])
    java.send('give')
    await java.line(/^done give/)
    expect((await agent.redefineMethods([c.body('one')], [], HIGHEST)).refused).toEqual([])
    expect(probed(await live()).sort()).toEqual([method('B', 'one'), method('C', 'one')])
    await leave(async () => {
      expect([...(await live())].filter(([name]) => before.has(name))).toEqual([...before])
    })
  })
})
