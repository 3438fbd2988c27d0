// The target of the benches of the view: a process that writes a program's events (program.mjs) into a buffer, chunk by chunk, at the
// requested rate.
//
//   node feeder.mjs <ring> <contexts> <M events per second>       prints "met" when every context has been entered

import { openSync, readSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHUNK_EVENTS, program } from './program.mjs'
import { load } from './support.mjs'

const { CHUNK_FREE, CHUNK_FULL, chunksOffset, RING_CHUNK_BYTES, RING_CHUNK_COUNT, RING_STATES } =
  await load('events/ring-layout.js')

const [path, contexts, rate] = process.argv.slice(2)
const fd = openSync(path, 'r+')
const header = new Uint32Array(4)
readSync(fd, header, 0, 16, 0)
const count = header[RING_CHUNK_COUNT / 4]
const bytes = header[RING_CHUNK_BYTES / 4]
const states = new Uint32Array(count)
const sequences = new Uint32Array(256)
let next = 0

/** Waits until the next chunk in order is free, and writes it. */
async function write([thread, words]) {
  for (;;) {
    readSync(fd, states, 0, count * 4, RING_STATES)
    if (states[next] === CHUNK_FREE) break
    await sleep(1)
  }
  const at = chunksOffset(count) + next * bytes
  writeSync(fd, words, 0, words.length * 4, at + 16)
  writeSync(fd, Uint32Array.of(thread, sequences[thread]++), 0, 8, at)
  writeSync(fd, Uint32Array.of(CHUNK_FULL), 0, 4, RING_STATES + next * 4)
  next = (next + 1) % count
}

const played = program(Number(contexts))
for (const piece of played.discover()) await write(piece)
console.log('met')
const begun = performance.now()
for (let events = 0; ; events += CHUNK_EVENTS) {
  const ahead = events / (Number(rate) * 1000) - (performance.now() - begun)
  if (ahead > 5) await sleep(ahead)
  for (const piece of played.run(1)) await write(piece)
}
