// Collects facts from the thread dumps of a JVM: the state and the stack of each working thread, and the threads that wait for work.

import { CARRYING, type DumpedThread, INITIALIZER } from '../../attach/thread-dump.ts'
import { getOrAdd } from '../../base/maps.ts'
import { STATES, stateOf } from '../../cct/sample-states.ts'
import { isIdle, namedAt } from '../sampling/idle-threads.ts'
import { withoutAddress } from '../sampling/sampler.ts'

export type ThreadState = (typeof STATES)[number]

/** A stack that was sampled. Equal stacks are the same object. */
export interface SampledStack {
  readonly id: number
  /** Frames as `package.Class.method`, innermost first. */
  readonly frames: readonly string[]
  /** Source position of each frame, as `File.java:12`. */
  readonly places: readonly string[]
}

/** A group of equal samples. A sample is one thread in one dump, unless the thread waited for work. */
export interface WorkSample {
  count: number
  readonly group: string
  readonly state: ThreadState
  readonly stack: SampledStack
  /** Class of the lock or object that the thread waits for. */
  readonly awaited?: string | undefined
  /** Thread that holds the awaited monitor, or executes the awaited static initializer, in the same dump. */
  readonly holder?: LockHolder | undefined
}

export interface LockHolder {
  /** Name of the thread; name of its group if the equal samples have several holders. */
  thread: string
  readonly stack: SampledStack
  readonly state: ThreadState
}

/** Threads whose names differ only in the last number, such as the threads of a pool. */
export interface ThreadGroup {
  /** Common name, with `*` for the last number. */
  readonly name: string
  /** Largest number of threads in one dump. */
  threads: number
  /** Number of threads, and number of threads that waited for work, both summed over all dumps. */
  seen: number
  idle: number
  /** Methods on the stacks of the threads that waited for work: loops that take the work. */
  readonly loops: Set<string>
  /** Processor time in ms, and allocated bytes, between the first and the last dump of each thread, or since a later start of the thread. */
  cpuMs: number
  allocated: number
  /** `allocated` divided by the step size of the JVM's counters. */
  allocatedSteps: number
}

/** Ordinals of Thread.State, as `stateOf` expects them. */
const RUNNABLE = 1
const BLOCKED = 2
/** Maximum number of different samples. If there are more, the rarer half is discarded. */
const MAX_DIFFERENT = 10_000

type Totals = Map<number, { readonly cpuMs: number; readonly allocated: number }>

export class Observed {
  readonly #samples = new Map<string, WorkSample>()
  readonly groups = new Map<string, ThreadGroup>()
  dumps = 0
  /** Time for which the dumps stopped the JVM, and the longest stop, in ms. */
  stoppedMs = 0
  worstMs = 0
  /** Number of times that a carrier ran a virtual thread whose stack the dump does not contain. */
  carriers = 0
  readonly #stacks = new Map<string, SampledStack>()
  #nextStack = 0
  /** Latest totals per thread, keyed by thread id. */
  #totals: Totals = new Map()
  /** Largest thread id of the first dump: threads with larger ids began after it. */
  #lastOldThread = Number.POSITIVE_INFINITY

