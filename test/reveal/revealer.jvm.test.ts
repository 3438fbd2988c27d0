import { describe, expect, it } from 'vitest'
import { CLASS_JDK, CLASS_UNINITIALISED, CLASS_UNMODIFIABLE } from '../../src/base/class-info.ts'
import { AbstractOrNativeRoot, RootNeverInstrumented, RootNotFound } from '../../src/reveal/errors.ts'
import { compilePrograms, past, program, Target } from './world.ts'

const shapes = program(
  'shapes',
  `interface Shape { double area(); default String kind() { return "shape"; } }
   class Circle implements Shape { public double area() { return Circle.pi(); } static double pi() { return 3; } }
   class Square implements Shape { public double area() { return side(); } private double side() { return 1; } }
   class Cube extends Square { public String kind() { return "cube"; } }
   class Main { static double run(Shape s) { return s.area(); } static String name(Shape s) { return s.kind(); } }`,
)

const dispatch = program(
  'dispatch',
  `interface Job { void work(); }
   class Base { public void work() { } }
   class Mixed extends Base implements Job { }
   class Own extends Base implements Job { public void work() { super.work(); } }
   interface Loud extends Job { default void work() { } }
   class Louder implements Loud { }
   class Main {
     static void run(Job j) { j.work(); }
     static void exact(Own o) { o.work(); }
     static void nest(Nested n) { n.secret(); }
     static class Nested { private void secret() { } }
     static class Below extends Nested { private void secret() { } }
     static void make() { new Nested(); }
   }`,
)

const chain = program(
  'chain',
  `class Main {
     static void run() { a(); }
     static void a() { b(); }
     static void b() { c(); e(); }
     static void c() { d(); }
     static void d() { }
     static void e() { }
     static void poly(Part p) { Main.two(p); }
     static void two(Part p) { p.go(); }
   }
   class Part { void go() { } }
   class Left extends Part { void go() { } }`,
)

/** Separate tasks: each a calls its own b, which calls its c, which calls its d. */
const STAIRS = 40
const stairs = program(
  'stairs',
  `class Main { ${Array.from(
    { length: STAIRS },
    (_, i) =>
      `static void a${i}() { b${i}(); } static void b${i}() { c${i}(); } static void c${i}() { d${i}(); } static void d${i}() { }`,
  ).join('\n')} }`,
)

const lazy = program(
  'lazy',
  `class Main { static void run() { Helper.help(); new Made().use(); } static void virt(Top t) { t.go(); } static int field() { return Held.value; } }
   class Helper { static int x = start(); static int start() { return 1; } static void help() { } }
   class Super { static int y = begin(); static int begin() { return 1; } }
   class Made extends Super { void use() { } }
   class Held { static int value = Main.class.hashCode(); }
   class Top { void go() { } }
   class Mid extends Top { void other() { } }
   class Low extends Mid { void go() { } void alone() { } }`,
)

const changed = program(
  'changed',
  `class Main { static void run() { Callee.one(); } static void other() { } }
   class Second { static void other() { Callee.three(); } static void run() { Callee.two(); } }
   class Callee { static void one() { } static void two() { } static void three() { } }`,
)

const lambdas = program(
  'lambdas',
  `interface Fn { int apply(int x); }
   class Maker { static Fn make() { return x -> secret(x); } static int secret(int x) { return x; } static Runnable other() { return () -> { }; } static Fn ref() { return Maker::secret; } }
   class Main {
     static void run(Fn f) { f.apply(1); }
     static void inside() { Fn f = x -> x + 1; keep(f); }
     static void keep(Fn f) { }
     static void reference() { keep(Maker::secret); }
     static Maker created() { java.util.function.Supplier<Maker> s = Maker::new; return null; }
   }`,
)

const MANY_LAMBDAS = 250

const many = program(
  'many',
  `class Maker { static void make() { Runnable r; ${'r = () -> { };'.repeat(MANY_LAMBDAS)} } }
   class Main { static void call(java.util.List<Comparable> l) { java.util.Collections.sort(l); } }`,
)

const gate = program(
  'gate',
  `class Item implements Comparable<Item> {
     public int compareTo(Item o) { return 0; }
     public boolean equals(Object o) { return true; }
     public int hashCode() { return 1; }
     public String toString() { return "item"; }
     public void plain() { }
   }
   class Task implements Runnable { public void run() { helper(); } void helper() { } }
   class Worker { public void run() { } }
   class Hired extends Worker implements Runnable { }
   class LateTask implements Runnable { public void run() { } public void plain() { } }
   class LateBase implements Runnable { public void run() { } }
   class LateDerived extends LateBase { public void run() { } public void plain() { } }
   class Away { static native void away(); }
   class Oops extends RuntimeException { Oops(String s) { super(s); } public Throwable fillInStackTrace() { return this; } }
   class Loader extends ClassLoader { protected Class<?> loadClass(String n, boolean r) { return null; } public Class<?> loadClass(String n) { return null; } }
   class Main {
     static void sort(java.util.List<Item> l) { java.util.Collections.sort(l); }
     static double leaf(double d, String s) { StringBuilder b = new StringBuilder(); b.append(s).append(1); Integer i = 3; return Math.abs(d) + s.length() + b.length() + i.intValue(); }
     static String text(Object o) { return "it is " + o; }
     static String number(int i, String s) { return "it is " + i + s; }
     static String item(Item i) { return "it is " + i; }
     static void fail() { throw new IllegalStateException("no"); }
     static void oops() { throw new Oops("no"); }
     static boolean map(java.util.HashMap<Item, String> m, Item i) { return m.containsKey(i); }
     static void goAway() { Away.away(); }
     static Runnable outside() { return () -> { }; }
     static boolean enqueue(java.lang.ref.WeakReference<Item> r) { return r.enqueue(); }
   }
   record Pair(Item a, Item b) { }
   class Records { static boolean run(Pair p, Pair q) { return p.equals(q); } }`,
)

