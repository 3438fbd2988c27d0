// Methods, classes and packages that the user excludes or adds during a session.
// Excluding removes the probes of methods in one redefinition, also of methods that only excluded methods called. From then on the time of
// these methods belongs to their callers; their rows keep the earlier values. If an excluded method is found later, for example in a class
// loaded later, it gets no probes and its callees are not searched. Roots cannot be excluded, since nothing would be recorded without them.
// Adding includes methods that a filter or the user excluded. If a root can reach such a method, it gets probes by the session's scheme.
// If several entries match a method, the latest entry applies.

import { append } from '../../base/arrays.ts'
import { EX_NOMATCH, EX_UNAVAILABLE, JfluidError, UsageError } from '../../base/errors.ts'
import { isJdkName } from '../../base/jdk-names.ts'
import { getOrAdd } from '../../base/maps.ts'
import type { Snapshot, Tree } from '../../cct/tree.ts'
import type { HandChange } from '../../profile/profile.ts'
import { type Chosen, chosenOf, isChosen, type Named } from '../../reveal/chosen.ts'
import type { Revealer } from '../../reveal/revealer.ts'
import { eventsOf, type SessionOptions } from '../session-options.ts'
import type { Installation, Workshop } from './installation.ts'

/** An active entry: the text names methods or classes that the user has excluded or added. */
export interface ByHandEntry {
  readonly what: 'exclude' | 'add'
  /** Text as the user or the view wrote it. */
  readonly text: string
  /** Time of the change in ms since recording began; 0 for an entry that existed at the start. */
  readonly atMs: number
  /** Matching methods that had probes (exclude), or that received probes (add). */
  readonly methods: ReadonlySet<number>
  /** Methods that only the matching methods called. They are excluded together with the matching methods. */
  readonly below: ReadonlySet<number>
}

/** Thrown if no method with probes matches the text. */
export class NothingToLeaveOut extends JfluidError {
  static sample = () => [
    new NothingToLeaveOut('com.acne.*', false),
    new NothingToLeaveOut('com.acme.shop.OrderService.place', true),
  ]
  readonly exitCode = EX_NOMATCH
  readonly hint: string
  constructor(text: string, isRoot: boolean) {
    super(`cannot exclude ${text}: ${isRoot ? 'it is a root' : 'no method with probes matches'}`)
    this.hint = isRoot
      ? 'Change the roots instead.'
      : "Write 'pkg.Class.method(int)', 'pkg.Class', 'pkg.*' for a package, or 'pkg.**' with its subpackages."
  }
}

/** Thrown if the user wants to remove an entry that does not exist. */
export class NotByHand extends UsageError {
  static sample = () => new NotByHand('com.acme.shop.Cart')
  readonly hint = 'Write the text exactly as it was excluded or added.'
  constructor(text: string) {
    super(`cannot undo ${text}: it was not excluded or added during this session`)
  }
}

/** Thrown by `add` if no matching method is excluded, or if no matching method can have probes. */
export class NothingToAdd extends JfluidError {
  static sample = () => new NothingToAdd('com.acme.shop.Cart', 'it is not excluded')
  readonly exitCode = EX_NOMATCH
  readonly hint =
    "Write 'pkg.Class.method(int)', 'pkg.Class', 'pkg.*' for a package, or 'pkg.**' with its subpackages."
  constructor(text: string, reason: string) {
    super(`cannot add ${text}: ${reason}`)
  }
}

export class CannotChange extends JfluidError {
  static sample = () => [new CannotChange('add'), new CannotChange('exclude')]
  readonly exitCode = EX_UNAVAILABLE
  readonly hint: string
  constructor(what: ByHandEntry['what'], reason = 'the session has ended', hint?: string) {
    super(`cannot ${what} methods in this session: ${reason}`)
    this.hint =
      hint ?? `Start a new session with ${what === 'add' ? 'other filters, or --jdk' : '--exclude'}.`
  }
}

type Entry = ByHandEntry & {
  readonly chosen: Chosen
  /** Whether the entry includes JDK classes that the session would exclude. */
  readonly needsJdk: boolean
}

/** Parts of a session that this class uses. */
export interface Hands {
  readonly options: SessionOptions
  readonly workshop: Workshop
  readonly installation: Installation
}

