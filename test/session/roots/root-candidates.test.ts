// Methods that are suitable as roots. Trees use the notation of test/profile/trees.ts, with one nanosecond per sample.

import { describe, expect, it } from 'vitest'
import type { MethodName, Snapshot, Tree } from '../../../src/cct/tree.ts'
import { type Candidates, Looks, rootCandidates } from '../../../src/session/roots/root-candidates.ts'
import { isOfJdk } from '../../../src/session/roots/root-names.ts'
import { build, chain, Methods, treeOf } from '../../profile/trees.ts'

type SeenStack = Parameters<Looks['add']>[0][number]

/** Returns the candidates of threads, which are given by name and tree. Thread ids are 1, 2, … in this order. */
function candidatesOf(
  threads: Readonly<Record<string, string>>,
  dumps: readonly (readonly SeenStack[])[] = [],
  change: (name: MethodName) => MethodName = (name) => name,
) {
  const methods = new Methods()
  const trees = Object.entries(threads).map(([name, notation], i) => ({
    id: i + 1,
    name,
    tree: treeOf(notation, methods),
  }))
  const snapshot: Snapshot = { merged: trees[0].tree, threads: trees, events: 0, waitNs: 0, healed: 0 }
  const looks = new Looks()
  for (const dump of dumps) looks.add(dump)
  return rootCandidates(snapshot, (id) => change(methods.names[id]), looks)
}

const short = (roots: readonly { root: string }[]): string[] =>
  roots.map(({ root }) => root.replace('com.acme.App.', ''))

/** Three methods that never return, a task that returns, and its callees. */
const WORKER =
  'java.lang.Thread.run 1x 0ns ( run 1x 2ns ( loop 1x 8ns ( task 30x 10ns ( find 20x 50ns  store 10x 30ns ) ) ) )'

describe('a root candidate', () => {
  it('a root candidate is a whole task, not an endless loop, a callee or a JDK method', () => {
    const { roots, stays, samples } = candidatesOf({ worker: WORKER })
    expect(samples).toBe(100)
    // Ranks: task 0.90, find 0.50 * 0.8, store 0.30 * 0.8. `loop` returned once, since 2 samples show only `run`.
    expect(short(roots)).toEqual(['loop', 'task', 'find', 'store'])
    expect(short(stays)).toEqual(['run'])
  })

  it('a root candidate reports its share, its threads and its depth', () => {
    const { roots } = candidatesOf({ worker: WORKER, other: 'idle 5x 100ns' })
    expect(roots.find((it) => it.root === 'com.acme.App.task')).toEqual({
      root: 'com.acme.App.task',
      share: 0.45, // 90 of 200
      ...{ samples: 90, seen: 30, threads: ['worker'], depth: 3, below: 1 },
    })
  })

  it('the samples of a recursive root candidate are counted once, at the outermost call', () => {
    const { roots } = candidatesOf({
      worker: 'loop 1x 10ns ( down 9x 0ns ( down 9x 20ns ( down 9x 10ns ) ) )',
    })
    expect(roots.map((it) => [it.root, it.samples, it.seen])).toEqual([['com.acme.App.down', 30, 9]])
  })

  it('the samples of a root candidate are summed over its threads, which are listed with the busiest first', () => {
    const { roots } = candidatesOf({ a: 'loop 1x 1ns ( task 2x 9ns )', b: 'loop 1x 1ns ( task 3x 19ns )' })
    expect(roots.map(({ share, seen, threads }) => ({ share, seen, threads }))).toEqual([
      { share: 28 / 30, seen: 5, threads: ['b', 'a'] },
    ])
  })

  it('a root candidate needs more than 1 % of the samples, taken at more than one point in time', () => {
    const { roots } = candidatesOf({ a: 'loop 1x 1000ns ( rare 9x 10ns  other 9x 11ns )', b: 'once 2x 1ns' })
    expect(short(roots)).toEqual(['other'])
  })

  it('a root candidate that is a constructor is written in the form that --root accepts', () => {
    expect(short(candidatesOf({ a: 'loop 1x 1ns ( Order.<init> 2x 9ns )' }).roots)).toEqual([
      'com.acme.Order.new',
    ])
  })

  it('a root candidate is not a lambda class, proxy or class initializer, but may be a lambda body', () => {
    const { roots } = candidatesOf({
      a: 'loop 1x 9ns ( a.Main$$Lambda.run 2x 9ns  a.$Proxy7.go 2x 9ns  a.Main.<clinit> 2x 9ns  a.Main.lambda$go$0 2x 9ns )',
    })
    expect(roots.map((it) => it.root)).toEqual(['a.Main.lambda$go$0'])
  })
})

