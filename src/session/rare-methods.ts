// Methods that run seldom or never in a JVM whose roots run often (`--rare watch`). They get no probes in case they run:
// in a server those would be most of all probes. The JVM's own counters tell when one has run after all; then it gets its
// probes, and the profile says that its first calls are missing.

import type { MethodTarget } from '../reveal/method-ids.ts'
import type { Past, RareMethod, Rarity } from '../reveal/past.ts'
import { Memory, type MemoryPort } from '../vmstructs/memory.ts'
import { MethodCounts } from '../vmstructs/method-counts.ts'
import { readStructs } from '../vmstructs/structs.ts'

/** A root must have run so often that what it does usually has been done. */
const ROOT_CALLS = 100
/** What runs in every third call of the root is not rare; nor is what runs as often by itself. */
const USUAL_SHARE = 3
const USUAL_CALLS = 3_000

interface Watched {
  readonly method: RareMethod
  /** 0 until it is known, and after its class has been redefined. */
  address: number
  /** Calls that do not count as new. */
  calls: number
}

export class RareMethods implements Rarity, Past {
  readonly isKnown = true
  readonly #watched = new Map<string, Watched>()
  readonly #byClass = new Map<number, Watched[]>()
  /** Classes whose counts have begun at 0 again, and what had run in them before that, seen when it was still known. */
  readonly #begunAnew = new Map<number, Set<string>>()
  /** Watched ones whose address is to be looked up. */
  #unplaced: Watched[] = []

  private constructor(
    private readonly counts: MethodCounts,
    private readonly sample: Map<number, Map<string, number>>,
    private readonly usual: number,
  ) {}

  /**
   * @param roots    methods of the roots
   * @param classIds classes of which methods may be left alone
   * @returns why not, if that cannot be done here
   */
  static async open(
    port: MemoryPort,
    roots: readonly MethodTarget[],
    classIds: readonly number[],
  ): Promise<RareMethods | string> {
    const library = await port.vmLibrary()
    const memory = new Memory(port)
    const structs = library === 0 ? null : await readStructs(memory, library)
    const counts = structs && (await MethodCounts.open(memory, port, structs))
    if (counts === null) return 'this JVM does not show how often its methods have run'
    const ofRoots = await counts.of([...new Set(roots.map((it) => it.classId))])
    const calls = roots.map((it) => callsOf(ofRoots, it))
    const least = Math.min(...calls)
    if (roots.length === 0 || least < ROOT_CALLS) {
      return `a root has not run ${ROOT_CALLS} times in this JVM, so nobody can say what is rare in it`
    }
    return new RareMethods(counts, await counts.of(classIds), Math.min(USUAL_CALLS, least / USUAL_SHARE))
  }

  isRare(classId: number, method: Selector): boolean {
    const known = this.sample.get(classId)
    return known !== undefined && (known.get(selectorOf(method)) ?? 0) < this.usual
  }

  isDormant(classId: number): boolean {
    const known = this.sample.get(classId)
    if (known === undefined) return false
    for (const calls of known.values()) if (calls >= this.usual) return false
    return true
  }

  thatRan(targets: readonly MethodTarget[]): MethodTarget[] {
    return targets.filter((it) => callsOf(this.sample, it) >= this.usual)
  }

  watch(methods: readonly RareMethod[]): void {
    for (const method of methods) {
      const ranBefore = this.#begunAnew.get(method.classId)
      const calls = ranBefore === undefined ? callsOf(this.sample, method) : 0
      // What ran before its class was redefined, and was not reached then, is news at once.
      const it: Watched = { method, address: 0, calls: ranBefore?.has(selectorOf(method)) ? -1 : calls }
      this.#watched.set(keyOf(method), it)
      this.#unplaced.push(it)
      const like = this.#byClass.get(method.classId)
      if (like) like.push(it)
      else this.#byClass.set(method.classId, [it])
    }
  }

