// Rows of classes below the methods that allocate, and method ids of a profile.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { allocationName, withDenseIds } from '../../src/cct/allocation.ts'
import { CctBuilder } from '../../src/cct/builder.ts'
import { hotMethods, snapshotOf } from '../../src/cct/snapshot.ts'
import type { MethodName } from '../../src/cct/tree.ts'
import { FIRST_METHOD_BESIDE_CLASSES } from '../../src/events/event-layout.ts'
import { SINKS } from '../../src/measures/sinks.ts'
import { enter, exit } from '../events/sinks.ts'

const ROOT = FIRST_METHOD_BESIDE_CLASSES
const LEAF = FIRST_METHOD_BESIDE_CLASSES + 1
const BYTES = 1
const STRING = 2

/** root allocates a string of 24 bytes and another string; leaf allocates 40 + 16 bytes. */
function recorded(): CctBuilder {
  const builder = new CctBuilder({ executed: true })
  builder.thread(1, -1)
  builder.root()
  let at = 0
  const allocate = (id: number, bytes: number) => {
    enter(builder, id, at)
    at += bytes
    exit(builder, id, at)
  }
  enter(builder, ROOT, 0)
  allocate(STRING, 24)
  enter(builder, LEAF, at)
  allocate(BYTES, 40)
  allocate(BYTES, 16)
  exit(builder, LEAF, at)
  allocate(STRING, 24)
  exit(builder, ROOT, at)
  return builder
}

const snapshot = (every = 1) =>
  snapshotOf(recorded(), {
    sink: SINKS.alloc,
    calibration: { innerTicks: 0, outerTicks: 0 },
    nsPerTick: 1,
    every,
  })

describe('a tree of allocations', () => {
  it("a method's row sums the rows of its allocated classes, and callers have totals", () => {
    const { metrics, method } = snapshot().merged
    assert.deepEqual([...method], [ROOT, STRING, LEAF, BYTES])
    assert.deepEqual([...metrics.calls!], [1, 2, 1, 2])
    assert.deepEqual([...metrics.objects!], [2, 2, 2, 2])
    assert.deepEqual([...metrics.bytes!], [48, 48, 56, 56])
    assert.deepEqual([...metrics.totalObjects!], [4, 2, 2, 2])
    assert.deepEqual([...metrics.totalBytes!], [104, 48, 56, 56])
  })

  it('sampled allocations are multiplied, calls of methods are not', () => {
    const { metrics } = snapshot(10).merged
    assert.deepEqual([...metrics.calls!], [1, 20, 1, 20])
    assert.deepEqual([...metrics.totalBytes!], [1040, 480, 560, 560])
  })

  it('the objects of a class are summed over all contexts', () => {
    const strings = hotMethods(snapshot().merged).find(({ method }) => method === STRING)
    assert.deepEqual(strings, { method: STRING, calls: 2, self: 48, total: 48, objects: 2 })
  })

  it('allocated classes do not count as called methods', () => {
    const builder = recorded()
    assert.equal(builder.methods, 4)
    for (const id of [BYTES, STRING]) builder.className(id, 0, 0x41)
    assert.equal(builder.methods, 2)
  })
})

describe('names of classes', () => {
  it('class names are shown as in source code', () => {
    const name = (told: string) => allocationName(told).class
    assert.equal(name('[[I\nbootstrap'), 'int[][]')
    assert.equal(name('[Ljava.lang.String;\nbootstrap'), 'java.lang.String[]')
    assert.equal(name('com.foo.I\napp'), 'com.foo.I')
    assert.deepEqual(allocationName('fix.A$$Lambda\napp'), {
      ...{ class: 'fix.A$$Lambda', method: 'new', descriptor: '', loader: 'app' },
    })
  })

  it('class names arrive as UTF-16 units, and may arrive in any order', () => {
    const builder = new CctBuilder()
    for (const [at, text] of [...'[J'].entries()) builder.className(7, at, text.charCodeAt(0))
    assert.deepEqual(builder.takeClassNames(), [[7, '[J']])
    assert.deepEqual(builder.takeClassNames(), [])
    builder.className(7, 2, 0x21)
    assert.deepEqual(builder.takeClassNames(), [[7, '[J!']])
  })
})

describe('ids of methods and classes in a profile', () => {
  it('method ids in a profile follow class ids without a gap', () => {
    const names: MethodName[] = []
    const method = (id: string): MethodName => ({ class: 'A', method: id, descriptor: '()V', loader: 'app' })
    names[0] = method('')
    names[STRING] = allocationName('java.lang.String\nbootstrap')
    names[ROOT] = method('root')
    names[LEAF] = method('leaf')
    const { merged } = snapshot()
    const dense = withDenseIds(names, { merged, threads: [{ id: 1, name: 'main', tree: merged }] })
    const { methodNames } = dense
    assert.deepEqual(
      methodNames.map((it) => it.method),
      ['', 'new', 'new', 'root', 'leaf'],
    )
    assert.deepEqual([...dense.merged.method], [3, 2, 4, 1])
    assert.equal(dense.threads[0]!.tree, dense.merged)
    assert.equal(methodNames[BYTES]!.class, '?') // the name of its class was lost
  })

  it("ids in a profile have no gaps, and the ids of one method's call sites still belong to that method", () => {
    const { merged } = snapshotOf(recorded(), {
      calibration: { innerTicks: 0, outerTicks: 0 },
      nsPerTick: 1,
      sink: SINKS.alloc,
    })
    const name: MethodName = { class: 'T', method: 'm', descriptor: '()V', loader: 'app' }
    const names: MethodName[] = []
    const methodOf = new Int32Array(ROOT + 300_000)
    for (let id = ROOT; id < methodOf.length; id++) {
      names[id] = name
      methodOf[id] = id - (id % 2)
    }
    methodOf[BYTES] = BYTES
    methodOf[STRING] = STRING
    const { methodNames, merged: tree } = withDenseIds(names, {
      merged: { ...merged, methodOf },
      threads: [],
    })
    assert.equal(methodNames.length, 3 + 300_000)
    assert.deepEqual([...tree.methodOf!.slice(0, 7)], [0, BYTES, STRING, 3, 3, 5, 5])
    assert.equal(tree.methodOf!.length, methodNames.length)
  })
})