const natives = program(
  'natives',
  `interface Listener { void on(int x); }
   class Base { void inherited() { } }
   class Engine extends Base { native void go(Listener l, Object any, int[] numbers); private static int callback(int x) { return x; } }
   class Eager implements Listener { public void on(int x) { } private void secret() { } }
   class LateListener implements Listener { public void on(int x) { } void more() { } }
   class Untouched { void on(int x) { } }
   class Other { void on(int x) { } static void callback() { } }
   class Main { static void run(Engine e, Listener l) { e.go(l, e, null); start(); } static void start() { } }`,
)

const known = program(
  'known',
  `interface Step { void go(); }
   class Often implements Step { public void go() { Deep.deep(); } }
   class Seldom implements Step { public void go() { Deep.other(); } }
   class Deep { static void deep() { deeper(); } static void deeper() { } static void other() { } }
   class Main { static void run(Step s) { pass(s); } static void pass(Step s) { s.go(); } }`,
)

const roots = program(
  'roots',
  `class Main { void process() { } void process(int n) { } abstract static class Shape { abstract void draw(); } static class Dot extends Shape { void draw() { } } static native void hash(); static class Inner { void process() { } } }
   class Child extends Main { void extra() { } }
   class Later { void process() { } }`,
)

const libs = program(
  'libs',
  `interface Plugin { void go(); }
   class Lib { static void call(Plugin p) { p.go(); } void hook() { } }
   class Mine implements Plugin { public void go() { Lib.call(this); Util.help(); } public void idle() { } }
   class Util { static void help() { Deep.deep(); } }
   class Deep { static void deep() { } }
   class Sub extends Lib { void hook() { } void idle() { } }
   class Main { static void run(Plugin p) { p.go(); } static void ext(Lib l) { l.hook(); } }`,
)

compilePrograms()

const BY_NAME = 'native: methods that it calls by name, in classes that are not passed to it, may be missing'

/** Returns the methods instrumented when one root is entered: `Main.run` in scheme b without look-ahead. */
async function entered(options: ConstructorParameters<typeof Target>[0] & { root: string }): Promise<string> {
  const target = new Target(options)
  await target.start()
  return await target.invoke(options.root)
}

describe('scheme B (paper, section 6.2)', () => {
  it('scheme b instruments the root first, and the direct callees of the root when the root is entered', async () => {
    const target = new Target({ program: shapes })
    expect(await target.start()).toBe('Main.run')
    expect(await target.invoke('Main.run')).toBe('Circle.area Square.area')
    expect(await target.invoke('Circle.area')).toBe('Circle.pi')
    expect(await target.invoke('Square.area')).toBe('Square.side')
  })

  it("a second report of a method's first invocation gets an empty answer", async () => {
    const target = new Target({ program: shapes })
    await target.start()
    await target.invoke('Main.run')
    expect(await target.invoke('Main.run')).toBe('')
    expect(target.isReady('Main.run')).toBe(true)
  })

  it('the first call of a method without callees to instrument is not reported', async () => {
    const target = new Target({ program: chain, root: 'Main.c Main.d' })
    await target.start()
    expect(target.isReady('Main.d')).toBe(true)
    expect(target.isReady('Main.c')).toBe(true) // its only callee is a root, which is already instrumented
    const other = new Target({ program: chain, root: 'Main.c' })
    await other.start()
    expect(other.isReady('Main.c')).toBe(false)
  })

  it('class files are requested from the target only for classes that are needed', async () => {
    const target = new Target({ program: shapes })
    await target.start()
    await target.invoke('Main.run')
    expect(target.fetched.sort()).toEqual([
      'shapes/Circle',
      'shapes/Cube',
      'shapes/Main',
      'shapes/Shape',
      'shapes/Square',
    ])
    expect(target.requests.length).toBeLessThanOrEqual(3)
  })
})

describe('methods that are known to run', () => {
  const ran = ['Main.pass', 'Often.go', 'Deep.deep']

  it('methods that are known to run are instrumented together with the roots; their callees are instrumented as if these methods had been entered', async () => {
    const target = new Target({ program: known })
    await target.start()
    expect(await target.rootsWillRun(ran)).toBe('Deep.deep Deep.deeper Main.pass Often.go Seldom.go')
    for (const it of ['Main.run', 'Main.pass', 'Often.go', 'Deep.deep'])
      expect(target.isReady(it), it).toBe(true)
    // A method that is not known to have run may run later. It then sends its first-invocation request.
    expect(target.isReady('Seldom.go')).toBe(false)
    expect(await target.invoke('Seldom.go')).toBe('Deep.other')
  })

  it('methods that are known to run are added in steps, and other requests are answered between the steps', async () => {
    const target = new Target({ program: known })
    await target.start()
    const found: string[][] = []
    for await (const { instrument } of target.revealer.rootsWillRun(past(ran))) {
      found.push(instrument.map(({ name }) => name).sort())
      expect((await target.revealer.classesAppeared()).instrument).toEqual([])
    }
    // The first four steps instrument the callees of run, pass, go and deep. The fifth step instruments nothing.
    expect(found.slice(0, 4)).toEqual([['pass'], ['go', 'go'], ['deep'], ['deeper']])
    expect(found.slice(4).flat()).toEqual([])
    expect(found).toHaveLength(5)
  })

  it('callees of methods that are known to run are instrumented in later steps as well', async () => {
    const target = new Target({ program: known })
    await target.start()
    expect(await target.rootsWillRun(['Often.go', 'Deep.deep'])).toBe('Main.pass')
    expect(await target.invoke('Main.pass')).toBe('Deep.deep Deep.deeper Often.go Seldom.go')
    expect(target.isReady('Deep.deep')).toBe(true)
  })

  it('look-ahead also instruments callees of methods that are known to run, up to the budget', async () => {
    const bound = async (lookAhead: number) => {
      const target = new Target({ program: chain, root: 'Main.run', lookAhead })
      await target.start()
      return await target.rootsWillRun([])
    }
    expect(await bound(1)).toBe('Main.a Main.b')
    expect(await bound(9)).toBe('Main.a Main.b Main.c Main.d Main.e')
  })

  it("if no methods are known to run, the first calls of the roots' callees are reported", async () => {
    const target = new Target({ program: known })
    await target.start()
    expect(await target.rootsWillRun([])).toBe('Main.pass')
    expect(await target.invoke('Main.run')).toBe('')
    expect(await target.invoke('Main.pass')).toBe('Often.go Seldom.go')
  })
})

