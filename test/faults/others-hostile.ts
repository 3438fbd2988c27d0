// A program with another, hostile agent, and its reports about itself and about the session.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { JdwpTarget } from '../../src/jdwp-client/target.ts'
import { type LiveCode, liveCode, probed } from '../live/live-code.ts'
import { filesOf, mappedFiles, threadNames, until } from '../live/remains.ts'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { callsByMethod, type JsonProfile, type Recording } from '../support/jfluid.ts'

const UNITS = 6
/** Percentage of transformations. */
export const SHARE = 50

/**
 * how <share> <what> <seed>: in this percentage of retransformations its transformer throws, returns invalid bytes,
 *                     or returns a class that the verifier refuses
 * storm:              a thread retransforms all units continuously, until `calm`
 * calm:               prints "stormed <times>"
 * call <n>:           calls the root n times; `wrong` is the number of wrong results
 * spoilt:             prints the number of transformations spoilt since the last request
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
    static int spoilt;
    static volatile boolean storms;
    public static void premain(String options, Instrumentation given) {
      instrumentation = given;
      if (options != null) add();
    }
    static void add() { instrumentation.addTransformer(new Breaking(), true); }
    static final class Breaking implements ClassFileTransformer {
      @Override
      public byte[] transform(ClassLoader l, String name, Class<?> redefined, ProtectionDomain d, byte[] bytes) {
        if (redefined == null || name == null || !name.startsWith("fix/Unit")) return null;
        synchronized (random) {
          if (random.nextInt(100) >= share) return null;
          spoilt++;
        }
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
          case "spoilt" -> {
            synchronized (random) {
              System.out.println("spoilt " + spoilt);
              spoilt = 0;
            }
          }
          case "calm" -> storms = false;
          case "storm" -> {
            Class<?>[] units = { ${Array.from({ length: UNITS }, (_, i) => `Unit${i}.class`).join(', ')} };
            storms = true;
            Thread thread = new Thread(() -> {
              int n = 0;
              for (; storms; n++) {
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
  /** Number of wrong results of this number of root calls. */
  call(n: number): Promise<number>
  /** Number of transformations spoilt since the last request. */
  spoilt(): Promise<number>
  /** Returns traces of jfluid after the session. */
  left(): Promise<string[]>
}

/** Returns the jar of the agent, which is also the program. */
export async function hostileJar(jdk: Jdk): Promise<string> {
  const classes = await compileJava(jdk, { 'fix/Hostile': HOSTILE })
  const dir = temporaryDirectory('jfluid-agent-')
  const jar = join(dir, 'hostile.jar')
  writeFileSync(join(dir, 'manifest'), 'Premain-Class: fix.Hostile\nCan-Retransform-Classes: true\n')
  execFileSync(join(jdk.tools, 'jar'), ['cfm', jar, join(dir, 'manifest'), '-C', classes, '.'])
  return jar
}

/** @param first  whether the agent's transformer was registered before jfluid's transformer */
export async function start(jdk: Jdk, jar: string, first: boolean): Promise<Target> {
  const port = '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0'
  const java = startJava(jdk, [port, `-javaagent:${jar}${first ? '=first' : ''}`, '-cp', jar, 'fix.Hostile'])
  const told = await java.line(/Listening for transport/)
  const jvm = await JdwpTarget.connect(Number(/\d+$/.exec(told)![0]))
  await java.line(/^ready/)
  let lines = 0
  const tell = async (line: string): Promise<void> => {
    java.send(line)
    await java.line(/^done/, ++lines)
  }
  const number = async (line: string, answer: RegExp): Promise<number> => {
    const from = java.stdout().length
    await tell(line)
    return Number(answer.exec(java.stdout().slice(from))![1])
  }
  return {
    ...{ java, jvm, tell },
    call: (n) => number(`call ${n}`, /^wrong (\d+)$/m),
    spoilt: () => number('spoilt', /^spoilt (\d+)$/m),
    async left() {
      await until(async () => !(await threadNames(java.pid)).some((name) => /jfluid/.test(name)))
      const probes = probed(await liveCode(jvm, 'Lfix/'))
      const ours = filesOf(java.pid).filter((it) => it !== `/tmp/.java_pid${java.pid}`)
      const mapped = mappedFiles(java.pid).filter((it) => /jfluid-\d/.test(it))
      return [...probes.map((it) => `probes in ${it}`), ...ours, ...mapped]
    },
  }
}

/** Returns methods whose code is not the original code. Probes are reported separately. */
export async function changed({ jvm }: Target, before: LiveCode): Promise<string[]> {
  const after = await liveCode(jvm, 'Lfix/')
  const probes = probed(after)
  return [...before]
    .filter(([name, text]) => after.get(name) !== text && !probes.includes(name))
    .map(([name]) => `${name} has not its own code`)
}

/** Ends a recording. A failure to end it counts as harm if the target has ended, and otherwise as an error of the client. */
export async function end(
  target: Target,
  recording: Recording,
  { harm, wrong }: { harm: string[]; wrong: string[] },
): Promise<JsonProfile | null> {
  try {
    return await recording.stop()
  } catch (problem) {
    const { exitCode, signalCode } = target.java.child
    const ended = exitCode ?? signalCode
    if (ended === null) wrong.push(`${problem}\nthe JVM lives`)
    else harm.push(`${problem}\nthe JVM ended with ${ended}: ${target.java.stderr()}`)
    return null
  }
}

/** Returns violations: a method must have all its calls or no calls, and parents must have as many calls as their children need. */
export function unbalanced(profile: JsonProfile, calls: number): string[] {
  const counted = callsByMethod(profile)
  const wrong: string[] = []
  if (counted.get('fix.Hostile.root(I)I') !== calls)
    wrong.push(`root has ${counted.get('fix.Hostile.root(I)I')} calls`)
  for (const [name, n] of counted) if (n !== calls) wrong.push(`${name} has ${n} calls, not ${calls}`)
  if (profile.instrumentation.healed > 0) wrong.push(`${profile.instrumentation.healed} exits were healed`)
  return wrong
}