  /** Those that have run since they were looked at last. They are not watched any more. */
  async thatRanSince(): Promise<RareMethod[]> {
    await this.#place()
    return await this.#confirmed(await this.#suspects([...this.#watched.values()]))
  }

  /**
   * The same of some classes, which are about to be redefined. What else has run in them is remembered: it may be
   * reached later.
   */
  async beforeRedefinition(classIds: ReadonlySet<number>): Promise<RareMethod[]> {
    const known = [...classIds].filter((id) => this.sample.has(id))
    const counts = await this.counts.of(known)
    for (const id of known) {
      const first = this.#begunAnew.has(id) ? undefined : this.sample.get(id)
      const ran = this.#begunAnew.get(id) ?? new Set()
      for (const [selector, calls] of counts.get(id) ?? [])
        if (calls > (first?.get(selector) ?? 0)) ran.add(selector)
      this.#begunAnew.set(id, ran)
    }
    const ran = known
      .flatMap((id) => this.#byClass.get(id) ?? [])
      .filter((it) => (counts.get(it.method.classId)?.get(selectorOf(it.method)) ?? 0) > it.calls)
    for (const it of ran) this.#forget(it)
    return ran.map((it) => it.method)
  }

  /** The JVM has other methods for these classes now, with counts that begin at 0. */
  redefined(classIds: ReadonlySet<number>): void {
    for (const id of classIds) {
      if (!this.#begunAnew.has(id)) this.#begunAnew.set(id, new Set())
      for (const it of this.#byClass.get(id) ?? []) {
        it.calls = Math.min(it.calls, 0)
        if (it.address !== 0) this.#unplaced.push(it)
        it.address = 0
      }
    }
  }

  unloaded(classIds: ReadonlySet<number>): void {
    for (const id of classIds) {
      for (const { method } of this.#byClass.get(id) ?? []) this.#watched.delete(keyOf(method))
      this.#byClass.delete(id)
      this.#begunAnew.delete(id)
      this.sample.delete(id)
    }
    this.#unplaced = this.#unplaced.filter((it) => !classIds.has(it.method.classId))
  }

  async #suspects(watched: readonly Watched[]): Promise<Watched[]> {
    const calls = await this.counts.calls(watched.map((it) => it.address))
    return watched.filter((it, i) => calls[i] > it.calls)
  }

  /** What lies at an address may have changed: only a fresh look at the class proves it. */
  async #confirmed(suspects: readonly Watched[]): Promise<RareMethod[]> {
    if (suspects.length === 0) return []
    const fresh = await this.counts.addresses([...new Set(suspects.map((it) => it.method.classId))])
    for (const it of suspects) it.address = fresh.get(it.method.classId)?.get(selectorOf(it.method)) ?? 0
    const ran = await this.#suspects(suspects)
    for (const it of ran) this.#forget(it)
    return ran.map((it) => it.method)
  }

  async #place(): Promise<void> {
    const unplaced = this.#unplaced
    if (unplaced.length === 0) return
    const found = await this.counts.addresses([...new Set(unplaced.map((it) => it.method.classId))])
    for (const it of unplaced) it.address = found.get(it.method.classId)?.get(selectorOf(it.method)) ?? 0
    // A class that could not be read just now is looked up again.
    this.#unplaced = this.#unplaced.filter((it) => it.address === 0)
  }

  #forget({ method }: Watched): void {
    this.#watched.delete(keyOf(method))
    const left = (this.#byClass.get(method.classId) ?? []).filter((it) => it.method !== method)
    this.#byClass.set(method.classId, left)
  }
}

interface Selector {
  readonly name: string
  readonly descriptor: string
}

interface Named extends Selector {
  readonly classId: number
}

function callsOf(counts: ReadonlyMap<number, ReadonlyMap<string, number>>, method: Named): number {
  return counts.get(method.classId)?.get(selectorOf(method)) ?? 0
}

function selectorOf({ name, descriptor }: Selector): string {
  return name + descriptor
}

function keyOf(method: Named): string {
  return `${method.classId}:${selectorOf(method)}`
}
