// Another agent that is hostile: it throws, or makes of a class what no JVM takes, in some retransformations; and one that
// retransforms our classes again and again from a thread of its own. No method is left half instrumented, and what remains
// is the program's own code.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, it } from 'vitest'
import { JdwpTarget } from '../../src/jdwp-client/target.ts'
import { liveCode, probed } from '../live/live-code.ts'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { callsByMethod, type JsonProfile, startRecording } from '../support/jfluid.ts'
import { type Chance, FULL, type Outcome, times, trials } from './trials.ts'

const UNITS = 6
/** Of a hundred transformations. */
const SHARE = 50

/**
 * how <share> <what> <seed>: in so many of a hundred retransformations its transformer throws, or makes garbage of the class,
 *                     or a class that the verifier refuses
 * storm <ms>:         a thread retransforms all units, without a pause, for so long
 * call <n>:           the root n times; `wrong` is what it gave otherwise than it should
 */
const HOSTILE = `
  package fix;
  import java.lang.instrument.*;
  import java.security.ProtectionDomain;
  import java.util.Random;
  public class Hostile {
    static Instrumentation instrumentation;
    static volatile int share;
    static volatile String what = "throw";
    static final Random random = new Random();
    public static void premain(String options, Instrumentation given) {
      instrumentation = given;
      if (options != null) add();
    }
    static void add() { instrumentation.addTransformer(new Breaking(), true); }
    static final class Breaking implements ClassFileTransformer {
      @Override
      public byte[] transform(ClassLoader l, String name, Class<?> redefined, ProtectionDomain d, byte[] bytes) {
        if (redefined == null || name == null || !name.startsWith("fix/Unit")) return null;
        synchronized (random) { if (random.nextInt(100) >= share) return null; }
        if (what.equals("throw")) throw new IllegalStateException("hostile");
        byte[] broken = bytes.clone();
        if (what.equals("garbage")) broken[0] = 0;
        else broken[broken.length / 2] ^= 0x55;
        return broken;
      }
    }
    static int root(int x) { ${Array.from({ length: UNITS }, (_, i) => `x = Unit${i}.first(x);`).join(' ')} return x; }
    static int expected(int x) { for (int i = 0; i < ${UNITS}; i++) x = (x + 1) * 3; return x; }
    public static void main(String[] args) throws Exception {
      root(0);
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        String[] word = line.split(" ");
        switch (word[0]) {
          case "add" -> add();
          case "how" -> { share = Integer.parseInt(word[1]); what = word[2]; random.setSeed(Long.parseLong(word[3])); }
          case "call" -> {
            int wrong = 0;
            for (int i = 0; i < Integer.parseInt(word[1]); i++) if (root(i) != expected(i)) wrong++;
            System.out.println("wrong " + wrong);
          }
          case "storm" -> {
            Class<?>[] units = { ${Array.from({ length: UNITS }, (_, i) => `Unit${i}.class`).join(', ')} };
            Thread thread = new Thread(() -> {
              long end = System.nanoTime() + Long.parseLong(word[1]) * 1_000_000;
              int n = 0;
              for (; System.nanoTime() < end; n++) {
                try { instrumentation.retransformClasses(units); } catch (Exception | LinkageError e) { }
              }
              System.out.println("stormed " + n);
            });
            thread.setDaemon(true);
            thread.start();
          }
        }
        System.out.println("done " + line);
      }
    }
  }
  ${Array.from(
    { length: UNITS },
    (_, i) => `class Unit${i} {
    static int first(int x) { return second(x + 1); }
    static int second(int x) { return third(x); }
    static int third(int x) { return x * 3; }
  }`,
  ).join('\n')}`

interface Target {
  readonly java: JavaProcess
  readonly jvm: JdwpTarget
  tell(line: string): Promise<void>
  /** Of so many calls of the root, those that gave something else than they should. */
  call(n: number): Promise<number>
}