describe('look-ahead: instrumenting callees before their caller is entered', () => {
  it('look-ahead instruments callees of non-virtual calls breadth first, up to the budget', async () => {
    const steps = ['Main.a', 'Main.a Main.b', 'Main.a Main.b Main.c', 'Main.a Main.b Main.c Main.e']
    for (const [lookAhead, taken] of steps.entries()) {
      expect(await entered({ program: chain, root: 'Main.run', lookAhead })).toBe(taken)
    }
    expect(await entered({ program: chain, root: 'Main.run', lookAhead: 9 })).toBe(
      'Main.a Main.b Main.c Main.d Main.e',
    )
  })

  it('if look-ahead has instrumented the callees of a method, the first call of that method is not reported', async () => {
    const target = new Target({ program: chain, lookAhead: 9 })
    await target.start()
    await target.invoke('Main.run')
    expect([...target.ready]).toHaveLength(6)
  })

  it('after a dozen steps the look-ahead budget grows, and methods that earlier steps left out are instrumented', async () => {
    const walk = async (lookAhead: number) => {
      const target = new Target({ program: stairs, root: 'Main.a*', lookAhead })
      await target.start()
      const behind: number[] = []
      for (let i = 0; i < STAIRS; i++) {
        await target.invoke(`Main.a${i}`)
        behind.push(target.taken.filter((it) => /^Main\.d/.test(it)).length)
      }
      return behind
    }
    // With a budget of one, jfluid also instruments c, the callee of an instrumented b. Only the methods a are entered.
    const behind = await walk(1)
    expect(behind.slice(0, 12)).toEqual(new Array(12).fill(0))
    expect(behind.at(-1)).toBe(STAIRS)
    expect(await walk(0)).toEqual(new Array(STAIRS).fill(0)) // scheme b as in the paper
  })

  it('look-ahead does not guess the receivers of virtual calls', async () => {
    expect(await entered({ program: chain, root: 'Main.poly', lookAhead: 9 })).toBe('Main.two')
    expect(await entered({ program: chain, root: 'Main.poly', lookAhead: 9, late: 'Left' })).toBe(
      'Main.two Part.go',
    )
  })

  it('look-ahead reveals no callbacks from excluded code', async () => {
    const target = new Target({ program: gate, root: 'Main.goAway', lookAhead: 9, late: 'Loader' })
    await target.start()
    expect(target.taken).toEqual(['Main.goAway'])
  })
})

describe('scheme A (paper, section 6.1)', () => {
  it('scheme a instruments all reachable methods at the start, and no first call is reported', async () => {
    const target = new Target({ program: shapes, scheme: 'a' })
    expect(await target.start()).toBe('Circle.area Circle.pi Main.run Square.area Square.side')
    expect(target.ready.size).toBe(5)
  })

  it('scheme a instruments further reachable methods when a class is loaded', async () => {
    const target = new Target({ program: shapes, scheme: 'a', late: 'Circle' })
    expect(await target.start()).toBe('Main.run Square.area Square.side')
    expect(await target.load('Circle')).toBe('Circle.area Circle.pi')
  })

  it.each([shapes, dispatch, chain, lambdas, gate, libs])(
    'scheme a instruments the same methods as scheme b after all methods were entered: $name',
    async (it) => {
      const root = it === gate ? 'Main.*' : 'Main.run'
      const a = new Target({ program: it, root, scheme: 'a' })
      await a.start()
      for (const lookAhead of [0, 3, 100]) {
        const b = new Target({ program: it, root, lookAhead })
        await b.start()
        await b.invokeAll()
        expect(b.taken.sort()).toEqual(a.taken.sort())
      }
    },
  )
})

describe('targets of a dispatched call', () => {
  it('an interface call reaches methods inherited by implementors', async () => {
    // For Mixed, Base.work implements Job.work, although Base does not implement Job.
    expect(await entered({ program: dispatch, root: 'Main.run' })).toBe('Base.work Loud.work Own.work')
  })

  it("the target of a virtual call is searched from the receiver's static type", async () => {
    expect(await entered({ program: dispatch, root: 'Main.exact' })).toBe('Own.work')
    expect(await entered({ program: dispatch, root: 'Own.work' })).toBe('Base.work')
  })

  it('a call of a private method has exactly one target, even if the method is in a nest mate', async () => {
    expect(await entered({ program: dispatch, root: 'Main.nest' })).toBe(
      'Nested.secret'.replace('Nested', 'Main$Nested'),
    )
  })

  it('dispatch reaches default methods and their overrides', async () => {
    expect(await entered({ program: shapes, root: 'Main.name' })).toBe('Cube.kind Shape.kind')
  })

  it('a call of a constructor reaches the constructor', async () => {
    expect(await entered({ program: dispatch, root: 'Main.make' })).toBe('Main$Nested.<init>')
  })
})

