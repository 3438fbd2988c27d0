// A finished profile: the trees of a session, what their methods are called, and the facts a reader
// needs to judge the numbers. `session/` fills it, `file.ts` keeps it, reports and exports read it.
//
// Times are compensated and may be negative (a method shorter than the calibration error); they stay
// so here and in every file. Views show them as "~0".

import type { Scheme } from '../base/scheme.ts'
import type { BareCalls } from '../cct/bare-calls.ts'
import { metricOf } from '../cct/metric.ts'
import { COLLAPSED } from '../cct/nodes.ts'
import type { CourseTimes, RootCallTimes } from '../cct/root-calls.ts'
import type { SlowTimes } from '../cct/slow-times.ts'
import type { Trace } from '../cct/trace.ts'
import { COLLAPSED_NAME, type MethodName, type ThreadTree, type Tree, topSum } from '../cct/tree.ts'
import type { Mode } from '../measures/columns.ts'
import type { Durations } from '../regions/times.ts'
import type { DetachFacts } from './detach-facts.ts'
import type { Overflow } from './overflows.ts'
import type { StackFacts } from './stack-facts.ts'

export { MODES, type Mode } from '../measures/columns.ts'

/**
 * Where times are read: System.nanoTime(), the processor's time stamp counter, or what HotSpot makes of that (JFR's clock). `ticks` is
 * `nanoTime` or `counterTime`, in profiles of versions that did not know which.
 */
export type Clock = 'nanoTime' | 'counterTime' | 'rdtsc' | 'ticks'

/** The dearest to read first. */
export const CLOCKS: readonly Clock[] = ['nanoTime', 'counterTime', 'ticks', 'rdtsc']

export interface AllocationFacts {
  /** One of so many allocations was recorded; objects and bytes are that many times what was. */
  readonly sampleEvery: number
  /**
   * What the JVM says that the threads have allocated inside roots, whoever did it and whatever the compilers have
   * made of it; absent where it does not say of all of them.
   */
  readonly jvmBytes?: number
  /** Of objects that were looked after: collections of the JVM so far, and for how many there was no room. */
  readonly liveness?: { readonly collections: number; readonly untracked: number }
}

/** What the user changed while the session ran. */
export interface HandChange {
  /** Left out, taken back in, added; or other roots, of which `text` names the old ones. */
  readonly what: 'exclude' | 'include' | 'add' | 'roots'
  readonly text: string
  /** From when recording began; 0 for what was so from the start. */
  readonly atMs: number
  /** Whose probes went out or in. */
  readonly methods: number
}

/** One of several JVMs that were recorded together. */
export interface JvmFacts {
  readonly pid: number
  readonly mainClass: string
  readonly jdk: string
  readonly durationMs: number
  /** That have called a root. */
  readonly threads: number
  /** It ended, or its session did, before it was asked to. */
  readonly truncated: boolean
}

export interface Profile {
  readonly target: {
    readonly pid: number
    /** Version of the runtime, "17.0.15". */
    readonly jdk: string
    /** "OpenJDK 64-Bit Server VM". */
    readonly vm: string
    /** Main class or jar. */
    readonly mainClass: string
  }
  /** Of a profile of several: `threads` are these, and `target` has the process id of the first, and what differs side by side. */
  readonly jvms?: readonly JvmFacts[]
  readonly mode: Mode
  /** Of mode `bytecodes`: where a basic block ends. */
  readonly blocks?: string
  /** Of mode `sample`: when a sample is due, and who takes it. */
  readonly sampling?: Sampling
  /** Of mode `alloc`. */
  readonly allocation?: AllocationFacts
  /** How the subgraph was revealed (paper, section 6): all at once, or on first invocations. */
  readonly scheme: Scheme
  /** Roots as the user gave them. */
  readonly roots: readonly string[]
  /** What else chose methods; absent in profiles of versions that did not say. */
  readonly selection?: {
    readonly include: readonly string[]
    readonly exclude: readonly string[]
    readonly jdk: boolean
    /** Oldest first; absent if there were none. */
    readonly byHand?: readonly HandChange[]
  }
  /** ISO 8601, when recording started. */
  readonly startedAt: string
  readonly durationMs: number
  /** t_I and t_O of the paper's section 5.3, as measured in this target; 0 where no clock was read. */
  readonly calibration: {
    readonly innerNs: number
    readonly outerNs: number
    /** What most runs of the calibration were above these; absent in profiles of versions that did not look. */
    readonly innerSpreadNs?: number
    readonly outerSpreadNs?: number
    readonly clock: Clock
    /** What one reading of it takes, and how fast it counts; absent in profiles of versions that did not look. */
    readonly readNs?: number
    readonly clockMHz?: number
  }
  readonly instrumentation: {
    readonly instrumentedMethods: number
    readonly calledMethods: number
    /** Calls of RedefineClasses, each of which stopped the target. */
    readonly redefinitions: number
    readonly redefinedClasses: number
    readonly hotSwapMs: number
    /**
     * The longest that the target stood still during a redefinition, whatever for: a collection in the middle counts. Absent where the
     * JVM does not tell, and in profiles of versions that did not look.
     */
    readonly longestPauseMs?: number
    readonly analysisMs: number
    readonly skipped: readonly SkippedMethod[]
    /** Classes or methods that were reached but not instrumented in time. */
    readonly gaps: number
    /** Simulated frames closed by force, at an exit below them or a root. */
    readonly healed: number
    /** Absent in profiles of versions that did not look. */
    readonly overflows?: readonly Overflow[]
  }
  /** Time until the last redefinition had settled; `warmupSelfNs` of the trees falls into it. */
  readonly warmupMs: number
  /** False, true, or why the session ended before it was asked to. */
  readonly truncated: boolean | string
  readonly warnings: readonly string[]
  readonly events: {
    readonly count: number
    /** Time target threads waited for the client, charged to nobody. */
    readonly waitMs: number
  }
  /**
   * The most that the agent kept in the target during the session, by its own count; absent in profiles of
   * versions that did not count.
   */
  readonly kept?: {
    /** In the target's heap. */
    readonly heapBytes: number
    /** Outside of it: instrumented bodies. */
    readonly outsideBytes: number
  }
  /** What was seen when the session had left; absent if it ended otherwise, and in profiles of versions that did not look. */
  readonly detach?: DetachFacts
  /** Absent where no stacks of threads inside roots were taken from beside them. */
  readonly stacks?: StackFacts
  /** Ids of `methodNames` are of methods and the places they are called from; absent if not asked for. */
  readonly callSites?: true
  /** Absent where it was not worth a look, where calls could not be compared, and with other schemes than b. */
  readonly bareCalls?: BareCalls
  /**
   * Tasks and threads that were taken up below the context they were handed over from; absent if threads
   * were not followed.
   */
  readonly followedTasks?: number
  /** Calls that had not ended at the end, where what they have executed is known when they end; absent if none. */
  readonly openCalls?: number
  /** Of modes that measure times or bytecodes; absent in profiles of versions that did not look. */
  readonly rootCalls?: RootCallTimes
  /** Second by second, at most the latest hour; absent likewise. */
  readonly course?: CourseTimes
  /** With all their trees; absent unless they were kept. */
  readonly slowCalls?: SlowTimes
  /** Of regions that were timed: then there are no trees. Absent in profiles of roots. */
  readonly regions?: readonly RegionTimes[]
  /** Calls of roots that were kept event by event; absent if not asked for. */
  readonly trace?: Trace
  /** Index is the method id; [0] is unused. */
  readonly methodNames: readonly MethodName[]
  /** All threads together. */
  readonly merged: Tree
  readonly threads: readonly ThreadTree[]
}

