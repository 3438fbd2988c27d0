// Stores facts from the status messages of the target. Views and profiles show these facts.

import type { AllocationFacts } from '../profile/profile.ts'
import type { AgentStatus } from '../wire/messages.ts'
import type { RecorderStats } from './recorder/recorder.ts'
import type { SessionOptions } from './session-options.ts'

export class TargetState {
  /** Platform threads, keyed by their number in events. */
  readonly threads = new Map<number, AgentStatus['threads'][number]>()
  /** Number of events that the target could not record. */
  gaps = 0
  #rowsHaveEnded = false
  /** Maximum memory that the session has used in the target so far. */
  kept = { heapBytes: 0, outsideBytes: 0 }
  /** Whether the JVM counts the bytes that threads allocate. */
  #countsAllocated = false
  /** Number of garbage collections so far, and number of untracked objects. Null without --liveness. */
  #liveness: NonNullable<AllocationFacts['liveness']> | null = null

  take(status: AgentStatus): void {
    if (!this.#rowsHaveEnded) this.gaps = status.gaps
    this.#countsAllocated = status.openAllocations !== null
    if (status.survivors !== null) {
      const { collections, untracked } = status.survivors
      this.#liveness = { collections, untracked }
    }
    this.kept = {
      heapBytes: Math.max(this.kept.heapBytes, status.kept.heap),
      outsideBytes: Math.max(this.kept.outsideBytes, status.kept.outside),
    }
    // Virtual threads share one tree. Storing each virtual thread would be a leak, since a target may create one per request.
    for (const thread of status.threads) if (!thread.virtual) this.threads.set(thread.number, thread)
  }

  /** Freezes the counts, since events after this call belong to no row. */
  endRows(): void {
    this.#rowsHaveEnded = true
  }

  get warnings(): string[] {
    const { untracked = 0 } = this.#liveness ?? {}
    if (untracked === 0) return []
    return [
      `${untracked} objects were not tracked, because the limit is 65,536: the counts of live objects are too low. ` +
        'Use a higher --sample-every',
    ]
  }

  allocationFacts(options: SessionOptions, stats: RecorderStats): AllocationFacts {
    const { sampleEvery = 1, followThreads } = options
    const facts = { sampleEvery, ...(this.#liveness !== null && { liveness: this.#liveness }) }
    // The allocations of submitted tasks and virtual threads are unknown, so no total can be computed.
    if (!this.#countsAllocated || stats.virtualRoots > 0 || followThreads) return facts
    return { ...facts, jvmBytes: Math.max(0, stats.allocatedBytes) }
  }
}
