// Which methods the roots have been seen to lead to: what a call site *may* reach is decided by `reach.ts`, here it is what
// the JVM's own profiles say that it *has* reached.
//
// The JDK and what is left out are walked through like the rest, and so is what runs too seldom for probes, if the call that
// leads to it was made often. A call with more receivers than a profile has room for may
// lead to all that override the method and are usual; so may each call of a method without a profile. Nothing is known of what
// native code, method handles and reflection call: the walk ends there.

import { append } from '../base/arrays.ts'
import { CLASS_HIDDEN, CLASS_JDK } from '../base/class-info.ts'
import { ACC_ABSTRACT } from '../classfile/access.ts'
import type { Site } from './call-sites.ts'
import { type ClassNode, isInterface } from './hierarchy.ts'
import type { Linker, LoadedSite } from './linker.ts'
import type { Mirrors } from './mirror.ts'

/** What calls have led to, by bytecode index. */
export type Observed = ReadonlyMap<number, ObservedCall>

export interface ObservedCall {
  /** Calls by class number of the receiver. */
  readonly receivers: ReadonlyMap<number, number>
  /** Calls of other receivers, or of any where receivers are not told apart. */
  readonly others: number
}

export interface Place {
  readonly classId: number
  /** Name and descriptor. */
  readonly selector: string
}

/** What the JVM knows of the methods. Tables and profiles of a class are asked for again after it has been redefined. */
export interface Evidence {
  /** It has run so often that it is worth probes. */
  isUsual(place: Place): boolean
  /** A call that was made so often is not rare. */
  isFrequent(calls: number): boolean
  /** Makes `table` answer for these. */
  learn(classIds: readonly number[]): Promise<void>
  /** Access flags of what the class declares, by selector; undefined if it cannot be told. */
  table(classId: number): ReadonlyMap<string, { readonly access: number }> | undefined
  /** Null for methods without a profile. */
  profiles(places: readonly Place[]): Promise<readonly (Observed | null)[]>
}

/** A method that calls led to. */
interface Found {
  readonly place: Place
  /** Calls that have been followed: what they led to, by bytecode index and receiver, and whether that was frequent. */
  readonly followed: Set<string>
  /** It has had a profile, so calls that are not in it have not been made. */
  profiled: boolean
}

/** One call, and the classes where the method that it runs is looked up. */
interface Made {
  readonly site: Site & { readonly kind: 'exact' | 'virtual' }
  readonly receivers: readonly { readonly node: ClassNode; readonly frequent: boolean }[]
  /** Types of the call site, if there were other receivers than those. */
  readonly owners: readonly ClassNode[]
  /** The call is bound to the owner's method, and was made often. */
  readonly bound: boolean
}

/** What of one call is new. */
interface News {
  readonly receivers: readonly { readonly id: number; readonly frequent: boolean }[]
  readonly others: { readonly frequent: boolean } | null
}

const ANY = 'any'
const UNKNOWN: ObservedCall = { receivers: new Map(), others: 1 }

export class ObservedCalls {
  readonly #found = new Map<string, Found>()
  readonly #classes = new Set<number>()
  readonly #overriders = new Map<string, readonly Place[]>()

  constructor(
    private readonly mirrors: Mirrors,
    private readonly linker: Linker,
    private readonly evidence: Evidence,
  ) {}

  /** It has been found, and is worth probes. */
  has(classId: number, selector: string): boolean {
    const place = { classId, selector }
    return this.#found.has(keyOf(place)) && this.evidence.isUsual(place)
  }

  /** Its calls are followed. */
  follows(place: Place): boolean {
    return this.#found.has(keyOf(place))
  }

  /** Something that is worth probes has been found in the class. */
  hasAnyOf(classId: number): boolean {
    return this.#classes.has(classId)
  }

  isUsual(place: Place): boolean {
    return this.evidence.isUsual(place)
  }

  /**
   * Follows calls from these methods on.
   *
   * @returns what that has led to and had not been found yet, those methods included
   */
  async from(places: readonly Place[]): Promise<Place[]> {
    const news: Place[] = []
    let level = this.#addAll(places)
    while (level.length > 0) {
      for (const it of level) news.push(it.place)
      level = await this.#follow(level)
    }
    return news
  }

