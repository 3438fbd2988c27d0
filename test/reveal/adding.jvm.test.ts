// What filters leave out is added while a session runs.

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

describe('what is added', () => {
  it('is taken as far as it has been reached, and by the scheme from then on', async () => {
    const target = await entered('Main.run')
    expect(target.taken).toEqual(['Main.run', 'Main.end'])
    expect(await target.add('Util')).toBe('Util.help')
    expect(await target.add('Util', 'Deep')).toBe('Deep.deep')
    expect(await target.invoke('Util.help')).toBe('')
  })

  it('before it has been reached waits for that', async () => {
    const target = new Target({ program: shop, root: 'Main.run', exclude: 'Util Deep' })
    await target.start()
    expect(await target.add('Util')).toBe('')
    expect(await target.invoke('Main.run')).toBe('Util.help')
    expect(await target.invoke('Util.help')).toBe('Main.end')
  })

  it('with scheme a is taken with all that it reaches', async () => {
    const target = await entered('Main.run', { scheme: 'a' })
    expect(target.taken).toEqual(['Main.end', 'Main.run'])
    expect(await target.add('Util', 'Deep')).toBe('Deep.deep Util.help')
  })

  it('is a method alone, or the one that a virtual call may mean', async () => {
    const target = await entered('Main.hook', { root: 'Main.hook Main.run' })
    await target.invoke('Main.run')
    expect(await target.add('Util.hook')).toBe('Util.hook')
    expect(await target.add('Util.hook', 'Util.never')).toBe('')
  })

  it('of the JDK is what is called, while that cannot call anything else', async () => {
    const target = await entered('Main.run')
    expect(await target.add('java.util.Objects')).toBe('Objects.requireNonNull')
  })

  it('of the JDK is all there is, once code that is not read may call it', async () => {
    const target = await entered('Main.sort')
    expect(target.taken).toEqual(['Main.sort', 'Order.<init>', 'Order.compare'])
    const taken = (await target.add('java.util.Objects')).split(' ')
    expect(taken).toEqual(
      expect.arrayContaining(['Objects.requireNonNull', 'Objects.hash', 'Objects.toString']),
    )
    expect(await target.add('java.util.Objects', 'java.util.HashMap.putVal')).toBe('HashMap.putVal')
  })

  it('of the JDK is what a class inherits from it', async () => {
    const target = await entered('Main.flags')
    expect(await target.add('java.util.BitSet.set')).toBe('BitSet.set')
  })

  it('changes nothing for others: what overrides it is expected to be called back as before', async () => {
    const target = await entered('Main.sort')
    await target.add('java.util.function.Supplier')
    expect(await target.load('Later')).toBe('Later.get')
  })

  it('and not any more is left out as before', async () => {
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

it('what overrides a type of the JDK is called back, also if the filters include that, and not all of the JDK', async () => {
  const include = 'added.* java.util.function.Supplier'
  const target = new Target({ program: shop, root: 'Main.sort', jdk: true, include, late: 'Later' })
  await target.start()
  await target.invoke('Main.sort')
  expect(await target.load('Later')).toBe('Later.get')
})

it('what overrides a type of the JDK is called back once there is a class of the JDK that is left out', async () => {
  const target = new Target({
    ...{ program: shop, root: 'Main.start', jdk: true },
    ...{ exclude: 'java.util.Objects', late: 'java/util/Objects' },
  })
  await target.start()
  await target.invoke('Main.start')
  await target.invoke('Thread.start')
  expect(target.skipped.join()).toContain('Thread.start0: native') // code that is not read, and may call back
  expect(target.taken).not.toContain('Order.compare')
  expect(await target.appear([target.info('java/util/Objects')])).toContain('Order.compare')
})

describe('what could be added', () => {
  it.each([
    ['Util', { classes: 1, out: 1, usable: 1, jdk: 0 }],
    ['added.*', { classes: 6, out: 2, usable: 2, jdk: 0 }],
    ['Util.hook', { classes: 1, out: 1, usable: 1, jdk: 0 }],
    ['Util.none', { classes: 0, out: 0, usable: 0, jdk: 0 }],
    ['Main', { classes: 1, out: 0, usable: 0, jdk: 0 }],
    ['java.util.Objects', { classes: 1, out: 1, usable: 1, jdk: 1 }],
    ['java.lang.ref.*', { classes: 3, out: 3, usable: 2, jdk: 3 }],
  ])('of %s', async (text, expected) => {
    const target = await entered('Main.run')
    expect(await target.lookUp(text)).toEqual(expected)
  })
})
