// Methods that the user excludes and adds: the state of the session and the requests to the target.

import { describe, expect, it } from 'vitest'
import type { ClassInfo } from '../../../src/base/class-info.ts'
import type { Snapshot } from '../../../src/cct/tree.ts'
import type { Revelation } from '../../../src/reveal/revealer.ts'
import { ByHand, type Hands, NothingToAdd } from '../../../src/session/code/by-hand.ts'
import { Turns } from '../../../src/session/turns.ts'
import { compilePrograms, program, Target, type TargetOptions } from '../../reveal/world.ts'

const shop = program(
  'byhand',
  `class Util {
     static void help() { java.util.Objects.requireNonNull(""); }
     static void never() { }
   }
   class Main {
     static void run() { Util.help(); java.util.Objects.requireNonNull(""); }
     static void again() { Util.help(); }
   }`,
)
compilePrograms()

const NOTHING = { merged: { count: 0 } } as unknown as Snapshot

function steered(options: Partial<TargetOptions> = {}) {
  const target = new Target({ program: shop, ...options })
  const watched: boolean[] = []
  /** Loaded classes that are not yet in any list of classes. */
  const unlisted: ClassInfo[] = []
  const meanwhile = { watching: () => {}, listing: () => {} }
  const hands = {
    options: { jdk: options.jdk ?? false },
    workshop: {
      revealer: target.revealer,
      turns: new Turns((error) => expect(error).toBeUndefined()),
      agent: {
        watch: (jdk: boolean) => {
          watched.push(jdk)
          meanwhile.watching()
          return Promise.resolve()
        },
      },
    },
    installation: {
      refreshClasses: async () => {
        meanwhile.listing()
        await target.appear(unlisted.splice(0))
      },
      leaveOut: () => Promise.resolve([]),
      apply: (revelations: readonly Revelation[]) => {
        for (const it of revelations) target.note(it)
        return Promise.resolve()
      },
    },
  } as unknown as Hands
  const byHand = new ByHand(hands)
  const exclude = (text: string) => byHand.exclude(text, NOTHING, (id) => id, 0)
  return { target, byHand, exclude, watched, unlisted, meanwhile }
}

describe('excluded methods can be added again', () => {
  it('an excluded method can be added before a root can reach the method', async () => {
    const { target, byHand, exclude } = steered()
    await target.start()
    await exclude('Util')
    expect((await byHand.add('Util', 0)).methods.size).toBe(0)
    expect(await target.invoke('Main.run')).toBe('Util.help')
  })

  it('an excluded method can be added after a root can reach the method', async () => {
    const { target, byHand, exclude } = steered()
    await target.start()
    await exclude('Util')
    expect(await target.invoke('Main.run')).toBe('')
    expect((await byHand.add('Util', 0)).methods).toEqual(new Set([target.methodId('Util.help')]))
  })

  it('a method that was excluded before a change of roots can be added after the change', async () => {
    const before = steered()
    await before.target.start()
    await before.target.invoke('Main.run')
    await before.exclude('Util')
    const { target, byHand } = steered({ root: 'Main.again' })
    byHand.takeOver(before.byHand, ['Main.run'])
    await target.start()
    expect(await target.invoke('Main.again')).toBe('')
    expect((await byHand.add('Util.help', 0)).methods).toEqual(new Set([target.methodId('Util.help')]))
  })

  it('methods that were not excluded cannot be added', async () => {
    const { target, byHand, exclude } = steered()
    await target.start()
    await target.invoke('Main.run')
    await exclude('Util.help')
    for (const text of ['Main', 'Util.never', 'Main.again'])
      await expect(byHand.add(text, 0), text).rejects.toThrow(new NothingToAdd(text, 'it is not excluded'))
    expect((await byHand.add('Util', 0)).what).toBe('add')
  })
})

describe('requests for JDK classes', () => {
  it('loads of JDK classes are watched as long as an added method needs JDK classes', async () => {
    const { target, byHand, exclude, watched } = steered({ exclude: 'Util' })
    await target.start()
    await byHand.add('Util', 0)
    expect(watched).toEqual([])
    await byHand.add('java.util.Objects', 0)
    await byHand.add('java.util.HashMap', 0)
    expect(watched).toEqual([true])
    await byHand.takeBack('java.util.Objects', 0)
    await exclude('Util')
    expect(watched).toEqual([true])
    await byHand.takeBack('java.util.HashMap', 0)
    expect(watched).toEqual([true, false])
    expect(byHand.watchesJdk).toBe(false)
  })

  it('if no class of an added JDK package is loaded, loads of JDK classes are watched', async () => {
    const { target, byHand, watched } = steered()
    await target.start()
    await byHand.add('com.acme.later.**', 0)
    expect(watched).toEqual([])
    await byHand.add('org.xml.sax.**', 0)
    expect(watched).toEqual([true])
  })

  it('with --jdk, loads of JDK classes are watched even if no JDK method is added', async () => {
    const { target, byHand, watched } = steered({ jdk: true, exclude: 'java.util.Objects' })
    await target.start()
    expect(byHand.watchesJdk).toBe(true)
    await byHand.add('java.util.Objects', 0)
    await byHand.takeBack('java.util.Objects', 0)
    expect(byHand.watchesJdk).toBe(true)
    expect(watched).toEqual([])
  })

  it('loads of JDK classes are still watched when the roots change', async () => {
    const before = steered()
    await before.target.start()
    await before.byHand.add('java.util.Objects', 0)
    const { target, byHand, watched } = steered({ root: 'Main.again' })
    byHand.takeOver(before.byHand, ['Main.run'])
    expect(byHand.watchesJdk).toBe(true)
    await target.start()
    await byHand.takeBack('java.util.Objects', 0)
    expect(watched).toEqual([false])
  })

  it('loads of JDK classes are no longer watched after a failed addition is rolled back', async () => {
    const { target, byHand, watched, meanwhile } = steered()
    await target.start()
    meanwhile.watching = () => {
      meanwhile.listing = () => {
        meanwhile.listing = () => {}
        throw new Error('no list')
      }
    }
    await expect(byHand.add('java.util.Objects', 0)).rejects.toThrow('no list')
    await byHand.takeBack('java.util.Objects', 0)
    expect(watched).toEqual([true, false])
  })

  it('a JDK class that is loaded shortly before the watch for JDK class loads begins is not missed', async () => {
    const { target, byHand, unlisted, meanwhile } = steered({ late: 'java/util/Objects' })
    await target.start()
    await target.invoke('Main.run')
    meanwhile.watching = () => unlisted.push(target.info('java/util/Objects'))
    const { methods } = await byHand.add('java.util.*', 0)
    expect(methods).toContain(target.methodId('Objects.requireNonNull'))
  })
})