describe('a class that is loaded but not initialised', () => {
  it('the initialiser of a loaded, uninitialised class may run inside a root and is instrumented', async () => {
    const target = new Target({ program: lazy, uninitialised: 'Helper Super Held' })
    await target.start()
    expect(await target.invoke('Main.run')).toBe(
      'Helper.<clinit> Helper.help Made.<init> Made.use Super.<clinit>',
    )
    expect(await target.invoke('Helper.<clinit>')).toBe('Helper.start')
  })
})

describe('a class that is loaded later', () => {
  it('a class that is loaded later belongs to the application although a dynamic proxy is in its package', async () => {
    const target = new Target({ program: lazy, late: 'Helper Made Super' })
    await target.start()
    await target.invoke('Main.run')
    const proxy = {
      ...target.info(target.full('Main')),
      id: 9999,
      name: target.full('$Proxy7'),
      flags: CLASS_JDK,
    }
    await target.appear([proxy])
    expect(await target.load('Helper')).toBe('Helper.<clinit> Helper.help')
  })

  it('a class that is loaded later is the target of a call that was read earlier, and its initialiser is instrumented', async () => {
    const target = new Target({ program: lazy, late: 'Helper Made Super' })
    await target.start()
    expect(await target.invoke('Main.run')).toBe('')
    expect(await target.load('Helper')).toBe('Helper.<clinit> Helper.help')
    expect(await target.invoke('Helper.<clinit>')).toBe('Helper.start')
    expect(await target.load('Made')).toBe('Made.<init> Made.use Super.<clinit>')
    expect(await target.invoke('Made.<init>')).toBe('Super.<init>')
  })

  it('a class that was loaded before the session counts as initialised', async () => {
    expect(await entered({ program: lazy, root: 'Main.run' })).toBe('Helper.help Made.<init> Made.use')
  })

  it('a static field access runs the initialiser of a class that is loaded later', async () => {
    const target = new Target({ program: lazy, root: 'Main.field', late: 'Held' })
    await target.start()
    await target.invoke('Main.field')
    expect(await target.load('Held')).toBe('Held.<clinit>')
  })

  it('an initialiser is not instrumented before a triggering method was entered', async () => {
    const target = new Target({ program: lazy, root: 'Main.field', late: 'Held' })
    await target.start()
    expect(await target.load('Held')).toBe('')
    expect(await target.invoke('Main.field')).toBe('Held.<clinit>')
  })

  it('if only the JVM has loaded a class, its initialiser is still instrumented, in any order of events', async () => {
    // The class was loaded to verify another class, by the agent's thread or before the hook existed, so it did not pass the hook.
    for (const call of ['before', 'after']) {
      const target = new Target({ program: lazy, root: 'Main.field', late: 'Held' })
      await target.start()
      const info = target.info(target.full('Held'))
      const appear = () => target.appear([{ ...info, flags: CLASS_UNINITIALISED }])
      if (call === 'after') expect(await appear()).toBe('')
      expect(await target.invoke('Main.field')).toBe(call === 'after' ? 'Held.<clinit>' : '')
      if (call === 'before') expect(await appear()).toBe('Held.<clinit>')
    }
  })

  it('if a class that is loaded later overrides a reachable method of a supertype, the overriding method is instrumented', async () => {
    const target = new Target({ program: lazy, root: 'Main.virt', late: 'Low' })
    await target.start()
    expect(await target.invoke('Main.virt')).toBe('Top.go')
    expect(await target.load('Low')).toBe('Low.go')
  })

  it('while the superclass of a class that is loaded later is unknown, the superclass is matched by name', async () => {
    const target = new Target({ program: lazy, root: 'Main.virt', late: 'Mid Low' })
    await target.start()
    await target.invoke('Main.virt')
    expect(await target.hook('Low')).toBe('Low.go')
    expect(await target.hook('Mid')).toBe('')
  })

  it('methods of a class that was loaded earlier are instrumented when the methods become reachable', async () => {
    const target = new Target({ program: lazy, root: 'Main.virt', late: 'Mid Low' })
    await target.start()
    expect(await target.load('Low')).toBe('')
    expect(await target.invoke('Main.virt')).toBe('Low.go Top.go')
  })

  it('a superclass is matched by name even if only another loader has a class of that name', async () => {
    const target = new Target({ program: lazy, root: 'Main.virt', late: 'Mid Low' })
    await target.start()
    await target.invoke('Main.virt')
    // Loader 2 may define its own Mid and Top, or use those of loader 1.
    expect(await target.hook('Low', 2)).toBe('Low.go')
  })

  it('a class of the same name in another loader is the target only of calls from that loader', async () => {
    const target = new Target({ program: chain })
    await target.start()
    expect(await target.invoke('Main.run')).toBe('Main.a')
    // Main of loader 1 calls Main.a of loader 1. No call reaches this Main.a, but it is a root.
    expect(await target.load('Main', 2)).toBe('Main.run')
    const second = [...target.revealer.methods].filter((it) => it.root)
    expect(second).toHaveLength(2)
    const answer = await target.revealer.firstInvocation(second[1].id)
    expect(answer.instrument.map((it) => [it.name, it.classId])).toEqual([['a', second[1].classId]])
  })

  it("classes of the same name in several loaders are candidates if the caller's loader has no such class", async () => {
    const target = new Target({ program: lazy, late: 'Helper Made Super' })
    await target.start()
    await target.invoke('Main.run')
    expect(await target.hook('Helper', 2)).toBe('Helper.<clinit> Helper.help')
    expect(await target.hook('Helper', 3)).toBe('Helper.<clinit> Helper.help')
    expect(await target.hook('Helper')).toBe('Helper.<clinit> Helper.help')
    expect(await target.hook('Helper', 4)).not.toContain('help') // loader 1 now has its own Helper
  })
})

