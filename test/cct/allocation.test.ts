// Rows of classes below the methods that allocate, and method ids of a profile.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { allocationName, withDenseIds } from '../../src/cct/allocation.ts'
import { CctBuilder } from '../../src/cct/builder.ts'
import { hotMethods, snapshotOf } from '../../src/cct/snapshot.ts'
import type { MethodName, Tree } from '../../src/cct/tree.ts'
import { FIRST_METHOD_BESIDE_CLASSES, NOT_ATTRIBUTED } from '../../src/events/event-layout.ts'
import { SINKS } from '../../src/measures/sinks.ts'
import { enter, exit } from '../events/sinks.ts'

const ROOT = FIRST_METHOD_BESIDE_CLASSES
const LEAF = FIRST_METHOD_BESIDE_CLASSES + 1
const BYTES = 1
const STRING = 2

/**
 * Returns a recording in which root allocates a string of 24 bytes and another string, and leaf allocates 40 + 16 bytes.
 * @param reported  bytes that the JVM reports at the end of the root call; null if it does not count them
 */
function recorded(reported: number | null = null, builder = new CctBuilder({ executed: true }), thread = 1) {
  builder.thread(thread, -1)
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
  if (reported !== null) builder.allocated(reported)
  exit(builder, ROOT, at)
  return builder
}

const snapshot = (every = 1, builder = recorded()) =>
  snapshotOf(builder, {
    sink: SINKS.alloc,
    calibration: { innerTicks: 0, outerTicks: 0 },
    nsPerTick: 1,
    every,
  })

/** Returns the total, the bytes of the sites, and the bytes that are not attributed. */
function sumsOf({ count, method, metrics, parent }: Tree): [total: number, sites: number, rest: number] {
  let [sites, rest] = [0, 0]
  let total = 0
  for (let node = 0; node < count; node++) {
    if (parent[node] === -1) total += metrics.totalBytes![node]!
    if (method[node] === NOT_ATTRIBUTED) rest += metrics.bytes![node]!
    else if (method[node]! < NOT_ATTRIBUTED) sites += metrics.bytes![node]!
  }
  return [total, sites, rest]
}

describe('a tree of allocations', () => {
  it('the row of a method is the sum of the rows of its allocated classes, and the totals of a row include its callees', () => {
    const { metrics, method } = snapshot().merged
    assert.deepEqual([...method], [ROOT, STRING, LEAF, BYTES])
    assert.deepEqual([...metrics.calls!], [1, 2, 1, 2])
    assert.deepEqual([...metrics.objects!], [2, 2, 2, 2])
    assert.deepEqual([...metrics.bytes!], [48, 48, 56, 56])
    assert.deepEqual([...metrics.totalObjects!], [4, 2, 2, 2])
    assert.deepEqual([...metrics.totalBytes!], [104, 48, 56, 56])
  })

  it('sampled allocations are multiplied by the sampling interval, and calls of methods are not', () => {
    const { metrics } = snapshot(10).merged
    assert.deepEqual([...metrics.calls!], [1, 20, 1, 20])
    assert.deepEqual([...metrics.totalBytes!], [1040, 480, 560, 560])
  })

  it('the allocated objects of a class are summed over all contexts', () => {
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

describe('bytes that the JVM counts in a root call', () => {
  it('bytes without an allocation site are shown in a separate row below the root, and are not self bytes of the root', () => {
    const { merged } = snapshot(1, recorded(1104))
    const { method, metrics, parent } = merged
    const row = method.indexOf(NOT_ATTRIBUTED)
    assert.equal(parent[row], 0)
    const of = (node: number) => ['calls', 'objects', 'bytes', 'totalBytes'].map((it) => metrics[it]![node])
    assert.deepEqual(of(row), [0, 0, 1000, 1000])
    assert.deepEqual(of(0), [1, 2, 48, 1104])
    assert.deepEqual(sumsOf(merged), [1104, 104, 1000])
  })

  it('if the allocation sites in a root call count more bytes than the JVM, the rows of the sites are unchanged, and no row is negative', () => {
    assert.deepEqual(sumsOf(snapshot(1, recorded(64)).merged), [104, 104, 0])
    assert.equal(snapshot(1, recorded(64)).merged.method.includes(NOT_ATTRIBUTED), false)
  })

  it('the bytes of sampled sites are multiplied by the sampling interval before they are subtracted from the bytes of the JVM', () => {
    assert.deepEqual(sumsOf(snapshot(10, recorded(1104)).merged), [1104, 1040, 64])
  })

  it('each thread has its own row of bytes without an allocation site, unless the JVM reported no bytes for the thread', () => {
    const builder = recorded(1104)
    recorded(null, builder, 2)
    const { merged, threads } = snapshot(1, builder)
    assert.deepEqual(sumsOf(merged), [1208, 208, 1000])
    assert.deepEqual(
      threads.map(({ tree }) => sumsOf(tree)),
      [
        [1104, 104, 1000],
        [104, 104, 0],
      ],
    )
  })

  it('the bytes of an unfinished root call are counted once, and bytes before a reset are not counted', () => {
    const builder = new CctBuilder({ executed: true })
    builder.thread(1, -1)
    builder.root()
    enter(builder, ROOT, 0)
    const open = (bytes: number, told = 0) => builder.openAllocations([{ number: 1, told, bytes }])
    open(100)
    open(300)
    assert.deepEqual(sumsOf(snapshot(1, builder).merged), [300, 0, 300])
    builder.reset()
    open(500)
    assert.equal(builder.allocatedBytes, 200)
    builder.allocated(1000)
    exit(builder, ROOT, 0)
    assert.equal(builder.allocatedBytes, 700)
    assert.deepEqual(sumsOf(snapshot(1, builder).merged), [700, 0, 700])
    open(1000) // this root call has ended since the JVM was asked
    open(20, 1) // the begin of this root call has not been read yet
    assert.equal(builder.allocatedBytes, 700)
  })
})

describe('names of classes', () => {
  it('names of allocated classes are shown as in source code', () => {
    const name = (told: string) => allocationName(told).class
    assert.equal(name('[[I\nbootstrap'), 'int[][]')
    assert.equal(name('[Ljava.lang.String;\nbootstrap'), 'java.lang.String[]')
    assert.equal(name('com.foo.I\napp'), 'com.foo.I')
    assert.deepEqual(allocationName('fix.A$$Lambda\napp'), {
      ...{ class: 'fix.A$$Lambda', method: 'new', descriptor: '', loader: 'app' },
    })
  })

  it('class names are received as UTF-16 units, in any order', () => {
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
      ['', 'new', 'new', '(not attributed)', 'root', 'leaf'],
    )
    assert.deepEqual([...dense.merged.method], [4, 2, 5, 1])
    assert.equal(dense.threads[0]!.tree, dense.merged)
    assert.equal(methodNames[BYTES]!.class, '?') // the name of its class was lost
  })

  it("ids in a profile have no gaps, and each call site's id still belongs to the method of that call site", () => {
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
    assert.equal(methodNames.length, 4 + 300_000)
    assert.deepEqual([...tree.methodOf!.slice(0, 8)], [0, BYTES, STRING, 3, 4, 4, 6, 6])
    assert.equal(tree.methodOf!.length, methodNames.length)
  })
})
