// Number of events per second that the client decodes and adds to the tree, and bytes per node.
//
//   node --expose-gc test/bench/decode.mjs [directory of other compiled sources]
//
// Three programs, each on a tree of 10,000 and of 1,000,000 contexts:
//
//   mix      eight threads in turn, one chunk each, deep and wide, with branches and loops: program.mjs
//   sweep    one thread, four children per caller; calls everything below a method in order, and each leaf four times
//   random   the same tree; calls a random child or returns, with equal probability, so nothing can be predicted
//
// Measures decoding and building with the events of one chunk at a time, as the reader does. The processor time of this process is used, so
// other load on the machine matters little. The whole tree has been created before. Prints one line per case: minimum, median, maximum of
// ROUNDS rounds. JFLUID_BENCH_ROUNDS and JFLUID_BENCH_EVENTS make the bench shorter. Bytes per node are the size of all arrays of the
// builder, including its index, as V8 counts them.

import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { modules } from '../support/modules.mjs'
import { CHUNK_EVENTS, program } from './program.mjs'

const compiled = resolve(process.argv[2] ?? (await modules()))
const load = (file) => import(pathToFileURL(join(compiled, file)).href)
const { CctBuilder } = await load('cct/builder.js')
const { snapshotOf } = await load('cct/snapshot.js')
const { decodeEvents, WriterState } = await load('events/decode.js')
const { RingReader } = await load('events/ring-reader.js')
const { createRing, openRing } = await load('events/ring.js')
const { CHUNK_FULL, chunksOffset, RING_STATES } = await load('events/ring-layout.js')

const ROUNDS = Number(process.env.JFLUID_BENCH_ROUNDS ?? 7)
const EVENTS = Number(process.env.JFLUID_BENCH_EVENTS ?? 8_000_000)
const FANOUT = 4
const ENTER = 1
const EXIT = 2
const TICKS_PER_EVENT = 37
const OPEN = { mayBegin: () => true, mayTakeUp: () => true }

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]
const spread = (values, digits = 1) =>
  [Math.min(...values), median(values), Math.max(...values)]
    .map((v) => v.toFixed(digits).padStart(7))
    .join(' ')

let seed = 20031
const random = (below) => {
  seed ^= seed << 13
  seed ^= seed >>> 17
  seed ^= seed << 5
  return (seed >>> 0) % below
}

/** Returns the method of node n, whose children are 4n+1 … 4n+4. Siblings are different methods. `methods`: number of methods. */
const methodOf = (node, methods) => 1 + ((node * 7919) % methods)

class Stream {
  constructor(events) {
    this.words = new Uint32Array(events * 2)
    this.at = 0
    this.ticks = 0
  }

  get full() {
    return this.at === this.words.length
  }

  event(kind, method) {
    if (this.full) return
    this.ticks += TICKS_PER_EVENT
    this.words[this.at++] = this.ticks >>> 0
    this.words[this.at++] = (kind * 2 ** 30 + method * 256 + Math.floor(this.ticks / 2 ** 32)) >>> 0
  }
}

/** Enters every context below node 0, in order. Stops when the stream is full, at any place. */
function sweep(stream, nodes, methods, leafCalls) {
  const stack = [0]
  const next = [1]
  stream.event(ENTER, methodOf(0, methods))
  while (stack.length > 0 && !stream.full) {
    const top = stack.length - 1
    const child = next[top]
    if (child > stack[top] * FANOUT + FANOUT || child >= nodes) {
      stream.event(EXIT, methodOf(stack.pop(), methods))
      next.pop()
      continue
    }
    next[top]++
    const method = methodOf(child, methods)
    if (child * FANOUT + 1 >= nodes) {
      for (let i = 0; i < leafCalls; i++) {
        stream.event(ENTER, method)
        stream.event(EXIT, method)
      }
    } else {
      stream.event(ENTER, method)
      stack.push(child)
      next.push(child * FANOUT + 1)
    }
  }
}

function wander(stream, nodes, methods) {
  const stack = []
  while (!stream.full) {
    const node = stack[stack.length - 1]
    const leaf = node !== undefined && node * FANOUT + FANOUT >= nodes
    if (node === undefined || (!leaf && random(2) === 0)) {
      const child = node === undefined ? 0 : node * FANOUT + 1 + random(FANOUT)
      stack.push(child)
      stream.event(ENTER, methodOf(child, methods))
      // Starts at a random leaf, so that the whole tree is used and not only its top.
      if (child === 0) {
        for (let at = 0; at * FANOUT + FANOUT < nodes; ) {
          at = at * FANOUT + 1 + random(FANOUT)
          stack.push(at)
          stream.event(ENTER, methodOf(at, methods))
        }
      }
    } else {
      stream.event(EXIT, methodOf(stack.pop(), methods))
    }
  }
}

function feed(builder, state, words) {
  for (let from = 0; from < words.length; from += CHUNK_EVENTS * 2) {
    const to = Math.min(from + CHUNK_EVENTS * 2, words.length)
    if (decodeEvents(words, from, to, state, builder, OPEN) !== to) throw new Error('unknown event')
  }
}

function feedPieces(builder, states, pieces) {
  for (const [thread, words] of pieces) feed(builder, states[thread], words)
}

const cpuMs = () => process.cpuUsage().user / 1e3 + process.cpuUsage().system / 1e3

