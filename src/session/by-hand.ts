// What the user leaves out while a session runs: methods, classes, packages, and what only these were seen to call.
//
// Their probes go out, in one redefinition; their time is their callers' from then on, and their rows keep what they had. A method
// that is found later, in a class loaded then, say, gets none. What a method that is left out would newly lead to is not looked for.
// Roots stay: without them nothing is recorded.

import { EX_NOMATCH, EX_UNAVAILABLE, EX_USAGE, JfluidError } from '../base/errors.ts'
import type { Snapshot } from '../cct/tree.ts'
import type { HandChange } from '../profile/profile.ts'
import type { MethodTarget } from '../reveal/method-ids.ts'
import {
  type ClassPattern,
  matchesClass,
  matchesMethod,
  parseClassPattern,
  parseRoot,
  RANK_NONE,
  type RootPattern,
  rootRank,
} from '../reveal/patterns.ts'
import type { Revealer } from '../reveal/revealer.ts'
import type { Budget } from './budget.ts'
import type { ErrorBars } from './error-bars.ts'
import type { Installation, Workshop } from './installation.ts'
import { onlyBelow } from './only-below.ts'
import { modeOf, type SessionOptions } from './session-options.ts'

/** Something the user has left out, and not taken back. */
export interface LeftOut {
  /** As the user wrote it, or the view did. */
  readonly text: string
  /** From when recording began; 0 for what was left out from the start. */
  readonly atMs: number
  /** Methods that match, of those that had probes. */
  readonly methods: ReadonlySet<number>
  /** Methods that only those had led to. */
  readonly below: ReadonlySet<number>
}

/** Nothing that has probes is named so. */
export class NothingToLeaveOut extends JfluidError {
  readonly exitCode = EX_NOMATCH
  readonly hint: string
  constructor(text: string, isRoot: boolean) {
    super(`nothing to leave out: ${isRoot ? `${text} is a root` : `no method with probes matches ${text}`}`)
    this.hint = isRoot
      ? 'Change the root instead.'
      : "Write 'pkg.Class.method(int)', 'pkg.Class', or 'pkg.*' and 'pkg.**' for packages; these may be loaded later."
  }
}

/** It was not left out by hand. */
export class NotLeftOut extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Write it as it was left out.'
  constructor(text: string) {
    super(`nothing to take back: ${text} is not left out by hand`)
  }
}

export class CannotLeaveOut extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Begin a session with --exclude.'
  constructor(reason: string) {
    super(`nothing can be left out by hand: ${reason}`)
  }
}

interface Hand {
  readonly text: string
  readonly classes?: ClassPattern
  readonly method?: RootPattern
}

type Entry = LeftOut & { readonly hand: Hand }

/** The parts of a session that this works with. */
export interface Hands {
  readonly options: SessionOptions
  readonly workshop: Workshop
  readonly installation: Installation
  readonly budget: Budget | null
  readonly errorBars: ErrorBars | null
}

export class ByHand {
  readonly #hands: Hands
  #entries: Entry[] = []
  #ids: ReadonlySet<number> = new Set()
  #changes: HandChange[] = []

  constructor(hands: Hands) {
    this.#hands = hands
  }

  /** Newest last. */
  get leftOut(): readonly LeftOut[] {
    return this.#entries
  }

  /** Methods whose probes are out. A new set after each change. */
  get ids(): ReadonlySet<number> {
    return this.#ids
  }

  /** Oldest first. */
  get changes(): readonly HandChange[] {
    return this.#changes
  }

