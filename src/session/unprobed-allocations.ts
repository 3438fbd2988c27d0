// Samples of allocations by code without probes below the roots (--mode alloc): the JDK and excluded classes. The JVM's flight recorder takes
// the samples. They divide the bytes that no allocation site has reported (cct/allocation-samples.ts).
//
// The recorder starts only after the first redefinition in the JVM: on JDK 22 and older, its start would otherwise be the first redefinition,
// which discards all compiled code (attach/first-redefinition.ts). If the recorder cannot start, a warning has the reason, and these bytes
// are not divided.

import { openAttachSocket } from '../attach/handshake.ts'
import { readTargetProcess, stillRuns } from '../attach/target-process.ts'
import { addTo } from '../base/arrays.ts'
import { getOrAdd } from '../base/maps.ts'
import { thousands } from '../base/thousands.ts'
import { allocationName, isClassId } from '../cct/allocation.ts'
import {
  type AllocationSamples,
  methodKeyOf,
  type SampledMethod,
  type SampledNames,
  withAllocationSamples,
} from '../cct/allocation-samples.ts'
import type { MethodName, Snapshot, Tree } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import type { RootPattern } from '../reveal/patterns.ts'
import type { Engine } from './engine.ts'
import { firstRedefinition } from './first-redefinition.ts'
import { FlightRecording, type RecordedSamples, type StackSink } from './sampling/flight-recording.ts'
import { RecordingBeside } from './sampling/recording-beside.ts'
import { isRoot, type SampledThread } from './sampling/sampled-tree.ts'
import { modeOf } from './session-options.ts'

/** The sampling rate of the JDK's own settings for profiling (profile.jfc). For each sample, the allocating thread walks its stack. */
const ALLOCATIONS: RecordedSamples = {
  kind: 'allocation',
  settings: ['jdk.ObjectAllocationSample#enabled=true', 'jdk.ObjectAllocationSample#throttle=300/s'],
  everyNs: null,
}
/** Maximum number of distinct stacks of all threads. Samples with further stacks stay unattributed, and are counted for a warning. */
const MAX_STACKS = 10_000

interface Counted extends AllocationSamples {
  readonly thread: number
  count: number
  weight: number
  squares: number
}

/** The samples inside the roots, summed per thread, stack and class. */
export class AllocationStacks implements StackSink {
  readonly hasRoots = true
  samples = 0
  outside = 0
  truncated = 0
  readonly counted = new Map<string, Counted>()
  readonly #methods: (SampledMethod & { readonly isRoot: boolean })[] = []
  readonly #ids = new Map<string, number>()
  #dropped = 0

  constructor(private readonly roots: readonly RootPattern[]) {}

  get truncation(): number {
    return this.idOf({ class: '', method: '(truncated)', descriptor: '', loader: '' })
  }

