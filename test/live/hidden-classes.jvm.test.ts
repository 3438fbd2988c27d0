// Hidden classes, which no agent can change: as a root, and as callees that are defined and unloaded all the time.

import { beforeAll, describe, expect, it } from 'vitest'
import { EX_NOCODE } from '../../src/base/errors.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { ask, compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { callsByMethod, startRecording } from '../support/jfluid.ts'
import { until } from './remains.ts'

/**
 * run n:  n calls of the root, each of which defines a hidden class, calls its method twice, and drops the class: "done"
 * alive:  collects garbage, and prints the number of these classes that are alive: "alive <number>"
 */
const PROGRAM = {
  'fix/Hosts': `
    package fix;
    import java.lang.invoke.MethodHandles;
    import java.lang.ref.WeakReference;
    import java.util.*;
    public class Hosts {
      public interface Job { int run(int n); }
      static final List<WeakReference<Class<?>>> made = new ArrayList<>();
      static byte[] bytes;
      static int sum;
      static void root(int n) throws Exception {
        Class<?> hidden = MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass();
        made.add(new WeakReference<>(hidden));
        Job job = (Job) hidden.getDeclaredConstructor().newInstance();
        sum += job.run(n) + job.run(n + 1);
      }
      static int called(int n) { return below(n) + below(n + 1); }
      static int below(int n) { return n * 31; }
      public static void main(String[] args) throws Exception {
        bytes = Hosts.class.getResourceAsStream("Body.class").readAllBytes();
        root(0);
        System.out.println("ready");
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
          if (line.equals("alive")) {
            System.gc();
            int alive = 0;
            for (WeakReference<Class<?>> it : made) if (it.get() != null) alive++;
            System.out.println("alive " + alive);
          } else {
            for (int i = Integer.parseInt(line.substring(4)); i > 0; i--) root(i);
            System.out.println("done");
          }
        }
      }
    }`,
  'fix/Body': `
    package fix;
    class Body implements Hosts.Job {
      @Override public int run(int n) { return Hosts.called(n); }
    }`,
}

const aliveIn = async (java: JavaProcess) => Number((await ask(java, 'alive', /^alive/)).slice(6))
const noneAlive = (java: JavaProcess) => until(async () => (await aliveIn(java)) === 0)

forNewestJdk((jdk) => {
  describe(`hidden classes on JDK ${jdk.version}`, () => {
    let java: JavaProcess
    beforeAll(async () => {
      const classes = await compileJava(jdk, PROGRAM)
      java = startJava(jdk, ['-Xverify:all', '-cp', classes, 'fix.Hosts'])
      await java.line(/^ready/)
    })

    it.each(['a', 'b'])(
      'with scheme %s, hidden classes are unloaded during a session, and calls that they make are counted',
      async (scheme) => {
        const recording = startRecording(java.pid, '--root', 'fix.Hosts.root', '--scheme', scheme)
        await recording.started
        await ask(java, 'run 100', /^done/)
        await noneAlive(java)
        await ask(java, 'run 50', /^done/)
        await noneAlive(java)
        const profile = await recording.stop()
        expect(Object.fromEntries(callsByMethod(profile))).toEqual({
          'fix.Hosts.root(I)V': 150,
          'fix.Hosts.called(I)I': 300,
          'fix.Hosts.below(I)I': 600,
        })
        expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
        const here = 'hidden class: calls of its methods are not counted, but calls made by them are'
        const earlier =
          'hidden class, defined before the session or outside a root: calls of its methods, and calls made only by them, are missing'
        expect(profile.instrumentation.skipped).toContainEqual({ method: 'fix.Body.*', reason: here })
        const others = profile.instrumentation.skipped.filter(({ method }) => method !== 'fix.Body.*')
        // One entry for all classes with the name.
        expect(others.filter((it) => it.method !== 'fix.Body+0x….*' || it.reason !== earlier)).toEqual([])
        expect(others.length).toBeLessThanOrEqual(1)
        expect(profile.detach).toMatchObject({ left: [], refusedClasses: 0 })
      },
    )

    it('a session keeps no data about unloaded hidden classes', async () => {
      const options = sessionOptions({ root: ['fix.Hosts.root'], scheme: 'b' })
      const session = await Session.start(await attachDoor(java.pid), options)
      const { hierarchy } = session.engine.revealer.classes
      const known = () => [...hierarchy.nodes()].filter((it) => it.name.startsWith('fix/Body+')).length
      await ask(java, 'run 50', /^done/)
      await session.engine.turns.enqueue(() => session.engine.installation.refreshClasses())
      expect(known()).toBeGreaterThan(0)
      await noneAlive(java)
      await until(() => known() === 0)
      await session.detach()
      await session.close()
    })

    it('a root in a hidden class is refused at once', async () => {
      await ask(java, 'run 1', /^done/)
      for (const scheme of ['b', 'adaptive'] as const) {
        const request = { root: ['Body.run'], scheme }
        const started = Session.start(await attachDoor(java.pid), sessionOptions(request))
        await expect(started).rejects.toMatchObject({
          message:
            "root 'Body.run' cannot have probes: fix.Body is a hidden class, and the JVM allows no change of hidden classes",
          hint: 'Name a method that calls this method, or that this method calls.',
          exitCode: EX_NOCODE,
        })
      }
    })
  })
})
