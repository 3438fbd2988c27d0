// What the target tells of itself with each status, as far as views and profiles show it.

import type { AllocationFacts } from '../profile/profile.ts'
import type { AgentStatus } from '../wire/messages.ts'
import type { RecorderStats } from './recorder/recorder.ts'
import type { SessionOptions } from './session-options.ts'

export class TargetState {
  /** By their numbers in events; without virtual threads. */
  readonly threads = new Map<number, AgentStatus['threads'][number]>()
  /** Waits of threads that were given up. */
  gaps = 0
  #rowsHaveEnded = false
  /** The most that the session has kept in the target. */
  kept = { heapBytes: 0, outsideBytes: 0 }
  /** Of roots that have not ended; and what of it was before a reset. */
  #openAllocations: AgentStatus['openAllocations'] = null
  #forgottenBytes = 0
  /** With --liveness: collections so far, and how many objects are not tracked. Else null. */
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
    // Virtual threads share one tree: to name each would be a leak in a target that makes one a request.
    for (const thread of status.threads) if (!thread.virtual) this.threads.set(thread.number, thread)
  }

  /** What was allocated so far is no part of what is recorded from now on. */
  reset(): void {
    this.#forgottenBytes = this.#openAllocations?.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0
  }

  /** What is not recorded from now on is in no row. */
  endRows(): void {
    this.#rowsHaveEnded = true
  }

  get warnings(): string[] {
    const { untracked = 0 } = this.#liveness ?? {}
    if (untracked === 0) return []
    return [
      `${untracked} objects were not looked after, since 65,536 were already: fewer are told alive than are. ` +
        'A higher --sample-every leaves room',
    ]
  }

  allocationFacts(options: SessionOptions, stats: RecorderStats): AllocationFacts {
    const { sampleEvery = 1, followThreads } = options
    const facts = { sampleEvery, ...(this.#liveness !== null && { liveness: this.#liveness }) }
    // Of work that was handed over, and of virtual threads, nothing is known.
    if (this.#openAllocations === null || stats.virtualRoots > 0 || followThreads) return facts
    let bytes = stats.allocatedBytes - this.#forgottenBytes
    for (const open of this.#openAllocations)
      if (open.told === (stats.allocatedTold.get(open.number) ?? 0)) bytes += open.bytes
    return { ...facts, jvmBytes: Math.max(0, bytes) }
  }
}
