// Methods that end by an exception of any kind: the next call must be at the correct place in the tree, and an exit that no probe has
// recorded must be counted.

import { beforeAll, describe, expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { forJdks, forNewestJdk } from '../support/jdks.ts'
import { callsByPath, type JsonProfile, lines, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itOnlyIf } from '../support/only-if.ts'

/**
 * `<test> n`: enters the root n times for this test. Each time it also calls after(), whose node must be directly below the root.
 * `stop n`:   stops n threads that work inside the root, one after the other.
 */
const UNWIND = `
  package fix;
  import java.io.*;
  import java.lang.reflect.*;
  public class Unwind {
    static volatile int sum;
    static volatile boolean inside;
    static class Fault extends Exception {}
    static final Fault FAULT = new Fault();
    static final InitFailure FAILURE = new InitFailure();
    static class InitFailure extends RuntimeException {}

    static void after() { sum++; }

    static void root(String what) throws Exception {
      switch (what) {
        case "left" -> left();
        case "reflection" -> reflection();
        case "natives" -> natives();
        case "initialiser" -> initialiser();
        case "supers" -> supers();
        case "memory" -> memory();
        case "interrupt" -> interrupt();
        case "deep" -> deep();
      }
      after();
    }

    static void raise() throws Fault { throw FAULT; }

    // exception through excluded code
    static class Thrower implements Left.Job {
      public void run() throws Exception { before(); raise(); }
      static void before() { sum++; }
    }
    static final Thrower THROWER = new Thrower();
    static void left() throws Exception {
      try { Left.through(THROWER); } catch (Fault expected) { sum++; }
    }

    // exception out of Method.invoke and Constructor.newInstance
    public static class Made { public Made() throws Fault { raise(); } }
    public static void mirrored() throws Fault { raise(); }
    static void reflection() throws Exception {
      try { Unwind.class.getMethod("mirrored").invoke(null); } catch (InvocationTargetException expected) { sum++; }
      try { Made.class.getConstructor().newInstance(); } catch (InvocationTargetException expected) { sum++; }
    }

    // exception thrown by native code and by the JVM
    static void natives() {
      try { copy(); } catch (ArrayStoreException expected) { sum++; }
      try { find(); } catch (ClassNotFoundException expected) { sum++; }
      try { cast(THROWER); } catch (ClassCastException expected) { sum++; }
    }
    static void copy() { System.arraycopy(new int[1], 0, new long[1], 0, 1); }
    static void find() throws ClassNotFoundException { Class.forName("fix.Nowhere"); }
    static String cast(Object o) { return (String) o; }

    // an initializer fails once and never runs again
    static class Broken {
      static { fail(); }
      static void fail() { throw FAILURE; }
      static void use() { sum++; }
    }
    static void initialiser() {
      try { Broken.use(); } catch (ExceptionInInitializerError | NoClassDefFoundError expected) { sum++; }
    }

    // two constructors whose super() throws, which no handler can catch
    static class Grandparent { Grandparent() throws Fault { raise(); } }
    static class Parent extends Grandparent { Parent() throws Fault { super(); } }
    static class Child extends Parent { Child() throws Fault { super(); } }
    static void supers() {
      try { new Child(); } catch (Fault expected) { sum++; }
      after();
    }

    static void memory() {
      try { huge(); } catch (OutOfMemoryError expected) { sum++; }
    }
    static void huge() { grab(Integer.MAX_VALUE); }
    static Object grab(int n) { return new long[n]; }

    static void interrupt() {
      Thread.currentThread().interrupt();
      try { nap(); } catch (InterruptedException expected) { sum++; }
    }
    static void nap() throws InterruptedException { Thread.sleep(60_000); }

    // exception through ten frames
    static void deep() {
      try { down(9); } catch (Fault expected) { sum++; }
    }
    static void down(int n) throws Fault { if (n == 0) raise(); down(n - 1); }

    // stopped by another thread
    static void spin() { while (true) step(); }
    static void step() { for (int i = 0; i < 300; i++) sum += i; inside = true; }
    static void work() { spin(); }

    static void stop(int n) throws Exception {
      Method stop = Thread.class.getMethod("stop");
      int dead = 0;
      for (int i = 0; i < n; i++) {
        inside = false;
        Throwable[] end = new Throwable[1];
        Thread t = new Thread(() -> { try { work(); } catch (Throwable x) { end[0] = x; } });
        t.start();
        while (!inside) Thread.onSpinWait();
        Thread.sleep(i % 5);
        stop.invoke(t);
        t.join();
        if (end[0].getClass().getSimpleName().equals("ThreadDeath")) dead++;
      }
      System.out.println("dead " + dead);
    }

    // stopped while a probe waits for the client
    static Method named;
    static void reflect() { }
    static void workByReflection() throws Exception { named.invoke(null); spin(); }

    static void stopWaiting() throws Exception {
      named = Unwind.class.getDeclaredMethod("reflect");
      Thread t = new Thread(() -> { try { workByReflection(); } catch (Throwable x) { } });
      t.setDaemon(true);
      t.start();
      while (t.getState() != Thread.State.TIMED_WAITING) Thread.onSpinWait();
      Thread.class.getMethod("stop").invoke(t);
      t.join(5000);
      System.out.println("alive " + t.isAlive());
    }

    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new BufferedReader(new InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        String what = line.split(" ")[0];
        int n = Integer.parseInt(line.split(" ")[1]);
        switch (what) {
          case "stop" -> stop(n);
          case "waiting" -> stopWaiting();
          default -> { for (int i = 0; i < n; i++) root(what); }
        }
        System.out.println("done " + line);
      }
    }
  }`

const LEFT = `
  package fix;
  public class Left {
    interface Job { void run() throws Exception; }
    static void through(Job job) throws Exception { again(job); }
    static void again(Job job) throws Exception { job.run(); }
  }`

const N = 20
const ROOT = 'fix.Unwind.root(Ljava/lang/String;)V'

/** Expands short lines such as `left/raise n` to full lines of the tree. */
function tree(...paths: string[]): string[] {
  const long = paths.map((path) => {
    const [, names, calls] = /^(\S+) (.*)$/.exec(path)!
    return `${[ROOT, ...names.split('/').map(full)].join(';')} ${calls}`
  })
  return long.sort()
}

/** Returns the lines at or below those children of the root that occur in `expected`. */
function below(expected: readonly string[], all: readonly string[]): string[] {
  const children = new Set(expected.map(childIn))
  return all.filter((line) => children.has(childIn(line)))
}

/** Returns the name and parameter types of the second method in a line. */
function childIn(line: string): string {
  return line.split(')')[1]
}

function full(short: string): string {
  const signature = {
    grab: '(I)Ljava/lang/Object;',
    cast: '(Ljava/lang/Object;)Ljava/lang/String;',
    down: '(I)V',
  }
  const [owner, name] = short.includes('.') ? short.split('.') : ['', short]
  const descriptor = signature[name as keyof typeof signature] ?? '()V'
  return `fix.Unwind${owner === '' ? '' : `$${owner}`}.${name}${descriptor}`
}

const facts = ({ instrumentation: { gaps, healed }, truncated }: JsonProfile) => ({ gaps, healed, truncated })

const TENS = Array.from(
  { length: 10 },
  (_, i) =>
    `deep/${Array(i + 1)
      .fill('down')
      .join('/')} ${N}`,
)

/** Title of each case, its command, and its expected lines. */
const LEAVES: readonly (readonly [string, string, readonly string[]])[] = [
  [
    'excluded frames',
    'left',
    tree(
      `left ${N}`,
      `left/Thrower.run ${N}`,
      `left/Thrower.run/Thrower.before ${N}`,
      `left/Thrower.run/raise ${N}`,
    ),
  ],
  [
    'Method.invoke and Constructor.newInstance',
    'reflection',
    tree(
      `reflection ${N}`,
      `reflection/mirrored ${N}`,
      `reflection/mirrored/raise ${N}`,
      `reflection/Made.<init> ${N}`,
      `reflection/Made.<init>/raise ${N}`,
    ),
  ],
  [
    'native code and the JVM itself',
    'natives',
    tree(`natives ${N}`, `natives/copy ${N}`, `natives/find ${N}`, `natives/cast ${N}`),
  ],
  [
    'a class initialiser',
    'initialiser',
    tree(`initialiser ${N}`, `initialiser/Broken.<clinit> 1`, `initialiser/Broken.<clinit>/Broken.fail 1`),
  ],
  [
    'super(), twice',
    'supers',
    tree(
      `supers ${N}`,
      `supers/Child.<init> ${N}`,
      `supers/Child.<init>/Parent.<init> ${N}`,
      `supers/Child.<init>/Parent.<init>/Grandparent.<init> ${N}`,
      `supers/Child.<init>/Parent.<init>/Grandparent.<init>/raise ${N}`,
      `supers/after ${N}`,
    ),
  ],
  [
    'an allocation that exceeds the heap',
    'memory',
    tree(`memory ${N}`, `memory/huge ${N}`, `memory/huge/grab ${N}`),
  ],
  ['a sleep that is interrupted', 'interrupt', tree(`interrupt ${N}`, `interrupt/nap ${N}`)],
  [
    'ten frames at once',
    'deep',
    tree(`deep ${N}`, ...TENS, `deep/${Array(10).fill('down').join('/')}/raise ${N}`),
  ],
]

forNewestJdk((jdk) => {
  describe('the tree is consistent after exceptions', () => {
    let profile: JsonProfile
    let all: string[]
    beforeAll(async () => {
      const classes = await compileJava(jdk, { 'fix/Unwind': UNWIND, 'fix/Left': LEFT })
      const java = startJava(jdk, ['-Xmx64m', '-cp', classes, 'fix.Unwind'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Unwind.root', '--exclude', 'fix.Left')
      await recording.started
      for (const [, what] of LEAVES) {
        java.send(`${what} ${N}`)
        await java.line(new RegExp(`^done ${what} `))
      }
      // JDKs after 17 refuse to redefine a class whose initializer has failed. Its methods never run again.
      profile = await recording.stop(jdk.version > 17 ? STATUS.notRestored : 0)
      all = lines(callsByPath(profile.merged))
    })

    it.each(LEAVES)('calls after an exit by an exception are recorded correctly: %s', (_, __, expected) => {
      expect(below(expected, all)).toEqual(expected)
    })

    it('after each exception the next call is below the root, and no exit is lost', () => {
      const calls = N * LEAVES.length
      expect(all).toEqual(
        [
          `${ROOT} ${calls}`,
          `${ROOT};fix.Unwind.after()V ${calls}`,
          ...LEAVES.flatMap(([, , expected]) => expected),
        ].sort(),
      )
      expect(facts(profile)).toEqual({ gaps: 0, healed: 0, truncated: false })
      expect(profile.detach!.refusedClasses).toBe(jdk.version > 17 ? 1 : 0)
    })
  })
})

/** `<test> n`: enters the root n times for this test. */
const CAUGHT = `
  package fix;
  import java.io.*;
  import java.util.*;
  public class Caught {
    static volatile int sum;

    static class Base { Base(int n) { if (n < 0) throw new IllegalArgumentException(); } }
    static class Price extends Base {
      Price(int n) { super(n); }
      Price() { super(-1); }
      Price(long n) { this((int) n); }
    }
    /** A class whose method has an exception handler. */
    static class Offer {
      Offer(int n) {
        try { new Price(n); } catch (IllegalArgumentException e) { report(); }
        after();
      }
    }

    static void root(String what) {
      switch (what) {
        case "loop" -> loop();
        case "chained" -> chained();
        case "above" -> above();
        case "supplier" -> supplier();
        case "own" -> new Offer(-1);
        case "recursion" -> recursion(3);
        case "finally" -> outside();
        case "monitor" -> monitor(new Object());
        case "lambda" -> lambda();
        case "overflow" -> overflow();
        case "many" -> many();
        case "carried" -> carried();
        default -> {
          try { new Price(-1); } catch (IllegalArgumentException e) { report(); }
        }
      }
    }

    static void price(Price price) { sum++; }
    static void report() { sum++; }
    static void after() { sum++; }

    static void loop() {
      for (int s : new int[] {1, -2, 3, -4, 5}) {
        try { price(new Price(s)); } catch (IllegalArgumentException e) { report(); }
      }
    }
    static void carried() { loop(); }
    static void chained() {
      for (long s : new long[] {-1, 2, -3}) {
        try { price(new Price(s)); } catch (IllegalArgumentException e) { report(); }
      }
    }

    static void above() {
      try { between(); } catch (IllegalArgumentException e) { report(); }
      after();
    }
    static void between() { make(); after(); }
    static void make() { new Price(-1); after(); }

    static void supplier() {
      for (int i = 0; i < 2; i++) {
        try { Optional.<Price>empty().orElseGet(Price::new); } catch (IllegalArgumentException e) { report(); }
      }
      after();
    }

    static void recursion(int n) {
      try {
        if (n == 0) new Price(-1);
        else recursion(n - 1);
      } catch (IllegalArgumentException e) {
        report();
        if (n < 2) throw e;
      }
      after();
    }

    static void outside() {
      try { last(); } catch (IllegalArgumentException e) { after(); }
    }
    static void last() {
      try { new Price(-1); } finally { report(); }
    }

    static void monitor(Object lock) {
      synchronized (lock) {
        try {
          synchronized (what(lock)) { new Price(-1); }
        } catch (IllegalArgumentException e) {
          report();
        }
        after();
      }
    }
    static Object what(Object o) { return o; }

    static void lambda() {
      Runnable run = () -> {
        try { new Price(-1); } catch (IllegalArgumentException e) { report(); }
        after();
      };
      run.run();
    }

    static void tidy(Object lock) {
      synchronized (lock) {
        try { tidy(lock); } finally { report(); }
      }
    }
    static int over(int n) { return over(n + 1) + 1; }
    static void overflow() {
      for (int i = 0; i < 2; i++) {
        try { over(0); } catch (StackOverflowError e) { sum++; }
        after();
        try { tidy(new Object()); } catch (StackOverflowError e) { sum++; }
        after();
      }
    }

    static void many() {
      for (int i = 0; i < 20_000; i++) {
        try { price(new Price(i % 2 == 0 ? i : -i)); } catch (IllegalArgumentException e) { report(); }
      }
    }

    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new BufferedReader(new InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        String what = line.split(" ")[0];
        int n = Integer.parseInt(line.split(" ")[1]);
        if (what.equals("virtual")) virtual(n);
        else for (int i = 0; i < n; i++) root(what);
        System.out.println("done " + line);
      }
    }

    static void virtual(int n) throws Exception {
      Thread t = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
          .invoke(null, (Runnable) () -> { for (int i = 0; i < n; i++) root("carried"); });
      t.join();
    }
  }`

const CAUGHT_ROOT = 'fix.Caught.root(Ljava/lang/String;)V'
const SIGNATURES: Readonly<Record<string, string>> = {
  'Base.<init>': '(I)V',
  'Price.<init>': '(I)V',
  'Offer.<init>': '(I)V',
  price: '(Lfix/Caught$Price;)V',
  recursion: '(I)V',
  what: '(Ljava/lang/Object;)Ljava/lang/Object;',
  monitor: '(Ljava/lang/Object;)V',
}

/** Expands short lines such as `loop/price 3` to full lines of the tree. A name may have a descriptor. */
function caughtTree(...paths: string[]): string[] {
  const long = paths.map((path) => {
    const [, names, count] = /^(\S+) (.*)$/.exec(path)!
    const methods = names.split('/').map((name) => {
      const [short, descriptor] = name.split(/(?=\()/)
      const owner = short.includes('.') ? '$' : '.'
      return `fix.Caught${owner}${short}${descriptor ?? SIGNATURES[short] ?? '()V'}`
    })
    return `${[CAUGHT_ROOT, ...methods].join(';')} ${count}`
  })
  return long.sort()
}

const failed = (path: string, n: number) => [
  `${path}/Price.<init> ${n}`,
  `${path}/Price.<init>/Base.<init> ${n}`,
]
const HALF = 10_000

/** Title of each case, its command, its number of executions, and its expected lines. */
const CATCHES: readonly (readonly [string, string, number, readonly string[]])[] = [
  [
    'in a loop of the same frame',
    'loop',
    N,
    [`loop ${N}`, ...failed('loop', 5 * N), `loop/price ${3 * N}`, `loop/report ${2 * N}`],
  ],
  [
    'by this(), in a loop of the same frame',
    'chained',
    N,
    [
      `chained ${N}`,
      `chained/Price.<init>(J)V ${3 * N}`,
      `chained/Price.<init>(J)V/Price.<init> ${3 * N}`,
      `chained/Price.<init>(J)V/Price.<init>/Base.<init> ${3 * N}`,
      `chained/price ${N}`,
      `chained/report ${2 * N}`,
    ],
  ],
  ['by the root itself', 'root', N, [`Price.<init> ${N}`, `Price.<init>/Base.<init> ${N}`, `report ${N}`]],
  [
    'by an indirect caller',
    'above',
    N,
    [
      `above ${N}`,
      `above/between ${N}`,
      `above/between/make ${N}`,
      ...failed('above/between/make', N),
      `above/report ${N}`,
      `above/after ${N}`,
    ],
  ],
  [
    'by a caller above frames of the JDK',
    'supplier',
    N,
    [
      `supplier ${N}`,
      `supplier/Price.<init>()V ${2 * N}`,
      `supplier/Price.<init>()V/Base.<init> ${2 * N}`,
      `supplier/report ${2 * N}`,
      `supplier/after ${N}`,
    ],
  ],
  [
    'in a constructor',
    'own',
    N,
    [
      `Offer.<init> ${N}`,
      ...failed('Offer.<init>', N),
      `Offer.<init>/report ${N}`,
      `Offer.<init>/after ${N}`,
    ],
  ],
  [
    'in a recursion, at the innermost level',
    'recursion',
    N,
    [
      `recursion ${N}`,
      `recursion/after ${N}`,
      `recursion/recursion ${N}`,
      `recursion/recursion/report ${N}`,
      `recursion/recursion/after ${N}`,
      `recursion/recursion/recursion ${N}`,
      `recursion/recursion/recursion/report ${N}`,
      `recursion/recursion/recursion/recursion ${N}`,
      ...failed('recursion/recursion/recursion/recursion', N),
      `recursion/recursion/recursion/recursion/report ${N}`,
    ],
  ],
  [
    'in a finally block',
    'finally',
    N,
    [
      `outside ${N}`,
      `outside/last ${N}`,
      ...failed('outside/last', N),
      `outside/last/report ${N}`,
      `outside/after ${N}`,
    ],
  ],
  [
    'in a frame that holds monitors',
    'monitor',
    N,
    [
      `monitor ${N}`,
      `monitor/what ${N}`,
      ...failed('monitor', N),
      `monitor/report ${N}`,
      `monitor/after ${N}`,
    ],
  ],
  [
    'in a lambda',
    'lambda',
    N,
    [
      `lambda ${N}`,
      `lambda/lambda$lambda$0 ${N}`,
      ...failed('lambda/lambda$lambda$0', N),
      `lambda/lambda$lambda$0/report ${N}`,
      `lambda/lambda$lambda$0/after ${N}`,
    ],
  ],

  [
    'many times in a loop of one frame',
    'many',
    1,
    ['many 1', ...failed('many', 2 * HALF), `many/price ${HALF}`, `many/report ${HALF}`],
  ],
]

const ON_VIRTUAL_THREAD = [
  `carried ${N}`,
  `carried/loop ${N}`,
  ...failed('carried/loop', 5 * N),
  `carried/loop/price ${3 * N}`,
  `carried/loop/report ${2 * N}`,
]

// Frames that stay open do not depend on the scheme, which only determines how methods are found.
const SCHEMES = FULL ? ['a', 'b'] : ['b']

describe.each(SCHEMES)('frames of a constructor that throws, scheme %s', (scheme) => {
  forNewestJdk((jdk) => {
    const record = async (...asked: string[]): Promise<JsonProfile> => {
      const classes = await compileJava(jdk, { 'fix/Caught': CAUGHT })
      const java = startJava(jdk, ['-Xss512k', '-cp', classes, 'fix.Caught'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Caught.root', '--scheme', scheme)
      await recording.started
      for (const line of asked) {
        java.send(line)
        await java.line(new RegExp(`^done ${line}$`))
      }
      return recording.stop()
    }
    const hasVirtual = jdk.version >= 21
    let profile: JsonProfile
    let all: string[]
    beforeAll(async () => {
      const asked = CATCHES.map(([, what, n]) => `${what} ${n}`)
      profile = await record(...asked, ...(hasVirtual ? [`virtual ${N}`] : []))
      all = lines(callsByPath(profile.merged))
    })

    it.each(CATCHES)(
      'frames of a constructor that throws are closed if the exception is caught %s',
      (_, __, ___, paths) => {
        const expected = caughtTree(...paths)
        expect(below(expected, all)).toEqual(expected)
      },
    )

    itOnlyIf(hasVirtual, 'virtual threads need JDK 21')(
      'frames of a constructor that throws are closed on a virtual thread',
      () => {
        const expected = caughtTree(...ON_VIRTUAL_THREAD)
        expect(below(expected, all)).toEqual(expected)
      },
    )

    it('frames of a constructor that throws are in the tree as expected, and frames closed without a handler are counted', () => {
      const calls = CATCHES.reduce((sum, [, , n]) => sum + n, hasVirtual ? N : 0)
      const paths = CATCHES.flatMap(([, , , it]) => it)
      const every = caughtTree(...paths, ...(hasVirtual ? ON_VIRTUAL_THREAD : []))
      expect(all).toEqual([`${CAUGHT_ROOT} ${calls}`, ...every].sort())
      // `make` of the outer caller has no handler, so calls closed at its exit are counted as healed.
      expect(facts(profile)).toEqual({ gaps: 0, healed: N, truncated: false })
    })

    it('frames of a constructor that throws are closed after a stack overflow', async () => {
      const { merged } = await record('overflow 3')
      const overflow = merged[0].children.find(({ method }) => method === 'overflow')!
      const calls = new Map(overflow.children.map(({ method, calls }) => [method, calls]))
      expect(calls).toEqual(
        new Map([
          ['over', 6],
          ['after', 12],
          ['tidy', 6],
        ]),
      )
      // Nodes are compared instead of paths, since each level of the recursion has a longer path.
      let after = 0
      const left = [...merged]
      for (let node = left.pop(); node !== undefined; node = left.pop()) {
        if (node.method === 'after') after++
        for (const child of node.children) left.push(child)
      }
      expect(after).toBe(1)
    })
  })
})

/** Thread.stop() throws from JDK 20 on. */
forJdks({ before: 20, reason: 'Thread.stop() needs JDK 19 or older' }, (jdk) => {
  const TIMES = FULL ? 100 : 30
  let java: JavaProcess
  beforeAll(async () => {
    const classes = await compileJava(jdk, { 'fix/Unwind': UNWIND, 'fix/Left': LEFT })
    java = startJava(jdk, ['-cp', classes, 'fix.Unwind'])
    await java.line(/ready/)
  })
  const start = async (root: string) => {
    const recording = startRecording(java.pid, '--root', root)
    await recording.started
    return recording
  }

  it('Thread.stop() ends a thread at any point, even inside a probe, and affects no other thread', async () => {
    const recording = await start('fix.Unwind.work')
    java.send(`stop ${TIMES}`)
    await java.line(/^done stop/)
    expect(java.stdout()).toMatch(new RegExp(`^dead ${TIMES}$`, 'm'))
    java.send('stop 1')
    await java.line(/^done stop 1$/)
    const profile = await recording.stop()
    const counts = callsByPath(profile.merged)
    expect([...counts.keys()].sort()).toEqual([
      'fix.Unwind.work()V',
      'fix.Unwind.work()V;fix.Unwind.spin()V',
      'fix.Unwind.work()V;fix.Unwind.spin()V;fix.Unwind.step()V',
    ])
    expect(counts.get('fix.Unwind.work()V')).toBe(TIMES + 1)
    expect(counts.get('fix.Unwind.work()V;fix.Unwind.spin()V')).toBe(TIMES + 1)
    expect(profile.truncated).toBe(false)
  })

  it('Thread.stop() ends a thread that waits for a silent client before a reflective call', async () => {
    const recording = await start('fix.Unwind.workByReflection')
    recording.process.child.kill('SIGSTOP')
    java.send('waiting 1')
    expect(await java.line(/^alive/)).toBe('alive false')
    recording.process.child.kill('SIGCONT')
  })
})
