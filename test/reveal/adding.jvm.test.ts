// Classes excluded by filters are added during a session.

import { describe, expect, it } from 'vitest'
import { compilePrograms, program, Target } from './world.ts'

const shop = program(
  'added',
  `class Util {
     static void help() { Deep.deep(); }
     static void never() { }
     void hook() { }
   }
   class Deep { static void deep() { Main.end(); } }
   class Heir extends Util { void hook() { } }
   class Order implements java.util.Comparator<Object> { public int compare(Object a, Object b) { return 0; } }
   class Later implements java.util.function.Supplier<Object> { public Object get() { return null; } }
   class Flags extends java.util.BitSet { }
   class Main {
     static void run() { Util.help(); java.util.Objects.requireNonNull(""); }
     static void again() { Util.help(); }
     static void sort(java.util.ArrayList<Object> l) { l.sort(new Order()); }
     static void flags(Flags f) { f.set(1); }
     static void start(Thread t) { t.start(); }
     static void hook(Util u) { u.hook(); }
     static void end() { }
   }`,
)
compilePrograms()

async function entered(root: string, options: Partial<ConstructorParameters<typeof Target>[0]> = {}) {
  const target = new Target({ program: shop, root, exclude: 'Util Deep', late: 'Later', ...options })
  await target.start()
  await target.invoke(root)
  return target
}

describe('methods included during a session', () => {
  it('if a class is included, its already reached methods are instrumented at once; methods reached later follow the scheme', async () => {
    const target = await entered('Main.run')
    expect(target.taken).toEqual(['Main.run', 'Main.end'])
    expect(await target.add('Util')).toBe('Util.help')
    expect(await target.add('Util', 'Deep')).toBe('Deep.deep')
    expect(await target.invoke('Util.help')).toBe('')
  })

  it('an included class that was not reached gets no probes until it is reached', async () => {
    const target = new Target({ program: shop, root: 'Main.run', exclude: 'Util Deep' })
    await target.start()
    expect(await target.add('Util')).toBe('')
    expect(await target.invoke('Main.run')).toBe('Util.help')
    expect(await target.invoke('Util.help')).toBe('Main.end')
  })

  it('with scheme a, an included class is instrumented together with all methods that its methods reach', async () => {
    const target = await entered('Main.run', { scheme: 'a' })
    expect(target.taken).toEqual(['Main.end', 'Main.run'])
    expect(await target.add('Util', 'Deep')).toBe('Deep.deep Util.help')
  })

  it('a single method, or the target of a virtual call, can be included', async () => {
    const target = await entered('Main.hook', { root: 'Main.hook Main.run' })
    await target.invoke('Main.run')
    expect(await target.add('Util.hook')).toBe('Util.hook')
    expect(await target.add('Util.hook', 'Util.never')).toBe('')
  })

  it('if the methods of an included JDK class cannot call other code, only the called methods are instrumented', async () => {
    const target = await entered('Main.run')
    expect(await target.add('java.util.Objects')).toBe('Objects.requireNonNull')
  })

  it('all methods of an included JDK class are instrumented if code that jfluid has not read may call them', async () => {
    const target = await entered('Main.sort')
    expect(target.taken).toEqual(['Main.sort', 'Order.<init>', 'Order.compare'])
    const taken = (await target.add('java.util.Objects')).split(' ')
    expect(taken).toEqual(
      expect.arrayContaining(['Objects.requireNonNull', 'Objects.hash', 'Objects.toString']),
    )
    expect(await target.add('java.util.Objects', 'java.util.HashMap.putVal')).toBe('HashMap.putVal')
  })

  it('methods inherited from an included JDK class are instrumented', async () => {
    const target = await entered('Main.flags')
    expect(await target.add('java.util.BitSet.set')).toBe('BitSet.set')
  })

  it('the inclusion of a type does not change which callbacks are expected in classes that override the methods of the type', async () => {
    const target = await entered('Main.sort')
    await target.add('java.util.function.Supplier')
    expect(await target.load('Later')).toBe('Later.get')
  })

  it('a class whose inclusion is withdrawn is excluded again, and can be included again', async () => {
    const target = await entered('Main.run')
    await target.add('Util')
    const help = target.revealer.methods.get(target.methodId('Util.help'))
    expect(target.revealer.classes.isIncluded(help)).toBe(true)
    expect(await target.add()).toBe('')
    expect(target.revealer.classes.isIncluded(help)).toBe(false)
    expect(await target.add('Util')).toBe('')
    expect(target.revealer.classes.isIncluded(help)).toBe(true)
  })
})

it('callbacks are found in classes that override an included JDK type, even if the rest of the JDK is excluded', async () => {
  const include = 'added.* java.util.function.Supplier'
  const target = new Target({ program: shop, root: 'Main.sort', jdk: true, include, late: 'Later' })
  await target.start()
  await target.invoke('Main.sort')
  expect(await target.load('Later')).toBe('Later.get')
})

it('after a JDK class is excluded, callbacks are still found in classes that override a JDK type', async () => {
  const target = new Target({
    ...{ program: shop, root: 'Main.start', jdk: true },
    ...{ exclude: 'java.util.Objects', late: 'java/util/Objects' },
  })
  await target.start()
  await target.invoke('Main.start')
  await target.invoke('Thread.start')
  expect(target.skipped.join()).toContain('Thread.start0: native') // its code cannot be read, and may call back
  expect(target.taken).not.toContain('Order.compare')
  expect(await target.appear([target.info('java/util/Objects')])).toContain('Order.compare')
})

describe('candidates for inclusion', () => {
  it.each([
    ['Util', { classes: 1, out: 1, usable: 1, jdk: 0 }],
    ['added.*', { classes: 6, out: 2, usable: 2, jdk: 0 }],
    ['Util.hook', { classes: 1, out: 1, usable: 1, jdk: 0 }],
    ['Util.none', { classes: 0, out: 0, usable: 0, jdk: 0 }],
    ['Main', { classes: 1, out: 0, usable: 0, jdk: 0 }],
    ['java.util.Objects', { classes: 1, out: 1, usable: 1, jdk: 1 }],
    ['java.lang.ref.*', { classes: 3, out: 3, usable: 2, jdk: 3 }],
  ])('the pattern %s finds the expected candidates for inclusion', async (text, expected) => {
    const target = await entered('Main.run')
    expect(await target.lookUp(text)).toEqual(expected)
  })
})