describe('lambdas and method references', () => {
  it('lambdas and method references in a revealed method are its callees', async () => {
    expect(await entered({ program: lambdas, root: 'Main.inside' })).toBe('Main.keep Main.lambda$inside$0')
    expect(await entered({ program: lambdas, root: 'Main.reference' })).toBe('Main.keep Maker.secret')
    expect(await entered({ program: lambdas, root: 'Main.created' })).toBe('Maker.<init>')
  })

  it('lambdas that are created outside the roots are reached through their interface, and are found by their proxy class and host class', async () => {
    const target = new Target({ program: lambdas })
    await target.appear([target.lambdaProxy('Maker', 'Fn')])
    await target.start()
    expect(await target.invoke('Main.run')).toBe('Maker.lambda$make$0 Maker.secret')
  })

  it('lambdas that are created later outside the roots are reached when their proxy class appears', async () => {
    const target = new Target({ program: lambdas })
    await target.start()
    expect(await target.invoke('Main.run')).toBe('')
    expect(await target.appear([target.lambdaProxy('Maker', 'java/lang/Runnable')])).toBe('')
    expect(await target.appear([target.lambdaProxy('Maker', 'Fn')])).toBe('Maker.lambda$make$0 Maker.secret')
  })
})

describe('calls through excluded code', () => {
  // These are all overrides of methods of excluded types. Worker.run is included, because Hired makes it the method of a Runnable.
  const callbacks =
    'Item.compareTo Item.equals Item.hashCode Item.toString Oops.fillInStackTrace Pair.equals Pair.hashCode Pair.toString Task.run Worker.run'

  it('a call into excluded code reveals every method that overrides a method of the excluded types', async () => {
    const target = new Target({
      program: gate,
      root: 'Main.sort',
      late: 'LateTask LateBase LateDerived Loader',
    })
    await target.start()
    expect(await target.invoke('Main.sort')).toBe(callbacks)
    expect(target.reflection).toBe(1)
  })

  it('classes that are loaded later reveal methods that override methods of excluded types', async () => {
    const target = new Target({ program: gate, root: 'Main.sort', late: 'LateTask LateBase LateDerived' })
    await target.start()
    await target.invoke('Main.sort')
    expect(await target.load('LateTask')).toBe('LateTask.run')
    // LateBase is not loaded when LateDerived passes the hook. run() is known from Runnable.
    expect(await target.load('LateDerived')).toBe('LateDerived.run LateBase.run')
  })

  it('lambdas that implement an excluded interface and are created outside the roots are revealed', async () => {
    const target = new Target({ program: gate, root: 'Main.sort' })
    await target.start()
    await target.invoke('Main.sort')
    expect(await target.appear([target.lambdaProxy('Main', 'java/lang/Runnable')])).toBe(
      'Main.lambda$outside$0',
    )
  })

  it.each(['before', 'after'])(
    'lambdas whose proxy classes are loaded %s the call are found among 250,000 possible pairs of proxy class and lambda',
    async (order) => {
      const target = new Target({ program: many, root: 'Main.call' })
      // Each proxy may stand for any of the 250 lambdas, since its name does not identify the lambda.
      const proxies = Array.from({ length: 1000 }, () => target.lambdaProxy('Maker', 'java/lang/Runnable'))
      await target.start()
      if (order === 'before') await target.appear(proxies)
      await target.invoke('Main.call')
      if (order === 'after') await target.appear(proxies)
      expect(target.taken.filter((it) => it.startsWith('Maker.lambda'))).toHaveLength(MANY_LAMBDAS)
    },
  )

  it('calls of excluded methods that call nothing back reveal no methods', async () => {
    for (const root of ['Main.leaf', 'Main.number', 'Main.fail']) {
      const target = new Target({ program: gate, root, late: 'Loader' })
      await target.start()
      expect(await target.invoke(root), root).toBe('')
      expect(target.isReady(root)).toBe(true)
      expect(target.reflection).toBe(0)
    }
  })

  it('a call of an excluded method that prints or compares objects reveals methods that may be called back', async () => {
    for (const root of ['Main.text', 'Main.map']) {
      expect(await entered({ program: gate, root, late: 'LateTask LateBase LateDerived Loader' }), root).toBe(
        callbacks,
      )
    }
  })

  it('a constructor of an exception calls back fillInStackTrace only', async () => {
    const target = new Target({ program: gate, root: 'Main.oops', late: 'Loader' })
    await target.start()
    expect(await target.invoke('Main.oops')).toBe('Oops.<init>')
    expect(await target.invoke('Oops.<init>')).toBe('Oops.fillInStackTrace')
  })

  it('the generated methods of a record reach the methods of its components', async () => {
    const target = new Target({ program: gate, root: 'Records.run', late: 'Loader' })
    await target.start()
    expect(await target.invoke('Records.run')).toBe('Pair.equals')
    expect(await target.invoke('Pair.equals')).toContain('Item.equals')
  })

  it('native methods get no probes, and may call back other methods', async () => {
    const target = new Target({
      program: gate,
      root: 'Main.goAway',
      late: 'LateTask LateBase LateDerived Loader',
    })
    await target.start()
    expect(await target.invoke('Main.goAway')).toBe(`Away.<init> ${callbacks}`)
    expect(target.skipped).toEqual([`Away.away: ${BY_NAME}`])
  })

  it('native methods may call methods of their class and of their arguments', async () => {
    const target = new Target({ program: natives, root: 'Main.run', late: 'LateListener Untouched' })
    await target.start()
    expect(await target.invoke('Main.run')).toBe(
      'Base.<init> Base.inherited Eager.<init> Eager.on Eager.secret Engine.<init> Engine.callback Main.start',
    )
    expect(target.skipped).toEqual([`Engine.go: ${BY_NAME}`])
    expect(await target.load('LateListener')).toBe('LateListener.<init> LateListener.more LateListener.on')
    expect(await target.load('Untouched')).toBe('')
  })

  it('class loaders of the application are revealed, since the JVM calls them', async () => {
    const target = new Target({ program: gate, root: 'Main.leaf' })
    expect(await target.start()).toBe('Loader.loadClass Loader.loadClass Main.leaf')
    const late = new Target({ program: gate, root: 'Main.leaf', late: 'Loader' })
    expect(await late.start()).toBe('Main.leaf')
    expect(await late.load('Loader')).toBe('Loader.loadClass Loader.loadClass')
  })

  it.each(['a', 'b'] as const)(
    'scheme %s reveals class loaders when the first root is revealed, not before',
    async (scheme) => {
      const target = new Target({ program: gate, root: 'Main.leaf', late: 'Main', scheme })
      expect(await target.start()).toBe('')
      expect(await target.load('Task')).toBe('')
      expect(await target.load('Main')).toBe('Loader.loadClass Loader.loadClass Main.leaf')
    },
  )
})

