// Answers from samples: why requests take their time. Pure functions.

import { isBusy, type Processors } from '../../attach/processors.ts'
import { addTo } from '../../base/arrays.ts'
import { getOrAdd } from '../../base/maps.ts'
import { isInPool } from '../sampling/idle-threads.ts'
import { type Activity, activityOf, type OwnMethod, ownMethods, type Service, serviceOf } from './activity.ts'
import type { Observed, ThreadGroup, WorkSample } from './observed.ts'

/** Counters of the JVM and of the system for the time of the sampling. A value is null if it is unknown. */
export interface Counted {
  readonly durationMs: number
  readonly collectionMs: number | null
  /** Share of the processor quota's periods in which the JVM was throttled. */
  readonly throttledShare: number | null
  readonly processors: Processors | null
  /** Total time that threads ran, and total time that threads were ready to run but had no processor. */
  readonly ranMs: number | null
  readonly delayedMs: number | null
}

export type Cause = Activity | 'processor' | 'collection' | 'throttled'

export interface Share {
  /** Share of the time of requests, 0 to 1. */
  readonly share: number
}

export interface Holder extends Share {
  readonly activity: Activity
  readonly service?: Service | undefined
  /** The innermost method of the application, and its callers in the application, innermost first. */
  readonly methods: readonly OwnMethod[]
}

export interface LockFacts extends Share {
  /** Class of the lock object. */
  readonly class: string
  /** Method in which threads wait for the lock. */
  readonly waiter: OwnMethod
  /** Most frequent holder; null if it was not seen. */
  readonly holder: {
    readonly thread: string
    readonly activity: Activity
    /** False if the dump names the holder. True if the holder is inferred: its thread is inside the method that takes the lock. */
    readonly isGuess: boolean
    /** Own methods on the stack of the holder, innermost first. */
    readonly methods: readonly OwnMethod[]
  } | null
}

export interface Answer {
  /** Method that runs a request, for --root. Null if all working threads count as requests. */
  readonly root: string | null
  readonly cause: Cause
  /** Share of the cause, 0 to 1. For a pause of the JVM it is a share of the elapsed time, otherwise of the time of requests. */
  readonly share: number
  /** Number of samples of requests, and of all working threads. */
  readonly samples: number
  readonly allSamples: number
  /** Shares of the time of requests. `processor` is the part of the ready time in which no processor was free. */
  readonly states: readonly (Share & { readonly state: Activity | 'processor' })[]
  /** The method with the most time of this cause; null if there is none. */
  readonly main: Holder | null
  /** The method with the most time of another activity than that of `main`; null if there is none. */
  readonly besides: Holder | null
  /** The narrowest methods that contain the time of requests, largest share first. */
  readonly methods: readonly Holder[]
  readonly locks: readonly LockFacts[]
  /** Share of the elapsed time in stop-the-world collections, and share of the quota's periods with throttling. Null if unknown. */
  readonly collection: number | null
  readonly throttled: number | null
  /** Allocation rate of all threads, the group of threads that allocates most, and its share. Null if the JVM's counters are too coarse. */
  readonly allocation:
    | (Share & {
        readonly bytesPerSecond: number
        readonly group: string
        /** Method in which these threads compute most. It need not be the method that allocates. Null if they were not seen computing. */
        readonly method: OwnMethod | null
      })
    | null
  /** Methods with the most processor time, and their shares of the processor time. */
  readonly computing: readonly (Share & { readonly method: OwnMethod; readonly group: string })[]
  readonly processors: Processors | null
  /** Groups of at least two threads, with the mean number of threads that waited for work. */
  readonly pools: readonly { readonly name: string; readonly threads: number; readonly idle: number }[]
  /** Mean number of carriers whose virtual threads are missing in the dumps (before JDK 24). */
  readonly carriers: number
  /** Groups of threads that work outside the root: mean number of working threads, and the method with the most of their time. */
  readonly others: readonly { readonly group: string; readonly threads: number; readonly holder: Holder }[]
}

