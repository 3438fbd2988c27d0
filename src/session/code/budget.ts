// A budget for the overhead: what profiling costs is watched, and held below a level by only counting what methods are called,
// or taking their probes out (they are folded into their callers), and putting them back when there is room.
//
// What is counted as cost: probes, by the calibration; waiting for the client; standing still for redefinitions. It is compared with
// what threads would have taken inside roots without: 5 % makes 1.05 s of 1 s. What the JVM cannot inline any more because of probes is not
// in it, nor are the processors that the client uses.
//
// One redefinition at a time, of all methods that it takes, and a look at its effect before the next. To come back there must be more
// room than would be used, and a method that had to be folded again waits twice as long the next time: so nothing swings.

import { setTimeout as sleep } from 'node:timers/promises'
import { callTicks, type ProbeCosts } from '../../base/compensation.ts'
import { debug } from '../../base/debug.ts'
import type { FoldChange, MethodSums } from '../../cct/folding.ts'
import { LinkLost } from '../../wire/link.ts'
import { type CallCosts, type Graph, type Load, type Narrowing, narrow, widen } from './budget-plan.ts'
import type { Installation, Workshop } from './installation.ts'

/** Between two looks, or longer where a look takes long: millions of contexts. */
const LOOK_MS = 150
const LOOK_SHARE = 20
const WINDOW_MS = 1_000
/** The windows that are kept: of an hour. */
const MOST_WINDOWS = 3_600
/** Code that has just been redefined is not what it will be. */
const SETTLE_MS = 300
/** The first calls are cold. */
const FIRST_MS = 1_000
/** So long a time tells whether there is too much; and whether there is room. */
const NARROW_MS = 300
const WIDEN_MS = 2_000
/** Parts of the budget: from where on methods are folded, what is aimed at, and what there may be with those that come back. */
const TOO_MUCH = 0.85
const AIM = 0.5
const ROOM = 0.55
/** A folded method comes back after that, at the earliest; after twice as long if it had to be folded again. */
const FIRST_BACK_MS = 5_000
const LONGEST_BACK_MS = 600_000
/** Until then more than the budget is no failure. */
const GRACE_MS = 5_000

/** What profiling cost in a second or so. */
export interface BudgetWindow {
  /** From when recording began, or counting anew, to the end of the window. */
  readonly atMs: number
  /** How much longer threads were inside roots because of it: 0.05 is 5 %. */
  readonly part: number
  /** Methods only counted at the end, and folded. */
  readonly counted: number
  readonly folded: number
}

export interface NarrowedMethod {
  readonly method: number
  /** The rate for which it is not timed. */
  readonly callsPerSecond: number
}

interface Look {
  readonly at: number
  readonly sums: MethodSums
  readonly redefinitions: number
}

interface Fold extends NarrowedMethod {
  readonly state: 'counted' | 'folded'
  readonly wait: number
  readonly backAt: number
  /** It is counted because there was room for that again. */
  readonly hasReturned: boolean
}

export class Budget {
  readonly #workshop: Workshop
  readonly #installation: Installation
  readonly #costs: ProbeCosts
  readonly #costsOfCall: CallCosts
  readonly #budget: number
  readonly #narrowed = new Map<number, Fold>()
  /** How long a method is to stay folded the next time. */
  readonly #patience = new Map<number, number>()
  readonly #callees = new Map<number, Set<number>>()
  readonly #callers = new Map<number, Set<number>>()
  /** What the JVM would not fold, or not bring back. */
  readonly #stubborn = new Set<number>()
  /** Left out by hand. */
  #leftOut: ReadonlySet<number> = new Set()
  /** Since the code has been what it is, oldest first. */
  #looks: Look[] = []
  #windowFrom: Look | undefined
  #windows: BudgetWindow[] = []
  #begun = 0
  #firstCallMs: number | undefined
  #changedAt = Number.NEGATIVE_INFINITY
  #changes = 0
  /** How long the latest redefinition of ours stopped the target. */
  #pauseMs = 0
  #isStuck = false
  #problem: string | null = null
  #stopped = false

  /** @param budget  0.05 for 5 % */
  constructor(workshop: Workshop, installation: Installation, costs: ProbeCosts, budget: number) {
    this.#workshop = workshop
    this.#installation = installation
    this.#costs = costs
    this.#costsOfCall = { timed: callTicks(1, 0, costs), counted: callTicks(0, 1, costs) }
    this.#budget = budget
    workshop.recorder.mayFold(costs)
  }

  get budget(): number {
    return this.#budget
  }

  /** Oldest first; of the latest hour. */
  get windows(): readonly BudgetWindow[] {
    return this.#windows
  }

  get counted(): NarrowedMethod[] {
    return this.#those('counted')
  }

  get folded(): NarrowedMethod[] {
    return this.#those('folded')
  }

  #those(wanted: Fold['state']): NarrowedMethod[] {
    return [...this.#narrowed.values()]
      .filter(({ state }) => state === wanted)
      .map(({ method, callsPerSecond }) => ({ method, callsPerSecond }))
  }

