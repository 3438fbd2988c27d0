// After warm-up of the program, both schemes count the same calls on every path.

import { expect, it } from 'vitest'
import { CALLS, CALLS_21, compileCalls } from '../fixtures/calls.ts'
import { compileFixture, compileShop } from '../fixtures/fixtures.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { callsByPath, lines, startRecording } from '../support/jfluid.ts'

/**
 * For each input line, starts one thread that is named after the line. The thread calls all static methods that are given as arguments, in
 * the form `class,method` or `class,method,number`.
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

forEachJdk((jdk) => {
  const calls = [
    'fix.KnownTree,task,3',
    'shop.SelfCheck,run,50',
    // `Defined` can run only once per JVM.
    ...[...CALLS.filter((it) => it !== 'Defined'), ...(jdk.version >= 21 ? CALLS_21 : [])].map(
      (it) => `calls.${it},root`,
    ),
  ]
  const roots = calls.flatMap((it) => ['--root', it.split(',').slice(0, 2).join('.')])

  // The first run loads, reveals and instruments all methods of the programs. The second run links call sites of classes that the first run
  // used before they were redefined. The third run is compared.
  it('both schemes count the same calls on every path after warm-up', {
    timeout: 120_000,
  }, async () => {
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
  })
})