/** Minimum shares of causes other than computing. Pauses of the whole JVM delay every request, so their minimum is lower. */
const MIN_PAUSE_SHARE = 0.1
const MIN_WAIT_SHARE = 0.25
/** Minimum mean number of working threads of a reported group. */
const MIN_OTHER_THREADS = 0.1
const MAX_METHODS = 3
const MAX_COMPUTING = 2
/** Minimum share of the processor time of a reported method. */
const MIN_COMPUTING_SHARE = 0.1
/** Minimum number of steps of the JVM's counters in a sum of allocated bytes. With fewer steps, the sum is too inexact. */
const MIN_ALLOCATED_STEPS = 10

/**
 * Answers from the samples. All samples of a thread group count as requests if the recommended root was seen in that group.
 *
 * @param roots  texts of the methods that were seen to begin or end, the recommended one first; empty: all working threads count as requests
 */
export function answerOf(observed: Observed, counted: Counted, roots: readonly string[]): Answer {
  const [root = null] = roots
  const { samples } = observed
  const groups = root === null ? null : groupsOf(samples, frameOf(root))
  const isRequest = ({ group }: WorkSample): boolean => groups === null || groups.has(group)
  const requests = groups === null ? awake(samples) : samples.filter(isRequest)
  const holders = holdersOf(requests)
  const states = statesOf(requests, counted)
  const collection = partOf(counted.collectionMs, counted.durationMs)
  const throttled = counted.throttledShare
  const worst = worstOf(states, collection, throttled)
  const main = holders.find((it) => isOfCause(it, worst.cause)) ?? null
  return {
    root: root === null ? null : (taskOf(requests, observed, new Set(roots.map(frameOf))) ?? root),
    ...worst,
    main,
    besides: holders.find((it) => it.activity !== main?.activity) ?? null,
    samples: countOf(requests),
    allSamples: countOf(samples),
    states,
    methods: holders.slice(0, MAX_METHODS),
    locks: locksOf(requests, samples),
    collection,
    throttled,
    allocation: allocationOf(observed, counted.durationMs),
    computing: computingOf(observed),
    processors: counted.processors,
    pools: poolsOf([...observed.groups.values()], observed.dumps),
    carriers: observed.carriers / Math.max(1, observed.dumps),
    others: othersOf(
      samples.filter((it) => !isRequest(it)),
      observed.dumps,
    ),
  }
}

function countOf(samples: readonly WorkSample[]): number {
  return samples.reduce((sum, { count }) => sum + count, 0)
}

/** Removes groups whose threads only slept. Without a root, no other fact shows that these threads serve no requests. */
function awake(samples: readonly WorkSample[]): readonly WorkSample[] {
  const groups = new Set(samples.filter(({ state }) => state !== 'sleep').map(({ group }) => group))
  return groups.size === 0 ? samples : samples.filter(({ group }) => groups.has(group))
}

function isOfCause({ activity }: Holder, cause: Cause): boolean {
  return (
    activity === cause || (activity === 'cpu' && ['throttled', 'processor', 'collection'].includes(cause))
  )
}

/** Minimum share of the root in the samples of a group. A group with a smaller share calls the root for another reason than requests. */
const MIN_ROOT_SHARE = 0.1
/** Minimum share of the samples of requests that contain the method that runs requests. */
const MIN_TASK_SHARE = 0.9

function groupsOf(samples: readonly WorkSample[], frame: string): ReadonlySet<string> {
  const all = new Map<string, number>()
  const inside = new Map<string, number>()
  for (const { group, stack, count } of samples) {
    all.set(group, (all.get(group) ?? 0) + count)
    if (stack.frames.includes(frame)) inside.set(group, (inside.get(group) ?? 0) + count)
  }
  const shares = [...inside].map(([group, count]) => ({ group, share: count / all.get(group)! }))
  const found = shares.filter(({ share }) => share >= MIN_ROOT_SHARE)
  // If no group has this share, each group runs many kinds of tasks. Then all groups that were seen in this method are returned.
  return new Set((found.length > 0 ? found : shares).map(({ group }) => group))
}

