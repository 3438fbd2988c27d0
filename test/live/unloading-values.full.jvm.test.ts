// Class loaders are dropped while values of root calls are read (--by, --show): the session keeps no loader, and loses no value.

import { beforeAll, describe, expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { ask, compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { type JsonNode, startRecording } from '../support/jfluid.ts'
import { until } from './remains.ts'

const VERIFY = ['-XX:+UnlockDiagnosticVMOptions', '-XX:+BytecodeVerificationLocal', '-Xverify:all']
/** Loaders of a recording. More than classes whose objects are read in one step (64), and few. */
const MANY = 70
const FEW = 20

/**
 * visit n:  n new loaders, each with a class of requests. A thread calls the root for 10 ms with requests of each class: "done <calls>"
 * fail n:   the same, but the root throws an exception of a class of the loader
 * alive:    collects garbage, and prints the number of loaders that are alive: "alive <number>"
 *
 * The thread of the calls lives as long as the program. Request i has the URI /<i % 3> and the label "label <i % 2>".
 */
const HOST = `
  package fix;
  import java.lang.ref.WeakReference;
  import java.nio.file.*;
  import java.util.*;
  import java.util.concurrent.*;
  public class Tenants {
    static final class Loader extends ClassLoader {
      final Path dir;
      Loader(Path dir) { super(Tenants.class.getClassLoader()); this.dir = dir; }
      @Override protected Class<?> findClass(String name) throws ClassNotFoundException {
        try {
          byte[] bytes = Files.readAllBytes(dir.resolve(name.replace('.', '/') + ".class"));
          return defineClass(name, bytes, 0, bytes.length);
        } catch (java.io.IOException e) {
          throw new ClassNotFoundException(name, e);
        }
      }
    }
    public interface Request { RuntimeException failure(); }
    static final List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
    static int sum;
    static Object root(Request request, boolean fails) {
      sum++;
      if (fails) throw request.failure();
      return request;
    }
    static void visit(Path dir, boolean fails) throws Exception {
      Loader loader = new Loader(dir);
      loaders.add(new WeakReference<>(loader));
      var made = loader.loadClass("fix.guest.Order").getDeclaredConstructor(int.class);
      for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 6; i++) {
          try { root((Request) made.newInstance(i), fails); } catch (RuntimeException expected) { Thread.yield(); }
        }
        Thread.sleep(1);
      }
    }
    static int alive() {
      System.gc();
      int alive = 0;
      for (WeakReference<ClassLoader> loader : loaders) if (loader.get() != null) alive++;
      return alive;
    }
    public static void main(String[] args) throws Exception {
      Path dir = Path.of(args[0]);
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      ExecutorService server = Executors.newSingleThreadExecutor();
      System.out.println("ready");
      for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
        String[] words = line.split(" ");
        if (words[0].equals("alive")) {
          System.out.println("alive " + alive());
          continue;
        }
        server.submit(() -> {
          for (int i = 0; i < Integer.parseInt(words[1]); i++) visit(dir, words[0].equals("fail"));
          return null;
        }).get();
        System.out.println("done " + sum);
        sum = 0;
      }
      server.shutdown();
    }
  }`

const GUEST = `
  package fix.guest;
  public class Order implements fix.Tenants.Request {
    public static class Failure extends RuntimeException { final Order of; Failure(Order of) { this.of = of; } }
    final String uri;
    final int number;
    public Order(int number) { this.number = number; uri = "/" + number % 3; }
    String label() { return "label " + number % 2; }
    @Override public RuntimeException failure() { return new Failure(this); }
  }`

const ROOT = 'fix.Tenants.root'

function byRows(nodes: readonly JsonNode[]): Map<string, number> {
  const [root] = nodes.filter((it) => `${it.class}.${it.method}` === ROOT)
  return new Map(root!.children.map((it) => [it.method.replace(/^by=/, ''), it.calls]))
}

const aliveIn = async (java: JavaProcess) => Number((await ask(java, 'alive', /^alive/)).slice(6))
const noneAlive = (java: JavaProcess) => until(async () => (await aliveIn(java)) === 0)

forEachJdk((jdk) => {
  describe(`class loaders dropped while values are read, on JDK ${jdk.version}`, () => {
    let start: () => Promise<JavaProcess>
    beforeAll(async () => {
      const classes = await compileJava(jdk, { 'fix/Tenants': HOST })
      const guest = temporaryDirectory('jfluid-guest-')
      await compileJava(jdk, { 'fix/guest/Order': GUEST }, { outDir: guest, options: ['-cp', classes] })
      start = async () => {
        const java = startJava(jdk, [...VERIFY, '-cp', classes, 'fix.Tenants', guest])
        await java.line(/^ready/)
        return java
      }
    })

    /**
     * Records calls of loaders in two parts, with the commands in turn. All loaders are collected after each part, while the session
     * records. Returns the profile, and the number of calls that the program has counted.
     */
    async function recorded(loaders: number, commands: readonly [string, string], ...options: string[]) {
      const java = await start()
      const recording = startRecording(java.pid, '--yes', '--root', ROOT, ...options)
      await recording.started
      let calls = 0
      for (const command of commands) {
        calls += Number((await ask(java, `${command} ${loaders / 2}`, /^done/)).slice(5))
        await noneAlive(java)
      }
      const profile = await recording.stop()
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      expect(profile.detach).toMatchObject({ left: [] })
      expect(profile.warnings.filter((it) => /--by|--show/.test(it))).toEqual([])
      expect(java.stderr()).not.toMatch(/Exception|Error/)
      return { profile, calls }
    }

    it.each([
      ['b', MANY, 'arg0.uri', ['/0', '/1', '/2']],
      ['adaptive', FEW, 'arg0.label()', ['label 0', 'label 1']],
    ] as const)(
      'with scheme %s and %i loaders, --by %s counts all calls, and keeps no loader',
      async (scheme, loaders, by, values) => {
        const getters = by.endsWith('()') ? ['--call-getters'] : []
        const options = ['--scheme', scheme, '--by', by, ...getters]
        const { profile, calls } = await recorded(loaders, ['visit', 'visit'], ...options)
        const rows = byRows(profile.merged)
        expect([...rows.values()].reduce((a, b) => a + b, 0)).toBe(calls)
        const noValue = ['(not read yet)', '(switched off)'].map((it) => rows.get(it) ?? 0)
        const notRead = noValue[0]! + noValue[1]!
        const read = [...rows.keys()].filter((it) => !/^\((not read yet|switched off)\)$/.test(it))
        expect(read.sort()).toEqual([...values])
        for (const value of values) {
          expect(rows.get(value)!).toBeLessThanOrEqual(calls / values.length)
          expect(rows.get(value)!).toBeGreaterThanOrEqual(calls / values.length - notRead)
        }
      },
    )

    it('--show keeps no argument, result or exception of the last call of a thread', async () => {
      const shows = ['arg0.uri', 'return', 'thrown', 'thrown.of'].flatMap((it) => ['--show', it])
      const options = ['--scheme', 'b', '--slow', '1000s', ...shows]
      const { profile, calls } = await recorded(FEW, ['fail', 'visit'], ...options)
      expect(profile.rootCalls).toMatchObject({ count: calls })
    })

    it('a class that is unloaded before the client has answered how its values are read causes no warning', async () => {
      const java = await start()
      const request = { root: [ROOT], scheme: 'adaptive' as const, by: 'arg0.uri' }
      const session = await Session.start(await attachDoor(java.pid), sessionOptions(request))
      // The client answers the questions of the target one after the other.
      let goOn = () => {}
      const blocked = session.engine.turns.enqueue(
        () =>
          new Promise<void>((resolve) => {
            goOn = resolve
          }),
      )
      await ask(java, 'visit 3', /^done/)
      await noneAlive(java)
      goOn()
      await blocked
      await session.engine.turns.enqueue(async () => {})
      expect([...session.engine.values!.warnings]).toEqual([])
      await session.detach()
      await session.close()
    })
  })
})
