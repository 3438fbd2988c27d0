// The words of its chunk that a thread writes for every event are on cache lines that no other thread writes for every event.
// 128 bytes: processors fetch lines in pairs.

import { describe, expect, it } from 'vitest'
import {
  CHUNK_EVENTS,
  chunksOffset,
  RING_ENDED,
  RING_HEARTBEAT,
  RING_STARVING,
  RING_STATES,
} from '../../src/events/ring-layout.ts'

const LINE = 128

describe('ring words written at every event', () => {
  const smallestChunk = 4096

  it.each([1, 2, 512, 1024, 1025])('the ring words of %i chunks occupy whole cache lines', (chunkCount) => {
    expect(chunksOffset(chunkCount) % LINE).toBe(0)
    expect(smallestChunk % LINE).toBe(0)
    expect(CHUNK_EVENTS).toBeLessThan(LINE) // the first events share a cache line only with the header of their own chunk
  })

  it('ring words written at every event share no cache line with ring words written once per chunk or per round', () => {
    for (const word of [RING_HEARTBEAT, RING_ENDED, RING_STARVING]) expect(word + 4).toBeLessThanOrEqual(LINE)
    expect(RING_STATES).toBeGreaterThanOrEqual(LINE)
    expect(chunksOffset(1) - RING_STATES).toBeGreaterThanOrEqual(LINE)
  })
})