/**
 * Returns the outermost own method that is in nearly all samples of requests and that returns. A method returns if it was seen to begin or
 * end (`roots`), or if it is below the loop of a known pool and not on the stack of an idle thread. Null if requests have no common method
 * that returns. If all threads of a pool always work, dumps show no begin and no end of a request. The recommended root is then only a part
 * of a request.
 */
function taskOf(
  requests: readonly WorkSample[],
  { groups }: Observed,
  roots: ReadonlySet<string>,
): string | null {
  const counts = new Map<string, { count: number; depths: number }>()
  const all = countOf(requests)
  for (const { group, stack, count: own } of requests) {
    const isBelowLoop = isInPool(stack.frames)
    for (const [depth, { name }] of ownMethods(stack).toReversed().entries()) {
      const returns = roots.has(name) || (isBelowLoop && groups.get(group)?.loops.has(name) === false)
      if (!returns) continue
      const sum = getOrAdd(counts, name, () => ({ count: 0, depths: 0 }))
      sum.count += own
      sum.depths += own * depth
    }
  }
  const common = [...counts].filter(([, { count }]) => count >= MIN_TASK_SHARE * all)
  const [outermost] = common.sort(([, a], [, b]) => a.depths / a.count - b.depths / b.count)
  return outermost === undefined ? null : outermost[0].replace(/<init>$/, 'new')
}

/** `fix.Foo.new` is the constructor, whose frame is `fix.Foo.<init>`. */
function frameOf(root: string): string {
  return root.endsWith('.new') ? `${root.slice(0, -'new'.length)}<init>` : root
}

function partOf(ms: number | null, durationMs: number): number | null {
  return ms === null ? null : Math.min(1, Math.max(0, ms / durationMs))
}

function statesOf(
  requests: readonly WorkSample[],
  { ranMs, delayedMs, processors }: Counted,
): Answer['states'] {
  const counts = new Map<Activity | 'processor', number>()
  const all = countOf(requests)
  for (const it of requests) {
    const activity = activityOf(it)
    counts.set(activity, (counts.get(activity) ?? 0) + it.count / all)
  }
  // A thread that waits for a processor is RUNNABLE, too. If processors are idle, these delays are only those of short wake-ups.
  const cpu = counts.get('cpu') ?? 0
  const ready = (ranMs ?? 0) + (delayedMs ?? 0)
  const delayed =
    ready > 0 && processors !== null && isBusy(processors) ? (cpu * (delayedMs ?? 0)) / ready : 0
  if (delayed > 0) {
    counts.set('cpu', cpu - delayed)
    counts.set('processor', delayed)
  }
  return [...counts].map(([state, share]) => ({ state, share })).sort((a, b) => b.share - a.share)
}

function worstOf(
  states: Answer['states'],
  collection: number | null,
  throttled: number | null,
): { cause: Cause; share: number } {
  const causes: { cause: Cause; share: number }[] = []
  if ((throttled ?? 0) >= MIN_PAUSE_SHARE) causes.push({ cause: 'throttled', share: throttled! })
  if ((collection ?? 0) >= MIN_PAUSE_SHARE) causes.push({ cause: 'collection', share: collection! })
  for (const { state, share } of states)
    if (state !== 'cpu' && share >= MIN_WAIT_SHARE) causes.push({ cause: state, share })
  // Computing is the normal state, so it is the cause only if nothing pauses the JVM and no wait has a larger share.
  const cpu = { cause: 'cpu', share: states.find(({ state }) => state === 'cpu')?.share ?? 0 } as const
  if (throttled === null || throttled < MIN_PAUSE_SHARE)
    if (collection === null || collection < MIN_PAUSE_SHARE) causes.push(cpu)
  const [worst] = causes.sort((a, b) => weightOf(b) - weightOf(a))
  return worst ?? cpu
}

/** A pause of the JVM also makes the waits of its threads longer, so the pause is the more likely cause. */
function weightOf({ cause, share }: { readonly cause: Cause; readonly share: number }): number {
  return cause === 'throttled' || cause === 'collection' ? 2 * share : share
}