export class ByHand {
  /** Active entries, oldest first. */
  entries: Entry[] = []
  /** Ids of methods whose probes have been removed. Each change creates a new set. */
  ids: ReadonlySet<number> = new Set()
  /** Whether the agent reports JDK classes when they are loaded. Entries may need these reports although the session does not. */
  watchesJdk: boolean
  /** All changes, oldest first. */
  changes: HandChange[] = []

  constructor(private readonly hands: Hands) {
    this.watchesJdk = hands.options.jdk
  }

  get warnings(): string[] {
    return this.changes.map(({ what, text, atMs, methods }) => {
      const when = atMs === 0 ? 'from the start' : `${(atMs / 1000).toFixed(1)} s after the start`
      const many = methods === 0 ? '' : ` (${methods} ${methods === 1 ? 'method' : 'methods'})`
      if (what === 'roots')
        return `roots were changed during the session, from ${text}: the recording of the earlier roots is not included`
      if (what === 'add') {
        const before = atMs === 0 ? '' : '; its earlier time counts for its callers'
        return `added during the session, ${when}: ${text}${many}${before}`
      }
      return what === 'exclude'
        ? `excluded during the session, ${when}: ${text}${many}; its later time counts for its callers`
        : `undone during the session, ${when}: ${text}${many}`
    })
  }

