// Reading trees kept by the threads, returning blocks, and adding blocks. The test writes the target's records itself.

import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { JfluidError } from '../../src/base/errors.ts'
import { CctBuilder } from '../../src/cct/builder.ts'
import { createRing, openRing } from '../../src/events/ring.ts'
import { RING_BLOCKS, ringBytes } from '../../src/events/ring-layout.ts'
import { TreeBlocks } from '../../src/events/tree-blocks.ts'
import {
  BLOCK_BYTES,
  BLOCK_FREE,
  BLOCK_OVER,
  BLOCK_STATES_BYTES,
  BLOCK_TAKEN,
  MAX_BLOCKS,
  RECORD_BYTES,
  RECORD_CALLS,
  RECORD_EXECUTED,
  RECORD_METHOD,
  RECORD_PARENT,
} from '../../src/events/tree-layout.ts'
import type { TreeSink } from '../../src/events/tree-sink.ts'

/** Error code of large writes; '' for no error. */
const disk = vi.hoisted(() => ({ error: '' }))
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const written = (fd: number, bytes: Uint8Array, ...rest: [number?, number?, number?]): number => {
    if (disk.error !== '' && bytes.byteLength > BLOCK_BYTES)
      throw Object.assign(new Error(disk.error), { code: disk.error })
    return fs.writeSync(fd, bytes, ...rest)
  }
  return { ...fs, writeSync: written }
})

const CHUNKS = { chunkBytes: 4096, chunkCount: 1 }
const AT = ringBytes(CHUNKS.chunkBytes, CHUNKS.chunkCount)
const RECORDS = BLOCK_BYTES / RECORD_BYTES
const TOP = -1

/** A tree keyed by path: `7/1/2` is thread 7, then two methods. */
class Paths implements TreeSink {
  readonly #paths: string[] = ['']
  readonly calls: Record<string, number> = {}
  readonly executed: Record<string, number> = {}

  contextOf(thread: number, parent: number, method: number): number {
    const path = `${parent === 0 ? thread : this.#paths[parent]}/${method}`
    const known = this.#paths.indexOf(path)
    return known > 0 ? known : this.#paths.push(path) - 1
  }

  addTo(thread: number, context: number, calls: number, executed: number): void {
    const path = this.#paths[context]!
    expect(path.startsWith(`${thread}/`)).toBe(true)
    this.calls[path] = (this.calls[path] ?? 0) + calls
    this.executed[path] = (this.executed[path] ?? 0) + executed
  }
}