interface Sum {
  samples: number
  readonly activity: Activity
  readonly service: Service | undefined
  /** Numbers of samples, keyed by chain of method names. */
  readonly chains: Map<string, { count: number; readonly methods: readonly OwnMethod[] }>
}

/** Groups samples by the innermost own method, its activity and its service. */
function holdersOf(samples: readonly WorkSample[]): Holder[] {
  const sums = new Map<string, Sum>()
  for (const it of samples) {
    const activity = activityOf(it)
    const service = serviceOf(it.stack, activity)
    const methods = ownMethods(it.stack)
    const key = [methods[0]?.name, activity, service].join('\n')
    const sum = getOrAdd(sums, key, () => ({ samples: 0, activity, service, chains: new Map() }))
    sum.samples += it.count
    const text = methods.map(({ name, place }) => `${name} ${place}`).join('\n')
    const chain = getOrAdd(sum.chains, text, () => ({ count: 0, methods }))
    chain.count += it.count
  }
  const all = countOf(samples)
  return [...sums.values()]
    .sort((a, b) => b.samples - a.samples)
    .map(({ samples: own, activity, service, chains }) => ({
      share: own / all,
      activity,
      service,
      methods: mostOf(chains.values())?.methods ?? [],
    }))
}

function mostOf<T extends { readonly count: number }>(all: Iterable<T>): T | undefined {
  let most: T | undefined
  for (const it of all) if (most === undefined || it.count > most.count) most = it
  return most
}

function locksOf(requests: readonly WorkSample[], samples: readonly WorkSample[]): LockFacts[] {
  const sums = new Map<
    string,
    { count: number; readonly waiter: OwnMethod; readonly class: string; readonly holders: Map<string, Held> }
  >()
  const guesses = new Map<string, LockFacts['holder']>()
  type Held = { count: number; readonly holder: NonNullable<LockFacts['holder']> }
  for (const sample of requests) {
    if (activityOf(sample) !== 'lock') continue
    const [waiter] = ownMethods(sample.stack)
    if (waiter === undefined) continue
    const name = sample.awaited ?? 'unknown'
    const key = `${name}\n${waiter.name}`
    const sum = getOrAdd(sums, key, () => ({ count: 0, waiter, class: name, holders: new Map() }))
    sum.count += sample.count
    const holder = holderOf(sample, samples, guesses)
    if (holder === null) continue
    const at = `${holder.methods[0]?.name}\n${holder.activity}`
    const held = getOrAdd(sum.holders, at, () => ({ count: 0, holder }))
    held.count += sample.count
  }
  const all = countOf(requests)
  return [...sums.values()]
    .sort((a, b) => b.count - a.count)
    .map((sum) => ({
      share: sum.count / all,
      class: sum.class,
      waiter: sum.waiter,
      holder: mostOf(sum.holders.values())?.holder ?? null,
    }))
}

/**
 * Returns the thread that holds the lock. A dump names the holder of a monitor. For a lock of java.util.concurrent the holder is a guess: see
 * `guessed`.
 */
function holderOf(
  sample: WorkSample,
  samples: readonly WorkSample[],
  guesses: Map<string, LockFacts['holder']>,
): LockFacts['holder'] {
  if (sample.holder !== undefined) {
    const { thread, stack } = sample.holder
    return { thread, isGuess: false, methods: ownMethods(stack), activity: activityOf(sample.holder) }
  }
  const [waiter] = ownMethods(sample.stack)
  // The holder of a monitor is in the dump, unless it has just left.
  if (waiter === undefined || sample.awaited?.startsWith('java.util.concurrent.locks.') !== true) return null
  const key = `${waiter.name}\n${waiter.place}`
  const known = guesses.get(key)
  if (known !== undefined) return known
  const guess = guessed(waiter, samples)
  guesses.set(key, guess)
  return guess
}

/**
 * Guesses the holder of a lock: the threads that have the method which called `lock` on their stack, and do not wait for a lock. If the
 * lines are known, these threads are behind the line of the call. Of several such threads, the most frequent ones are the guess.
 */
