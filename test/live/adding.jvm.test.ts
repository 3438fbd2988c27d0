// During a session with four threads inside the root, excluded methods are added: a JDK class, a JDK class that only other JDK code calls,
// an application package, a class that is loaded later, and single methods.

import { beforeAll, expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import type { SessionFlags } from '../../src/options/table.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { BadPattern } from '../../src/reveal/errors.ts'
import { parseRoot } from '../../src/reveal/patterns.ts'
import { CannotChange, NotByHand, NothingToAdd } from '../../src/session/code/by-hand.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileJava, type JavaProcess } from '../support/java-process.ts'
import { forEachJdk, forNewestJdk, newestOrAll } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { type LiveCode, liveCode, probed, startDebuggable } from './live-code.ts'
import { until } from './remains.ts'

/** A program that counts its own calls. `late` makes it call a class that was not loaded before. */
const PROGRAM = {
  'fix/Adding': `
    package fix;
    import java.util.*;
    import java.util.concurrent.atomic.AtomicLongArray;
    public class Adding {
      static final String[] NAMES = {"Adding.root", "Adding.inner", "lib.Helper.help", "lib.Helper.other", "Adding.callback", "Adding$Order.compare", "late.Late.late"};
      static final AtomicLongArray CALLS = new AtomicLongArray(NAMES.length);
      static volatile boolean goes, wantsLate;
      static final class Order implements Comparator<Object> {
        public int compare(Object a, Object b) { fix.Count.of(5); return (Integer) a - (Integer) b; }
      }
      static final Order ORDER = new Order();
      static void root() { fix.Count.of(0); inner(); }
      static void inner() {
        fix.Count.of(1);
        fix.lib.Helper.help();
        ArrayDeque<String> queue = new ArrayDeque<>();
        queue.push("a");
        queue.push("b");
        queue.pop();
        List<Integer> list = new ArrayList<>(List.of(5, 2, 4, 1, 3));
        list.sort(ORDER);
        if (wantsLate) fix.late.Late.late();
      }
      public static void callback() { fix.Count.of(4); }
      public static void main(String[] args) throws Exception {
        inner();
        System.out.println("ready");
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        Thread[] threads = new Thread[4];
        for (String line; (line = in.readLine()) != null; ) {
          switch (line) {
            case "go" -> {
              goes = true;
              for (int i = 0; i < 4; i++) {
                threads[i] = new Thread(() -> { while (goes) { root(); java.util.concurrent.locks.LockSupport.parkNanos(50_000); } });
                threads[i].start();
              }
            }
            case "stop" -> { goes = false; for (Thread it : threads) it.join(); }
            case "late" -> { wantsLate = true; }
            case "calls" -> {
              var text = new StringBuilder(line);
              for (int i = 0; i < NAMES.length; i++) text.append(' ').append("fix.").append(NAMES[i]).append('=').append(CALLS.get(i));
              line = text.toString();
            }
          }
          System.out.println("done " + line);
        }
      }
    }`,
  'fix/Count':
    'package fix; public class Count { public static void of(int what) { Adding.CALLS.incrementAndGet(what); } }',
  'fix/lib/Helper': `
    package fix.lib;
    public class Helper {
      public static void help() { fix.Count.of(2); other(); other(); }
      static void other() { fix.Count.of(3); fix.Adding.callback(); }
    }`,
  'fix/late/Late': 'package fix.late; public class Late { public static void late() { fix.Count.of(6); } }',
}

/** Number of calls of JDK methods in each call of inner(). */
const IN_JDK: Readonly<Record<string, number>> = {
  ...{ 'java.util.ArrayDeque.<init>': 1, 'java.util.ArrayDeque.push': 2, 'java.util.ArrayDeque.addFirst': 2 },
  ...{ 'java.util.ArrayDeque.pop': 1, 'java.util.ArrayDeque.pollFirst': 1 },
  ...{ 'java.util.TimSort.sort': 1, 'java.util.TimSort.binarySort': 1 },
}

type Calls = ReadonlyMap<string, number>

interface Steered {
  readonly java: JavaProcess
  code(): Promise<LiveCode>
  /** Sends a command to the program and waits until the program has executed it. */
  steer(line: string): Promise<string>
  /** Returns the number of calls per method as counted by the program. */
  truth(): Promise<Calls>
}

async function startProgram(jdk: Parameters<typeof startDebuggable>[0]): Promise<Steered> {
  const { java, jvm } = await startDebuggable(jdk, ['-cp', await compileJava(jdk, PROGRAM), 'fix.Adding'])
  const told = new Map<string, number>()
  const steer = async (line: string) => {
    const nth = (told.get(line) ?? 0) + 1
    told.set(line, nth)
    java.send(line)
    return await java.line(new RegExp(`^done ${line}`), nth)
  }
  return {
    java,
    steer,
    async code() {
      const all = await Promise.all(
        // These prefixes match neither lambda classes nor the classes that are loaded later.
        ['Lfix/Adding;', 'Lfix/lib/', 'Ljava/util/ArrayDeque;', 'Ljava/util/TimSort;'].map((it) =>
          liveCode(jvm, it),
        ),
      )
      return new Map(all.flatMap((it) => [...it]))
    },
    async truth() {
      const words = (await steer('calls')).split(' ').slice(2)
      const own = words.map((it) => [it.split('=')[0]!, Number(it.split('=')[1])] as const)
      const inner = new Map(own).get('fix.Adding.inner')!
      return new Map([
        ...own,
        ...Object.entries(IN_JDK).map(([name, times]) => [name, times * inner] as const),
      ])
    },
  }
}

/** Returns the recorded calls, keyed by class and method, of the methods in `known`. */
async function callsOf(session: Session, known: Calls): Promise<Map<string, number>> {
  const { merged } = await session.snapshot(false)
  const calls = new Map<string, number>()
  for (let node = 0; node < merged.count; node++) {
    const { class: owner, method } = session.methodName(merged.method[node]!)
    const name = `${owner}.${method}`
    if (known.has(name)) calls.set(name, (calls.get(name) ?? 0) + merged.metrics.calls![node]!)
  }
  return calls
}

/** Waits until the recorder, which reads with a delay, has read at least the wanted calls of each method. */
async function allRead(session: Session, wanted: Calls): Promise<Calls> {
  let calls: Calls = new Map()
  await until(async () => {
    calls = await callsOf(session, wanted)
    return [...wanted].every(([name, times]) => (calls.get(name) ?? 0) >= times)
  })
  return calls
}

/** Returns the methods that have been called and whose names begin with one of the prefixes. */
function beginning(calls: Calls, ...starts: readonly string[]): Calls {
  return new Map([...calls].filter(([name, times]) => times > 0 && starts.some((it) => name.startsWith(it))))
}

const OWN = ['fix.Adding']
const LIB = ['fix.Adding', 'fix.lib.', 'fix.late.']
const ALL = [...LIB, 'java.util.']

/** Resets the session, runs the program and expects exactly the calls of the methods whose names begin with one of the prefixes. */
async function countsExactly(session: Session, steered: Steered, starts: readonly string[]): Promise<void> {
  const zero = await steered.truth()
  await session.snapshot(false) // reads all pending events
  session.reset()
  await session.status() // returns after the reset has been executed
  await steered.steer('go')
  await until(async () => ((await callsOf(session, zero)).get('fix.Adding.inner') ?? 0) > 50)
  await steered.steer('stop')
  const truth = await steered.truth()
  const since = new Map([...truth].map(([name, times]) => [name, times - zero.get(name)!]))
  const expected = beginning(since, ...starts)
  expect(await allRead(session, expected)).toEqual(expected)
  expect(beginning(await callsOf(session, truth), ...ALL)).toEqual(expected)
}

interface Way {
  readonly scheme: 'a' | 'b'
  readonly flags: Partial<SessionFlags>
}

async function startSession({ java }: Steered, { scheme, flags }: Way): Promise<Session> {
  const exclude = ['fix.Count', 'fix.lib.*', 'fix.late.*']
  const options = sessionOptions({ root: ['fix.Adding.root'], scheme, exclude, ...flags })
  return await Session.start(await attachDoor(java.pid), options)
}

async function end(session: Session): Promise<Profile> {
  await session.detach()
  const profile = await session.profile()
  await session.close()
  expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
  return profile
}

forEachJdk((jdk) => {
  const all: readonly Way[] = [
    { scheme: 'b', flags: {} },
    { scheme: 'a', flags: {} },
    { scheme: 'b', flags: { mode: 'bytecodes' } },
  ]
  // The results of these combinations do not depend on the JDK.
  const ways = FULL ? all : newestOrAll.includes(jdk) ? all.slice(1, 2) : all.slice(0, 1)
  it.each(ways)(
    'a method that is added during a session is counted exactly from then on, with scheme $scheme and flags $flags',
    async (way) => {
      const steered = await startProgram(jdk)
      const code = await steered.code()
      const session = await startSession(steered, way)
      await countsExactly(session, steered, OWN)

      for (const [wrong, problem] of [
        ['fix.Adding', NothingToAdd],
        ['fix.Nowhere', NothingToAdd],
        ['java.util.ArrayDeque.none', NothingToAdd],
        ['java.lang.invoke.MethodHandle', NothingToAdd],
        ['fix.Adding.(', BadPattern],
      ] as const) {
        await expect(session.add(wrong), wrong).rejects.toThrow(problem)
      }
      await expect(session.takeBack('fix.lib.*')).rejects.toThrow(NotByHand)
      expect(session.byHand).toEqual([])

      // Packages are added while threads run. One class of these packages is loaded later.
      await steered.steer('go')
      await session.add('fix.lib.*')
      await session.add('fix.late.**')
      await session.add('java.util.ArrayDeque')
      await session.add('java.util.TimSort')
      await steered.steer('late')
      await steered.steer('stop')
      await countsExactly(session, steered, ALL)

      // The added methods are still recorded after a change of the root.
      await session.changeRoots([parseRoot('fix.Adding.inner')])
      const own = ['fix.Adding.inner', 'fix.Adding$']
      await countsExactly(session, steered, [...own, 'fix.Adding.callback', ...ALL.slice(1)])
      await session.changeRoots([parseRoot('fix.Adding.root')])
      expect(session.engine.byHand.watchesJdk).toBe(true)
      await countsExactly(session, steered, ALL)

      // The additions are revoked while threads run. If several commands name a method, the last command applies. Methods that only a
      // removed method calls are removed with it.
      await steered.steer('go')
      await session.exclude('fix.lib.Helper.other')
      await session.takeBack('java.util.ArrayDeque')
      await session.takeBack('java.util.TimSort')
      expect(session.engine.byHand.watchesJdk).toBe(false)
      await steered.steer('stop')
      await countsExactly(session, steered, ['fix.Adding.root', ...own, 'fix.lib.Helper.help', 'fix.late.'])
      const inJdk = [...(await steered.code())].filter(([name]) => name.startsWith('Ljava/'))
      expect(inJdk).toEqual([...code].filter(([name]) => name.startsWith('Ljava/')))
      await session.takeBack('fix.lib.Helper.other')
      await countsExactly(session, steered, LIB)

      const { selection } = await end(session)
      expect(await steered.code()).toEqual(code)
      expect(selection?.byHand?.filter((it) => it.what === 'add').map((it) => it.text)).toEqual([
        'fix.lib.*',
        'fix.late.**',
      ])
    },
  )
})

forNewestJdk((jdk) => {
  let steered: Steered
  beforeAll(async () => {
    steered = await startProgram(jdk)
  })

  it('a single excluded method of a class can be added', async () => {
    const code = await steered.code()
    const session = await startSession(steered, { scheme: 'b', flags: {} })
    await steered.steer('go')
    await session.add('java.util.ArrayDeque.addFirst(Object)')
    await session.add('TimSort.binarySort')
    await session.add('fix.lib.Helper.other()')
    await steered.steer('stop')
    const one = [
      ...OWN,
      'java.util.ArrayDeque.addFirst',
      'java.util.TimSort.binarySort',
      'fix.lib.Helper.other',
    ]
    await countsExactly(session, steered, one)
    const names = probed(await steered.code()).filter((it) => !it.startsWith('Lfix/Adding'))
    expect(names.map((it) => /(\w+)\(/.exec(it)![1]).sort()).toEqual(['addFirst', 'binarySort', 'other'])
    await end(session)
    expect(await steered.code()).toEqual(code)
  })

  it('methods that were excluded before a change of roots can be added after the change', async () => {
    const flags = { exclude: ['fix.Count'] }
    const session = await startSession(steered, { scheme: 'b', flags })
    await session.exclude('fix.lib.*')
    await countsExactly(session, steered, OWN)
    await session.changeRoots([parseRoot('fix.Adding.inner')])
    await countsExactly(session, steered, ['fix.Adding.inner', 'fix.Adding$'])
    await session.add('fix.lib.Helper.help')
    await countsExactly(session, steered, ['fix.Adding.inner', 'fix.Adding$', 'fix.lib.Helper.help'])
    await session.add('fix.lib.Helper')
    await countsExactly(session, steered, [
      'fix.Adding.inner',
      'fix.Adding$',
      'fix.Adding.callback',
      'fix.lib.',
    ])
    await end(session)
  })

  it('if a JDK interface is included from the start, callbacks from JDK code that jfluid has not analysed are counted', async () => {
    const flags = { jdk: true, include: ['fix.*', 'java.util.Comparator'] }
    const session = await startSession(steered, { scheme: 'b', flags })
    await countsExactly(session, steered, OWN)
    await end(session)
  })

  it('JDK methods cannot be added in modes that instrument the callers of JDK methods', async () => {
    for (const flags of [{ callSites: true }, { mode: 'locks' }, { mode: 'alloc' }] as const) {
      const session = await startSession(steered, { scheme: 'b', flags })
      await expect(session.add('java.util.ArrayDeque')).rejects.toThrow(CannotChange)
      expect((await session.add('fix.lib.Helper')).what).toBe('add')
      await end(session)
    }
  })
})
