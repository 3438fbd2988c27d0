import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { parseStartTicks } from '../../../src/attach/target-process.ts'
import { CONTROL_ADJUST, CONTROL_ROOT } from '../../../src/events/event-layout.ts'
import { createRing } from '../../../src/events/ring.ts'
import {
  CHUNK_BUSY,
  CHUNK_EVENTS,
  CHUNK_FREE,
  CHUNK_FULL,
  CHUNK_IDLE,
  RING_STARVING,
  ringBytes,
} from '../../../src/events/ring-layout.ts'
import {
  BLOCK_FREE,
  BLOCK_OVER,
  BLOCK_STATES_BYTES,
  BLOCK_TAKEN,
  RECORD_BYTES,
} from '../../../src/events/tree-layout.ts'
import { factsOf, type RecordedThread, Recorder } from '../../../src/session/recorder/recorder.ts'
import { FREE, idOf, show } from '../../cct/notation.ts'
import { controlWord, enterWord, exitWord, FakeTarget, threadWord } from '../../events/fake-target.ts'
import { FULL } from '../../support/lane.ts'
import { itOnlyIf } from '../../support/only-if.ts'

const CHUNKS = 8
const PER_CHUNK = (4096 - CHUNK_EVENTS) / 8
const MAIN = idOf('main')
const WORK = idOf('work')
const ROOT = controlWord(CONTROL_ROOT)

/** The file that a worker thread runs: the built file. */
const worker = new URL('../../../dist/session/recorder/recorder-worker.js', import.meta.url)

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 2000; i++) {
    if (await holds()) return
    await sleep(5)
  }
  throw new Error(`never: ${what}`)
}