describe('a method that is on the stack in every sample', () => {
  const tree = 'loop 1x 0ns ( task 1x 40ns )'
  const dump = (id: number, ...frames: string[]): SeenStack[] => [{ id, frames }]

  it('a method that is on the stack in every sample is not a root candidate, and the deepest such method is listed first', () => {
    const { roots, stays } = candidatesOf({ a: tree })
    expect(roots).toEqual([])
    expect(short(stays)).toEqual(['task', 'loop'])
  })

  it('a method that is on the stack in every sample is a root candidate if a thread dump shows the same thread without the method', () => {
    const frames = ['com.acme.App.loop', 'java.lang.Thread.run']
    const { roots, stays } = candidatesOf({ a: tree }, [
      dump(1, ...frames),
      dump(1, 'com.acme.App.task', ...frames),
    ])
    expect(short(roots)).toEqual(['task'])
    expect(short(stays)).toEqual(['loop'])
  })

  it('a method that is on the stack in every sample is not made a root candidate by a thread dump that shows only another thread', () => {
    const both = ['com.acme.App.task', 'com.acme.App.loop']
    const { roots } = candidatesOf({ a: tree }, [[...dump(1, ...both), ...dump(2, 'com.acme.App.other')]])
    expect(roots).toEqual([])
  })

  it('a method that is on the stack in every sample counts as returned if its thread has ended', () => {
    const { roots } = candidatesOf({ a: tree }, [dump(7, 'com.acme.App.other')])
    expect(short(roots)).toEqual(['loop', 'task'])
  })

  it('a constructor that is on the stack in every sample and never returned is not a root candidate', () => {
    const frames = ['com.acme.Order.<init>', 'com.acme.App.loop']
    const { roots } = candidatesOf({ a: 'loop 1x 0ns ( Order.<init> 1x 9ns )' }, [dump(1, ...frames)])
    expect(roots).toEqual([])
  })
})

it('JDK classes are recognized by class loader or name', () => {
  const of = (className: string, loader: string) =>
    isOfJdk({ class: className, loader, method: 'm', descriptor: '()V' })
  expect(of('java.util.List', '')).toBe(true)
  expect(of('com.sun.tools.javac.Main', 'app')).toBe(true)
  expect(of('oracle.net.Driver', 'platform')).toBe(true)
  expect(of('javanese.Main', 'app')).toBe(false)
  expect(of('sunny.Day', 'app')).toBe(false)
})

it('a stack 100,000 frames deep and a tree 100,000 nodes wide are processed', () => {
  const nameOf = (id: number): MethodName => ({
    class: 'com.acme.App',
    method: `m${id}`,
    descriptor: '()V',
    loader: 'app',
  })
  const of = (tree: Tree): Candidates => {
    const threads = [{ id: 1, name: 'a', tree }]
    return rootCandidates({ merged: tree, threads, events: 0, waitNs: 0, healed: 0 }, nameOf, new Looks())
  }
  expect(of(chain(100_000)).stays).toMatchObject([{ root: 'com.acme.App.m1', samples: 100_000, seen: 1 }])
  const count = 100_000
  const parent = Array.from({ length: count }, (_, i) => (i === 0 ? -1 : 0))
  const method = parent.map((_, i) => i + 1)
  const one = parent.map(() => 1)
  const wide = build(parent, method, one, [...one.slice(0, -1), count])
  expect(of(wide).roots).toMatchObject([{ root: `com.acme.App.m${count}`, samples: count }])
})
