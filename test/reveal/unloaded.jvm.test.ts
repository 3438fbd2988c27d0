// Data about unloaded classes are removed.

import { describe, expect, it } from 'vitest'
import type { ClassInfo } from '../../src/base/class-info.ts'
import { Hierarchy } from '../../src/reveal/hierarchy.ts'
import { compilePrograms, program, Target } from './world.ts'

const row = (id: number, name: string, loader: number, superId: number): ClassInfo => ({
  id,
  name,
  loader,
  superId,
  interfaceIds: [],
  access: 1,
  flags: 0,
  nestHost: 0,
})

const plugin = program(
  'plugin',
  `class Main { static void run(Runnable r) { r.run(); } }
   class Guest implements Runnable { public void run() { step(); } void step() { } }`,
)
compilePrograms()

describe('unloaded classes', () => {
  it('unloaded classes are removed from the class hierarchy, for any order of unloading', () => {
    const hierarchy = new Hierarchy()
    hierarchy.add([row(1, 'Top', 0, 0), row(2, 'Base', 5, 1), row(3, 'Low', 5, 2)])
    expect(hierarchy.subtypesOf(hierarchy.node(1)).map((it) => it.id)).toEqual([1, 2, 3])
    hierarchy.remove([2, 99])
    hierarchy.remove([3])
    expect([...hierarchy.nodes()].map((it) => it.id)).toEqual([1])
    expect(hierarchy.subtypesOf(hierarchy.node(1)).map((it) => it.id)).toEqual([1])
    expect(hierarchy.named('Low')).toEqual([])
    expect(hierarchy.resolve('Base', 5)).toEqual([])
  })

  it('an unloaded class that waited for its superclass is removed, and other classes of the same name stay', () => {
    const hierarchy = new Hierarchy()
    const file = { access: 1, superName: 'Late', interfaces: [] }
    hierarchy.loading(1, 'Low', 5, file, 0)
    hierarchy.loading(2, 'Low', 6, file, 0)
    hierarchy.remove([1])
    expect(hierarchy.named('Low').map((it) => it.id)).toEqual([2])
    const touched = hierarchy.add([row(3, 'Late', 6, 0)])
    expect(touched.map((it) => it.id)).toEqual([3, 2])
  })

  it('methods of unloaded classes keep their ids and names, and methods of a new class with the same name get new ids', async () => {
    const target = new Target({ program: plugin, scheme: 'a', late: 'Guest' })
    await target.start()
    const first = await target.load('Guest', 7)
    expect(first).toBe('Guest.run Guest.step')
    const ids = [...target.revealer.methods].map((it) => it.id)
    const guest = target.id(target.full('Guest'), 7)
    target.revealer.unloaded([guest], [7])
    expect([...target.revealer.methods].map((it) => it.id)).toEqual(ids)
    expect(target.revealer.methods.hasMethodsOf(guest)).toBe(true)
    expect(await target.load('Guest', 8)).toBe(first)
    expect([...target.revealer.methods].length).toBeGreaterThan(ids.length)
  })

  it('methods of unloaded classes do not count against the maximum number of methods', async () => {
    const target = new Target({ program: plugin, scheme: 'a', late: 'Guest', maxMethods: 3 })
    await target.start()
    const both = 'Guest.run Guest.step'
    for (let loader = 7; loader < 10; loader++) {
      expect(await target.load('Guest', loader)).toBe(both)
      expect(target.revealer.isFull).toBe(false)
      target.revealer.unloaded([target.id(target.full('Guest'), loader)], [loader])
    }
    await target.load('Guest', 10)
    expect(await target.load('Guest', 11)).not.toBe(both)
    expect(target.revealer.isFull).toBe(true)
  })
})