function guessed({ name, place }: OwnMethod, samples: readonly WorkSample[]): LockFacts['holder'] {
  const from = lineOf(place)
  const inside = samples.filter(({ state, stack: { frames, places } }) => {
    const at = frames.indexOf(name)
    return state !== 'lock' && at >= 0 && !(lineOf(places[at]) <= from)
  })
  const [holder] = holdersOf(inside)
  if (holder === undefined) return null
  const { activity, methods } = holder
  const [innermost] = methods
  const its = inside.filter(
    (it) => activityOf(it) === activity && ownMethods(it.stack)[0]?.name === innermost?.name,
  )
  return { thread: mostOf(its)?.group ?? '', isGuess: true, methods, activity }
}

/** Returns the line of a source position; NaN if unknown. */
function lineOf(place = ''): number {
  return Number(/:(\d+)$/.exec(place)?.[1] ?? Number.NaN)
}

/**
 * The counters of a thread show how many bytes it has allocated, but not in which method: between two dumps, the thread may have run other
 * methods. So the answer names the threads, and the method in which they compute most.
 */
function allocationOf({ samples, groups }: Observed, durationMs: number): Answer['allocation'] {
  const all = [...groups.values()]
  const bytes = all.reduce((sum, { allocated }) => sum + allocated, 0)
  const [most] = all.sort((a, b) => b.allocated - a.allocated)
  if (most === undefined || most.allocatedSteps < MIN_ALLOCATED_STEPS) return null
  return {
    ...{ share: most.allocated / bytes, bytesPerSecond: (bytes * 1e3) / durationMs, group: most.name },
    method: computedIn(samples.filter(({ group }) => group === most.name))[0]?.method ?? null,
  }
}

/** Divides the processor time of each group of threads among the methods in which they were seen computing. */
function computingOf({ samples, groups }: Observed): Answer['computing'] {
  const sums = new Map<string, { count: number; readonly method: OwnMethod; readonly group: string }>()
  let whole = 0
  for (const { name: group, cpuMs } of groups.values()) {
    whole += cpuMs
    for (const { method, share } of computedIn(samples.filter((it) => it.group === group))) {
      const sum = getOrAdd(sums, method.name, () => ({ count: 0, method, group }))
      sum.count += share * cpuMs
    }
  }
  if (whole <= 0) return []
  return [...sums.values()]
    .sort((a, b) => b.count - a.count)
    .map(({ count, method, group }) => ({ share: count / whole, method, group }))
    .filter(({ share }) => share >= MIN_COMPUTING_SHARE)
    .slice(0, MAX_COMPUTING)
}

/** Returns the innermost own methods of the samples that compute, the most frequent one first. */
function computedIn(samples: readonly WorkSample[]): (Share & { method: OwnMethod })[] {
  const sums = new Map<string, { count: number; readonly method: OwnMethod }>()
  const computing = samples.filter(({ state }) => state === 'cpu')
  for (const { stack, count } of computing) {
    const [method] = ownMethods(stack)
    if (method === undefined) continue
    const sum = getOrAdd(sums, method.name, () => ({ count: 0, method }))
    sum.count += count
  }
  const all = countOf(computing)
  return [...sums.values()]
    .sort((a, b) => b.count - a.count)
    .map(({ count, method }) => ({ share: count / all, method }))
}

function poolsOf(groups: readonly ThreadGroup[], dumps: number): Answer['pools'] {
  return groups
    .filter(({ threads }) => threads > 1)
    .map(({ name, threads, idle }) => ({ name, threads, idle: idle / Math.max(1, dumps) }))
    .sort((a, b) => b.threads - a.threads)
}

function othersOf(samples: readonly WorkSample[], dumps: number): Answer['others'] {
  const groups = new Map<string, WorkSample[]>()
  for (const it of samples) addTo(groups, it.group, it)
  return [...groups]
    .map(([group, of]) => ({
      group,
      threads: countOf(of) / Math.max(1, dumps),
      holder: holdersOf(of)[0]!,
    }))
    .filter(({ threads }) => threads >= MIN_OTHER_THREADS)
    .sort((a, b) => b.threads - a.threads)
}