describe('a class that cannot be changed', () => {
  it('an unmodifiable class is skipped, and its callees are revealed together with the callees of its caller', async () => {
    const target = new Target({ program: shapes })
    target.revealer.addClasses([{ ...target.info('shapes/Square'), flags: CLASS_UNMODIFIABLE }])
    await target.start()
    expect(await target.invoke('Main.run')).toBe('Circle.area')
    expect(target.skipped).toEqual([
      'Square.area: the JVM does not allow changes to its class',
      'Square.side: the JVM does not allow changes to its class',
    ])
  })

  it('a hidden class is skipped, and is assumed to call back any method', async () => {
    const target = new Target({ program: shapes })
    const hidden = { ...target.lambdaProxy('Main', 'Shape'), name: 'shapes/Spun+0x1' }
    await target.appear([hidden])
    await target.start()
    expect(await target.invoke('Main.run')).toBe('Circle.area Square.area')
    expect(target.skipped).toEqual([expect.stringMatching(/^Spun\+0x…\.\*: hidden class, defined before/)])
    expect(target.reflection).toBe(1)
  })

  it('a class whose class file cannot be read from the JVM is reported as a gap', async () => {
    const target = new Target({ program: shapes })
    target.revealer.addClasses([{ ...target.info('shapes/Circle'), id: 5000, name: 'shapes/Ghost' }])
    await target.start()
    await target.invoke('Main.run')
    expect(target.revealer.counters.gaps).toBe(1)
  })

  it('an excluded class whose class file cannot be read from the JVM is not reported as a gap', async () => {
    const target = new Target({ program: shapes })
    const ghost = { ...target.info('shapes/Shape'), id: 5000, name: 'jdk/Ghost', flags: CLASS_JDK }
    const circle = target.info('shapes/Circle')
    target.revealer.addClasses([
      ghost,
      { ...circle, id: 5001, name: 'shapes/Haunted', interfaceIds: [...circle.interfaceIds, ghost.id] },
    ])
    await target.start()
    await target.invoke('Main.run') // requests Haunted, which is included, and its supertypes
    expect(target.revealer.counters.gaps).toBe(1)
  })
})

describe('a broken class file', () => {
  it('a broken class file in the class-load hook is reported as a gap, and the session continues', async () => {
    const target = new Target({ program: shapes })
    await target.start()
    const answer = await target.revealer.classLoading(
      { id: 9000, name: 'shapes/Bad', loader: 1 },
      Uint8Array.of(1, 2),
    )
    expect(answer.instrument).toEqual([])
    expect(target.revealer.counters.gaps).toBe(1)
  })
})

describe('the filters --include and --exclude', () => {
  it('classes in --exclude get no probes, and calls through these classes are still followed', async () => {
    const target = new Target({ program: libs, exclude: 'libs.Lib' })
    await target.start()
    expect(await target.invoke('Main.run')).toBe('Mine.go')
    expect(await target.invoke('Mine.go')).toBe('Util.help')
    expect(target.revealer.classes.filters.report()).toEqual([
      { option: 'exclude', text: 'libs.Lib', classes: 1 },
    ])
  })

  it('a method that overrides a method of an excluded class is still a callee', async () => {
    expect(await entered({ program: libs, root: 'Main.ext', exclude: 'Lib' })).toBe('Sub.hook')
  })

  it("with --include, only the named classes and the root's own class get probes", async () => {
    const target = new Target({ program: libs, include: '*Mine Nothing*' })
    await target.start()
    expect(await target.invoke('Main.run')).toBe('Mine.go')
    expect(await target.invoke('Mine.go')).toBe('')
    expect(target.skipped).toEqual([])
    expect(target.revealer.classes.filters.report().map((it) => it.classes)).toEqual([1, 0])
  })

  it('without --jdk, a JDK method may be a root, and only that method and its callbacks are instrumented', async () => {
    const target = new Target({ program: gate, root: 'java.util.Collections.sort(List)', late: 'Loader' })
    expect(await target.start()).toBe('Collections.sort')
    expect(await target.invoke('Collections.sort')).toContain('Item.compareTo')
    expect(target.taken.filter((it) => it.startsWith('Collections'))).toHaveLength(1)
  })

  it('with --jdk, methods of the JDK are revealed like other methods, and intrinsics are skipped', async () => {
    const target = new Target({ program: gate, root: 'Main.leaf', jdk: true, scheme: 'a' })
    await target.start()
    expect(target.taken).toContain('AbstractStringBuilder.append')
    expect(target.taken).not.toContain('Object.<init>')
    expect(target.skipped.join('\n')).toMatch(/Math\.abs: intrinsic/)
  })

  it('with --jdk, methods that only the JVM calls are found, including run() of a new thread if threads are followed', async () => {
    const taken = async (followThreads: boolean) => {
      const target = new Target({ program: gate, root: 'Main.leaf', jdk: true, followThreads })
      await target.start()
      return target.taken
    }
    expect(await taken(false)).toContain('ClassLoader.addClass')
    expect(await taken(false)).toContain('ArithmeticException.<init>')
    expect(await taken(false)).not.toContain('Thread.run')
    expect(await taken(true)).toContain('Thread.run')
  })

  it('with --jdk, methods that only excluded JDK classes call are found', async () => {
    const target = new Target({ program: gate, root: 'Main.enqueue', jdk: true, scheme: 'a' })
    await target.start()
    expect(target.taken).toContain('ReferenceQueue.enqueue')
    expect(target.taken.filter((it) => it.startsWith('Reference.'))).toEqual([])
    expect(target.skipped).toContain('Reference.*: reference handling inside the JVM')
  })
})

