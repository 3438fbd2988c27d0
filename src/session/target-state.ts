// Stores the facts from the target's statuses that views and profiles show.

import type { AllocationFacts } from '../profile/profile.ts'
import type { AgentStatus } from '../wire/messages.ts'
import type { RecorderStats } from './recorder/recorder.ts'
import type { SessionOptions } from './session-options.ts'

export class TargetState {
  /** Threads keyed by their number in events, without virtual threads. */
  readonly threads = new Map<number, AgentStatus['threads'][number]>()
  /** Number of events that the target could not record. */
  gaps = 0
  #rowsHaveEnded = false
  /** Maximum memory that the session has used in the target. */
  kept = { heapBytes: 0, outsideBytes: 0 }
  /** Bytes allocated in unfinished root calls; and the part of these bytes that was allocated before a reset. */
  #openAllocations: AgentStatus['openAllocations'] = null
  #forgottenBytes = 0
  /** With --liveness: number of collections so far, and number of untracked objects. Otherwise null. */
  #liveness: NonNullable<AllocationFacts['liveness']> | null = null

  take(status: AgentStatus): void {
    if (!this.#rowsHaveEnded) this.gaps = status.gaps
    this.#openAllocations = status.openAllocations
    if (status.survivors !== null) {
      const { collections, untracked } = status.survivors
      this.#liveness = { collections, untracked }
    }
    this.kept = {
      heapBytes: Math.max(this.kept.heapBytes, status.kept.heap),
      outsideBytes: Math.max(this.kept.outsideBytes, status.kept.outside),
    }
    // Virtual threads share one tree. Naming each one would be a leak, since a target may create one per request.
    for (const thread of status.threads) if (!thread.virtual) this.threads.set(thread.number, thread)
  }

  /** Excludes earlier allocations from the results. */
  reset(): void {
    this.#forgottenBytes = this.#openAllocations?.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0
  }

  /** Freezes the counts: events after this call belong to no row. */
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
    // The allocations of submitted tasks and virtual threads are unknown.
    if (this.#openAllocations === null || stats.virtualRoots > 0 || followThreads) return facts
    let bytes = stats.allocatedBytes - this.#forgottenBytes
    for (const open of this.#openAllocations)
      if (open.told === (stats.allocatedTold.get(open.number) ?? 0)) bytes += open.bytes
    return { ...facts, jvmBytes: Math.max(0, bytes) }
  }
}
