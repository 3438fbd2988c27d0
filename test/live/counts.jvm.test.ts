// Programs whose calls are known beforehand, profiled by attach: every count must be exact.

import { availableParallelism } from 'node:os'
import { describe, expect, it } from 'vitest'
import { CALLS, CALLS_21, compileCalls } from '../fixtures/calls.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture, compileLate, compileShop } from '../fixtures/fixtures.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { jdks, newest } from '../support/jdks.ts'
import { callsByMethod, callsByPath, lines, startRecording, sumsAreExact } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'

describe.each(jdks)('JDK $version', (jdk) => {
  // What is counted depends on the JDK, and how it is found on the scheme; seldom on both.
  describe.each(FULL ? ['a', 'b'] : [jdk === newest ? 'b' : 'a'])('scheme %s', (scheme) => {
    it('the tree of many threads that is known by construction', async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '4', '50'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.KnownTree.task', '--scheme', scheme)
      await recording.started
      java.send('run 1')
      await java.line(/done/)
      const profile = await recording.stop()
      java.send('expect')
      await java.line(/^end/)
      expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
      expect(sumsAreExact(profile.merged)).toBe(true)
      expect(profile.instrumentation.healed).toBe(0)
      expect(profile.instrumentation.gaps).toBe(0)
      expect(profile.truncated).toBe(false)
      expect(profile.threads.filter((t) => t.roots.length > 0)).toHaveLength(4)
    })

    it('callbacks: what only the JDK calls is found all the same', async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Callbacks'), 'fix.Callbacks'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Callbacks.root', '--scheme', scheme)
      await recording.started
      java.send('run')
      await java.line(/done/)
      const profile = await recording.stop()
      java.send('expect')
      await java.line(/^end/)
      expect(lines(callsByMethod(profile))).toEqual(lines(parseExpectation(java.stdout())))
    })

    it('throws: methods that end by exceptions leave the tree in order', async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Throws'), 'fix.Throws'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Throws.root', '--scheme', scheme)
      await recording.started
      java.send('run')
      await java.line(/done/)
      const profile = await recording.stop()
      java.send('expect')
      await java.line(/^end/)
      expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
    })

    it('late: classes that come after the attach, one name in two loaders', async () => {
      const { classes, a, b } = await compileLate(jdk)
      const java = startJava(jdk, ['-cp', classes, 'fix.Late', a, b])
      await java.line(/ready/)
      java.send('load a')
      await java.line(/loaded/)
      const recording = startRecording(java.pid, '--root', 'fix.Late.run', '--scheme', scheme)
      await recording.started
      java.send('inside b')
      await java.line(/done/)
      const profile = await recording.stop()
      java.send('expect')
      await java.line(/^end/)
      const calls = new Map<string, number>()
      for (const m of profile.methods) {
        const from = /late-[ab]/.exec(m.loader)?.[0]
        calls.set(`${m.class}.${m.method}${m.descriptor}${from === undefined ? '' : `@${from}`}`, m.calls)
      }
      expect(lines(calls)).toEqual(lines(parseExpectation(java.stdout())))
    })
  })

  it.runIf(jdk.version >= 21).each(FULL ? ['a', 'b'] : ['b'])(
    'virtual threads that park, pinned and not, and change carriers, under scheme %s',
    async (scheme) => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Virtual'), 'fix.Virtual'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Virtual.task', '--scheme', scheme)
      await recording.started
      java.send('run 2000')
      const done = await java.line(/done/)
      expect(done).toMatch(/ strayed 0$/)
      if (availableParallelism() > 1) expect(done).not.toMatch(/ carriers 0 /)
      const profile = await recording.stop()
      java.send('expect 2000')
      await java.line(/^end/)
      expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
      expect(profile.instrumentation.healed).toBe(0)
    },
  )
})

/**
 * Calls static methods, given as `class,method` or `class,method,number`: all of them in one new thread
 * for every line it reads, named by the line.
 */
const AGAIN = `
  package fix;
  public class Again {
    public static void main(String[] args) throws Exception {
      for (String arg : args) Class.forName(arg.split(",")[0]);
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        Thread thread = new Thread(() -> all(args), line);
        thread.start();
        thread.join();
        System.out.println("done " + line);
      }
    }
    static void all(String[] args) {
      for (String arg : args) {
        String[] part = arg.split(",");
        try {
          var owner = Class.forName(part[0]);
          boolean takes = part.length > 2;
          var method = takes ? owner.getDeclaredMethod(part[1], int.class) : owner.getDeclaredMethod(part[1]);
          method.setAccessible(true);
          if (takes) method.invoke(null, Integer.parseInt(part[2]));
          else method.invoke(null);
        } catch (ReflectiveOperationException e) {
          e.printStackTrace();
          System.out.println("failed " + arg);
        }
      }
    }
  }`

describe.each(jdks)('the two schemes on JDK $version', (jdk) => {
  const calls = [
    'fix.KnownTree,task,3',
    'shop.SelfCheck,run,50',
    // `Defined` can do so once in a JVM.
    ...[...CALLS.filter((it) => it !== 'Defined'), ...(jdk.version >= 21 ? CALLS_21 : [])].map(
      (it) => `calls.${it},root`,
    ),
  ]
  const roots = calls.flatMap((it) => ['--root', it.split(',').slice(0, 2).join('.')])

  // The first run loads, reveals and instruments what the programs need; the second one links call sites of classes
  // that the first has redefined after it had used them; the third one is compared.
  it.runIf(FULL)(
    'agree on every path once warmed up: of a known tree, of the shop, of every way of being called',
    {
      timeout: 120_000,
    },
    async () => {
      const classes = await Promise.all([
        ...[compileFixture(jdk, 'KnownTree'), compileShop(jdk), compileCalls(jdk)],
        compileJava(jdk, { 'fix/Again': AGAIN }),
      ])
      const paths: string[][] = []
      for (const scheme of ['a', 'b']) {
        const java = startJava(jdk, ['-cp', classes.join(':'), 'fix.Again', ...calls])
        await java.line(/ready/)
        const recording = startRecording(java.pid, ...roots, '--scheme', scheme)
        await recording.started
        for (const run of ['first', 'second', 'third']) {
          java.send(run)
          await java.line(new RegExp(`^done ${run}`))
        }
        const profile = await recording.stop()
        expect(java.stdout()).not.toMatch(/^failed/m)
        expect([profile.truncated, profile.instrumentation.gaps]).toEqual([false, 0])
        const third = profile.threads.find((it) => it.name === 'third')?.roots ?? []
        expect(third).toHaveLength(calls.length)
        paths.push(lines(callsByPath(third)))
      }
      expect(paths[0].length).toBeGreaterThan(300)
      expect(paths[0]).toEqual(paths[1])
    },
  )
})
