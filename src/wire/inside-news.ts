// What the agent's sampler of threads inside roots hands over (backend-java: InsideSampler.takeAll).

import type { SampleBatch, StackSample } from '../base/stack-sample.ts'
import { bytes, count, flag, integer, known, listOf, number, orNull, row, string } from './checked.ts'
import { AgentNotUnderstood } from './link.ts'

const SAMPLE_BYTES = 32
const STACK_BYTES = 8

const readNews = row({
  ...{ frames: listOf(row({ className: string, method: string })), stacks: bytes, samples: bytes },
  /** Since the session began. */
  ...{ ticks: count, taken: count },
  /** Threads that had left the root when their stack was taken, or could not be looked at. */
  missed: count,
  /** Samples without room. */
  dropped: count,
  /** What taking stacks has cost in the target. */
  costNs: number,
  /**
   * Of the ticks since the last call, how late the latest came or for how long the slowest took stacks, which is longer, and when in
   * session ticks; the program's threads may have stood still.
   */
  ...{ longestLateNs: number, longestLateAt: integer },
  /** All time that the JVM has spent at safepoints; null where it does not tell. */
  safepointNs: known,
  /** Why no more stacks are taken; null while they are. */
  failure: orNull(string),
  /** Calls of roots that began since the session began, on all threads. */
  rootCalls: count,
  /** When these were counted, in session ticks. */
  atTicks: integer,
  /** The longest was for taking stacks. */
  longestTaking: flag,
})

export interface InsideNews extends Omit<ReturnType<typeof readNews>, 'frames' | 'stacks' | 'samples'> {
  readonly batch: SampleBatch
}

export function insideNews(reply: unknown): InsideNews {
  const { frames, stacks, samples, ...facts } = readNews(reply)
  return { ...facts, batch: { frames, stacks: stacksOf(stacks), samples: samplesOf(samples) } }
}

function viewOf(content: Uint8Array, of: string, size: number): DataView {
  if (content.length % size !== 0)
    throw new AgentNotUnderstood(`${content.length} bytes of ${of}, of which each has ${size}`)
  return new DataView(content.buffer, content.byteOffset, content.length)
}

function stacksOf(content: Uint8Array): Int32Array {
  const view = viewOf(content, 'stacks', STACK_BYTES)
  return Int32Array.from({ length: content.length / 4 }, (_, at) => view.getInt32(at * 4, true))
}

function samplesOf(content: Uint8Array): StackSample[] {
  const view = viewOf(content, 'samples', SAMPLE_BYTES)
  return Array.from({ length: content.length / SAMPLE_BYTES }, (_, i) => {
    const at = i * SAMPLE_BYTES
    return {
      thread: view.getInt32(at, true),
      stack: view.getInt32(at + 4, true),
      state: view.getInt32(at + 8, true),
      call: view.getInt32(at + 12, true),
      ticks: Number(view.getBigInt64(at + 16, true)),
      weight: view.getFloat64(at + 24, true),
    }
  })
}