/** Returns M events per second of processor time, for each round. */
function ratesOf(events, round) {
  const rates = []
  for (let i = 0; i < ROUNDS; i++) {
    const t0 = cpuMs()
    round()
    rates.push(events / 1e3 / (cpuMs() - t0))
  }
  return rates
}

/** Waits until memory is freed. V8 frees buffers a short time after the collection that found them. */
async function settle() {
  globalThis.gc?.()
  await new Promise((resolve) => setTimeout(resolve, 100))
  globalThis.gc?.()
}

console.log(`${cpus()[0].model}, ${cpus().length} cores; node ${process.version}, V8 ${process.versions.v8}`)
console.log(`${ROUNDS} rounds of ${EVENTS / 1e6} M events; min, median, max\n`)

for (const nodes of [10_000, 1_000_000]) {
  const played = program(nodes)
  const discovery = played.discover()
  await settle()
  const before = process.memoryUsage().arrayBuffers
  const built = new CctBuilder()
  // The gap log and the arrays indexed by thread number exist before the first node.
  const own = process.memoryUsage().arrayBuffers - before
  const states = Array.from({ length: played.threads + 1 }, (_, i) => new WriterState(i))
  const begin = process.hrtime.bigint()
  feedPieces(built, states, discovery)
  const newMs = Number(process.hrtime.bigint() - begin) / 1e6
  await settle()
  const bytes = process.memoryUsage().arrayBuffers - before - own
  console.log(
    `${nodes} contexts, up to ${played.deepest()} deep, ${played.widest()} wide: built in ${newMs.toFixed(0)} ms; ${(bytes / built.contexts).toFixed(1)} bytes a node (gc: ${globalThis.gc !== undefined})`,
  )
  const work = played.run(EVENTS)
  const rates = ratesOf(work.length * CHUNK_EVENTS, () => {
    built.closeOpen(2 ** 52)
    feedPieces(built, states, work)
  })
  console.log(`  mix      ${spread(rates)} M events/s, ${played.touched()} contexts entered`)

  const methods = nodes / 5 + 1
  const first = new Stream(nodes * 2)
  sweep(first, nodes, methods, 1)
  const regular = new CctBuilder()
  feed(regular, new WriterState(1), first.words)
  for (const [name, fill] of [
    [
      'sweep',
      (stream) => {
        while (!stream.full) sweep(stream, nodes, methods, 4)
      },
    ],
    ['random', (stream) => wander(stream, nodes, methods)],
  ]) {
    const stream = new Stream(EVENTS)
    fill(stream)
    const rates = ratesOf(EVENTS, () => {
      regular.root()
      feed(regular, new WriterState(1), stream.words)
    })
    console.log(`  ${name.padEnd(8)} ${spread(rates)} M events/s`)
  }
  for (const perThread of [false, true]) {
    const times = []
    for (let round = 0; round < 5; round++) {
      const t0 = cpuMs()
      const calibration = { innerTicks: 3, outerTicks: 2 }
      const { merged } = snapshotOf(built, { calibration, nsPerTick: 1, perThread })
      times.push(cpuMs() - t0)
      if (merged.count < nodes * 0.9) throw new Error('a context is missing')
    }
    console.log(`  picture  ${spread(times)} ms${perThread ? ', with the trees of all threads' : ''}`)
  }
  await throughBuffer(nodes)
}

/**
 * Sends the mix through the buffer: chunks are filled (not timed), polled, zeroed and returned. This process is both reader and writer, so
 * a run with JFLUID_NO_MMAP=1 measures the reader without koffi.
 */
async function throughBuffer(nodes) {
  const CHUNKS = 512
  const path = `/dev/shm/jfluid-bench-${process.pid}`
  createRing(path, { chunkCount: CHUNKS })
  const fd = openSync(path, 'r+')
  const ring = openRing(path)
  rmSync(path)
  const builder = new CctBuilder()
  const reader = new RingReader(ring, builder)
  const played = program(nodes)
  const sequences = new Uint32Array(played.threads + 1)
  /** Returns the processor time in ms that reading these pieces takes. */
  const read = (pieces) => {
    let spent = 0
    for (let from = 0; from < pieces.length; from += CHUNKS) {
      for (const [chunk, [thread, words]] of pieces.slice(from, from + CHUNKS).entries()) {
        const offset = chunksOffset(CHUNKS) + chunk * ring.chunkBytes
        writeSync(fd, words, 0, words.length * 4, offset + 16)
        writeSync(fd, Uint32Array.of(thread, sequences[thread]++), 0, 8, offset)
        writeSync(fd, Uint32Array.of(CHUNK_FULL), 0, 4, RING_STATES + chunk * 4)
      }
      const t0 = cpuMs()
      while (reader.poll() > 0);
      spent += cpuMs() - t0
    }
    return spent
  }
  read(played.discover())
  if (builder.contexts < nodes * 0.99) throw new Error('a context is missing')
  const rates = []
  for (let round = 0; round < ROUNDS + 2; round++) {
    const pieces = played.run(EVENTS)
    rates.push((pieces.length * CHUNK_EVENTS) / 1e3 / read(pieces))
  }
  console.log(
    `  mix      ${spread(rates.slice(2))} M events/s through the buffer (${ring.mapped ? 'mapped' : 'read as a file'})`,
  )
  ring.close()
  closeSync(fd)
}
