import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { MAX_EPOCHS } from '../../src/events/event-halves.ts'
import { CannotCreateRing, createRing, ForeignRing, openRing, type Ring } from '../../src/events/ring.ts'
import { CHUNK_BUSY, CHUNK_EVENTS, CHUNK_FREE, CHUNK_FULL, ringBytes } from '../../src/events/ring-layout.ts'
import { enterWord, exitWord, FakeTarget } from './fake-target.ts'

let dir: string
let path: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'jfluid-ring-'))
  path = join(dir, 'ring')
})
afterEach(() => {
  rmSync(dir, { recursive: true, force: true })
  delete process.env.JFLUID_NO_MMAP
})

describe('creation of the event buffer', () => {
  it('the event buffer is a private file in which every byte is already written, so that no write of the target can fail', () => {
    const bytes = createRing(path)
    const stat = statSync(path)
    assert.equal(bytes, ringBytes(32768, 512))
    assert.equal(stat.size, bytes)
    assert.ok(stat.blocks * 512 >= bytes)
    assert.equal(stat.mode & 0o777, 0o600)
  })

  it('the event buffer is never created in an existing file', () => {
    writeFileSync(path, 'mine')
    assert.throws(() => createRing(path), CannotCreateRing)
    assert.equal(statSync(path).size, 4)
  })

  it('the creation of the event buffer fails with a hint if disk space or a permission is missing', () => {
    const full = new CannotCreateRing('/dev/shm/x', 17 * 2 ** 20, {
      cause: Object.assign(new Error('no space'), { code: 'ENOSPC' }),
    })
    assert.equal(full.message, 'no room for the event buffer /dev/shm/x of 17 MiB')
    assert.match(full.hint, /^Free 16 MiB/)
    assert.equal(full.exitCode, 73)
    assert.throws(() => createRing(join(dir, 'none', 'ring')), /cannot create the event buffer .*: ENOENT/)
  })

  it('a failed creation of the event buffer leaves no file', () => {
    const owner = { uid: -2, gid: -2 } // no file can be given to these ids
    assert.throws(() => createRing(path, { owner }), CannotCreateRing)
    assert.throws(() => statSync(path), /ENOENT/)
  })
})

describe('opening an invalid event buffer', () => {
  it.each([
    ['an empty file', ''],
    ['a text file', 'a file of another format, longer than a header'],
  ])('a file that is not an event buffer is refused: %s', (_what, text) => {
    writeFileSync(path, text)
    assert.throws(() => openRing(path), ForeignRing)
  })

  it('a truncated event buffer is refused', () => {
    createRing(path, { chunkBytes: 4096, chunkCount: 2 })
    writeFileSync(path, new Uint8Array(4096), { flag: 'a' })
    assert.throws(() => openRing(path), /2 chunks of 4096 bytes in 20480 bytes/)
  })
})

describe.each([
  ['mapped', false],
  ['read as a file', true],
])('an event buffer that is %s', (_way, asFile) => {
  let ring: Ring
  let target: FakeTarget
  beforeEach(() => {
    if (asFile) process.env.JFLUID_NO_MMAP = '1'
    createRing(path, { chunkBytes: 4096, chunkCount: 3 })
    target = new FakeTarget(path, 4096, 3)
    ring = openRing(path)
    rmSync(path) // the mapped file still works after it is unlinked
  })
  afterEach(() => {
    ring.close()
    target.close()
  })

  it('the event buffer has the requested size', () => {
    assert.equal(ring.mapped, !asFile)
    assert.deepEqual([ring.chunkBytes, ring.chunkCount], [4096, 3])
  })

  it('chunks of the event buffer are readable while the target writes to the chunks', () => {
    ring.refresh()
    assert.equal(ring.state(2), CHUNK_FREE)
    assert.equal(ring.writer(2), 0)
    target.put(2, CHUNK_BUSY, 7, 4, [enterWord(1, 10), exitWord(1, 20)], 5)
    ring.refresh()
    assert.equal(ring.state(2), CHUNK_BUSY)
    assert.deepEqual([ring.writer(2), ring.sequence(2), ring.epoch(2)], [7, 4, 5])
    const end = ring.look(2, CHUNK_EVENTS, 0)
    assert.equal(end, CHUNK_EVENTS + 16)
    const first = ring.origin(2, 0) + CHUNK_EVENTS / 4
    assert.deepEqual([...ring.words(0).subarray(first, first + 2)], enterWord(1, 10))
  })

  it.each([0, 1, 2, 3, 7, 100, 509, 510])(
    'the reader finds the end of %i events, from any position',
    (events) => {
      target.put(
        1,
        CHUNK_BUSY,
        1,
        0,
        Array.from({ length: events }, (_, i) => enterWord(1, i)),
      )
      ring.refresh()
      for (const from of [0, 1, events >> 1, events]) {
        if (from > events) continue
        assert.equal(ring.look(1, CHUNK_EVENTS + from * 8, 1), CHUNK_EVENTS + events * 8)
      }
    },
  )

  it('a read of a chunk ends at the end of that chunk', () => {
    const events = Array.from({ length: 510 }, (_, i) => enterWord(1, i))
    target.put(0, CHUNK_FULL, 1, 0, events)
    target.put(1, CHUNK_FULL, 1, 1, events)
    ring.refresh()
    assert.equal(ring.look(0, CHUNK_EVENTS, 0), 4096)
    assert.equal(ring.look(0, 4096, 0), 4096)
  })

  it('a chunk returned to the target is empty', () => {
    target.put(1, CHUNK_FULL, 3, 0, [enterWord(1, 1), enterWord(2, 2)], 9)
    ring.refresh()
    ring.free(1, CHUNK_EVENTS + 16)
    assert.equal(target.state(1), CHUNK_FREE)
    for (let at = 0; at < 4096; at += 4) assert.equal(target.load(target.offset(1) + at), 0)
    ring.refresh()
    assert.deepEqual([ring.state(1), ring.writer(1)], [CHUNK_FREE, 0])
  })

  it('the client increments the heartbeat in the buffer, and reads in the buffer whether the target has ended', () => {
    ring.beat()
    ring.beat()
    assert.equal(target.heartbeat(), 2)
    ring.refresh()
    assert.deepEqual([ring.ended(), ring.starving()], [0, 0])
    target.end()
    ring.refresh()
    assert.equal(ring.ended(), 1)
  })

  it('an epoch is refused if its ticks exceed 2^58', () => {
    target.put(0, CHUNK_BUSY, 1, 0, [], MAX_EPOCHS)
    ring.refresh()
    assert.equal(ring.epoch(0), -1)
  })
})
