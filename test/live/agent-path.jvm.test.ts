// A JVM started with the option of `jfluid agent-path`: the agent is idle, an attach wakes it without loading classes, and no program is
// affected.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { jarEntries } from '../support/jar.ts'
import { compileJava, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, newestOrAll, oldestOrAll } from '../support/jdks.ts'
import { callsByPath, cli, jfluid, lines, readProfileJson, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'

const ATTACHES = FULL ? 5 : 1

/** Threads of the JVM and of the program. */
const THREADS = new Set([
  ...['Attach Listener', 'Common-Cleaner', 'Finalizer', 'Notification Thread', 'Reference Handler'],
  ...['Signal Dispatcher', 'main', 'worker'],
])

/**
 * Calls the root for each input line, and prints the JVM's threads and its number of transformers. Reading the transformers needs opened
 * packages.
 */
const HOST = `
package fix;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
public class Host {
  static int step(int x) { return x + 1; }
  static int work(int x) { return step(step(x)); }
  public static void main(String[] args) throws Exception {
    if (args.length > 0) { work(1); return; }
    Thread worker = new Thread(() -> {
      for (;;) try { work(1); Thread.sleep(1); } catch (InterruptedException ended) { return; }
    }, "worker");
    worker.setDaemon(true);
    worker.start();
    System.out.println("ready");
    var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null; ) {
      work(1);
      System.out.println("seen " + threads() + " " + transformers());
    }
  }
  static String threads() {
    return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).sorted().toList().toString();
  }
  static int transformers() throws Exception {
    Object jvm = field(Class.forName("java.lang.JFluid1$Setup"), "instrumentation").get(null);
    int count = 0;
    for (String name : new String[] {"mTransformerManager", "mRetransfomableTransformerManager"}) {
      Object manager = field(jvm.getClass(), name).get(jvm);
      if (manager != null) count += ((Object[]) field(manager.getClass(), "mTransformerList").get(manager)).length;
    }
    return count;
  }
  static Field field(Class<?> c, String name) throws Exception {
    Field f = c.getDeclaredField(name);
    f.setAccessible(true);
    return f;
  }
}`

const OPENED = ['java.base/java.lang', 'java.instrument/sun.instrument'].flatMap((it) => [
  '--add-opens',
  `${it}=ALL-UNNAMED`,
])

it('jfluid agent-path prints only the JVM option that loads the agent', async () => {
  const { code, stdout } = await jfluid('agent-path')
  expect(code).toBe(0)
  expect(stdout).toBe(`-javaagent:${agentJar().path}\n`)
})

it('boot classes of the agent have the class file format of JDK 8', () => {
  const boot = jarEntries(agentJar().path, /^jfluid\//).filter(({ path }) => path.endsWith('.class'))
  expect(boot.map(({ path, bytes }) => `${path} ${Buffer.from(bytes).readUInt16BE(6)}`).sort()).toEqual([
    'jfluid/Boot$Loader.class 52',
    'jfluid/Boot.class 52',
  ])
})

forEachJdk((jdk) => {
  const agent = `-javaagent:${agentJar().path}`
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Host.java': HOST })
  })

  it('an idle agent has no thread or transformer, and an attach wakes the agent without loading classes', async () => {
    const java = startJava(jdk, [
      ...[agent, '-XX:-EnableDynamicAgentLoading', '-Xlog:redefine+class+load=info:stderr', ...OPENED],
      ...['-cp', classes, 'fix.Host'],
    ])
    /** Returns the unknown threads and the number of transformers. */
    const look = async (nth: number): Promise<[string[], number]> => {
      java.send('look')
      const [, names = '', count] = /^seen \[(.*)\] (\d+)$/.exec(await java.line(/^seen/, nth)) ?? []
      return [names.split(', ').filter((name) => !THREADS.has(name)), Number(count)]
    }
    await java.line(/ready/)
    expect(await look(1)).toEqual([[], 0])
    expect(java.stderr()).toBe('') // a redefinition would be logged here

    const found = await jfluid('doctor', String(java.pid))
    expect(found.code, found.stdout).toBe(0)
    expect(found.stdout).toMatch(/agent loading +not needed: the agent is loaded already/)
    expect(found.stdout).toMatch(/the JVM was started with the agent of jfluid: its idle agent is used/)
    expect(found.stdout).toMatch(/other agents +none/)

    for (let nth = 1; nth <= ATTACHES; nth++) {
      const recording = startRecording(java.pid, '--root', 'fix.Host.work')
      await recording.started
      await look(2 * nth)
      const profile = await recording.stop()
      expect(recording.process.stderr()).toContain('nothing of jfluid remains')
      const [calls = 0] = callsByPath(profile.merged).values()
      expect(calls).toBeGreaterThan(0)
      expect(await look(2 * nth + 1)).toEqual([[], 0])
    }
    expect(java.stderr()).toContain('redefined name=fix.Host')
    expect(java.stderr()).not.toMatch(/WARNING|jfluid/)
    await java.kill()
  })

  /** Builds an agent jar without the files that match `leftOut`. @param other  matches files to which one digit is appended */
  const pieces = (leftOut: RegExp, other = /^$/): string => {
    const dir = temporaryDirectory()
    const jar = join(dir, 'jfluid-agent.jar')
    const folder = join(dir, 'stage')
    const files = jarEntries(agentJar().path, /[^/]$/).filter(({ path }) => !leftOut.test(path))
    for (const { path, bytes } of files) {
      mkdirSync(join(folder, path, '..'), { recursive: true })
      writeFileSync(join(folder, path), other.test(path) ? `${Buffer.from(bytes)}0` : bytes)
    }
    const own = readdirSync(folder).filter((it) => it !== 'META-INF')
    execFileSync(join(jdk.tools, 'jar'), [
      ...['cfm', jar, join(folder, 'META-INF/MANIFEST.MF')],
      ...own.flatMap((it) => ['-C', folder, it]),
    ])
    return jar
  }

  it('the program starts despite any error of the agent, and one line reports the error', async () => {
    const asleep = /^jfluid: the agent is not active, and the program continues without it: .+\n$/
    const options: [string[], RegExp][] = [
      [[`${agent}=fast`], /^jfluid: the agent has no options, and 'fast' is none\n$/],
      [[agent, agent], /^$/],
      [[agent, '-Xmx8m', '-Xss256k'], /^$/],
    ]
    // jfluid itself detects missing agent files, so one JDK is enough.
    if (oldestOrAll.includes(jdk)) {
      options.push(
        [[`-javaagent:${pieces(/agent\/Main\.class/)}`], asleep],
        [[`-javaagent:${pieces(/^runtime\//)}`], asleep],
        [[`-javaagent:${pieces(/^nothing/)}`, agent], /^$/],
      )
    }
    if (jdk.version < 24) options.push([['-Djava.security.manager', agent], new RegExp(asleep, 'm')])
    const told = options.map(async ([words, said]) => {
      const java = startJava(jdk, [...words, '-cp', classes, 'fix.Host', 'once'])
      expect((await java.exit).code, `${words.join(' ')}\n${java.stderr()}`).toBe(0)
      const own = java.stderr().replaceAll(/^WARNING: .*\n/gm, '')
      expect(own, words.join(' ')).toMatch(said)
    })
    await Promise.all(told)
  })

  const both: [string, string | undefined, string[]] = ['in both places', agent, [agent]]
  it.each(
    FULL ? [['on the command line', undefined, [agent]], ['in JAVA_TOOL_OPTIONS', agent, []], both] : [both],
  )('jfluid run profiles a JVM with the agent option %s', async (_, variable, option) => {
    const out = join(temporaryDirectory(), 'p.jfluid')
    const program = [jdk.java, ...option, '-cp', classes, 'fix.Host', 'once']
    const script = variable === undefined ? program : ['sh', '-c', program.map((it) => `'${it}'`).join(' ')]
    const words = ['run', '--root', 'fix.Host.work', '--record', out, '--', ...script]
    const ran = startProcess(process.execPath, [cli, ...words], { env: { JAVA_TOOL_OPTIONS: variable } })
    expect((await ran.exit).code, ran.stderr()).toBe(0)
    const profile = await readProfileJson(out)
    expect(lines(callsByPath(profile.merged))).toEqual([
      'fix.Host.work(I)I 1',
      'fix.Host.work(I)I;fix.Host.step(I)I 2',
    ])
  })

  if (!newestOrAll.includes(jdk)) return // the rest does not depend on the JDK

  it('if the JVM has an idle agent and attach is disabled, jfluid why is refused and suggests a restart with --jdwp', async () => {
    const java = startJava(jdk, [agent, '-XX:+DisableAttachMechanism', '-cp', classes, 'fix.Host'])
    await java.line(/ready/)
    const { code, stderr } = await jfluid('why', String(java.pid))
    expect(code, stderr).toBe(78)
    expect(stderr).toContain('it was started with -XX:+DisableAttachMechanism\n')
    expect(stderr).toMatch(/Restart the program .* --jdwp <host:port>\n/)
    await java.kill()
  })

  // If only the build differs, the probes are the same and both agents can be loaded into one JVM. The second JVM therefore forbids agent
  // loading.
  const builds: [string, RegExp, string[]][] = [
    ['of another version', /^runtime\/(?:id|build)$/, []],
    [
      'of another build, in a JVM that forbids agent loading',
      /^runtime\/build$/,
      ['-XX:-EnableDynamicAgentLoading'],
    ],
  ]
  it.each(FULL ? builds : builds.slice(0, 1))(
    'doctor and attach report an idle agent %s',
    async (_, other, options) => {
      const agent = `-javaagent:${pieces(/^nothing/, other)}`
      const java = startJava(jdk, [...options, agent, '-cp', classes, 'fix.Host'])
      await java.line(/ready/)
      const said = `JVM ${java.pid} contains the agent of another jfluid build`
      const out = join(temporaryDirectory(), 'p.jfluid')
      const [found, attached] = await Promise.all([
        jfluid('doctor', String(java.pid)),
        jfluid('record', String(java.pid), '--root', 'fix.Host.work', '--duration', '200ms', '--out', out),
      ])
      expect([found.code, attached.code], attached.stderr).toEqual([69, 69])
      expect(found.stdout.replace(/\s+/g, ' ')).toContain(said)
      expect(attached.stderr).toContain(said)
      await java.kill()
    },
  )

  it('JAVA_TOOL_OPTIONS passes the agent to short-lived JVMs', async () => {
    const out = temporaryDirectory()
    const source = join(out, 'A.java')
    writeFileSync(source, 'class A {}')
    const env = { JAVA_TOOL_OPTIONS: agent }
    const compiler = startJava(jdk, ['-m', 'jdk.compiler/com.sun.tools.javac.Main', '-d', out, source], {
      env,
    })
    expect((await compiler.exit).code, compiler.stderr()).toBe(0)
    expect(readdirSync(out)).toContain('A.class')
    expect(compiler.stderr()).toBe(`Picked up JAVA_TOOL_OPTIONS: ${agent}\n`)
  })
})