  /** Redefinitions that took probes out or put them back. */
  get changes(): number {
    return this.#changes
  }

  get warnings(): string[] {
    if (this.#problem !== null) return [`the overhead is no longer watched: ${this.#problem}`]
    return this.#isStuck
      ? ['the budget cannot be held: what is left are roots, and methods between them and other roots']
      : []
  }

  /** Recording begins. */
  start(): void {
    this.#begun = performance.now()
    this.#run().catch((error: unknown) => {
      if (!this.#isOver && !(error instanceof LinkLost)) this.#problem = String(error)
    })
  }

  stop(): void {
    this.#stopped = true
  }

  /** These are no longer ours to steer: whoever leaves methods out has them have their own code. */
  release(methods: Iterable<number>): void {
    this.#leftOut = new Set(methods)
    const timed = [...this.#leftOut].filter((it) => this.#narrowed.delete(it))
    const { recorder, clock } = this.#workshop
    if (timed.length > 0) recorder.fold({ folded: [], counted: [], timed }, clock.nowTicks)
    this.codeChanged()
  }

  /** What was seen before does not tell what is now. */
  codeChanged(): void {
    this.#changedAt = performance.now()
    this.#looks = []
  }

  /** Counting begins anew. */
  reset(): void {
    this.#begun = performance.now()
    this.#looks = []
    this.#windowFrom = undefined
    this.#windows = []
    this.#firstCallMs = undefined
  }

  /** How many windows after the first seconds were above the budget, and how many there are. */
  get above(): { readonly windows: number; readonly of: number } {
    const from = (this.#firstCallMs ?? 0) + GRACE_MS + WINDOW_MS
    const counted = this.#windows.filter(({ atMs }) => atMs >= from)
    return { windows: counted.filter(({ part }) => part > this.#budget).length, of: counted.length }
  }

  get #isOver(): boolean {
    return this.#stopped || this.#workshop.turns.closed
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const begun = performance.now()
      await this.#look()
      if (this.#isOver) return
      const spent = performance.now() - begun
      await this.#steer()
      await sleep(Math.max(LOOK_MS, spent * LOOK_SHARE), undefined, { ref: false })
    }
  }

  async #look(): Promise<void> {
    const { recorder, clock } = this.#workshop
    const sums = await recorder.methodSums(clock.nowTicks)
    const look = { at: performance.now(), sums, redefinitions: this.#installation.redefinitions }
    for (let i = 0; i < sums.edges.length; i += 2) {
      const [caller, callee] = [sums.edges[i], sums.edges[i + 1]]
      add(this.#callees, caller, callee)
      add(this.#callers, callee, caller)
    }
    const last = this.#looks.at(-1) ?? this.#windowFrom
    // All was set to zero meanwhile.
    if (last !== undefined && sums.totalCalls < last.sums.totalCalls) {
      this.#looks = []
      this.#windowFrom = undefined
    }
    if (sums.totalCalls > 0) this.#firstCallMs ??= look.at - this.#begun
    this.#windowFrom ??= look
    if (look.at - this.#windowFrom.at >= WINDOW_MS) this.#closeWindow(this.#windowFrom, look)
    if (look.at < this.#changedAt + SETTLE_MS) return
    this.#looks.push(look)
    while (this.#looks.length > 2 && look.at - this.#looks[1].at >= WIDEN_MS) this.#looks.shift()
  }

  #closeWindow(from: Look, to: Look): void {
    const part = partOf(this.#loadOf(from, to))
    this.#windows.push({
      atMs: to.at - this.#begun,
      part,
      counted: this.counted.length,
      folded: this.folded.length,
    })
    if (this.#windows.length > MOST_WINDOWS) this.#windows.shift()
    if (part <= this.#budget) this.#isStuck = false
    this.#windowFrom = to
  }

  async #steer(): Promise<void> {
    const latest = this.#looks.at(-1)
    const recent = this.#looks.findLast(({ at }) => latest !== undefined && latest.at - at >= NARROW_MS)
    if (latest === undefined || recent === undefined) return
    const load = this.#loadOf(recent, latest)
    // Threads also wait for answers while methods go in, and those waits end by themselves.
    const isCalm = latest.redefinitions === recent.redefinitions
    const cost = load.probeTicks + (isCalm ? load.waitTicks : 0)
    if (cost > TOO_MUCH * this.#budget * load.bareTicks) {
      const sinceCalls = latest.at - this.#begun - (this.#firstCallMs ?? 0)
      if (sinceCalls >= FIRST_MS) await this.#narrow(load, latest.at - recent.at)
      return
    }
    const before = this.#looks[0]
    if (this.#narrowed.size > 0 && latest.at - before.at >= WIDEN_MS)
      await this.#widen(this.#loadOf(before, latest))
  }

  async #narrow(load: Load, ms: number): Promise<void> {
    const foldable = this.#workshop.instrumenter.foldable()
    for (const method of this.#stubborn) foldable.delete(method)
    // Threads that wait for room in the buffer do so because of too many events: with half of them they hardly do.
    const most = Math.min(AIM * this.#budget * load.bareTicks, load.probeTicks / 2)
    const change = narrow(load, this.#costsOfCall, this.#graph, foldable, this.#states, most)
    if (isNothing(change)) {
      this.#isStuck = partOf(load) > this.#budget
      return
    }
    const rate = (method: number) => ((load.estimated[method] ?? 0) * 1000) / ms
    await this.#change(change, rate, false)
  }

  async #widen(load: Load): Promise<void> {
    const now = performance.now()
    const cost = load.probeTicks + load.waitTicks + load.pauseTicks
    // The redefinition is a cost of the second it is in.
    const left = Math.min(ROOM, TOO_MUCH - this.#pauseMs / WINDOW_MS / this.#budget)
    const room = left * this.#budget * load.bareTicks - cost
    if (room <= 0) return
    const mayReturn = (method: number) =>
      !this.#stubborn.has(method) && (this.#narrowed.get(method)?.backAt ?? 0) <= now
    const change = widen(load, this.#costsOfCall, this.#graph, this.#states, mayReturn, room)
    const rate = (method: number) => this.#narrowed.get(method)?.callsPerSecond ?? 0
    if (!isNothing(change)) await this.#change(change, rate, true)
  }

  get #states(): Narrowing {
    return new Map([...this.#narrowed].map(([method, { state }]) => [method, state]))
  }

  get #graph(): Graph {
    return { callees: this.#callees, callers: this.#callers }
  }

  async #change(planned: FoldChange, rate: (method: number) => number, isBack: boolean): Promise<void> {
    const { turns, recorder, clock } = this.#workshop
    await turns.enqueue(async () => {
      // Methods may have been left out, or taken back, since this was planned.
      const isOurs = (it: number) => !this.#leftOut.has(it) && (!isBack || this.#narrowed.has(it))
      const change: FoldChange = {
        folded: planned.folded.filter(isOurs),
        counted: planned.counted.filter(isOurs),
        timed: planned.timed.filter(isOurs),
      }
      if (isNothing(change)) return
      const done = await this.#installation.narrow(change)
      const refused = new Set(done.refused)
      this.#pauseMs = done.pauseMs
      for (const method of refused) this.#stubborn.add(method)
      const taken = (methods: readonly number[]) => methods.filter((it) => !refused.has(it))
      const [folded, counted, timed] = [taken(change.folded), taken(change.counted), taken(change.timed)]
      recorder.fold({ folded, counted, timed }, clock.nowTicks)
      for (const method of folded) this.#note(method, 'folded', rate(method))
      for (const method of counted) this.#note(method, 'counted', rate(method))
      for (const method of timed) this.#narrowed.delete(method)
      this.#changes++
      debug.redefine?.(
        `budget: ${folded.length} methods folded, ${counted.length} only counted, ${timed.length} timed again, ${refused.size} refused`,
      )
    })
    this.codeChanged()
  }

  #note(method: number, state: Fold['state'], callsPerSecond: number): void {
    const before = this.#narrowed.get(method)
    if (before?.state === 'folded') {
      this.#narrowed.set(method, { ...before, state, hasReturned: true })
      return
    }
    const again = before === undefined || before.hasReturned
    const wait = again ? (this.#patience.get(method) ?? FIRST_BACK_MS) : before.wait
    if (again) this.#patience.set(method, Math.min(2 * wait, LONGEST_BACK_MS))
    const backAt = performance.now() + wait
    this.#narrowed.set(method, { method, state, callsPerSecond, wait, backAt, hasReturned: false })
  }

  #loadOf(from: Look, to: Look): Load {
    const minus = (after: Float64Array, before: Float64Array) =>
      after.map((value, i) => value - (before[i] ?? 0))
    const probeTicks = callTicks(
      to.sums.totalCalls - from.sums.totalCalls,
      to.sums.totalCounted - from.sums.totalCounted,
      this.#costs,
    )
    const waitTicks = to.sums.waitTicks - from.sums.waitTicks
    const pauseTicks = Math.max(0, to.sums.pauseTicks - from.sums.pauseTicks)
    const measured = Math.max(0, to.sums.insideTicks - from.sums.insideTicks)
    return {
      calls: minus(to.sums.calls, from.sums.calls),
      counted: minus(to.sums.counted, from.sums.counted),
      estimated: minus(to.sums.estimated, from.sums.estimated),
      ticks: minus(to.sums.ticks, from.sums.ticks),
      ...{ probeTicks, waitTicks, pauseTicks },
      // Probes may cost less than calibration found, but not all of the time.
      bareTicks: Math.max(measured - probeTicks, measured / 100),
    }
  }
}

function isNothing({ folded, counted, timed }: FoldChange): boolean {
  return folded.length + counted.length + timed.length === 0
}

function partOf({ probeTicks, waitTicks, pauseTicks, bareTicks }: Load): number {
  return bareTicks > 0 ? (probeTicks + waitTicks + pauseTicks) / bareTicks : 0
}

function add(map: Map<number, Set<number>>, key: number, value: number): void {
  const found = map.get(key)
  if (found === undefined) map.set(key, new Set([value]))
  else found.add(value)
}