  /** Copies the entries of the previous recording when the roots change. Must be called before the revealer starts. */
  takeOver(before: ByHand, roots: readonly string[]): void {
    this.entries = before.entries.map((it) => ({ ...it, atMs: 0, methods: new Set(), below: new Set() }))
    this.changes = [
      { what: 'roots', text: roots.join(', '), atMs: 0, methods: 0 },
      ...this.entries.map(({ what, text }) => ({ what, text, atMs: 0, methods: 0 })),
    ]
    this.watchesJdk = this.#needsJdk
    const { revealer } = this.hands.workshop
    revealer.beginLeftOut(this.#filter)
    revealer.beginAdded(this.#added)
  }

  /**
   * Removes the probes of methods.
   * @param text      names a method, a class or several classes, as for --root and --exclude
   * @param snapshot  the recorded data of all threads
   * @param methodOf  returns the method id for an id in the snapshot's nodes
   * @param nowMs     time since recording began, ms
   * @throws BadPattern, NothingToLeaveOut, CannotChange
   */
  async exclude(
    text: string,
    snapshot: Snapshot,
    methodOf: (id: number) => number,
    nowMs: number,
  ): Promise<ByHandEntry> {
    const { options, workshop } = this.hands
    const { fixedBecause } = eventsOf(options)
    if (fixedBecause !== undefined) throw new CannotChange('exclude', fixedBecause)
    const { installation } = this.hands
    const { revealer, turns } = workshop
    const chosen = await this.#chosen('exclude', text)
    let added: Entry | undefined
    await turns.request(async () => {
      await installation.refreshClasses()
      const found = [...revealer.methods].filter((it) => isChosen(chosen, it))
      const methods = new Set(found.filter((it) => !it.root).map((it) => it.id))
      const { classes } = chosen
      const isArmed = classes !== undefined && (text.includes('*') || revealer.classes.has(classes))
      if (methods.size === 0 && !(isArmed && found.length === 0))
        throw new NothingToLeaveOut(chosen.text, found.length > 0)
      const known = new Map([...revealer.methods].map((it) => [it.id, it.root]))
      const below = onlyBelow(snapshot.merged, methodOf, methods, (id) => known.get(id) === false)
      added = { what: 'exclude', chosen, text: chosen.text, atMs: nowMs, methods, below, needsJdk: false }
      await this.#become([...this.#without(chosen.text), added])
      const all = methods.size + below.size
      this.changes.push({ what: 'exclude', text: chosen.text, atMs: nowMs, methods: all })
    })
    if (added === undefined) throw new CannotChange('exclude')
    return added
  }

  /**
   * Gives probes to reachable methods that filters or the user have excluded.
   * @param text   names methods, as for `exclude`
   * @param nowMs  time since recording began, ms
   * @throws BadPattern, NothingToAdd, CannotChange
   */
  async add(text: string, nowMs: number): Promise<ByHandEntry> {
    const { installation, options, workshop } = this.hands
    const { fixedBecause } = eventsOf(options)
    if (fixedBecause !== undefined) throw new CannotChange('add', fixedBecause)
    const { revealer, turns } = workshop
    const chosen = await this.#chosen('include', text)
    let added: Entry | undefined
    await turns.request(async () => {
      await installation.refreshClasses()
      const needsJdk = await turns.ask(() => this.#lookUp(chosen))
      if (needsJdk) this.#mustBearJdk()
      const entry = { what: 'add' as const, chosen, text: chosen.text, atMs: nowMs, below: NONE, needsJdk }
      await this.#become([...this.#without(chosen.text), { ...entry, methods: NONE }])
      const targets = [...revealer.methods].filter((it) => !it.root && isChosen(chosen, it))
      const methods = new Set(targets.map((it) => it.id).filter((id) => !this.ids.has(id)))
      added = { ...entry, methods }
      this.entries = [...this.#without(chosen.text), added]
      this.changes.push({ what: 'add', text: chosen.text, atMs: nowMs, methods: methods.size })
    })
    if (added === undefined) throw new CannotChange('add')
    return added
  }

  /**
   * Checks that an added text matches excluded methods.
   * @returns whether the text matches JDK classes that the session would exclude
   * @throws NothingToAdd
   */
  async #lookUp(chosen: Chosen): Promise<boolean> {
    const { options, workshop } = this.hands
    const { revealer } = workshop
    const { text } = chosen
    const { classes, out, usable, jdk } = await revealer.classes.lookUp(chosen)
    const isLeftOutByHand = await this.#hasLeftOut(chosen)
    if (classes === 0 && !text.includes('*'))
      throw new NothingToAdd(text, 'no loaded class or method with bytecode has this name')
    if (classes > 0 && out === 0 && !isLeftOutByHand) throw new NothingToAdd(text, 'it is not excluded')
    if (out > 0 && usable === 0 && !isLeftOutByHand) throw new NothingToAdd(text, 'it cannot have probes')
    return !options.jdk && (jdk > 0 || isJdkName(text) || text.startsWith('*'))
  }

  /** Returns whether a matching method of a loaded class is excluded by the user: its probes were removed, or never installed. */
  async #hasLeftOut(chosen: Chosen): Promise<boolean> {
    const { revealer } = this.hands.workshop
    if ([...revealer.methods].some((it) => this.ids.has(it.id) && isChosen(chosen, it))) return true
    const leftOut = this.entries.filter((it) => it.what === 'exclude').map((it) => it.chosen)
    return await revealer.classes.hasUsable(chosen, leftOut, this.#filter)
  }

  /** @throws CannotChange if the session cannot include JDK classes now */
  #mustBearJdk(): void {
    const { options } = this.hands
    const why = options.callSites === true ? 'call sites are' : (eventsOf(options).byCallers ?? null)
    if (why !== null) throw new CannotChange('add', `${why} recorded in methods of the JDK only with --jdk`)
  }

  /**
   * Removes an entry.
   * @returns the number of methods that got or lost probes because the entry was removed
   * @throws NotByHand, CannotChange
   */
  async takeBack(text: string, nowMs: number): Promise<number> {
    const { turns } = this.hands.workshop
    let count: number | undefined
    await turns.request(async () => {
      const taken = this.entries.find((it) => it.text === text.trim())
      if (taken === undefined) throw new NotByHand(text)
      const before = this.ids
      const back = await this.#become(this.#without(taken.text))
      const gone = [...this.ids].filter((id) => !before.has(id)).length
      count = taken.what === 'exclude' ? back : gone
      const what = taken.what === 'exclude' ? 'include' : 'exclude'
      this.changes.push({ what, text: taken.text, atMs: nowMs, methods: count })
    })
    if (count === undefined) throw new CannotChange('exclude')
    return count
  }

  #without(text: string): Entry[] {
    return this.entries.filter((it) => it.text !== text)
  }

  #chosen(option: 'include' | 'exclude', text: string): Promise<Chosen> {
    const { revealer, turns } = this.hands.workshop
    return turns.ask(() => chosenOf(option, text, (pattern) => revealer.classes.has(pattern)))
  }