describe('a class that another agent has changed', () => {
  it('a class that another agent has changed is analysed again, and its new callees are found', async () => {
    const target = new Target({ program: changed })
    await target.start()
    expect(await target.invoke('Main.run')).toBe('Callee.one')
    expect(await target.change('Main', 'Second')).toBe('Callee.two')
  })

  it('if another agent changes a class before a method of the class is entered, the callees are found in the changed code', async () => {
    const target = new Target({ program: changed })
    await target.start()
    expect(await target.change('Main', 'Second')).toBe('')
    expect(await target.invoke('Main.run')).toBe('Callee.two')
  })
})

describe('methods of a hidden class', () => {
  it('the callees of a hidden class are found for any caller', async () => {
    const target = new Target({ program: lazy })
    await target.start()
    expect(await target.defineHidden('Main', 'Helper')).toBe('Helper.start')
    expect(target.skipped).toEqual([
      'Helper.*: hidden class: calls of its methods are not counted, but calls made by them are',
    ])
  })

  it('a hidden class that cannot be read is reported as a gap', async () => {
    const target = new Target({ program: lazy })
    await target.start()
    expect(await target.defineHidden('Main', 'NoSuchClass')).toBe('')
    expect(target.revealer.counters.gaps).toBe(1)
  })

  it('if a program itself calls LambdaMetafactory, the created hidden class is reported as skipped', async () => {
    const target = new Target({ program: lambdas })
    await target.start()
    await target.appear(
      [target.lambdaProxy('Main$Made', 'Fn')].map((it) => ({
        ...it,
        nestHost: target.id(target.full('Fn')),
      })),
    )
    await target.invoke('Main.run')
    expect(target.skipped).toEqual([expect.stringMatching(/Lambda.*: hidden class/)])
  })
})

describe('calls by reflection', () => {
  it('the targets of a reflective call and their overrides are instrumented', async () => {
    const target = new Target({ program: shapes })
    await target.start()
    expect(await target.reflect('Shape', 'kind', '()Ljava/lang/String;')).toBe('Cube.kind Shape.kind')
    expect(await target.reflect('Cube', '<init>', '()V')).toBe('Cube.<init>')
    expect(await target.reflect('Cube', '<init>', '()V')).toBe('')
  })

  it('a reflective call whose target is unknown is reported as a gap', async () => {
    const target = new Target({ program: shapes })
    await target.start()
    await target.revealer.reflectiveTarget(999_999, 'x', '()V')
    expect(target.revealer.counters.gaps).toBe(1)
  })
})

describe('a method that the JVM or the rewriter refuses', () => {
  it('a refused method is listed, and its callees are revealed with the next answer', async () => {
    const target = new Target({ program: chain })
    await target.start()
    await target.invoke('Main.run')
    target.revealer.refused(target.methodId('Main.a'), 'too large')
    expect(target.note(await target.revealer.classesAppeared())).toBe('Main.b')
    expect(target.skipped).toEqual(['Main.a: too large'])
  })
})