  get warnings(): string[] {
    return this.#changes.map(({ what, text, atMs, methods }) => {
      const when = atMs === 0 ? 'from the start' : `${(atMs / 1000).toFixed(1)} s after the start`
      const many = methods === 0 ? '' : ` (${methods} ${methods === 1 ? 'method' : 'methods'})`
      if (what === 'roots')
        return `roots changed by hand, from ${text}: what was recorded of those is not in here`
      return what === 'exclude'
        ? `left out by hand, ${when}: ${text}${many}; what that takes since then is its callers'`
        : `taken back by hand, ${when}: ${text}${many}`
    })
  }

  /** Before anything is looked at: what was left out of the recording before this one, whose roots were others. */
  takeOver(before: ByHand, roots: readonly string[]): void {
    this.#entries = before.#entries.map((it) => ({ ...it, atMs: 0, methods: new Set(), below: new Set() }))
    this.#changes = [
      { what: 'roots', text: roots.join(', '), atMs: 0, methods: 0 },
      ...this.#entries.map(({ text }) => ({ what: 'exclude' as const, text, atMs: 0, methods: 0 })),
    ]
    this.#hands.workshop.revealer.beginLeftOut(this.#filter)
  }

  /**
   * Takes the probes of methods out.
   *
   * @param text      a method, a class or classes, as --root and --exclude have them
   * @param snapshot  what was recorded so far, all threads
   * @param methodOf  the method of a node's id in it
   * @param nowMs     from when recording began
   * @throws BadPattern, NothingToLeaveOut, CannotLeaveOut
   */
  async exclude(
    text: string,
    snapshot: Snapshot,
    methodOf: (id: number) => number,
    nowMs: number,
  ): Promise<LeftOut> {
    const { options, workshop } = this.#hands
    if (modeOf(options) === 'sample') throw new CannotLeaveOut('samples are taken of all that runs')
    const { installation } = this.#hands
    const { revealer, turns } = workshop
    const hand = await turns.ask(() => handOf(text, revealer))
    let added: Entry | undefined
    await turns.request(async () => {
      await installation.refreshClasses()
      const found = [...revealer.methods()].filter((it) => isMeant(hand, it))
      const methods = new Set(found.filter((it) => !it.root).map((it) => it.id))
      const isArmed = hand.classes !== undefined && (text.includes('*') || revealer.hasClass(hand.classes))
      if (methods.size === 0 && !(isArmed && found.length === 0))
        throw new NothingToLeaveOut(hand.text, found.length > 0)
      const known = new Map([...revealer.methods()].map((it) => [it.id, it.root]))
      const below = onlyBelow(snapshot.merged, methodOf, methods, (id) => known.get(id) === false)
      const entries = this.#entries.filter((it) => it.text !== hand.text)
      added = { hand, text: hand.text, atMs: nowMs, methods, below }
      await this.#become([...entries, added])
      const all = methods.size + below.size
      this.#changes.push({ what: 'exclude', text: hand.text, atMs: nowMs, methods: all })
    })
    if (added === undefined) throw new CannotLeaveOut('the session has ended')
    return added
  }

  /**
   * Puts them back.
   *
   * @returns how many methods
   * @throws NotLeftOut, CannotLeaveOut
   */
  async include(text: string, nowMs: number): Promise<number> {
    const { turns } = this.#hands.workshop
    let count: number | undefined
    await turns.request(async () => {
      const left = this.#entries.filter((it) => it.text !== text.trim())
      if (left.length === this.#entries.length) throw new NotLeftOut(text)
      count = await this.#become(left)
      this.#changes.push({ what: 'include', text: text.trim(), atMs: nowMs, methods: count })
    })
    if (count === undefined) throw new CannotLeaveOut('the session has ended')
    return count
  }

  /** Counting begins anew: what is left out has been from the start. */
  reset(): void {
    const left = new Set(this.#entries.map(({ text }) => text))
    const latest = new Map(this.#changes.map((it) => [`${it.what} ${it.text}`, { ...it, atMs: 0 }]))
    this.#changes = [...latest.values()].filter(
      ({ what, text }) => what === 'roots' || (what === 'exclude' && left.has(text)),
    )
  }

  readonly #filter = (className: string, name: string, descriptor: string): boolean =>
    this.#entries.some(({ hand }) => isMeant(hand, { className, name, descriptor }))

  /** @returns how many methods got their probes back, or their first */
  async #become(entries: Entry[]): Promise<number> {
    const { budget, errorBars, installation, workshop } = this.#hands
    const { revealer, turns } = workshop
    this.#entries = entries
    const ids = new Set(entries.flatMap((it) => [...it.methods, ...it.below]))
    // A method that was left out as the only caller had been, and matches an entry that stays, stays out.
    for (const target of revealer.methods())
      if (this.#ids.has(target.id) && !target.root && entries.some((it) => isMeant(it.hand, target)))
        ids.add(target.id)
    const back = [...this.#ids].filter((id) => !ids.has(id)).length
    budget?.release(ids)
    const refused = await installation.leaveOut(ids)
    errorBars?.codeChanged()
    const before = this.#ids
    for (const id of refused) {
      if (before.has(id)) ids.add(id)
      else ids.delete(id)
    }
    this.#ids = ids
    const revelation = await turns.ask(() => revealer.leaveOut(this.#filter))
    await installation.apply(revelation)
    return back - refused.filter((id) => before.has(id)).length + revelation.instrument.length
  }
}

/** A class that is there is meant before a method of another. */
function handOf(text: string, revealer: Revealer): Hand {
  const trimmed = text.trim()
  if (trimmed === '' || !trimmed.includes('(')) {
    const classes = parseClassPattern('exclude', trimmed)
    const isClass = trimmed.includes('*') || !/[./]/.test(trimmed) || revealer.hasClass(classes)
    if (isClass) return { text: trimmed, classes }
  }
  return { text: trimmed, method: parseRoot(trimmed) }
}

function isMeant(
  { classes, method }: Hand,
  it: Pick<MethodTarget, 'className' | 'name' | 'descriptor'>,
): boolean {
  if (classes !== undefined) return matchesClass(classes, it.className)
  if (method === undefined || rootRank(method, it.className) === RANK_NONE) return false
  return matchesMethod(method, it.name, it.descriptor)
}