/**
 * A sample is due whenever so much of the unit has passed: bytecodes executed by the thread, or nanoseconds.
 *
 * `probes`: threads look at themselves, in instrumented methods inside a root. For the others nothing is instrumented, and the JVM looks at its threads, of
 * which samples inside roots are kept if there are some: `jfr` its flight recorder, `cpu` the same by CPU time, `stacks` a dump of all threads, where `every`
 * is how often dumps came on average, if what they cost decided it.
 */
export interface Sampling {
  readonly every: number
  readonly unit: 'bytecodes' | 'ns'
  /** Upper bound of the random number that is added each time; 0 for none. */
  readonly random?: number
  readonly by: 'probes' | 'jfr' | 'cpu' | 'stacks'
  /** By the JVM, with roots: samples of threads that were outside of them, which are not kept. */
  readonly outside?: number
  /** By `stacks`: dumps taken. */
  readonly dumps?: number
  /** By `stacks`: how long all of them stopped the JVM, or took where it does not count that. */
  readonly stoppedNs?: number
  /** Taken, in all threads. */
  readonly samples?: number
  /** Executed by all threads up to their last samples. */
  readonly bytecodes?: number
  /** From when one was due to when it was taken. */
  readonly latencyNs?: Latency
}

export interface Latency {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

/** One method that a --region means, or lines of it. */
export interface RegionTimes extends Durations {
  /** As the user wrote it. */
  readonly region: string
  /** Id of the method. */
  readonly method: number
  /** Both belong to it; null for the whole method. */
  readonly lines: { readonly from: number; readonly to: number } | null
}

export interface SkippedMethod {
  readonly method: string
  readonly reason: string
}

/** Whether nothing is instrumented, and the JVM looks at its threads itself. */
export function isSampledByJvm({ sampling }: Profile): boolean {
  return sampling !== undefined && sampling.by !== 'probes'
}

/** Warnings with the reason of a truncation among them, as views and JSON show them. */
export function allWarnings(profile: Profile): readonly string[] {
  if (typeof profile.truncated !== 'string') return profile.warnings
  const reason = `truncated: ${profile.truncated}`
  return profile.warnings.includes(reason) ? profile.warnings : [reason, ...profile.warnings]
}

/** Name of a method id; an id nobody named still shows as something. */
export function nameOf(names: readonly MethodName[], id: number): MethodName {
  if (id === COLLAPSED) return COLLAPSED_NAME
  return names[id] ?? { class: '?', method: `#${id}`, descriptor: '()V', loader: '?' }
}

/** The same for all ids of one name, wherever that is called. */
export function nameKey({ class: owner, method, descriptor, loader }: MethodName): string {
  return [owner, method, descriptor, loader].join('\n')
}

/** As `Tree.methodOf` has it. */
export function methodsByName(names: readonly MethodName[]): Int32Array {
  const numbers = new Map<string, number>()
  return Int32Array.from(names, (name, id) => {
    const key = nameKey(name)
    const known = numbers.get(key)
    if (known === undefined) numbers.set(key, id)
    return known ?? id
  })
}

const NO_NUMBERS = new Float64Array(0)

/** A metric column, or zeros where this tree does not have it. */
export function column(tree: Tree, name: string): Float64Array {
  const found = tree.metrics[name]
  if (found) return found
  return tree.count === 0 ? NO_NUMBERS : new Float64Array(tree.count)
}

/** Total cost of all top nodes: what a hot method's share is taken of. */
export function rootTotal(tree: Tree): number {
  return topSum(tree, metricOf(tree).total)
}