  idOf(name: MethodName): number {
    const key = methodKeyOf(name)
    const isOne = () => this.roots.some((it) => isRoot(it, name))
    return getOrAdd(this.#ids, key, () => this.#methods.push({ name, key, isRoot: isOne() }) - 1)
  }

  sample(
    thread: SampledThread,
    path: Int32Array,
    isTruncated: boolean | undefined,
    _lines: Int32Array,
    weight: number,
    allocated: Pick<MethodName, 'class' | 'loader'> | null,
  ): void {
    const first = path.findIndex((id) => this.#methods[id]!.isRoot)
    // The JVM does not count the bytes of virtual threads, so there is nothing to divide.
    if (first < 0 || allocated === null || thread.virtual) {
      if (isTruncated === true && first < 0) this.truncated++
      this.outside++
      return
    }
    this.samples++
    const inside = path.subarray(first)
    const key = `${thread.id} ${allocated.class} ${inside.join(' ')}`
    let counted = this.counted.get(key)
    if (counted === undefined) {
      if (this.counted.size >= MAX_STACKS) {
        this.#dropped++
        return
      }
      counted = {
        thread: thread.id,
        path: Array.from(inside, (id) => this.#methods[id]!),
        allocated: allocationName(`${allocated.class}\n${allocated.loader}`),
        ...{ count: 0, weight: 0, squares: 0 },
      }
      this.counted.set(key, counted)
    }
    counted.count++
    counted.weight += weight
    counted.squares += weight * weight
  }

  get warnings(): string[] {
    if (this.#dropped === 0) return []
    return [
      `${thousands(this.#dropped)} of ${thousands(this.samples)} samples of allocations are left out, since the samples have more than ${thousands(MAX_STACKS)} different stacks: their bytes are not attributed`,
    ]
  }

  reset(): void {
    this.counted.clear()
    this.samples = this.outside = this.truncated = this.#dropped = 0
  }
}

type Sources = Pick<
  Engine,
  'door' | 'facts' | 'installation' | 'names' | 'options' | 'pid' | 'recorder' | 'revealer'
>

export class UnprobedAllocations {
  readonly #stacks: AllocationStacks
  readonly #recording: FlightRecording
  readonly #beside: RecordingBeside
  /** Ids of the rows that only samples have, keyed by method or class; and the names of these rows. */
  readonly #ids = new Map<string, number>()
  readonly #names = new Map<number, MethodName>()

  constructor(private readonly from: Sources) {
    this.#stacks = new AllocationStacks(from.options.roots)
    this.#recording = new FlightRecording(() => openAttachSocket(from.pid), this.#stacks, ALLOCATIONS)
    const target = readTargetProcess(from.pid)
    const lives = () => target !== undefined && stillRuns(target)
    this.#beside = new RecordingBeside(this.#recording, { pid: from.pid, lives })
  }

  /**
   * Returns whether a session can sample allocations. With `jdk`, all code has probes, so there is nothing to sample. With call sites, a
   * stack does not identify a row. The flight recorder needs attach commands, which are not available on another machine or over a debugger
   * port.
   */
  static arePossible({ door, options }: Pick<Engine, 'door' | 'options'>): boolean {
    const { callSites, followThreads, jdk, regions, reproducible } = options
    if (!METRICS[modeOf(options)].hasClasses || regions !== undefined) return false
    if ([callSites, followThreads, jdk, reproducible].includes(true)) return false
    return door.elsewhere === undefined && door.again === undefined
  }

  get warnings(): string[] {
    const { problem, warnings } = this.#beside
    const ofSamples =
      problem === null
        ? [...this.#recording.warnings(), ...this.#stacks.warnings]
        : [`the bytes of methods without probes are not divided among these methods: ${problem}`]
    return [...ofSamples, ...warnings]
  }

  /** Starts the recorder if it has not started, or reads the new samples. Never throws. */
  async poll(): Promise<void> {
    if (this.#beside.hasBegun) await this.#beside.poll()
    else if (this.from.installation.redefinitions > 0 || firstRedefinition(this.from) === 'is over')
      this.#beside.begin()
  }

  /** Ends the recorder and reads the rest of its samples. Never throws. */
  async end(): Promise<void> {
    await this.#beside.end()
  }

  reset(): void {
    this.#stacks.reset()
  }

  name(id: number): MethodName | undefined {
    return this.#names.get(id)
  }

  *names(): Generator<[number, MethodName]> {
    yield* this.#names
  }

  /** Returns the snapshot with rows for the samples. */
  picture(snapshot: Snapshot): Snapshot {
    const all = [...this.#stacks.counted.values()]
    if (all.length === 0) return snapshot
    const names = this.#sampledNames()
    const byThread = snapshot.threads.length === 0 ? new Map<number, Counted[]>() : ofThreads(all)
    const ofThread = (id: number, tree: Tree): Tree => {
      const own = byThread.get(id)
      return own === undefined ? tree : withAllocationSamples(tree, own, names)
    }
    return {
      ...snapshot,
      merged: withAllocationSamples(snapshot.merged, all, names),
      threads: snapshot.threads.map((it) => ({ ...it, tree: ofThread(it.id, it.tree) })),
    }
  }

  #sampledNames(): SampledNames {
    const { names, recorder, revealer } = this.from
    const classes = new Map<string, number>()
    for (const id of recorder.classNames.keys()) if (isClassId(id)) classes.set(names.of(id).class, id)
    return {
      nameOf: (id) => names.of(id),
      idOf: (name) => {
        const known = name.descriptor === '' ? classes.get(name.class) : undefined
        if (known !== undefined) return known
        const key = methodKeyOf(name)
        return getOrAdd(this.#ids, key, () => {
          const id = revealer.methods.reserve()
          this.#names.set(id, name)
          return id
        })
      },
    }
  }
}

/** Returns the samples of each thread. */
function ofThreads(all: readonly Counted[]): ReadonlyMap<number, Counted[]> {
  const found = new Map<number, Counted[]>()
  for (const it of all) addTo(found, it.thread, it)
  return found
}
