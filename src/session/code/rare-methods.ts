// Methods that run seldom or never in a JVM whose roots run often (`--rare watch`). They get no probes in case they run:
// in a server those would be most of all probes. The JVM's own counters tell when one has run after all; then it gets its
// probes, and the profile says that its first calls are missing.

import { minOf } from '../../base/arrays.ts'
import type { MethodTarget } from '../../reveal/method-ids.ts'
import type { Evidence, Observed, ObservedCall, Place } from '../../reveal/observed.ts'
import type { Past, RareMethod, Rarity } from '../../reveal/past.ts'
import { CallProfiles } from '../../vmstructs/call-profiles.ts'
import { Memory, type MemoryPort } from '../../vmstructs/memory.ts'
import { type DeclaredMethod, MethodCounts } from '../../vmstructs/method-counts.ts'
import { readStructs } from '../../vmstructs/structs.ts'

/** A root must have run so often that what it does usually has been done. */
const ROOT_CALLS = 100
/** What runs in every third call of the root is not rare; nor is what runs as often by itself. */
const USUAL_SHARE = 3
const USUAL_CALLS = 3_000
/** A call that was made in a thirtieth of the root's calls may lead through what is not usual to what is. */
const FREQUENT_SHARE = 10
const FREQUENT_CALLS = 10
/** Classes among whose methods some have a profile, if any has. */
const PROFILED_CLASSES = 500

/** Methods that the roots lead to, as far as calls have been observed. */
export interface Expected {
  has(classId: number, selector: string): boolean
  hasAnyOf(classId: number): boolean
}

/** New bytecode indices of a rewritten method's calls, with the old ones; undefined if it has its own code. */
export type MovedCalls = (classId: number, selector: string) => ReadonlyMap<number, number> | undefined

interface Watched {
  readonly method: RareMethod
  /** 0 until it is known, and after its class has been redefined. */
  address: number
  /** Calls that do not count as new. */
  calls: number
}

export class RareMethods implements Rarity, Past, Evidence {
  readonly isKnown = true
  readonly #watched = new Map<string, Watched>()
  readonly #byClass = new Map<number, Watched[]>()
  /** Classes whose counts have begun at 0 again, and what had run in them before that, seen when it was still known. */
  readonly #begunAnew = new Map<number, Set<string>>()
  /** Watched ones whose address is to be looked up. */
  #unplaced: Watched[] = []
  readonly #tables = new Map<number, Map<string, DeclaredMethod>>()
  /** Null where the JVM keeps no profiles of calls: then all that is usual is. */
  #expected: Expected | null = null
  /** Classes that appear from now on are seen before anything of them runs. */
  #recording = false
  /** Classes that appeared before that, and after the sample. */
  readonly #late = new Set<number>()

  private constructor(
    private readonly counts: MethodCounts,
    private readonly callProfiles: CallProfiles | null,
    /** Class numbers by where the JVM keeps the classes. */
    private readonly klasses: Map<number, number>,
    private readonly movedCalls: MovedCalls,
    private readonly sample: Map<number, Map<string, number>>,
    private readonly usual: number,
  ) {}

  /**
   * @param roots    methods of the roots
   * @param classIds all classes
   * @param movedCalls  of methods that have been rewritten
   * @returns why not, if that cannot be done here
   */
  static async open(
    port: MemoryPort,
    roots: readonly MethodTarget[],
    classIds: readonly number[],
    movedCalls: MovedCalls,
  ): Promise<RareMethods | string> {
    const library = await port.vmLibrary()
    const memory = new Memory(port)
    const structs = library === 0 ? null : await readStructs(memory, library)
    const counts = structs && (await MethodCounts.open(memory, port, structs))
    if (structs === null || counts === null) return 'this JVM does not show how often its methods have run'
    const ofRoots = await counts.of([...new Set(roots.map((it) => it.classId))])
    const calls = roots.map((it) => callsOf(ofRoots, it))
    const least = minOf(calls)
    if (roots.length === 0 || least < ROOT_CALLS) {
      return `a root has not run ${ROOT_CALLS} times in this JVM, so nobody can say what is rare in it`
    }
    // The JDK's first classes are in them: each JVM has run them often.
    const some = [...(await counts.addresses(classIds.slice(0, PROFILED_CLASSES))).values()]
    return new RareMethods(
      counts,
      await CallProfiles.open(
        memory,
        structs,
        some.flatMap((it) => [...it.values()]),
      ),
      await counts.klasses(classIds),
      movedCalls,
      await counts.of(classIds),
      Math.min(USUAL_CALLS, least / USUAL_SHARE),
    )
  }