  /**
   * @param classIds  where the callers are looked for: everywhere unless given
   * @returns what calls have led to since they were looked at last
   */
  async again(classIds?: ReadonlySet<number>): Promise<Place[]> {
    const callers = [...this.#found.values()].filter((it) => classIds?.has(it.place.classId) ?? true)
    const news = await this.#follow(callers)
    return [...news.map((it) => it.place), ...(await this.#fromFound(news))]
  }

  /** Classes have been loaded. */
  appeared(): void {
    this.#overriders.clear()
  }

  /** Another agent has given these classes other code: of the calls in it, none has been followed. */
  redefined(classIds: ReadonlySet<number>): void {
    for (const found of this.#found.values()) {
      if (!classIds.has(found.place.classId)) continue
      found.followed.clear()
      found.profiled = false
    }
  }

  unloaded(classIds: ReadonlySet<number>): void {
    for (const [key, { place }] of this.#found) if (classIds.has(place.classId)) this.#found.delete(key)
    for (const id of classIds) this.#classes.delete(id)
    this.#overriders.clear()
  }

  async #fromFound(found: readonly Found[]): Promise<Place[]> {
    const news: Place[] = []
    let level = found
    while (level.length > 0) {
      level = await this.#follow(level)
      for (const it of level) news.push(it.place)
    }
    return news
  }

  #addAll(places: readonly Place[]): Found[] {
    const added: Found[] = []
    for (const place of places) {
      if (this.#found.has(keyOf(place))) continue
      const found: Found = { place, followed: new Set(), profiled: false }
      this.#found.set(keyOf(place), found)
      if (this.evidence.isUsual(place)) this.#classes.add(place.classId)
      added.push(found)
    }
    return added
  }

  /** @returns what is new of all that their calls have led to directly */
  async #follow(callers: readonly Found[]): Promise<Found[]> {
    const made = await this.#madeBy(callers)
    const types = new Set(made.flatMap((it) => [...it.receivers.map(({ node }) => node), ...it.owners]))
    const asked = [...types].flatMap((it) => [it, ...this.linker.hierarchy.ancestors(it)])
    await this.evidence.learn([...new Set(asked.map((it) => it.id))])
    return this.#addAll(made.flatMap((it) => this.#targetsOf(it)))
  }

  /** Calls of these methods that have not been followed yet. */
  async #madeBy(callers: readonly Found[]): Promise<Made[]> {
    const { hierarchy } = this.linker
    const made: Made[] = []
    const readable: { node: ClassNode; found: Found }[] = []
    for (const found of callers) {
      const node = hierarchy.get(found.place.classId)
      if (node === undefined) continue
      if ((node.flags & CLASS_HIDDEN) === 0) readable.push({ node, found })
      else if (found.followed.size === 0) {
        found.followed.add(ANY)
        for (const it of await this.#handlesOf(node))
          append(made, this.#call(it, { receivers: [], others: { frequent: false } }))
      }
    }
    const profiles = await this.evidence.profiles(readable.map((it) => it.found.place))
    const changed = readable.map(({ node, found }, i) => {
      const observed = profiles[i]
      if (observed !== null) found.profiled = true
      const isNews =
        observed === null ? !found.profiled && found.followed.size === 0 : this.#hasNews(observed, found)
      return { node, found, observed, isNews }
    })
    const news = changed.filter((it) => it.isNews)
    await this.#fetch(news.map((it) => it.node.id))
    for (const { node, found, observed } of news) {
      const method = this.mirrors.get(node.id)?.bySelector.get(found.place.selector)
      found.followed.add(ANY)
      if (method === undefined) continue
      for (const { bci, site } of this.mirrors.body(node.id, method.index).calls) {
        const call = observed === null ? UNKNOWN : observed.get(bci)
        if (call !== undefined)
          append(made, this.#call({ site, loader: node.loader }, this.#newsOf(bci, call, found)))
      }
      // Also what has a record and is no call of a method, as an invokedynamic.
      for (const [bci, call] of observed ?? []) this.#newsOf(bci, call, found)
    }
    return made
  }

  #call({ site, loader }: LoadedSite, { receivers, others }: News): Made[] {
    if ((site.kind !== 'exact' && site.kind !== 'virtual') || (receivers.length === 0 && others === null))
      return []
    const { hierarchy } = this.linker
    const nodes = receivers.flatMap(({ id, frequent }) => {
      const node = hierarchy.get(id)
      return node === undefined ? [] : [{ node, frequent }]
    })
    const owners = others === null ? [] : hierarchy.resolve(site.owner, loader)
    return [{ site, receivers: nodes, owners, bound: site.kind === 'exact' && others?.frequent === true }]
  }

  #hasNews(observed: Observed, { followed }: Found): boolean {
    for (const [bci, { receivers, others }] of observed) {
      if (others > 0 && !followed.has(this.#mark(`${bci}`, others))) return true
      for (const [id, calls] of receivers) if (!followed.has(this.#mark(`${bci}:${id}`, calls))) return true
    }
    return false
  }

  /** What of one call has not been followed yet; it has been when this returns. */
  #newsOf(bci: number, call: ObservedCall, { followed }: Found): News {
    const isNew = (what: string, calls: number) => {
      const mark = this.#mark(what, calls)
      if (followed.has(mark)) return false
      followed.add(what).add(mark)
      return true
    }
    const receivers = [...call.receivers]
      .filter(([id, calls]) => isNew(`${bci}:${id}`, calls))
      .map(([id, calls]) => ({ id, frequent: this.evidence.isFrequent(calls) }))
    const others =
      call.others > 0 && isNew(`${bci}`, call.others)
        ? { frequent: this.evidence.isFrequent(call.others) }
        : null
    return { receivers, others }
  }

  /** What has become frequent is new once more. */
  #mark(what: string, calls: number): string {
    return this.evidence.isFrequent(calls) ? `${what}!` : what
  }

  /** What a lambda calls; of another hidden class nobody can tell. */
  async #handlesOf(node: ClassNode): Promise<readonly LoadedSite[]> {
    if (!this.linker.isLambdaProxy(node)) return []
    const handles = this.linker.lambdaHandles(node, true)
    if (handles !== null) return handles
    const wanted = [...this.linker.wantedFiles]
    this.linker.wantedFiles.clear()
    await this.#fetch(wanted)
    return this.linker.lambdaHandles(node, true) ?? []
  }

  async #fetch(classIds: readonly number[]): Promise<void> {
    const isJdk = (id: number) => ((this.linker.hierarchy.get(id)?.flags ?? 0) & CLASS_JDK) !== 0
    await this.mirrors.fetch([...new Set(classIds)], isJdk, true)
  }

  #targetsOf({ site, receivers, owners, bound }: Made): Place[] {
    const selector = site.name + site.descriptor
    const targets: Place[] = []
    const add = (type: ClassNode, isCertain: boolean) => {
      const place = this.#select(type, selector)
      if (place !== null && (isCertain || this.evidence.isUsual(place))) targets.push(place)
    }
    for (const { node, frequent } of receivers) add(node, frequent)
    for (const it of owners) {
      add(it, bound)
      if (site.kind === 'virtual') append(targets, this.#overridersOf(it, selector))
    }
    return targets
  }

  /** JVMS 5.4.6. Of several defaults, the nearest that is known. */
  #select(start: ClassNode, selector: string): Place | null {
    const { hierarchy } = this.linker
    const above = [...hierarchy.superclasses(start), ...hierarchy.ancestors(start).filter(isInterface)]
    for (const { id } of above) {
      const method = this.evidence.table(id)?.get(selector)
      if (method !== undefined && (method.access & ACC_ABSTRACT) === 0) return { classId: id, selector }
    }
    return null
  }

  /** What instances of the type's subtypes may run, as far as it is usual. */
  #overridersOf(type: ClassNode, selector: string): readonly Place[] {
    const key = keyOf({ classId: type.id, selector })
    const known = this.#overriders.get(key)
    if (known !== undefined) return known
    const { hierarchy } = this.linker
    const found = new Map<number, Place>()
    for (const below of hierarchy.subtypesOf(type)) {
      // A superclass need not be a subtype: it may have what an interface of `below` asks for.
      for (const { id } of hierarchy.superclasses(below)) {
        const place = { classId: id, selector }
        if (!this.evidence.isUsual(place)) continue
        found.set(id, place)
        break
      }
    }
    const places = [...found.values()]
    this.#overriders.set(key, places)
    return places
  }
}

function keyOf({ classId, selector }: Place): string {
  return `${classId}:${selector}`
}
