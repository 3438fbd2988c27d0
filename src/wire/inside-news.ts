// Results of the agent's sampler of threads inside roots (backend-java: InsideSampler.takeAll).

import type { SampleBatch, StackSample } from '../base/stack-sample.ts'
import { bytes, count, flag, integer, known, listOf, number, orNull, row, string } from './checked.ts'
import { AgentNotUnderstood } from './link.ts'

const SAMPLE_BYTES = 36
const STACK_BYTES = 8

const readNews = row({
  frames: listOf(row({ className: string, method: string, line: count })),
  stacks: bytes,
  samples: bytes,
  /** Number of sampler ticks. This and the next totals count from the start of the session. */
  ticks: count,
  taken: count,
  /** Number of threads that had left the root when their stack was sampled, or that could not be sampled. */
  missed: count,
  /** Number of samples dropped because of a full buffer. */
  dropped: count,
  /** Time spent sampling stacks in the target. */
  costNs: number,
  /**
   * Longest delay among the sampler ticks since the last request, and its time in session ticks. A delay is either the lateness of a tick
   * or the duration of its sampling. The program's threads may have been stopped during the delay.
   */
  longestLateNs: number,
  longestLateAt: integer,
  /** Total safepoint time of the JVM; null if the JVM does not record it. */
  safepointNs: known,
  /** Reason why sampling has stopped; null while it runs. */
  failure: orNull(string),
  /** Number of root calls since the session began, on all threads. */
  rootCalls: count,
  /** Time when `rootCalls` was read, in session ticks. */
  atTicks: integer,
  /** Whether the longest delay was the duration of sampling, and not the lateness of a tick. */
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
    throw new AgentNotUnderstood(`${content.length} bytes of ${of}, which is not a multiple of ${size}`)
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
      number: view.getInt32(at + 32, true),
    }
  })
}