describe('roots: classes and methods chosen by the user', () => {
  it('a root without parameters selects all overloads', async () => {
    const target = new Target({ program: roots, root: 'roots.Main.process' })
    expect(await target.start()).toBe('Main.process Main.process')
    expect(target.revealer.roots.report()).toMatchObject([
      { methods: 2, classes: ['roots.Main'], armed: false },
    ])
    expect([...target.revealer.methods].every((it) => it.root)).toBe(true)
  })

  it("a root's class name selects a top-level class first, otherwise a nested class with that simple name", async () => {
    expect(await new Target({ program: roots, root: 'Inner.process' }).start()).toBe('Main$Inner.process')
    expect(await new Target({ program: roots, root: 'Main.Inner.process()' }).start()).toBe(
      'Main$Inner.process',
    )
  })

  it('jfluid waits until the class of a root is loaded, and suggests close names', async () => {
    const target = new Target({
      program: roots,
      root: 'roots.Later.process roots.Mian.process',
      late: 'Later',
    })
    expect(await target.start()).toBe('')
    expect(target.revealer.roots.report()).toMatchObject([
      { armed: true },
      { armed: true, near: ['roots.Main.process'] },
    ])
    expect(await target.load('Later')).toBe('Later.process')
    expect(target.revealer.roots.report()[0]).toMatchObject({ armed: false, methods: 1 })
  })

  it('if the class of a root has no such method, the error has suggestions', async () => {
    const start = (root: string) => new Target({ program: roots, root }).start()
    await expect(start('roots.Main.proces')).rejects.toThrow(RootNotFound)
    await expect(start('roots.Main.proces')).rejects.toMatchObject({
      suggestions: ['roots.Main.process'],
      exitCode: 67,
    })
    await expect(start('roots.Main.process(long)')).rejects.toMatchObject({
      suggestions: ['roots.Main.process()', 'roots.Main.process(int)'],
    })
    await expect(start('roots.Child.process')).rejects.toMatchObject({
      suggestions: ['roots.Main.process()', 'roots.Main.process(int)'],
    })
  })

  it('jfluid waits for the class of a root if only a JDK class has that name', async () => {
    const start = (root: string) => new Target({ program: roots, root }).start()
    expect(await start('Thread.process')).toBe('')
    await expect(start('java.lang.Thread.process')).rejects.toThrow(RootNotFound)
  })

  it('a root without bytecode is an error, and the message names its implementations', async () => {
    const start = (root: string) => new Target({ program: roots, root }).start()
    await expect(start('Main.Shape.draw')).rejects.toThrow(AbstractOrNativeRoot)
    await expect(start('Main.Shape.draw')).rejects.toMatchObject({
      implementations: ['roots.Main.Dot.draw'],
      exitCode: 79,
    })
    await expect(start('Main.hash')).rejects.toMatchObject({ kind: 'native' })
  })

  describe('roots whose class is loaded later', () => {
    const late = async (root: string, ...classes: string[]) => {
      const target = new Target({ program: roots, root, late: classes.join(' ') })
      expect(await target.start()).toBe('')
      expect(target.revealer.roots.report()).toMatchObject([{ armed: true, problem: null }])
      expect(target.revealer.roots.progress()).toMatchObject([{ failed: false }])
      for (const it of classes) await target.load(it)
      expect(target.revealer.roots.progress()).toMatchObject([{ failed: true }])
      const [report] = target.revealer.roots.report()
      expect(report).toMatchObject({ armed: true, methods: 0, near: [] })
      return report.problem
    }

    it("if a class that is loaded later does not have the root's method, the missing method is reported with close names", async () => {
      expect(await late('roots.Later.proces', 'Later')).toMatchObject({
        message: "root 'roots.Later.proces' not found: no such method in roots.Later",
        suggestions: ['roots.Later.process'],
        exitCode: 67,
      })
      expect(await late('Later.process(int)', 'Later')).toMatchObject({
        suggestions: ['roots.Later.process()'],
      })
    })

    it("if a class that is loaded later only inherits the root's method, the declaring class is reported, in any order of loading", async () => {
      const suggestions = ['roots.Main.process()', 'roots.Main.process(int)']
      expect(await late('roots.Child.process', 'Child')).toMatchObject({ suggestions })
      expect(await late('roots.Child.process', 'Child', 'Main')).toMatchObject({ suggestions })
    })

    it('if the root has no bytecode in a class that is loaded later, the root is reported with its implementations', async () => {
      expect(await late('Main.Shape.draw', 'Main$Shape')).toMatchObject({
        message: "root 'Main.Shape.draw' is abstract: it has no bytecode to instrument",
        implementations: ['roots.Main.Dot.draw'],
        exitCode: 79,
      })
      expect(await late('Main.Shape.draw', 'Main$Dot', 'Main$Shape')).toMatchObject({
        implementations: ['roots.Main.Dot.draw'],
      })
      expect(await late('Main.hash', 'Main')).toMatchObject({ kind: 'native', exitCode: 79 })
    })

    it("if a second class of the same name is loaded later and has the root's method, the second class is used", async () => {
      const target = new Target({ program: roots, root: 'Inner.process', late: 'Main Main$Inner Later' })
      await target.start()
      expect(await target.load('Later')).toBe('')
      expect(target.revealer.roots.progress()).toMatchObject([{ failed: false }])
      expect(await target.load('Main$Inner')).toBe('Main$Inner.process')
      expect(target.revealer.roots.report()).toMatchObject([{ armed: false, methods: 1, problem: null }])
    })
  })

  it('callees of a root that could also be roots are listed in order, and are not instrumented', async () => {
    const target = new Target({ program: chain, root: 'Main.b Main.poly Part.go' })
    await target.start()
    const before = target.taken.length
    const callees = async (root: string) =>
      (await target.revealer.callees([target.methodId(root)], 9)).map((it) => `${it.className}.${it.name}`)
    expect(await callees('Main.b')).toEqual(['chain/Main.c', 'chain/Main.e'])
    expect(await callees('Main.poly')).toEqual(['chain/Main.two'])
    expect(await callees('Part.go')).toEqual([])
    expect(target.taken.length).toBe(before)
    expect(await target.invoke('Main.b')).toBe('Main.c Main.e')
  })

  it('roots that are never instrumented are an error', async () => {
    const start = (root: string) => new Target({ program: roots, root }).start()
    await expect(start('java.lang.Object.<init>')).rejects.toThrow(RootNeverInstrumented)
    await expect(start('java.lang.Math.abs(int)')).rejects.toMatchObject({ exitCode: 79 })
  })

  it('it is an error if none of the roots can get probes', async () => {
    const target = new Target({ program: chain, root: 'Main.b Main.poly Main.*' })
    await target.start()
    const refuse = (method: string) =>
      target.revealer.refused(target.methodId(method), 'its class was refused')
    const [{ instrumentedMethods }] = [target.revealer.counters]
    refuse('Main.b')
    expect(target.revealer.roots.report()).toMatchObject([
      {
        methods: 0,
        armed: true,
        problem: {
          exitCode: 69,
          message: "root 'Main.b' could not be instrumented: chain.Main.b(): its class was refused",
        },
      },
      { methods: 1, armed: false, problem: null },
      { armed: false, problem: null, unusable: ['chain.Main.b(): its class was refused'] },
    ])
    expect(target.revealer.roots.progress()).toMatchObject([
      { failed: true },
      { failed: false },
      { failed: false },
    ])
    expect(target.revealer.counters.instrumentedMethods).toBe(instrumentedMethods - 1)
  })

  it('suggestions exclude a class in which the method was not found', async () => {
    const target = new Target({ program: roots, root: 'Inner.nothing Thread.process' })
    await target.start()
    expect(target.revealer.roots.progress()).toMatchObject([{ failed: false }, { failed: false }])
    expect(target.revealer.roots.report()).toMatchObject([
      { near: [], problem: { reason: 'no such method in roots.Main.Inner' } },
      { near: [], problem: { reason: 'no such method in java.lang.Thread' } },
    ])
  })
})