describe.each([
  ['mapped into memory', '0'],
  ['read as a file', '1'],
])('a recorder whose buffer is %s', (_way, noMmap) => {
  const itMapped = itOnlyIf(noMmap === '0' || FULL, 'does not depend on how it is read: test:full has both')
  let dir: string
  let target: FakeTarget
  let recorder: Recorder
  beforeEach(async () => {
    process.env.JFLUID_NO_MMAP = noMmap
    dir = mkdtempSync('/dev/shm/jfluid-recorder-')
    const path = join(dir, 'ring')
    createRing(path, { chunkBytes: 4096, chunkCount: CHUNKS })
    target = new FakeTarget(path, 4096, CHUNKS)
    recorder = await Recorder.start({ ring: path, workerUrl: worker })
    rmSync(path)
  })
  afterEach(async () => {
    await recorder.stop()
    target.close()
    rmSync(dir, { recursive: true, force: true })
    delete process.env.JFLUID_NO_MMAP
  })

  const names = new Map<number, RecordedThread>([[2, { id: 31, name: 'http-1', virtual: false }]])
  const snapshot = (threads: ReadonlyMap<number, RecordedThread> = names, nowTicks?: number) =>
    recorder.snapshot({
      mode: 'exact',
      calibration: FREE,
      nsPerTick: 1,
      threads,
      ...(nowTicks !== undefined && { nowTicks }),
    })
  /** Waits as long as another, undisturbed recorder needs for ten rounds. */
  const tenRoundsOfAnother = () => roundsOfAnother(10)
  async function roundsOfAnother(rounds: number): Promise<void> {
    const path = join(dir, 'another')
    createRing(path, { chunkBytes: 4096, chunkCount: 1 })
    const other = new FakeTarget(path, 4096, 1)
    const well = await Recorder.start({ ring: path, workerUrl: worker })
    const beat = other.heartbeat()
    await until(`${rounds} rounds`, () => other.heartbeat() > beat + rounds)
    await well.stop()
    other.close()
  }
  const read = (events: number) =>
    until(`${events} events`, async () => (await recorder.stats()).events === events)

  itMapped('the recorder reports recent activity, open calls and the time of first calls', async () => {
    const begun = performance.timeOrigin + performance.now()
    target.put(0, CHUNK_BUSY, 2, 0, [ROOT, enterWord(MAIN, 10), enterWord(WORK, 20), exitWord(WORK, 30)])
    await read(3)
    const inside = (await snapshot()).threads.map(({ activity }) => activity?.inside)
    assert.deepEqual(inside, [1])
    assert.deepEqual([...recorder.firstCalls.keys()].sort(), [MAIN, WORK].sort())
    // The worker and this test read the time of day at different moments, and the machine's clock may be corrected in between.
    const NEAR_MS = 100
    for (const at of recorder.firstCalls.values()) {
      const now = performance.timeOrigin + performance.now()
      assert.ok(at >= begun - NEAR_MS && at <= now + NEAR_MS, `${at - begun} ms`)
    }
    await until('the second is over', async () => {
      const [thread] = (await snapshot()).threads
      return thread?.activity?.perSecond.at(-1) === 3
    })
  })

  it('root calls are measured from the time of the request on, even by a recorder of per-thread trees', async () => {
    recorder.probesCost(FREE)
    recorder.timeRoots()
    await recorder.stats() // commands are processed in order: this one is answered before the first event is read
    target.put(0, CHUNK_BUSY, 2, 0, [ROOT, enterWord(MAIN, 0), enterWord(WORK, 10), exitWord(WORK, 40)])
    target.store(target.offset(0) + CHUNK_EVENTS + 32, ...exitWord(MAIN, 100))
    await read(4)
    const { rootCalls } = await snapshot()
    assert.deepEqual([rootCalls?.count, rootCalls?.total], [1, 100])
  })

  it('a cost of the probes that is known later is subtracted from later root calls only', async () => {
    recorder.timeRoots()
    await recorder.stats() // commands are processed in order
    const [root, at] = [0, target.offset(0) + CHUNK_EVENTS]
    target.put(0, CHUNK_BUSY, 2, root, [ROOT, enterWord(MAIN, 0), exitWord(MAIN, 100)])
    await read(2)
    recorder.probesCost({ innerTicks: 7, outerTicks: 9 })
    await recorder.stats()
    target.store(at + 24, ...ROOT, ...enterWord(MAIN, 200), ...exitWord(MAIN, 300))
    await read(4)
    assert.equal((await snapshot()).rootCalls?.total, 100 + 100 - 7)
  })

  it('the recorder shows events with thread names while the target still writes', async () => {
    target.put(0, CHUNK_BUSY, 2, 0, [ROOT, enterWord(MAIN, 0), enterWord(WORK, 10)])
    await read(2)
    const open = await snapshot(names, 25)
    assert.equal(show(open.merged), 'main 1x 10ns ( work 1x 15ns )')
    target.store(target.offset(0) + CHUNK_EVENTS + 24, ...exitWord(WORK, 40), ...exitWord(MAIN, 100))
    await read(4)
    const { merged, threads, events, healed } = await snapshot()
    assert.equal(show(merged), 'main 1x 70ns ( work 1x 30ns )')
    assert.deepEqual(
      threads.map((t) => [t.id, t.name, show(t.tree)]),
      [[31, 'http-1', 'main 1x 70ns ( work 1x 30ns )']],
    )
    assert.deepEqual([events, healed], [4, 0])
    assert.equal((await recorder.stats()).mapped, noMmap === '0')
  })

  itMapped('the recorder lists called methods, including open calls and calls before a reset', async () => {
    const all = [MAIN, WORK, idOf('other'), 123_456]
    assert.deepEqual(await recorder.called(all), [])
    target.put(0, CHUNK_BUSY, 2, 0, [ROOT, enterWord(MAIN, 0)])
    await read(1)
    assert.deepEqual(await recorder.called(all), [MAIN])
    target.store(target.offset(0) + CHUNK_EVENTS + 16, ...enterWord(WORK, 10), ...exitWord(WORK, 40))
    await read(3)
    recorder.reset(50)
    assert.deepEqual(await recorder.called(all), [MAIN, WORK])
  })

  itMapped('the recorder polls less often if threads never wait, and still reads all events', async () => {
    recorder.noThreadWaits()
    target.put(0, CHUNK_BUSY, 2, 0, [ROOT, enterWord(MAIN, 0)])
    await read(1)
    const beat = target.heartbeat()
    await roundsOfAnother(100)
    const rounds = target.heartbeat() - beat
    assert.ok(rounds < 80, `${rounds} rounds, in which another recorder made 100`)
    target.store(target.offset(0) + CHUNK_EVENTS + 16, ...exitWord(MAIN, 40))
    await read(2)
  })

  it('the recorder frees full chunks and advances the heartbeat', async () => {
    const calls = Array.from({ length: PER_CHUNK }, (_, i) =>
      i % 2 === 0 ? enterWord(MAIN, i) : exitWord(MAIN, i),
    )
    const before = target.heartbeat()
    for (let round = 0; round < 3; round++) {
      for (let chunk = 0; chunk < CHUNKS; chunk++)
        target.put(chunk, CHUNK_FULL, 2, round * CHUNKS + chunk, calls)
      await until('all chunks are free', () => {
        for (let chunk = 0; chunk < CHUNKS; chunk++) if (target.state(chunk) !== CHUNK_FREE) return false
        return true
      })
    }
    assert.equal((await recorder.stats()).events, 3 * CHUNKS * PER_CHUNK)
    await until('the heart beats', () => target.heartbeat() > before + 3)
  })

  it('the recorder stores the process id, thread id and start time of the reader in the buffer', () => {
    const [pid, thread, since] = target.reader()
    assert.equal(pid, process.pid)
    assert.notEqual(thread, pid) // the main thread may be busy while the reader is not
    assert.equal(parseStartTicks(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')), since)
  })

  itMapped('the recorder shows unnamed threads, and one tree for all virtual threads', async () => {
    target.put(0, CHUNK_BUSY, 2, 0, [enterWord(MAIN, 0), exitWord(MAIN, 5)])
    target.put(1, CHUNK_BUSY, 3, 0, [
      enterWord(MAIN, 0),
      threadWord(9, 0),
      enterWord(WORK, 0),
      exitWord(WORK, 2),
    ])
    await read(5)
    const { threads } = await snapshot()
    assert.deepEqual(
      threads.map((t) => t.name),
      ['http-1', 'thread #3', 'virtual threads'],
    )
  })

  itMapped('the recorder subtracts pauses, separates the warm-up, and restarts from zero', async () => {
    target.put(0, CHUNK_BUSY, 2, 0, [
      enterWord(MAIN, 0),
      controlWord(CONTROL_ADJUST, 50_000),
      enterWord(WORK, 250_000),
    ])
    await read(2)
    recorder.pause(100_000, 130_000)
    recorder.markWarmup()
    const { merged, waitNs } = await snapshot()
    assert.equal(show(merged), 'main 1x 170000ns ( work 1x 0ns )')
    assert.equal(show(merged, 'warmupSelfNs', 'warmupCalls'), 'main 1x 170000ns ( work 1x 0ns )')
    assert.equal(waitNs, 50_000)
    recorder.reset()
    target.store(target.offset(0) + CHUNK_EVENTS + 24, ...exitWord(WORK, 250_010))
    await read(1)
    assert.equal(show((await snapshot()).merged), 'main 0x 0ns ( work 0x 10ns )')
  })

  itMapped('the recorder reports that free chunks are scarce if idle chunks can be reclaimed', async () => {
    let told = 0
    recorder.onScarce = () => told++
    for (let chunk = 0; chunk < CHUNKS; chunk++) {
      target.put(chunk, chunk < 2 ? CHUNK_IDLE : CHUNK_BUSY, chunk + 1, 0, [
        enterWord(MAIN, 0),
        exitWord(MAIN, 1),
      ])
    }
    await until('told', () => told > 0)
    target.reclaim()
    await until('two are free', async () => (await recorder.stats()).freeChunks === 2)
  })

  itMapped('the recorder reports once that the target has stopped recording', async () => {
    let told = 0
    recorder.onEnded = () => told++
    target.end()
    await until('told', () => told > 0)
    const beat = target.heartbeat()
    await until('ten rounds more', () => target.heartbeat() > beat + 10)
    await recorder.stats() // the messages of a round arrive before this answer
    assert.equal(told, 1)
  })

  it('the recorder reads the remaining events and closes open frames at the end', async () => {
    target.put(0, CHUNK_IDLE, 2, 0, [enterWord(MAIN, 0), enterWord(WORK, 10)])
    target.put(1, CHUNK_FULL, 3, 0, [enterWord(MAIN, 5)])
    await recorder.finish(100)
    assert.equal(show((await snapshot(names, 500)).merged), 'main 2x 105ns ( work 1x 90ns )')
    await recorder.finish()
    assert.deepEqual([(await recorder.stats()).healed, (await recorder.stats()).lastTicks], [0, 10])
  })

  it('if the buffer is corrupted, the recorder ends with an error, keeps the data recorded so far and stops its heartbeat', async () => {
    const errors: Error[] = []
    recorder.onError = (error) => errors.push(error)
    target.put(0, CHUNK_BUSY, 2, 0, [enterWord(MAIN, 0), exitWord(MAIN, 8), [7, 7]])
    await until('told', () => errors.length > 0)
    assert.match(errors[0].message, /unknown event 0x0000000700000007, of writer 2/)
    assert.equal(show((await snapshot()).merged), 'main 1x 8ns')
    const beat = target.heartbeat()
    await tenRoundsOfAnother()
    assert.equal(target.heartbeat(), beat)
    await recorder.finish()
  })

  it('the recorder never blocks the main thread, even with many contexts and snapshots', async () => {
    const callers = FULL ? 300 : 20 // of 1000 contexts each
    const events: [number, number][] = []
    let ticks = 0
    for (let a = 1; a <= callers; a++) {
      events.push(enterWord(a, ticks++))
      for (let b = 1; b <= 1000; b++) events.push(enterWord(b, ticks++), exitWord(b, ticks++))
      events.push(exitWord(a, ticks++))
    }
    let worst = 0
    let last = performance.now()
    const timer = setInterval(() => {
      worst = Math.max(worst, performance.now() - last)
      last = performance.now()
    }, 1)
    let sequence = 0
    for (let from = 0; from < events.length; from += PER_CHUNK) {
      const chunk = sequence % CHUNKS
      while (target.state(chunk) !== CHUNK_FREE) await sleep(1)
      target.put(chunk, CHUNK_FULL, 2, sequence++, events.slice(from, from + PER_CHUNK))
      if (sequence % (FULL ? 400 : 40) === 0) await snapshot()
    }
    await read(events.length)
    const { merged } = await snapshot()
    clearInterval(timer)
    assert.equal(merged.count, callers * 1001)
    // The longest delay is 10 ms on an idle machine. The limit is higher for a busy machine.
    assert.ok(worst < 500, `the main thread stood still for ${worst} ms`)
  })
})

describe('a recorder of per-thread trees', () => {
  const TREES = ringBytes(4096, CHUNKS)
  const RECORDS = TREES + BLOCK_STATES_BYTES
  let dir: string
  let target: FakeTarget
  let recorder: Recorder
  let errors: Error[]
  beforeEach(async () => {
    dir = mkdtempSync('/dev/shm/jfluid-recorder-')
    const path = join(dir, 'ring')
    createRing(path, { chunkBytes: 4096, chunkCount: CHUNKS, blockCount: 64 })
    target = new FakeTarget(path, 4096, CHUNKS)
    recorder = await Recorder.start({ ring: path, workerUrl: worker, trees: true })
    errors = []
    recorder.onError = (error) => errors.push(error)
    rmSync(path)
  })
  afterEach(async () => {
    await recorder.stop()
    target.close()
    rmSync(dir, { recursive: true, force: true })
  })

  const setBlock = (state: number): void => target.store(TREES, state)
  /** Writes a record of the first block, which belongs to thread 2. */
  const write = (record: number, parent: number, method: number, calls: number): void => {
    const at = RECORDS + record * RECORD_BYTES
    target.store(RECORDS, 2)
    target.store(at, calls, 0, 0, 0, method, parent)
  }
  const snapshot = async (): Promise<string> => {
    const names = new Map([[2, { id: 31, name: 'http-1', virtual: false }]])
    const { merged } = await recorder.snapshot({
      mode: 'exact',
      calibration: FREE,
      nsPerTick: 1,
      threads: names,
    })
    return show(merged)
  }
  /** Larger than any record number and any method id. */
  const IMPOSSIBLE = 2 ** 30
  async function overwritten(): Promise<void> {
    write(1, 0, -1, 0)
    write(2, 1, MAIN, 3)
    setBlock(BLOCK_TAKEN)
    assert.equal(await snapshot(), 'main 3x 0ns')
    write(3, 2, IMPOSSIBLE, 1) // the next round would read this record in 200 ms
  }

  it('a recorder of per-thread trees keeps its data and can finish after a tree was corrupted', async () => {
    await overwritten()
    await recorder.finish()
    assert.equal(await snapshot(), 'main 3x 0ns')
    assert.match(errors[0]!.message, /an impossible call/)
    assert.equal(errors.length, 1)
  })

  it('a recorder of per-thread trees still accepts a snapshot and a reset after a tree was corrupted', async () => {
    await overwritten()
    assert.equal(await snapshot(), 'main 3x 0ns')
    assert.equal(errors.length, 1)
    recorder.reset()
    assert.equal(await snapshot(), '')
    await recorder.stop()
    assert.equal(errors.length, 1)
  })

  it('a recorder of per-thread trees can be stopped after a tree was corrupted', async () => {
    await overwritten()
    await recorder.stop()
  })

  it('a recorder of per-thread trees reads the trees more often while threads wait, but not at every request of a thread', async () => {
    write(1, 0, -1, 0)
    let looks = 0
    let called = 0
    const begun = performance.now()
    while (performance.now() < begun + 400) {
      target.store(RING_STARVING, ++called)
      if (target.load(TREES) === BLOCK_FREE) {
        target.store(RECORDS, 2)
        setBlock(BLOCK_OVER) // the next poll returns the block
        looks++
      }
      await sleep(1)
    }
    const most = (performance.now() - begun) / 20 + 2
    assert.ok(looks > 3 && looks <= most, `${looks} looks, ${called} calls for help`)
  })
})

describe('a recorder that cannot start or has stopped', () => {
  it('a recorder that cannot start reports the reason', async () => {
    await assert.rejects(Recorder.start({ ring: '/nowhere/ring', workerUrl: worker }), /ENOENT/)
  })

  it('a recorder that runs out of memory reports the lack of memory with a hint and without Node.js internals', () => {
    const gone = Object.assign(new Error('Worker terminated'), { code: 'ERR_WORKER_OUT_OF_MEMORY' })
    assert.equal(factsOf(gone).message, 'the recording thread ran out of memory')
    assert.match(factsOf(gone).hint, /--max-old-space-size/)
  })

  it('a recorder that has stopped rejects requests, and can be stopped again', async () => {
    const dir = mkdtempSync('/dev/shm/jfluid-recorder-')
    createRing(join(dir, 'ring'), { chunkBytes: 4096, chunkCount: 1 })
    const recorder = await Recorder.start({ ring: join(dir, 'ring'), workerUrl: worker })
    await recorder.stop()
    await recorder.stop()
    await assert.rejects(recorder.stats(), /has stopped/)
    rmSync(dir, { recursive: true })
  })
})
