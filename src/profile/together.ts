// Merges profiles of several JVMs, recorded at the same time with the same options: one tree of all JVMs, and one tree per JVM in place of
// the trees per thread. Facts about a single JVM (probes, memory of the agent, distribution of root calls) stay in the profile of that JVM.

import { maxOf } from '../base/arrays.ts'
import { UnionIds, unionOf } from '../cct/union.ts'
import { overflowsTogether } from './overflows.ts'
import { allWarnings, CLOCKS, type JvmFacts, nameOf, type Profile } from './profile.ts'
import { shortTogether } from './short-methods.ts'

/**
 * Merges profiles of several JVMs.
 * @param profiles  at least one profile. All have the same mode. They contain no data that `unionOf` cannot merge: survivors, call sites,
 * regions
 */
export function together(profiles: readonly Profile[]): Profile {
  const first = profiles[0]!
  const ids = new UnionIds()
  const partsOf = (of: readonly Profile[]) =>
    of.map(({ merged, methodNames }) => ({
      tree: merged,
      nameOf: (id: number) => nameOf(methodNames, id),
    }))
  const merged = unionOf(partsOf(profiles), ids)
  const threads = profiles.map((profile) => ({
    id: profile.target.pid,
    name: profile.target.mainClass,
    tree: unionOf(partsOf([profile]), ids),
  }))
  const { mode, blocks, scheme, roots, selection } = first
  const { byHand: _, ...chosen } = selection ?? {}
  return {
    target: {
      pid: first.target.pid,
      jdk: same(profiles.map(({ target }) => target.jdk)),
      vm: same(profiles.map(({ target }) => target.vm)),
      mainClass: same(profiles.map(({ target }) => target.mainClass)),
    },
    jvms: profiles.map(jvmFacts),
    mode,
    ...(blocks !== undefined && { blocks }),
    ...samplingOf(profiles),
    ...allocationOf(profiles),
    scheme,
    roots,
    ...(selection !== undefined && { selection: chosen as NonNullable<Profile['selection']> }),
    startedAt: profiles.map(({ startedAt }) => startedAt).sort()[0]!,
    durationMs: maxOf(profiles.map(({ durationMs }) => durationMs)),
    calibration: calibrationOf(profiles),
    instrumentation: instrumentationOf(profiles),
    warmupMs: maxOf(profiles.map(({ warmupMs }) => warmupMs)),
    truncated: profiles.some(({ truncated }) => truncated !== false),
    warnings: profiles.flatMap((it) => allWarnings(it).map((warning) => `JVM ${it.target.pid}: ${warning}`)),
    events: {
      count: sum(profiles.map(({ events }) => events.count)),
      waitMs: sum(profiles.map(({ events }) => events.waitMs)),
    },
    ...(profiles.some(({ shortMethods }) => shortMethods !== undefined) && {
      shortMethods: shortTogether(profiles.map(({ shortMethods = [] }) => shortMethods)),
    }),
    ...sumOf(profiles, 'openCalls'),
    ...sumOf(profiles, 'followedTasks'),
    methodNames: ids.names,
    merged,
    threads,
  }
}

/** Returns the facts about one JVM. */
export function jvmFacts({ target, durationMs, threads, truncated }: Profile): JvmFacts {
  return {
    pid: target.pid,
    mainClass: target.mainClass,
    jdk: target.jdk,
    durationMs,
    threads: threads.filter(({ tree }) => tree.count > 0).length,
    truncated: truncated !== false,
  }
}

/** Lists each different text once: "17.0.15, 25.0.3". */
function same(texts: readonly string[]): string {
  return [...new Set(texts)].join(', ')
}

function sum(values: readonly number[]): number {
  return values.reduce((all, it) => all + it, 0)
}

function sumOf<Key extends 'openCalls' | 'followedTasks'>(
  profiles: readonly Profile[],
  key: Key,
): { readonly [K in Key]?: number } {
  const known = profiles.map((it) => it[key]).filter((it) => it !== undefined)
  return known.length === 0 ? {} : ({ [key]: sum(known) } as { readonly [K in Key]?: number })
}

/** Returns the sampling facts of all JVMs. Omits latencies, since they cannot be added. */
function samplingOf(profiles: readonly Profile[]): Pick<Profile, 'sampling'> {
  const known = profiles.map(({ sampling }) => sampling).filter((it) => it !== undefined)
  const [first] = known
  if (first === undefined) return {}
  const { every, unit, random, by } = first
  const counted = (key: 'samples' | 'bytecodes') =>
    known.every((it) => it[key] !== undefined) ? { [key]: sum(known.map((it) => it[key] ?? 0)) } : {}
  return {
    sampling: {
      ...{ every, unit, by },
      ...(random !== undefined && { random }),
      ...counted('samples'),
      ...counted('bytecodes'),
    },
  }
}

function allocationOf(profiles: readonly Profile[]): Pick<Profile, 'allocation'> {
  const known = profiles.map(({ allocation }) => allocation).filter((it) => it !== undefined)
  const [first] = known
  if (first === undefined) return {}
  const bytes = known.map(({ jvmBytes }) => jvmBytes).filter((it) => it !== undefined)
  return {
    allocation: {
      sampleEvery: first.sampleEvery,
      ...(bytes.length === known.length && { jvmBytes: sum(bytes) }),
    },
  }
}

/** Returns the maximum of each value. The times of a JVM were corrected with its own calibration: the maximum is an upper bound. */
function calibrationOf(profiles: readonly Profile[]): Profile['calibration'] {
  const all = profiles.map(({ calibration }) => calibration)
  const spread = (key: 'innerSpreadNs' | 'outerSpreadNs') => {
    const known = all.map((it) => it[key]).filter((it) => it !== undefined)
    return known.length === all.length ? { [key]: maxOf(known) } : {}
  }
  return {
    innerNs: maxOf(all.map(({ innerNs }) => innerNs)),
    outerNs: maxOf(all.map(({ outerNs }) => outerNs)),
    ...spread('innerSpreadNs'),
    ...spread('outerSpreadNs'),
    // CLOCKS is sorted, so this finds the clock with the most expensive reading.
    clock: CLOCKS.find((name) => all.some(({ clock }) => clock === name)) ?? 'nanoTime',
  }
}

/** Returns sums over all JVMs, and the longest pause. Methods of the same name count once per JVM. */
function instrumentationOf(profiles: readonly Profile[]): Profile['instrumentation'] {
  const all = profiles.map(({ instrumentation }) => instrumentation)
  const pauses = all.map(({ longestPauseMs }) => longestPauseMs).filter((it) => it !== undefined)
  const skipped = new Map(
    all.flatMap((it) => it.skipped.map((each) => [`${each.method}\n${each.reason}`, each] as const)),
  )
  return {
    instrumentedMethods: sum(all.map((it) => it.instrumentedMethods)),
    calledMethods: sum(all.map((it) => it.calledMethods)),
    redefinitions: sum(all.map((it) => it.redefinitions)),
    redefinedClasses: sum(all.map((it) => it.redefinedClasses)),
    hotSwapMs: sum(all.map((it) => it.hotSwapMs)),
    ...(pauses.length > 0 && { longestPauseMs: maxOf(pauses) }),
    analysisMs: sum(all.map((it) => it.analysisMs)),
    skipped: [...skipped.values()],
    gaps: sum(all.map((it) => it.gaps)),
    healed: sum(all.map((it) => it.healed)),
    overflows: overflowsTogether(all.flatMap((it) => it.overflows ?? [])),
  }
}