  get #added(): Chosen[] {
    return this.entries.filter((it) => it.what === 'add').map(({ chosen }) => chosen)
  }

  /** Discards the history of changes: active entries count as present from the start of the recording. */
  reset(): void {
    const stays = new Set(this.entries.map(({ what, text }) => `${what} ${text}`))
    const latest = new Map(this.changes.map((it) => [`${it.what} ${it.text}`, { ...it, atMs: 0 }]))
    this.changes = [...latest]
      .filter(([key, { what }]) => what === 'roots' || stays.has(key))
      .map(([, change]) => change)
  }

  readonly #filter = (className: string, name: string, descriptor: string): boolean =>
    this.#latestOf({ className, name, descriptor }) === 'exclude'

  /** Returns the kind of the latest entry that matches a method: exclude or add. Undefined if no entry matches. */
  #latestOf(method: Named): Entry['what'] | undefined {
    return this.entries.findLast(({ chosen }) => isChosen(chosen, method))?.what
  }

  get #needsJdk(): boolean {
    return this.hands.options.jdk || this.entries.some((it) => it.needsJdk)
  }

  /** Makes JDK classes wait for the client when they are loaded, as long as an active entry needs JDK classes. */
  async #watchJdk(): Promise<void> {
    const { installation, workshop } = this.hands
    const needs = this.#needsJdk
    if (needs === this.watchesJdk) return
    await workshop.agent.watch(needs)
    this.watchesJdk = needs
    // JDK classes that were loaded since the last list did not wait for the client, so they are listed now.
    if (needs) await installation.refreshClasses()
  }

  /**
   * Applies a new list of entries.
   * @returns the number of methods that got probes, for the first time or again
   */
  async #become(entries: Entry[]): Promise<number> {
    const { installation, workshop } = this.hands
    const { revealer, turns } = workshop
    this.entries = entries
    await this.#watchJdk()
    const opened = await turns.ask(() => revealer.add(this.#added))
    const ids = this.#idsToLeaveOut(revealer)
    const back = [...this.ids].filter((id) => !ids.has(id)).length
    const refused = await installation.leaveOut(ids)
    const before = this.ids
    for (const id of refused) {
      if (before.has(id)) ids.add(id)
      else ids.delete(id)
    }
    this.ids = ids
    const revelation = await turns.ask(() => revealer.leaveOut(this.#filter))
    await installation.apply([opened, revelation])
    const first = opened.instrument.length + revelation.instrument.length
    return back - refused.filter((id) => before.has(id)).length + first
  }

  /** Returns the ids of the known methods that must be excluded. */
  #idsToLeaveOut(revealer: Revealer): Set<number> {
    const below = new Set(this.entries.flatMap((it) => [...it.below]))
    const ids = new Set<number>()
    for (const target of revealer.methods) {
      if (target.root) continue
      const latest = this.#latestOf(target)
      const isOut =
        latest === 'exclude' ||
        (latest === undefined && (below.has(target.id) || !revealer.classes.isIncluded(target)))
      if (isOut) ids.add(target.id)
    }
    return ids
  }
}

const NONE: ReadonlySet<number> = new Set()

// Finds the methods that were called only by excluded methods, so that they are excluded, too.

/**
 * Returns the methods that were called only by the excluded methods or by their callees.
 * Costs one pass over the tree, and one pass over the edges between the methods of the tree.
 * @param methodOf  returns the method id for an id in the tree's nodes
 * @param out       excluded methods
 * @param mayGo     returns false for a root. Roots, and methods that stay reachable through a root, are not in the result
 */
export function onlyBelow(
  { count, method, parent }: Tree,
  methodOf: (id: number) => number,
  out: ReadonlySet<number>,
  mayGo: (method: number) => boolean,
): Set<number> {
  const idAt = (node: number) => methodOf(method[node]!)
  const callees = new Map<number, Set<number>>()
  const callers = new Map<number, Set<number>>()
  for (let node = 0; node < count; node++) {
    const caller = parent[node]! < 0 ? OUTSIDE : idAt(parent[node]!)
    const callee = idAt(node)
    getOrAdd(callees, caller, newSet).add(callee)
    getOrAdd(callers, callee, newSet).add(caller)
  }
  const below = new Set<number>()
  const left = [...out]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const callee of callees.get(next) ?? []) {
      if (out.has(callee) || below.has(callee) || !mayGo(callee)) continue
      below.add(callee)
      left.push(callee)
    }
  }
  const stays = (it: number) => [...(callers.get(it) ?? [])].some((by) => !out.has(by) && !below.has(by))
  const doubtful = [...below]
  for (let next = doubtful.pop(); next !== undefined; next = doubtful.pop()) {
    if (!below.has(next) || !stays(next)) continue
    below.delete(next)
    append(doubtful, callees.get(next) ?? [])
  }
  return below
}

/** Pseudo-caller of the roots. No method has this id. */
const OUTSIDE = 0

const newSet = (): Set<number> => new Set()