describe('calling context trees that target threads keep in the buffer', () => {
  let dir: string
  let fd: number
  let trees: TreeBlocks
  let sink: Paths

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'trees-'))
    const path = join(dir, 'ring')
    createRing(path, { ...CHUNKS, blockCount: 4 })
    fd = openSync(path, 'r+')
    trees = TreeBlocks.open(path)
    sink = new Paths()
  })

  afterEach(() => {
    trees.close()
    closeSync(fd)
    rmSync(dir, { recursive: true })
  })

  const store = (at: number, ...values: number[]): void => {
    writeSync(fd, Int32Array.from(values), 0, values.length * 4, at)
  }
  const blockAt = (block: number): number => AT + BLOCK_STATES_BYTES + block * BLOCK_BYTES
  const state = (block: number, value: number): void => store(AT + block * 4, value)
  const stateOf = (block: number): number => {
    const read = new Int32Array(1)
    readSync(fd, read, 0, 4, AT + block * 4)
    return read[0]!
  }
  const take = (block: number, thread: number): void => {
    store(blockAt(block), thread)
    state(block, BLOCK_TAKEN)
  }
  const count = (record: number, calls: number, executed = 0): void => {
    const at = blockAt(0) + record * RECORD_BYTES
    writeSync(fd, BigInt64Array.of(BigInt(calls)), 0, 8, at + RECORD_CALLS)
    writeSync(fd, BigInt64Array.of(BigInt(executed)), 0, 8, at + RECORD_EXECUTED)
  }
  const write = (record: number, parent: number, method: number, calls: number, executed = 0): void => {
    count(record, calls, executed)
    store(blockAt(0) + record * RECORD_BYTES + RECORD_PARENT, parent)
    store(blockAt(0) + record * RECORD_BYTES + RECORD_METHOD, method)
  }

  it('trees in the buffer are read while they grow, and each read adds the changes since the previous read', () => {
    take(0, 7)
    write(1, 0, TOP, 0)
    write(2, 1, 1, 5, 100)
    trees.read(sink)
    expect(sink.calls).toEqual({ '7/1': 5 })
    write(3, 2, 2, 2 ** 40)
    count(2, 6, 130)
    trees.read(sink)
    trees.read(sink)
    expect(sink.calls).toEqual({ '7/1': 6, '7/1/2': 2 ** 40 })
    expect(sink.executed['7/1']).toBe(130)
    expect(trees.calls).toBe(2 ** 40) // events report the roots
  })

  it('the parent of a node may be in a block that was read earlier, or in a block that has no owner yet', () => {
    take(1, 7)
    write(RECORDS + 1, 2, 3, 4)
    trees.read(sink)
    expect(sink.calls).toEqual({})
    store(blockAt(0), 0)
    state(0, BLOCK_TAKEN)
    write(1, 0, TOP, 0)
    write(2, 1, 1, 1)
    trees.read(sink)
    store(blockAt(0), 7)
    trees.read(sink)
    expect(sink.calls).toEqual({ '7/1': 1, '7/1/3': 4 })
  })

  it('nodes of inconsistent trees in the buffer are ignored', () => {
    take(0, 7)
    write(1, 2, 1, 3) // each node is the parent of the other
    write(2, 1, 1, 3)
    write(3, 2 ** 30, 1, 3)
    write(4, 0, 1, 3)
    trees.read(sink)
    expect(sink.calls).toEqual({})
  })

  it('tree blocks of an ended thread are read once more, and returned when all threads that share the tree have ended', () => {
    take(0, 7)
    take(1, 7)
    write(1, 0, TOP, 0)
    write(2, 1, 1, 1)
    write(RECORDS + 1, 2, 2, 9)
    state(0, BLOCK_OVER)
    trees.read(sink)
    expect([stateOf(0), stateOf(1)]).toEqual([BLOCK_OVER, BLOCK_TAKEN])
    count(RECORDS + 1, 10)
    state(1, BLOCK_OVER)
    trees.read(sink)
    expect([stateOf(0), stateOf(1)]).toEqual([BLOCK_FREE, BLOCK_FREE])
    expect(sink.calls).toEqual({ '7/1': 1, '7/1/2': 10 })
    take(0, 8)
    write(1, 0, TOP, 0)
    write(2, 1, 1, 3)
    trees.read(sink)
    expect(sink.calls).toEqual({ '7/1': 1, '7/1/2': 10, '8/1': 3 })
  })

  it('tree blocks of an ended thread are not returned if the copied block states still show another block of the thread as free', () => {
    take(0, 7)
    write(1, 0, TOP, 0)
    write(2, 1, 1, 1)
    state(0, BLOCK_OVER)
    // Between the copy of the states and the end of the poll, block 1 appears, with calls that the thread made before block 0 was full.
    const addTo = sink.addTo.bind(sink)
    sink.addTo = (...told) => {
      addTo(...told)
      take(1, 7)
      write(RECORDS + 1, 2, 2, 9)
      state(1, BLOCK_OVER)
      sink.addTo = addTo
    }
    trees.read(sink)
    expect([stateOf(0), trees.released]).toEqual([BLOCK_OVER, 0])
    trees.read(sink)
    expect([stateOf(0), stateOf(1), trees.released]).toEqual([BLOCK_FREE, BLOCK_FREE, 2])
    expect(sink.calls).toEqual({ '7/1': 1, '7/1/2': 9 })
  })

  it('after contexts are renumbered, reads of the trees in the buffer continue, and contexts in a collapsed row are looked up again', () => {
    take(0, 7)
    write(1, 0, TOP, 0)
    write(2, 1, 1, 1)
    write(3, 2, 2, 1)
    trees.read(sink)
    trees.moved(Int32Array.of(0, 1, 9), (it) => it !== 9)
    let asked = 0
    const contextOf = sink.contextOf.bind(sink)
    sink.contextOf = (...context) => {
      asked++
      return contextOf(...context)
    }
    count(2, 2)
    count(3, 3)
    trees.read(sink)
    expect(sink.calls).toEqual({ '7/1': 2, '7/1/2': 3 })
    expect(asked).toBe(1)
  })

  it('tree blocks are added before all blocks are used, within the initial file size', () => {
    const { size, blocks } = statSync(join(dir, 'ring'))
    for (const block of [0, 1, 2, 3]) take(block, 7)
    trees.read(sink)
    const header = new Int32Array(1)
    readSync(fd, header, 0, 4, RING_BLOCKS)
    expect(header[0]).toBe(6)
    const now = statSync(join(dir, 'ring'))
    expect(now.size).toBe(size)
    expect(now.blocks).toBeGreaterThanOrEqual(blocks + (2 * BLOCK_BYTES) / 512)
  })

  it('if no tree block can be added, the target is informed, and the reason is reported when all blocks are used', () => {
    const header = (): number => {
      const read = new Uint32Array(1)
      readSync(fd, read, 0, 4, RING_BLOCKS)
      return read[0]
    }
    for (const block of [0, 1, 2]) take(block, 7)
    write(1, 0, TOP, 0)
    write(2, 1, 1, 1)
    disk.error = 'ENOSPC'
    trees.read(sink)
    expect([header(), trees.full]).toEqual([4, null])
    take(3, 8)
    trees.read(sink)
    expect(header()).toBe(0x8000_0004)
    expect(trees.full).toEqual({ contexts: 4 * (RECORDS - 1), code: 'ENOSPC' })
    disk.error = ''
    count(2, 5)
    trees.read(sink)
    expect([header(), sink.calls['7/1']]).toEqual([0x8000_0004, 5])
  })

  it('the maximum number of tree blocks is reported when all blocks are used', () => {
    const path = join(dir, 'most')
    createRing(path, { ...CHUNKS, blockCount: MAX_BLOCKS - 1 })
    const most = TreeBlocks.open(path)
    const all = openSync(path, 'r+')
    const taken = (blocks: number): void => {
      writeSync(all, new Int32Array(blocks).fill(BLOCK_TAKEN), 0, blocks * 4, AT)
    }
    taken(MAX_BLOCKS - 1)
    most.read(sink)
    most.read(sink)
    expect(most.full).toBeNull()
    taken(MAX_BLOCKS)
    most.read(sink)
    expect(most.full).toEqual({ contexts: MAX_BLOCKS * (RECORDS - 1), code: null })
    closeSync(all)
    most.close()
  })

  it('the heartbeat function is called every 64 tree blocks', () => {
    const path = join(dir, 'many')
    const blockCount = 1024
    createRing(path, { ...CHUNKS, blockCount })
    const many = TreeBlocks.open(path)
    const all = openSync(path, 'r+')
    writeSync(all, new Int32Array(blockCount).fill(BLOCK_OVER), 0, blockCount * 4, AT)
    let signs = 0
    many.read(sink, () => signs++)
    // Progress is reported in three passes, in which the blocks are read, checked and returned.
    expect(signs).toBeGreaterThanOrEqual((3 * blockCount) / 64)
    expect(many.released).toBe(blockCount)
    writeSync(all, new Int32Array(blockCount).fill(BLOCK_TAKEN), 0, blockCount * 4, AT)
    signs = 0
    many.read(sink, () => signs++) // and half as many blocks are created
    expect(signs).toBeGreaterThanOrEqual((2.5 * blockCount) / 64)
    closeSync(all)
    many.close()
  })

  it('random tree blocks are refused with a jfluid error or decoded into few contexts', () => {
    let [sound, placed] = [0, 0]
    let seed = 1
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      return Math.floor((seed / 2 ** 32) * below)
    }
    for (let round = 0; round < 200; round++) {
      // With many invalid method ids, nearly every round ends with an error.
      const wild = round % 2 === 0 ? 3 : 3000
      const words = Int32Array.from({ length: (4 * BLOCK_BYTES) / 4 }, () => {
        if (random(wild) === 0) return random(2 ** 32)
        return random(8) === 0 ? TOP : random(4 * RECORDS)
      })
      writeSync(fd, words, 0, words.byteLength, blockAt(0))
      for (const block of [0, 1, 2, 3]) {
        state(block, random(5))
        if (random(2) === 0) store(blockAt(block), 1 + random(3))
      }
      const builder = new CctBuilder()
      const again = TreeBlocks.open(join(dir, 'ring'))
      try {
        again.read(builder)
        again.read(builder)
        sound++
        placed += builder.contexts
      } catch (error) {
        expect(error).toBeInstanceOf(JfluidError)
      } finally {
        again.close()
      }
      expect(builder.contexts).toBeLessThanOrEqual(8 * RECORDS)
    }
    // The random words are the same in each run of the test. Many rounds succeed, and many end with an error.
    expect(sound).toBeGreaterThan(50)
    expect(sound).toBeLessThan(150)
    expect(placed).toBeGreaterThan(1000)
  })

  it('the chunks of the buffer have the same positions with trees and without trees', () => {
    const ring = openRing(join(dir, 'ring'))
    expect(ring.chunkCount).toBe(1)
    ring.close()
  })
})
