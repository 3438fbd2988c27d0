// A thread locks a class loader that is not parallel capable, and the JVM blocks when it links a class of this loader for jfluid. The agent
// must not block as well (decision 74).

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { beforeAll, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { instrumentClass } from '../../src/instrument/class.ts'
import { Instrumenter, type Task } from '../../src/session/code/instrumenter.ts'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import { forOldestJdk } from '../support/jdks.ts'
import { liveCode, probed } from './live-code.ts'
import { threadNames, until } from './remains.ts'
import { HIGHEST, method, NO_EVENTS, openSwapped, PROGRAM } from './swapped.ts'

/**
 * Returns the source of a class. To link the class, the verifier asks the loader for both types in `same`, since the verifier must know
 * whether one is a subclass of the other.
 */
const UNLINKED = (name: string) => `
  package held;
  public class ${name} extends Base {
    public static int one(int x) { return x + 1; }
    static Base same(${name}2 it) { return it; }
  }
  class ${name}2 extends Base {}`

/**
 * hold: a thread locks the loader
 * give: the thread unlocks the loader
 * load: a third class is loaded, but not linked, here and by a loader that is not locked
 * link: a method of the class is called
 */
const HOLDER = `
  package fix;
  import java.io.*;
  import java.util.concurrent.CountDownLatch;
  public class Holder {
    /** This loader is not registered as parallel capable, so the JVM locks it. */
    static class Loader extends ClassLoader {
      @Override protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith("held.")) return super.loadClass(name, resolve);
        synchronized (this) {
          Class<?> loaded = findLoadedClass(name);
          if (loaded != null) return loaded;
          try (InputStream in = Holder.class.getResourceAsStream("/" + name.replace('.', '/') + ".class")) {
            byte[] bytes = in.readAllBytes();
            return defineClass(name, bytes, 0, bytes.length);
          } catch (IOException e) { throw new ClassNotFoundException(name, e); }
        }
      }
    }
    public static void main(String[] args) throws Exception {
      Loader loader = new Loader();
      loader.loadClass("held.Other");
      Class<?> unlinked = loader.loadClass("held.Unlinked");
      System.out.println("ready " + Swapped.sum());
      Loader free = new Loader();
      Class<?> late = null, other = null;
      CountDownLatch given = new CountDownLatch(1);
      var in = new BufferedReader(new InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        if (line.equals("hold")) {
          CountDownLatch held = new CountDownLatch(1);
          new Thread(() -> {
            synchronized (loader) {
              held.countDown();
              try { given.await(); } catch (InterruptedException e) { }
            }
          }).start();
          held.await();
        } else if (line.equals("give")) {
          given.countDown();
        } else if (line.equals("load")) {
          late = loader.loadClass("held.Late");
          other = free.loadClass("held.Late");
        } else {
          Class<?> which = late == null ? unlinked : late;
          System.out.println("one " + which.getMethod("one", int.class).invoke(null, 1));
        }
        System.out.println("done " + line);
      }
    }
  }`

/** An agent loaded before jfluid's. Its transformer blocks for class B from `wait` to `give`. */
const WAITER = `
  package fix;
  import java.lang.instrument.*;
  import java.util.concurrent.CountDownLatch;
  public class Waiter {
    static volatile boolean waits;
    static final CountDownLatch given = new CountDownLatch(1);
    public static void premain(String options, Instrumentation instrumentation) {
      instrumentation.addTransformer(new ClassFileTransformer() {
        @Override public byte[] transform(
            ClassLoader loader, String name, Class<?> c, java.security.ProtectionDomain domain, byte[] bytes) {
          if (waits && c != null && name.equals("fix/B")) {
            System.out.println("waits");
            try { given.await(); } catch (InterruptedException e) { }
          }
          return null;
        }
      }, true);
    }
    public static void main(String[] args) throws Exception {
      System.out.println("ready " + Swapped.sum());
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        if (line.equals("wait")) waits = true;
        else given.countDown();
        System.out.println("done " + line);
      }
    }
  }`

forOldestJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, {
      ...PROGRAM,
      'held/Base': 'package held; public class Base {}',
      'held/Other': 'package held; public class Other {}',
      'held/Unlinked': UNLINKED('Unlinked'),
      'held/Late': UNLINKED('Late'),
      'fix/Holder': HOLDER,
      'fix/Waiter': WAITER,
    })
  })

  /** Starts the program. Returns a session with instrumented bodies of `one`, and commands that lock the loader. */
  async function open() {
    const swapped = await openSwapped(jdk, ['-cp', classes, 'fix.Holder'])
    const { java, agent, jvm, loaded } = swapped
    const idOf = (name: string): number => loaded.find((it) => it.name === `held/${name}`)!.id
    const unlinked = idOf('Unlinked')
    // After this call the agent knows that the loader finds the probe class, and does not ask the loader again.
    expect((await agent.classBytes([idOf('Other')]))[0]?.length).toBeGreaterThan(0)
    const say = async (word: string): Promise<void> => {
      java.send(word)
      await java.line(new RegExp(`^done ${word}`))
    }
    return { ...swapped, unlinked, say, held: (name: string) => liveCode(jvm, `Lheld/${name};`) }
  }

  it('the bytes of an unlinked class are read as soon as its class loader is no longer locked', async () => {
    const { agent, a, java, live, extend, leave, say, unlinked } = await open()
    await say('hold')
    const [bytes] = await agent.classBytes([unlinked])
    // JDK 17 shows the bytes before it links the class, so it does not block.
    expect(bytes === null || bytes?.length === 0).toBe(jdk.version >= 25)
    // The agent still executes all other requests.
    await extend(a)
    expect((await agent.redefineMethods([a.body('one')], [], HIGHEST)).refused).toEqual([])
    expect(probed(await live())).toEqual([method('A', 'one')])
    await say('give')
    await until(async () => !(await threadNames(java.pid)).includes('jfluid-read'))
    expect((await agent.classBytes([unlinked]))[0]?.length).toBeGreaterThan(0)
    expect(await leave()).toMatchObject({ restoredClasses: 1, refusedClasses: 0 })
  })

  it('a detach does not wait for a redefinition that is blocked by class linking, and all classes are restored later', async () => {
    const { agent, a, b, before, live, held, java, extend, leave, say, unlinked } = await open()
    const file = parseClassFile(readFileSync(join(classes, 'held/Unlinked.class')))
    const methodIndex = file.methods.find(({ name }) => name === 'one')!.index
    const { bodies, poolEntries, poolBytes } = instrumentClass(file, [
      { methodIndex, id: 1, probe: 'method' },
    ])
    await agent.extendConstantPool(unlinked, crc32(file.bytes), poolEntries, poolBytes)
    await Promise.all([extend(a), extend(b)])
    await agent.redefineMethods([a.body('one')], [], HIGHEST)
    await say('hold')
    const answered = agent
      .redefineMethods(
        [a.body('two'), b.body('one'), { classId: unlinked, methodIndex, code: bodies[0]!.code }],
        [],
        HIGHEST,
      )
      .then(
        () => 'answered',
        () => 'not answered',
      )
    await until(async () => (await threadNames(java.pid)).includes('jfluid-swap'))
    expect(probed(await live())).toEqual([method('A', 'one')])
    await leave(async () => {
      expect(probed(await live())).toEqual([])
      await say('give')
      await until(async () => !(await threadNames(java.pid)).includes('jfluid-swap'))
      expect([...(await live())].filter(([name]) => before.has(name))).toEqual([...before])
      await say('link')
      expect(probed(await held('Unlinked'))).toEqual([])
    })
    expect(await answered).toBe('not answered')
  })

  it('a detach does not wait for a redefinition that is blocked in the JVM, and the classes of this redefinition are restored last', async () => {
    const jar = join(temporaryDirectory(), 'waiter.jar')
    const manifest = join(temporaryDirectory(), 'manifest')
    writeFileSync(manifest, 'Premain-Class: fix.Waiter\nCan-Retransform-Classes: true\n')
    execFileSync(join(jdk.tools, 'jar'), ['cfm', jar, manifest, '-C', classes, '.'])
    const swapped = await openSwapped(jdk, [`-javaagent:${jar}`, '-cp', jar, 'fix.Waiter'])
    const { java, agent, a, b, c, before, extend, leave, live } = swapped
    await Promise.all([a, b, c].map((it) => extend(it)))
    await agent.redefineMethods([a.body('one')], [], HIGHEST)
    await agent.redefineMethods([c.body('one')], [], HIGHEST)
    java.send('wait')
    await java.line(/^done wait/)
    const answered = agent.redefineMethods([a.body('two'), b.body('one')], [], HIGHEST).then(
      () => 'answered',
      () => 'not answered',
    )
    await java.line(/^waits/)
    const report = await leave(async () => {
      expect(probed(await live())).toEqual([method('A', 'one')])
      expect(await threadNames(java.pid)).toContain('jfluid-swap')
      java.send('give')
      await until(async () => !(await threadNames(java.pid)).includes('jfluid-swap'))
      expect([...(await live())].filter(([name]) => before.has(name))).toEqual([...before])
    })
    expect(report).toMatchObject({ restoredClasses: 1, refusedClasses: 2 })
    expect(await answered).toBe('not answered')
  })

  it('a detach does not wait for a class that has probes and is not linked yet', async () => {
    const { agent, a, before, live, held, java, extend, leave, say } = await open()
    const instrumenter = new Instrumenter(agent, { unverified: () => true })
    agent.listen({
      ...NO_EVENTS,
      classLoading({ hook, id, name: className, bytes }) {
        const task: Task = {
          ...{ id: 1, classId: id, className, name: 'one', descriptor: '(I)I', probe: 'method' },
        }
        const tasks = className === 'held/Late' ? [task] : []
        agent.loadHook(hook, instrumenter.atLoad(id, bytes, tasks, []).answer)
      },
    })
    await agent.enable()
    await agent.watch(false)
    await extend(a)
    await agent.redefineMethods([a.body('one')], [], HIGHEST)
    await say('load')
    await say('hold')
    const report = await leave(async () => {
      expect([...(await live())].filter(([name]) => before.has(name))).toEqual([...before])
      expect(await threadNames(java.pid)).toContain('jfluid-swap')
      await say('give')
      await until(async () => !(await threadNames(java.pid)).includes('jfluid-swap'))
      await say('link')
      expect(probed(await held('Late'))).toEqual([])
      expect(await held('Late')).not.toEqual(new Map())
    })
    // The class of the same name in the unlocked loader is restored as well.
    expect(report).toMatchObject({ restoredClasses: 2, refusedClasses: 1 })
  })
})
