// Application code excluded by --include and --exclude: never instrumented, but its callees are found.

import { describe, expect, it } from 'vitest'
import { compilePrograms, program, Target } from './world.ts'

const shop = program(
  'shop',
  `interface Plugin { void go(); }
   class Mine implements Plugin { public void go() { } static void used() { } Mine() { } Mine(int n) { used(); } }
   class Other implements Plugin { public void go() { } }
   class Task implements Runnable { public void run() { } }
   class Never extends Util { void hook() { } }
   class Util {
     static void help() { Deep.deep(); }
     static void make() { new Mine(1); }
     static void lambda() { Runnable r = () -> Mine.used(); Util.take(r); }
     static void reference() { Runnable r = Mine::used; Util.take(r); }
     static void take(Runnable r) { }
     static void plug(Plugin p) { p.go(); }
     static void list(java.util.List<Runnable> l) { l.forEach(Runnable::run); }
     static void reflect(java.lang.reflect.Method m) throws Exception { m.invoke(null); }
     static void handle(java.lang.invoke.MethodHandle m) throws Throwable { m.invoke(); }
     static void late() { Coming.come(); }
     static void leaf() { Math.abs(1); }
     static void loop(int n) { if (n > 0) loop(n - 1); else Main.end(); }
     static native void away();
     static Runnable job() { return () -> Main.end(); }
     void hook() { }
   }
   class UtilJob implements Runnable { public void run() { Main.end(); } }
   class Deep { static void deep() { Main.end(); } }
   class Coming { static int x = begin(); static int begin() { return Main.one(); } static void come() { Arrived.arrive(); } }
   class Arrived { static void arrive() { } }
   class UtilBase { void inherited() { Main.end(); } }
   class Heir extends UtilBase { void own() { super.inherited(); } }
   abstract class UtilAbove { void start() { template(); Born.again(); } abstract void template(); }
   class Between extends UtilAbove { void template() { } }
   class Born extends Between { void template() { } static void again() { } }
   class Born2 { static void bear() { new Born().start(); } }
   class Root2 { static void job(Runnable r) { r.run(); } }
   class Main {
     static void help() { Util.help(); }
     static void make() { Util.make(); }
     static void lambda() { Util.lambda(); }
     static void reference() { Util.reference(); }
     static void plug(Plugin p) { Util.plug(p); }
     static void list(java.util.List<Runnable> l) { Util.list(l); }
     static void reflect(java.lang.reflect.Method m) throws Exception { Util.reflect(m); }
     static void handle(java.lang.invoke.MethodHandle m) throws Throwable { Util.handle(m); }
     static void late() { Util.late(); }
     static void leaf() { Util.leaf(); }
     static void loop() { Util.loop(3); }
     static void away() { Util.away(); }
     static void inherit(Heir h) { h.inherited(); }
     static void before() { help(); }
     static void sort(java.util.List<Runnable> l) { l.forEach(Runnable::run); }
     static void end() { }
     static int one() { return 1; }
   }`,
)
compilePrograms()

const exclude = 'Util Deep Coming UtilJob UtilBase UtilAbove Plugin'
const late = 'Coming Arrived Born Between UtilAbove'

async function entered(root: string, options: Partial<ConstructorParameters<typeof Target>[0]> = {}) {
  const target = new Target({ program: shop, root, exclude, late, ...options })
  await target.start()
  return { target, took: await target.invoke(root) }
}