forNewestJdk((jdk) => {
  let jar: string
  beforeAll(async () => {
    const classes = await compileJava(jdk, { 'fix/Hostile': HOSTILE })
    const dir = temporaryDirectory('jfluid-agent-')
    jar = join(dir, 'hostile.jar')
    writeFileSync(join(dir, 'manifest'), 'Premain-Class: fix.Hostile\nCan-Retransform-Classes: true\n')
    execFileSync(join(jdk.home, 'bin', 'jar'), ['cfm', jar, join(dir, 'manifest'), '-C', classes, '.'])
  })

  /** @param first  its transformer was there before us */
  async function start(first: boolean): Promise<Target> {
    const port = '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0'
    const java = startJava(jdk, [
      port,
      `-javaagent:${jar}${first ? '=first' : ''}`,
      '-cp',
      jar,
      'fix.Hostile',
    ])
    const told = await java.line(/Listening for transport/)
    const jvm = await JdwpTarget.connect(Number(/\d+$/.exec(told)![0]))
    await java.line(/^ready/)
    let calls = 0
    let lines = 0
    const tell = async (line: string): Promise<void> => {
      java.send(line)
      await java.line(/^done/, ++lines)
    }
    return {
      ...{ java, jvm, tell },
      async call(n) {
        java.send(`call ${n}`)
        lines++
        return Number(/\d+/.exec(await java.line(/^wrong/, ++calls))![0])
      },
    }
  }

  /** A method has as many calls as there were, or none at all; parents have as many as their children need. */
  function unbalanced(profile: JsonProfile, calls: number): string[] {
    const counted = callsByMethod(profile)
    const wrong: string[] = []
    if (counted.get('fix.Hostile.root(I)I') !== calls)
      wrong.push(`root has ${counted.get('fix.Hostile.root(I)I')} calls`)
    for (const [name, n] of counted) if (n !== calls) wrong.push(`${name} has ${n} calls, not ${calls}`)
    if (profile.instrumentation.healed > 0) wrong.push(`${profile.instrumentation.healed} exits were healed`)
    return wrong
  }

  async function broken(what: string, first: boolean, chance: Chance): Promise<Outcome> {
    const { java, jvm, tell, call } = await start(first)
    const before = await liveCode(jvm, 'Lfix/')
    if (!first) await tell('add')
    // In the installation as well, or only when all is in.
    const hostile = `how ${SHARE} ${what} ${Math.floor(chance.between(0, 2 ** 31))}`
    const early = chance.next() < 0.5
    if (early) await tell(hostile)
    const recording = startRecording(java.pid, '--root', 'fix.Hostile.root', '--scheme', 'a')
    await recording.started
    if (!early) await tell(hostile)
    const calls = 50
    const harm: string[] = []
    if ((await call(calls)) > 0) harm.push('wrong results while it was profiled')
    const profile = await recording.stop()
    harm.push(...unbalanced(profile, calls))
    const after = await liveCode(jvm, 'Lfix/')
    const left = probed(after)
    if ((await call(calls)) > 0) harm.push('wrong results after it')
    const other = [...before].filter(([name, text]) => after.get(name) !== text && !left.includes(name))
    await jvm.dispose()
    await java.kill()
    return {
      harm: [...harm, ...other.map(([name]) => `${name} has not its own code`)],
      profile: 'kept',
      left: left.length === 0 ? [] : [`probes in ${left.join()}\n${recording.process.stderr()}`],
    }
  }

  const ways = ['throw', 'garbage', 'flipped'].flatMap((what) =>
    [true, false].map((first) => ({ what, first })),
  )
  const tried = FULL ? ways : ways.filter(({ what, first }) => what === 'garbage' && first)

  it.each(tried)(
    'another agent: $what, before us $first',
    { timeout: 1_800_000 },
    async ({ what, first }) => {
      const order = first ? 'before us' : 'after us'
      await trials(
        `another agent, ${order}, spoils half of the transformations: ${what}`,
        jdk,
        times(1, 10),
        (chance) => broken(what, first, chance),
      )
    },
  )

  async function stormed(first: boolean): Promise<Outcome> {
    const { java, jvm, tell, call } = await start(first)
    const before = await liveCode(jvm, 'Lfix/')
    if (!first) await tell('add')
    await tell('storm 8000')
    const recording = startRecording(java.pid, '--root', 'fix.Hostile.root', '--scheme', 'a')
    await recording.started
    const calls = 200
    const harm: string[] = []
    if ((await call(calls)) > 0) harm.push('wrong results while it was profiled')
    const profile = await recording.stop()
    if (profile.instrumentation.gaps === 0) harm.push(...unbalanced(profile, calls))
    else if (callsByMethod(profile).get('fix.Hostile.root(I)I') !== calls)
      harm.push('the root was not counted')
    const after = await liveCode(jvm, 'Lfix/')
    const left = probed(after)
    await java.line(/^stormed/)
    if ((await call(calls)) > 0) harm.push('wrong results after it')
    const other = [...before].filter(([name, text]) => after.get(name) !== text && !left.includes(name))
    await jvm.dispose()
    await java.kill()
    return {
      harm: [...harm, ...other.map(([name]) => `${name} has not its own code`)],
      profile: 'kept',
      left: left.length === 0 ? [] : [`probes in ${left.join()}\n${recording.process.stderr()}`],
    }
  }

  it.runIf(FULL).each([true, false])(
    'another agent that retransforms all the time, before us %s',
    { timeout: 1_800_000 },
    async (first) => {
      const order = first ? 'before us' : 'after us'
      await trials(`another agent, ${order}, retransforms our classes all the time`, jdk, times(1, 10), () =>
        stormed(first),
      )
    },
  )
})
