// The tree that samples of a whole JVM build, and the names in it. Where samples come from is flight-recording.ts
// and thread-dumps.ts.

import type { DumpedThread } from '../../attach/thread-dump.ts'
import { CctBuilder } from '../../cct/builder.ts'
import { snapshotOf, VIRTUAL } from '../../cct/snapshot.ts'
import { StackWriter } from '../../cct/stacks.ts'
import type { MethodName, Snapshot } from '../../cct/tree.ts'
import { METHOD_MASK } from '../../events/event-halves.ts'
import { SINKS } from '../../measures/sinks.ts'
import { matchesMethod, RANK_NONE, type RootPattern, rootRank } from '../../reveal/patterns.ts'
import { isOfJdk } from '../roots/root-names.ts'

/** A thread as its sampler describes it. */
export type SampledThread = Pick<DumpedThread, 'id' | 'name' | 'virtual'>

/** Virtual threads whose latest stacks are remembered: a JVM may have a million. */
const VIRTUAL_STACKS = 1024
const NO_PROBES = { innerTicks: 0, outerTicks: 0 }

export class SampledTree {
  readonly #builder = new CctBuilder({ executed: true })
  readonly #writer = new StackWriter(this.#builder)
  /** By its four parts. */
  readonly #ids = new Map<string, number>()
  /** Index is the method id. */
  readonly methodNames: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]
  /** By Java thread id. */
  readonly #numbers = new Map<number, number>()
  /** By Java thread id; the one that was sampled longest ago is first. */
  readonly #virtualNumbers = new Map<number, number>()
  readonly #names = new Map<number, SampledThread>()
  #nextNumber = 1
  readonly #roots: readonly RootPattern[]
  /** By method id: whether it is a root. */
  readonly #rootIds: (boolean | undefined)[] = []
  /** Since the start, or since `reset`. */
  samples = 0
  /** Not among them: those of threads that were in none of the roots. */
  outside = 0
  /** Those of them whose outermost frames are missing. */
  truncated = 0

  /** @param roots  what is inside of these is kept, from the outermost one on; none: all */
  constructor(roots: readonly RootPattern[] = []) {
    this.#roots = roots
  }

  get hasRoots(): boolean {
    return this.#roots.length > 0
  }

  /** Full names of the roots that were seen; as the user wrote it where none was. */
  get rootNames(): string[] {
    const seen = this.methodNames.filter((_, id) => this.#rootIds[id] === true)
    const names = new Set(seen.map((it) => `${it.class}.${it.method}`))
    for (const root of this.#roots) if (!seen.some((it) => isRoot(root, it))) names.add(root.text)
    return [...names]
  }

  /** The id of a method, the same for each of that name. */
  idOf(name: MethodName): number {
    const key = `${name.class}\n${name.method}\n${name.descriptor}\n${name.loader}`
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    const id = Math.min(this.methodNames.length, METHOD_MASK)
    this.#ids.set(key, id)
    this.methodNames[id] = id < METHOD_MASK ? name : { ...name, class: '', method: '(other methods)' }
    return id
  }

  /** Stands above the frames that are there, where the outermost are missing. */
  get truncation(): number {
    return this.idOf({ class: '', method: '(truncated)', descriptor: '', loader: '' })
  }

  /** @param path ids of methods, outermost first */
  sample(thread: SampledThread, path: Int32Array, isTruncated = false): void {
    const number = thread.virtual ? this.#virtualNumber(thread) : this.#number(thread)
    const first = this.hasRoots ? path.findIndex((id) => this.#isRoot(id)) : 0
    // With a root in it a stack is whole, as far as it is kept.
    if (isTruncated && (first < 0 || !this.hasRoots)) this.truncated++
    if (first < 0) {
      this.outside++
      this.#writer.leave(number)
      return
    }
    this.samples++
    this.#writer.sample(number, first === 0 ? path : path.subarray(first))
  }

  /** A thread that was seen with this stack, and is in no task: no sample. */
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
    let number = this.#numbers.get(thread.id)
    if (number === undefined) {
      number = this.#nextNumber++
      this.#numbers.set(thread.id, number)
    }
    this.#names.set(number, thread) // it may have been renamed
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

  /** Distinct methods seen. */
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
    this.samples = 0
    this.outside = 0
    this.truncated = 0
  }
}

/** With wildcards, as --root has it: nothing of the JDK, and no hidden class, unless it is named. */
export function isRoot(root: RootPattern, it: MethodName): boolean {
  const { class: name, method, descriptor } = it
  if (root.className.includes('*') && (isOfImage(it) || /\$\$Lambda/.test(name))) return false
  return rootRank(root, name.replaceAll('.', '/')) > RANK_NONE && matchesMethod(root, method, descriptor)
}

/** Whether a class is the JDK's. Dumps of threads tell no loader, and then its name decides. */
function isOfImage(it: MethodName): boolean {
  return it.loader === '' ? isOfJdk(it) : it.loader === 'bootstrap' || it.loader === 'platform'
}