describe('excluded code of the application', () => {
  it.each([
    ['static calls through several excluded classes', 'Main.help', 'Main.end'],
    ['constructors', 'Main.make', 'Mine.<init>'],
    ['bodies of lambdas in excluded code', 'Main.lambda', 'Mine.used'],
    ['method references created by excluded code', 'Main.reference', 'Mine.used'],
    ['virtual calls of an excluded type', 'Main.plug', 'Mine.go Other.go'],
    ['cyclic calls', 'Main.loop', 'Main.end'],
    ['methods inherited from an excluded class', 'Main.inherit', 'Main.end'],
  ])('methods that excluded code calls are found: %s', async (_, root, expected) => {
    const { target, took } = await entered(root)
    expect(took).toBe(expected)
    expect(target.skipped).toEqual([])
    const a = new Target({ program: shop, root, exclude, late, scheme: 'a' })
    await a.start()
    expect(a.taken).toEqual(expect.arrayContaining([root, ...expected.split(' ')]))
    expect(a.taken.join(' ')).not.toMatch(/Util|Deep/)
  })

  it('code that is not in --include is handled like code in --exclude', async () => {
    const { took } = await entered('Main.help', { exclude: '', include: 'Main Mine' })
    expect(took).toBe('Main.end')
  })

  it('excluded application code does not reveal callbacks: uncalled methods are not instrumented', async () => {
    const { target, took } = await entered('Main.leaf')
    expect(took).toBe('')
    expect(target.reflection).toBe(0)
  })

  it('excluded code is analysed when a caller is entered', async () => {
    const { target, took } = await entered('Main.before', { lookAhead: 9 })
    expect(took).toBe('Main.help')
    expect(target.isReady('Main.help')).toBe(false)
    expect(await target.invoke('Main.help')).toBe('Main.end')
  })

  it('excluded code is read once for any number of callers', async () => {
    const target = new Target({ program: shop, root: 'Main.help Main.loop Main.make', exclude, late })
    await target.start()
    for (const it of ['Main.help', 'Main.loop', 'Main.make']) await target.invoke(it)
    expect(target.fetched.filter((it) => it === 'shop/Util')).toHaveLength(1)
  })

  it('callbacks are found in objects that excluded code passes to the JDK, and in overriding methods', async () => {
    // list: UtilJob.run is excluded and calls Main.end; Task.run is not excluded.
    const { took } = await entered('Main.list')
    expect(took.split(' ')).toEqual(expect.arrayContaining(['Main.end', 'Task.run']))
    expect(took).not.toContain('Never.hook')
    expect((await entered('Main.sort')).took.split(' ')).toContain('Main.end')
  })

  it('if the target of a reflective call is excluded, the methods that the target calls are found', async () => {
    const { target } = await entered('Main.reflect')
    expect(target.reflection).toBe(1)
    expect(await target.reflect('Util', 'make', '()V')).toBe('Mine.<init>')
  })

  it('a call through a method handle to excluded code is reported when the call is made', async () => {
    const { target, took } = await entered('Main.handle')
    expect(took.split(' ')).not.toContain('Never.hook')
    expect(target.reflection).toBe(1)
  })

  it('if excluded code calls native code, any method may be called back', async () => {
    const { target, took } = await entered('Main.away')
    expect(took.split(' ')).toContain('Never.hook')
    expect(target.skipped).toEqual([])
  })

  it('excluded code is analysed when its class is loaded later, including the class initialiser', async () => {
    const { target, took } = await entered('Main.late')
    expect(took).toBe('')
    expect(await target.hook('Coming')).toBe('Main.one')
    expect(await target.hook('Arrived')).toBe('Arrived.arrive')
  })

  it.each(['a', 'b'] as const)(
    'an excluded class that is loaded while its subclass is loading cannot be changed, and is assumed to call any method of the subclass: scheme %s',
    async (scheme) => {
      const target = new Target({ program: shop, root: 'Born2.bear', exclude, late, scheme })
      await target.start()
      if (scheme === 'b') await target.invoke('Born2.bear')
      await target.hook('Born')
      expect(target.taken).toEqual(expect.arrayContaining(['Born.template', 'Born.again', 'Born.<init>']))
      const before = target.taken.length
      await target.hook('Between')
      await target.hook('UtilAbove')
      expect(target.taken.slice(before).filter((it) => it.startsWith('Born'))).toEqual([])
    },
  )

  it('lambdas that excluded code creates are reached through their interface', async () => {
    const target = new Target({ program: shop, root: 'Root2.job', exclude, late })
    await target.appear([target.lambdaProxy('Util', 'java/lang/Runnable')])
    await target.start()
    expect((await target.invoke('Root2.job')).split(' ')).toContain('Main.end')
  })

  it("a root's own class stays included", async () => {
    const target = new Target({ program: shop, root: 'Main.help Util.help', exclude, late })
    expect(await target.start()).toBe('Main.help Util.help')
  })
})
