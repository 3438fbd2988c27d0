// The tree built from the samples of a whole JVM, with the method names in it. The samples come from flight-recording.ts and
// thread-dumps.ts.

import type { DumpedThread } from '../../attach/thread-dump.ts'
import { getOrAdd } from '../../base/maps.ts'
import { CctBuilder } from '../../cct/builder.ts'
import { LineSamples } from '../../cct/line-samples.ts'
import { snapshotOf, VIRTUAL } from '../../cct/snapshot.ts'
import { StackWriter } from '../../cct/stacks.ts'
import type { MethodName, Snapshot } from '../../cct/tree.ts'
import { METHOD_MASK } from '../../events/event-halves.ts'
import { SINKS } from '../../measures/sinks.ts'
import { matchesMethod, RANK_NONE, type RootPattern, rootRank } from '../../reveal/patterns.ts'
import { isOfJdk } from '../roots/root-names.ts'

/** A thread as its sampler describes it. */
export type SampledThread = Pick<DumpedThread, 'id' | 'name' | 'virtual'>

/** Maximum number of virtual threads for which the latest stack is kept. A JVM may have a million virtual threads. */
const VIRTUAL_STACKS = 1024
const NO_PROBES = { innerTicks: 0, outerTicks: 0 }

export class SampledTree {
  readonly #builder = new CctBuilder({ executed: true })
  readonly #writer = new StackWriter(this.#builder)
  /** Samples per source line, if the sampler passes lines. */
  readonly lines = new LineSamples()
  /** Method ids, keyed by class, method, descriptor and loader. */
  readonly #ids = new Map<string, number>()
  /** Method names, indexed by method id. */
  readonly methodNames: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]
  /** Numbers of platform threads, keyed by Java thread id. */
  readonly #numbers = new Map<number, number>()
  /** Numbers of virtual threads, keyed by Java thread id. The least recently sampled thread is first. */
  readonly #virtualNumbers = new Map<number, number>()
  readonly #names = new Map<number, SampledThread>()
  #nextNumber = 1
  readonly #roots: readonly RootPattern[]
  /** Whether a method is a root, indexed by method id. */
  readonly #rootIds: (boolean | undefined)[] = []
  /** Number of samples since the start, or since `reset`. */
  samples = 0
  /** Number of samples outside of all roots. They are not included in `samples`. */
  outside = 0
  /** Number of samples whose outermost frames are missing. */
  truncated = 0

  /** @param roots  of each stack, only the outermost root and its callees are kept; if the list is empty, all frames are kept */
  constructor(roots: readonly RootPattern[] = []) {
    this.#roots = roots
  }

  get hasRoots(): boolean {
    return this.#roots.length > 0
  }

  /** Full names of the roots that were sampled. For a root that was not sampled, the text that the user wrote. */
  get rootNames(): string[] {
    const seen = this.methodNames.filter((_, id) => this.#rootIds[id] === true)
    const names = new Set(seen.map((it) => `${it.class}.${it.method}`))
    for (const root of this.#roots) if (!seen.some((it) => isRoot(root, it))) names.add(root.text)
    return [...names]
  }

  /** Returns the id of a method. Equal names have the same id. */
  idOf(name: MethodName): number {
    const key = `${name.class}\n${name.method}\n${name.descriptor}\n${name.loader}`
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    const id = Math.min(this.methodNames.length, METHOD_MASK)
    this.#ids.set(key, id)
    this.methodNames[id] = id < METHOD_MASK ? name : { ...name, class: '', method: '(other methods)' }
    return id
  }

  /** Id of the pseudo-method that replaces missing outermost frames. */
  get truncation(): number {
    return this.idOf({ class: '', method: '(truncated)', descriptor: '', loader: '' })
  }

  /** @param path  method ids, outermost first @param lines  line of each frame; absent if the sampler does not know lines */
  sample(thread: SampledThread, path: Int32Array, isTruncated = false, lines?: Int32Array): void {
    const number = thread.virtual ? this.#virtualNumber(thread) : this.#number(thread)
    const first = this.hasRoots ? path.findIndex((id) => this.#isRoot(id)) : 0
    // If a truncated stack contains a root, the kept frames (from the root on) are complete.
    if (isTruncated && (first < 0 || !this.hasRoots)) this.truncated++
    if (first < 0) {
      this.outside++
      this.#writer.leave(number)
      return
    }
    this.samples++
    this.#writer.sample(number, first === 0 ? path : path.subarray(first))
    if (lines !== undefined) this.lines.add(path.subarray(first), lines.subarray(first))
  }

  /** Notes the stack of an idle thread. This adds no sample. */
  away({ id, virtual }: SampledThread, path: Int32Array): void {
    const number = (virtual ? this.#virtualNumbers : this.#numbers).get(id)
    if (number === undefined) return
    const first = this.hasRoots ? path.findIndex((method) => method >= 0 && this.#isRoot(method)) : 0
    if (first < 0) this.#writer.leave(number)
    else this.#writer.away(number, path.subarray(first))
  }

  #isRoot(id: number): boolean {
    const known = this.#rootIds[id]
    if (known !== undefined) return known
    const name = this.methodNames[id]!
    const is = this.#roots.some((root) => isRoot(root, name))
    this.#rootIds[id] = is
    return is
  }

  #number(thread: SampledThread): number {
    const number = getOrAdd(this.#numbers, thread.id, () => this.#nextNumber++)
    this.#names.set(number, thread) // the thread may have been renamed
    return number
  }

  #virtualNumber({ id }: SampledThread): number {
    let number = this.#virtualNumbers.get(id)
    this.#virtualNumbers.delete(id)
    if (number === undefined && this.#virtualNumbers.size >= VIRTUAL_STACKS) {
      const [oldest, its] = this.#virtualNumbers.entries().next().value!
      this.#virtualNumbers.delete(oldest)
      this.#writer.leave(its)
      number = its
    }
    if (number === undefined) {
      number = this.#nextNumber++
      this.#builder.markVirtual(number)
    }
    this.#virtualNumbers.set(id, number)
    return number
  }

  /** Number of distinct methods in the samples. */
  get methods(): number {
    return this.#builder.methods
  }

  snapshot(perThread: boolean): Snapshot {
    const options = { sink: SINKS.sample, calibration: NO_PROBES, nsPerTick: 1, perThread } as const
    const { merged, threads, waitNs, healed } = snapshotOf(this.#builder, options)
    return {
      merged,
      threads: threads.map(({ number, tree }) => {
        if (number === VIRTUAL) return { id: 0, name: 'virtual threads', tree }
        const { id, name } = this.#names.get(number) ?? { id: -number, name: `thread #${number}` }
        return { id, name, tree }
      }),
      events: this.samples,
      waitNs,
      healed,
    }
  }

  reset(): void {
    this.#writer.leaveAll()
    this.#builder.reset()
    this.lines.reset()
    this.samples = 0
    this.outside = 0
    this.truncated = 0
  }
}

/** Returns whether a method matches a root pattern of --root. A pattern with wildcards matches no JDK class and no hidden class. */
export function isRoot(root: RootPattern, it: MethodName): boolean {
  const { class: name, method, descriptor } = it
  if (root.className.includes('*') && (isOfImage(it) || /\$\$Lambda/.test(name))) return false
  return rootRank(root, name.replaceAll('.', '/')) > RANK_NONE && matchesMethod(root, method, descriptor)
}

/** Returns whether a class belongs to the JDK. Thread dumps have no loader, so the class name decides for them. */
function isOfImage(it: MethodName): boolean {
  return it.loader === '' ? isOfJdk(it) : it.loader === 'bootstrap' || it.loader === 'platform'
}
