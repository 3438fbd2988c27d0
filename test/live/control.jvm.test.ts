// A session is changed manually while four threads are inside the roots: other roots, and methods excluded and added again.

import { describe, expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import type { SessionFlags } from '../../src/options/table.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { BadPattern, RootNeverInstrumented, RootNotFound, RootNotLoaded } from '../../src/reveal/errors.ts'
import { parseRoot } from '../../src/reveal/patterns.ts'
import { CannotChangeRoots, OldRootsAgain } from '../../src/session/changed-roots.ts'
import { NotByHand, NothingToLeaveOut } from '../../src/session/code/by-hand.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { parseExpectation, under } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { compileJava, type JavaProcess } from '../support/java-process.ts'
import { forEachJdk, newest, newestOrAll } from '../support/jdks.ts'
import { callsByPath, type JsonProfile, lines } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { type LiveCode, liveCode, probed, startDebuggable } from './live-code.ts'
import { added, attachConnectionsClosed, descriptors, filesOf, threadNames, until } from './remains.ts'

/** Classes of the program without lambdas, because a redefinition creates new lambda classes. */
const OF_ALL = 'Lfix/KnownTree;'

async function ask(java: JavaProcess, line: string, answer: RegExp, nth: number): Promise<void> {
  java.send(line)
  await java.line(answer, nth)
}

async function jsonOf(session: Session): Promise<JsonProfile> {
  return JSON.parse([...jsonPieces(await session.profile())].join('')) as JsonProfile
}

forEachJdk((jdk) => {
  it.each<'a' | 'b'>(FULL ? ['a', 'b'] : [jdk === newest ? 'b' : 'a'])(
    'after a change of roots with scheme %s, the counts of the new roots are exact and begin at zero',
    async (scheme) => {
      const classes = await compileFixture(jdk, 'KnownTree')
      const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.KnownTree', '4', '10'])
      await ask(java, 'expect', /^end/, 1)
      const tree = parseExpectation(java.stdout())
      await ask(java, 'run', /^done/, 1)
      const code = await liveCode(jvm, OF_ALL)

      const options = sessionOptions({ root: ['fix.KnownTree.task'], scheme })
      const session = await Session.start(await attachDoor(java.pid), options)
      await ask(java, 'run', /^done/, 2)
      const threads = await threadNames(java.pid)
      await attachConnectionsClosed(java.pid)
      const open = descriptors(java.pid)

      for (const [root, problem] of [
        ['fix.KnownTree.nothing', RootNotFound],
        ['fix.Nowhere.split', RootNotLoaded],
        ['java.lang.Integer.bitCount', RootNeverInstrumented],
      ] as const) {
        await expect(session.changeRoots([parseRoot(root)])).rejects.toThrow(problem)
      }
      expect([session.generation, session.rootNames]).toEqual([0, ['fix.KnownTree.task']])
      expect(session.ending).toBeNull()
      const { merged } = await session.snapshot(false)
      expect(merged.metrics.calls![0]).toBe(4)

      java.send('run 60')
      const phases: string[] = []
      await session.changeRoots([parseRoot('fix.KnownTree.split')], (phase) => phases.push(phase))
      expect(phases.at(-1)).toBe('recording')
      expect([session.generation, session.rootNames]).toEqual([1, ['fix.KnownTree.split']])
      // The old root has its original code again.
      const now = await liveCode(jvm, OF_ALL)
      expect(now.get('Lfix/KnownTree;.task(I)J')).toBe(code.get('Lfix/KnownTree;.task(I)J'))
      expect(probed(now)).not.toEqual([])
      await java.line(/^done/, 3)
      await session.snapshot(false) // reads all pending events
      session.reset()
      await session.status() // returns after the reset has been executed
      await ask(java, 'run', /^done/, 4)

      await session.detach()
      const profile = await jsonOf(session)
      await session.close()
      expect(lines(callsByPath(profile.merged))).toEqual(lines(under('fix.KnownTree.split', tree)))
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      expect([profile.truncated, profile.roots]).toEqual([false, ['fix.KnownTree.split']])
      expect(await liveCode(jvm, OF_ALL)).toEqual(code)
      expect(added(threads, await threadNames(java.pid))).toEqual([])
      await attachConnectionsClosed(java.pid)
      expect(added(open, descriptors(java.pid))).toEqual([])
      expect(filesOf(java.pid, process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])
    },
  )
})

describe.each(newestOrAll.map((jdk) => [jdk.version, jdk] as const))(
  'a failed change of roots on JDK %i',
  (_, jdk) => {
    /** Starts a session and records one run with known calls. */
    async function recorded() {
      const classes = await compileFixture(jdk, 'KnownTree')
      const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.KnownTree', '4', '10'])
      await ask(java, 'expect', /^end/, 1)
      const expected = lines(under('fix.KnownTree.task', parseExpectation(java.stdout())))
      const code = await liveCode(jvm, OF_ALL)
      const options = sessionOptions({ root: ['fix.KnownTree.task'], scheme: 'a' })
      const session = await Session.start(await attachDoor(java.pid), options)
      await ask(java, 'run', /^done/, 1)
      return { java, jvm, code, session, expected }
    }

    const callsOfProfile = (profile: Profile) =>
      lines(callsByPath((JSON.parse([...jsonPieces(profile)].join('')) as JsonProfile).merged))

    it('a session that ends while its roots change leaves nothing behind', async () => {
      const classes = await compileFixture(jdk, 'KnownTree')
      const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.KnownTree', '4', '10'])
      await ask(java, 'run', /^done/, 1)
      const code = await liveCode(jvm, OF_ALL)
      const options = sessionOptions({ root: ['fix.KnownTree.task'], scheme: 'b' })
      const session = await Session.start(await attachDoor(java.pid), options)
      const changed = session.changeRoots([parseRoot('fix.KnownTree.split')])
      await session.detach()
      await changed
      expect(session.ending).toEqual({ how: 'detached' })
      await session.close()
      expect(await liveCode(jvm, OF_ALL)).toEqual(code)
      expect(filesOf(java.pid, process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])
    })

    it('after a failed change of roots, the old roots are recorded again, and the data of the old roots are kept', async () => {
      const { java, jvm, code, session, expected } = await recorded()
      const kept: Profile[] = []
      let failures = 1
      const failing = (phase: string) => {
        if (phase === 'calibrating' && failures-- > 0) throw new Error('no room')
      }
      const changed = session.changeRoots([parseRoot('fix.KnownTree.split')], failing, async (profile) => {
        kept.push(profile)
        return 'before.jfluid'
      })
      await expect(changed).rejects.toThrow(new OldRootsAgain(new Error('no room'), 'before.jfluid').message)
      expect(kept.map(callsOfProfile)).toEqual([expected])
      expect(kept[0]!.truncated).toBe(false)
      expect([session.generation, session.rootNames]).toEqual([1, ['fix.KnownTree.task']])
      await ask(java, 'run', /^done/, 2)
      await session.detach()
      const profile = await session.profile()
      await session.close()
      expect(callsOfProfile(profile)).toEqual(expected)
      expect(profile.warnings.join('\n')).toMatch(
        /recorded from zero, and the earlier recording is in before\.jfluid \(no room\)/,
      )
      expect(await liveCode(jvm, OF_ALL)).toEqual(code)
    })

    it('the profile of the old roots is marked as truncated if the new roots fail and the old roots cannot be recorded again', async () => {
      const { jvm, code, session, expected } = await recorded()
      const failing = (phase: string) => {
        if (phase === 'calibrating') throw new Error('no room')
      }
      await expect(session.changeRoots([parseRoot('fix.KnownTree.split')], failing)).rejects.toThrow(
        'no room',
      )
      expect(await session.ended).toBe('no room')
      expect(session.ending).toMatchObject({
        how: 'by itself',
        reason: 'the roots could not be changed: no room',
      })
      await session.detach()
      const profile = await session.profile()
      await session.close()
      expect(callsOfProfile(profile)).toEqual(expected)
      expect(profile.truncated).toBe(true)
      expect(await liveCode(jvm, OF_ALL)).toEqual(code)
    })

    it('the profile of the old roots is marked as truncated if the JVM ends during the change of roots', async () => {
      const { java, session, expected } = await recorded()
      const killing = (phase: string) => {
        if (phase === 'calibrating') process.kill(java.pid, 'SIGKILL')
      }
      await expect(session.changeRoots([parseRoot('fix.KnownTree.split')], killing)).rejects.toThrow(
        'cannot change the roots: the JVM has ended',
      )
      expect(session.ending).toEqual({ how: 'target ended' })
      await session.detach()
      const profile = await session.profile()
      await session.close()
      expect(callsOfProfile(profile)).toEqual(expected)
      expect(profile.truncated).toBe(true)
      expect(profile.warnings.join('\n')).toContain('the JVM ended while its roots were being changed')
    })

    it('a root method that is too large for probes is refused before the roots change', async () => {
      const statements = 'i = i * 31 + 7;'.repeat(8_190) + 'i++;'.repeat(4) // 65,532 bytes
      const classes = await compileJava(jdk, {
        'fix/Large': `package fix; public class Large {
        static int large(int i) { ${statements} return i; }
        static int small(int i) { return i; }
        public static void main(String[] args) throws Exception {
          System.out.println("ready");
          for (int c; (c = System.in.read()) >= 0; ) if (c == 10) System.out.println("done " + small(large(c)));
        }
      }`,
      })
      const { java } = await startDebuggable(jdk, ['-cp', classes, 'fix.Large'])
      const options = sessionOptions({ root: ['fix.Large.small'], scheme: 'b' })
      const session = await Session.start(await attachDoor(java.pid), options)
      await ask(java, '', /^done/, 1)
      await expect(session.changeRoots([parseRoot('fix.Large.large')])).rejects.toThrow(CannotChangeRoots)
      await ask(java, '', /^done/, 2)
      expect([session.generation, session.ending]).toEqual([0, null])
      await session.detach()
      expect((await session.profile()).events.count).toBe(4)
      await session.close()
    })
  },
)

/**
 * Four threads call root() until a command stops them, and count their own calls. `late` makes them call a class that was not loaded
 * before.
 */
const STEERED = `
  package fix;
  import java.util.concurrent.atomic.AtomicLongArray;
  public class Steered {
    static final String[] NAMES = {"root", "middle", "only", "deep", "shared", "other", "late", "fromLate"};
    static final AtomicLongArray CALLS = new AtomicLongArray(NAMES.length);
    static volatile boolean goes, wantsLate;
    static void count(int what) { CALLS.incrementAndGet(what); }
    static void root() { Count.of(0); middle(1); other(1); if (wantsLate) Late.late(); }
    static void middle(int i) { Count.of(1); only(); shared(i); }
    static void only() { Count.of(2); deep(3); }
    static void deep(int n) { Count.of(3); if (n > 0) deep(n - 1); }
    static void shared(int i) { Count.of(4); }
    static void other(int i) { Count.of(5); shared(i); }
    public static void main(String[] args) throws Exception {
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
            for (int i = 0; i < NAMES.length; i++) text.append(' ').append(NAMES[i]).append('=').append(CALLS.get(i));
            line = text.toString();
          }
        }
        System.out.println("done " + line);
      }
    }
  }`
const COUNT = `
  package fix;
  class Count { static void of(int what) { Steered.CALLS.incrementAndGet(what); } }`
const LATE = `
  package fix;
  class Late {
    static void late() { Count.of(6); fromLate(); Steered.shared(1); }
    static void fromLate() { Count.of(7); }
  }`

/** Returns a function that sends a command to the program and waits until the program has executed it. */
function steering(java: JavaProcess): (line: string) => Promise<string> {
  const told = new Map<string, number>()
  return async (line) => {
    const nth = (told.get(line) ?? 0) + 1
    told.set(line, nth)
    java.send(line)
    return await java.line(new RegExp(`^done ${line}`), nth)
  }
}

/** Returns the number of calls per method as counted by the program. */
async function truthOf(steer: (line: string) => Promise<string>): Promise<Map<string, number>> {
  const words = (await steer('calls')).split(' ').slice(2)
  return new Map(words.map((it) => [it.split('=')[0]!, Number(it.split('=')[1])]))
}

async function callsOf(session: Session): Promise<Map<string, number>> {
  const { merged } = await session.snapshot(false)
  const calls = new Map<string, number>()
  for (let node = 0; node < merged.count; node++) {
    const { method } = session.methodName(merged.method[node]!)
    calls.set(method, (calls.get(method) ?? 0) + merged.metrics.calls![node]!)
  }
  return calls
}

/** Waits until the recorder, which reads with a delay, has read at least the wanted calls of each method. */
async function allRead(session: Session, wanted: ReadonlyMap<string, number>): Promise<Map<string, number>> {
  let calls = new Map<string, number>()
  await until(async () => {
    calls = await callsOf(session)
    return [...wanted].every(([method, times]) => (calls.get(method) ?? 0) >= times)
  })
  return calls
}

interface Way {
  readonly scheme: 'a' | 'b'
  readonly flags: Partial<SessionFlags>
}

/** Returns the calls of methods that always have probes. */
function staying(calls: ReadonlyMap<string, number>): Map<string, number> {
  return new Map([...calls].filter(([method]) => ['root', 'other', 'shared'].includes(method)))
}

forEachJdk((jdk) => {
  // The effect of a change depends on the JDK, and the search for methods depends on the scheme. Few errors depend on both.
  const others: readonly Way[] = [
    { scheme: 'b', flags: { callSites: true } },
    { scheme: 'b', flags: { mode: 'count' } },
  ]
  const each: readonly Way[] = [
    { scheme: 'a', flags: {} },
    { scheme: 'b', flags: {} },
  ]
  const ways = FULL ? [...each, ...others] : jdk === newest ? [each[1]!, others[0]!] : [each[0]!, others[1]!]
  it.each(ways)(
    'after some methods are excluded, all other methods are counted exactly, with scheme $scheme and flags $flags',
    async ({ scheme, flags }) => {
      const classes = await compileJava(jdk, { 'fix/Steered': STEERED, 'fix/Count': COUNT, 'fix/Late': LATE })
      const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Steered'])
      const steer = steering(java)
      const code = await liveCode(jvm, 'Lfix/Steered;')
      const options = sessionOptions({
        root: ['fix.Steered.root'],
        scheme,
        exclude: ['fix.Count'],
        ...flags,
      })
      const session = await Session.start(await attachDoor(java.pid), options)
      const called = async (...methods: string[]) => {
        await until(async () => {
          const calls = await callsOf(session)
          return methods.every((it) => (calls.get(it) ?? 0) > 0)
        })
      }
      await steer('go')
      await called('middle', 'only', 'deep', 'shared', 'other')

      for (const [wrong, problem] of [
        ['fix.Steered.root()', NothingToLeaveOut],
        ['fix.Steered.none', NothingToLeaveOut],
        ['fix.Late', NothingToLeaveOut],
        ['fix.Steered.(', BadPattern],
      ] as const) {
        await expect(session.exclude(wrong), wrong).rejects.toThrow(problem)
      }
      await expect(session.takeBack('fix.Steered.middle')).rejects.toThrow(NotByHand)

      // Methods that only `middle` calls are excluded with it. Methods that are also called elsewhere keep their probes.
      const { methods, below } = await session.exclude('fix.Steered.middle(int)')
      expect([methods.size, below.size]).toEqual([1, 2])
      const ownCode = (now: LiveCode) => [...now].filter(([name, text]) => text === code.get(name))
      const without = await liveCode(jvm, 'Lfix/Steered;')
      expect(
        probed(without)
          .map((it) => /\.(\w+)\(/.exec(it)![1])
          .sort(),
      ).toEqual(['other', 'root', 'shared'])
      expect(ownCode(without).map(([name]) => name)).toContain('Lfix/Steered;.deep(I)V')
      // Excludes classes that are not loaded yet.
      await session.exclude('fix.La*')
      await steer('late')
      await until(async () => (await truthOf(steer)).get('late')! > 0)
      await steer('stop')
      const was = await truthOf(steer)
      const still = await allRead(session, staying(was))
      expect(staying(still)).toEqual(staying(was))
      expect(still.get('late') ?? 0).toBe(0)
      for (const method of ['middle', 'only', 'deep'])
        expect(still.get(method)).toBeLessThan(was.get(method)!)

      // The exclusions are revoked while threads run. After a reset exactly the program's calls are counted.
      await steer('go')
      expect(await session.takeBack('fix.Steered.middle(int)')).toBe(3)
      await session.takeBack('fix.La*')
      await steer('stop')
      const zero = await truthOf(steer)
      expect(staying(await allRead(session, staying(zero)))).toEqual(staying(zero))
      session.reset()
      await session.status() // returns after the reset has been executed
      await steer('go')
      await called('middle', 'only', 'deep', 'late', 'fromLate')
      await steer('stop')
      const last = await truthOf(steer)
      const since = new Map([...last].map(([method, calls]) => [method, calls - zero.get(method)!]))
      expect(await allRead(session, since)).toEqual(since)

      await session.detach()
      const profile = await jsonOf(session)
      await session.close()
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      expect(await liveCode(jvm, 'Lfix/Steered;')).toEqual(code)
      expect(profile.byHand ?? []).toEqual([])
    },
  )
})