  /** The JVM keeps profiles of calls. */
  get showsCalls(): boolean {
    return this.callProfiles !== null
  }

  /** From now on, what is not expected is rare, however often it has run elsewhere. */
  expect(expected: Expected): void {
    this.#expected = expected
  }

  recordingBegins(): void {
    this.#recording = true
  }

  isUsual({ classId, selector }: Place): boolean {
    return (this.sample.get(classId)?.get(selector) ?? 0) >= this.usual
  }

  async learn(classIds: readonly number[]): Promise<void> {
    const missing = classIds.filter((it) => !this.#tables.has(it))
    for (const [id, table] of await this.counts.tables(missing)) this.#tables.set(id, table)
  }

  table(classId: number): ReadonlyMap<string, DeclaredMethod> | undefined {
    return this.#tables.get(classId)
  }

  async profiles(places: readonly Place[]): Promise<readonly (Observed | null)[]> {
    if (this.callProfiles === null) return places.map(() => null)
    await this.learn([...new Set(places.map((it) => it.classId))])
    const profiles = await this.callProfiles.of(
      places.map((it) => this.#tables.get(it.classId)?.get(it.selector)?.address ?? 0),
      (klass) => this.klasses.get(klass),
    )
    return profiles.map((profile, i) => {
      const moved = this.movedCalls(places[i].classId, places[i].selector)
      return profile === null || moved === undefined ? profile : movedBack(profile, moved)
    })
  }

  isFrequent(calls: number): boolean {
    return calls >= Math.max(FREQUENT_CALLS, this.usual / FREQUENT_SHARE)
  }

  /** Classes have been loaded since the last call. */
  async appeared(classIds: readonly number[]): Promise<void> {
    for (const [klass, id] of await this.counts.klasses(classIds)) this.klasses.set(klass, id)
  }

  isRare(classId: number, method: Selector): boolean {
    const known = this.sample.get(classId)
    if (known === undefined) return this.#isLate(classId)
    if (this.#expected !== null) return !this.#expected.has(classId, selectorOf(method))
    return (known.get(selectorOf(method)) ?? 0) < this.usual
  }

  isDormant(classId: number): boolean {
    const known = this.sample.get(classId)
    if (known === undefined) return this.#isLate(classId)
    if (this.#expected !== null) return !this.#expected.hasAnyOf(classId)
    for (const calls of known.values()) if (calls >= this.usual) return false
    return true
  }

  #isLate(classId: number): boolean {
    if (!this.#recording) this.#late.add(classId)
    return this.#late.has(classId)
  }

  thatRan(targets: readonly MethodTarget[]): MethodTarget[] {
    return targets.filter((it) => this.sample.has(it.classId) && !this.isRare(it.classId, it))
  }

  watch(methods: readonly RareMethod[]): void {
    for (const method of methods) {
      // What runs often elsewhere says nothing by running: `ObservedCalls` finds it if a call leads to it.
      if (this.#expected !== null && callsOf(this.sample, method) >= this.usual) continue
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
    const known = [...classIds].filter((id) => this.sample.has(id) || this.#byClass.has(id))
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
      this.#tables.delete(id)
      if (!this.#begunAnew.has(id)) this.#begunAnew.set(id, new Set())
      for (const it of this.#byClass.get(id) ?? []) {
        it.calls = Math.min(it.calls, 0)
        if (it.address !== 0) this.#unplaced.push(it)
        it.address = 0
      }
    }
  }

  unloaded(classIds: ReadonlySet<number>): void {
    this.counts.forgetNames()
    for (const [klass, id] of this.klasses) if (classIds.has(id)) this.klasses.delete(klass)
    for (const id of classIds) {
      this.#late.delete(id)
      for (const { method } of this.#byClass.get(id) ?? []) this.#watched.delete(keyOf(method))
      this.#byClass.delete(id)
      this.#begunAnew.delete(id)
      this.sample.delete(id)
      this.#tables.delete(id)
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

function movedBack(profile: Observed, moved: ReadonlyMap<number, number>): Observed {
  const own = new Map<number, ObservedCall>()
  for (const [bci, call] of profile) {
    const old = moved.get(bci)
    if (old !== undefined) own.set(old, call)
  }
  return own
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