  get samples(): readonly WorkSample[] {
    return [...this.#samples.values()]
  }

  add(threads: readonly DumpedThread[], stoppedMs: number): void {
    this.dumps++
    this.stoppedMs += stoppedMs
    this.worstMs = Math.max(this.worstMs, stoppedMs)
    const holders = ownersIn(threads)
    const now = new Map<string, number>()
    const totals: Totals = new Map()
    for (const thread of threads) {
      if (thread.state === CARRYING) {
        // From JDK 24 on, dumps list the carrier's virtual thread as a separate thread.
        if (!threads.some((it) => it.virtual)) this.carriers++
        continue
      }
      const name = groupOf(thread)
      const group = getOrAdd(this.groups, name, () => newGroup(name))
      now.set(name, (now.get(name) ?? 0) + 1)
      group.seen++
      const { id, cpuMs = 0, allocated = 0, allocatedStep = 1 } = thread
      const isNew = id > this.#lastOldThread
      const before = this.#totals.get(id) ?? (isNew ? { cpuMs: 0, allocated: 0 } : { cpuMs, allocated })
      totals.set(id, { cpuMs, allocated })
      group.cpuMs += cpuMs - before.cpuMs
      group.allocated += allocated - before.allocated
      group.allocatedSteps += (allocated - before.allocated) / allocatedStep
      if (isIdle(thread)) {
        group.idle++
        for (const frame of thread.frames) group.loops.add(plainFrame(frame))
        continue
      }
      const { awaited } = thread
      this.#count(name, thread, awaited === undefined ? undefined : holders.get(awaited.address))
    }
    this.#totals = totals
    if (this.dumps === 1) this.#lastOldThread = threads.reduce((most, { id }) => Math.max(most, id), 0)
    if (this.#samples.size > MAX_DIFFERENT) this.#forgetRare()
    for (const [name, count] of now) {
      const group = this.groups.get(name)!
      group.threads = Math.max(group.threads, count)
    }
  }

  #count(group: string, thread: DumpedThread, holder: DumpedThread | undefined): void {
    const [state, stack, awaited] = [threadState(thread), this.#stackOf(thread), thread.awaited?.class]
    const held = holder && {
      ...{ thread: holder.name, stack: this.#stackOf(holder), state: threadState(holder) },
    }
    const holders = holder && groupOf(holder)
    const key = [group, state, stack.id, awaited, holders, held?.stack.id, held?.state].join('\n')
    const known = this.#samples.get(key)
    if (known === undefined) this.#samples.set(key, { count: 1, group, state, stack, awaited, holder: held })
    else {
      known.count++
      if (known.holder !== undefined && known.holder.thread !== holder?.name) known.holder.thread = holders!
    }
  }

  #forgetRare(): void {
    const kept = [...this.#samples].sort(([, a], [, b]) => b.count - a.count).slice(0, MAX_DIFFERENT / 2)
    this.#samples.clear()
    for (const [key, sample] of kept) this.#samples.set(key, sample)
    const used = new Set(kept.flatMap(([, { stack, holder }]) => [stack, holder?.stack]))
    for (const [key, stack] of this.#stacks) if (!used.has(stack)) this.#stacks.delete(key)
  }

  #stackOf({ frames, places = [] }: DumpedThread): SampledStack {
    const key = `${frames.join('\n')}\n${places.join('\n')}`
    return getOrAdd(this.#stacks, key, () => ({
      id: this.#nextStack++,
      frames: frames.map(plainFrame),
      places,
    }))
  }
}

function newGroup(name: string): ThreadGroup {
  return {
    ...{ name, threads: 0, seen: 0, idle: 0, loops: new Set<string>() },
    ...{ cpuMs: 0, allocated: 0, allocatedSteps: 0 },
  }
}

/**
 * Returns the owners of monitors and the threads that execute static initializers, keyed by `DumpedLock.address`. A dump does not
 * distinguish classes of the same name in several loaders.
 */
export function ownersIn(threads: readonly DumpedThread[]): Map<string, DumpedThread> {
  const owners = new Map<string, DumpedThread>()
  for (const thread of threads) {
    for (const { address } of thread.held ?? []) owners.set(address, thread)
    for (const frame of thread.frames) if (frame.endsWith(INITIALIZER)) owners.set(frame, thread)
  }
  return owners
}

/** Returns the frame without the address of a hidden class, and without the number that JDK 20 and older give to a lambda class. */
export function plainFrame(frame: string): string {
  const dot = frame.lastIndexOf('.')
  return withoutAddress(frame.slice(0, dot)).replace(/\$\$Lambda\$\d+$/, () => '$$Lambda') + frame.slice(dot)
}

function groupOf({ name, virtual }: DumpedThread): string {
  return virtual ? 'virtual threads' : name.replace(/\d+(?!.*\d)/, '*')
}

/** Returns what a thread does or waits for. */
export function threadState({ state, frames, awaited }: DumpedThread): ThreadState {
  if (awaited?.address.endsWith(INITIALIZER) === true) return 'lock'
  return STATES[stateOf(state === 'BLOCKED' ? BLOCKED : RUNNABLE, (at) => namedAt(frames[at]))]!
}
