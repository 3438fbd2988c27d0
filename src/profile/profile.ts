// A finished profile: the trees of a session, the names of their methods, and facts about the accuracy of the numbers. `session/` creates
// it, `file.ts` stores it, reports and exports read it.
//
// The cost of probes is subtracted from times. The result may be negative if a method is shorter than the calibration error. Profiles and
// files keep negative times; views show them as "~0".

import type { Scheme } from '../base/scheme.ts'
import type { BareCalls } from '../cct/bare-calls.ts'
import type { LineTable } from '../cct/line-samples.ts'
import { metricOf } from '../cct/metric.ts'
import { COLLAPSED } from '../cct/nodes.ts'
import type { CourseTimes, RootCallTimes } from '../cct/root-calls.ts'
import type { SegmentTimes } from '../cct/segments.ts'
import type { SlowTimes } from '../cct/slow-times.ts'
import type { Trace } from '../cct/trace.ts'
import { COLLAPSED_NAME, type MethodName, type ThreadTree, type Tree, topSum } from '../cct/tree.ts'
import type { Mode } from '../measures/columns.ts'
import type { Durations } from '../regions/times.ts'
import type { DetachFacts } from './detach-facts.ts'
import type { Overflow } from './overflows.ts'
import type { RangeFacts } from './range.ts'
import type { ShortMethod } from './short-methods.ts'
import type { StackFacts } from './stack-facts.ts'
import type { ValueFacts } from './values.ts'

export { MODES, type Mode } from '../measures/columns.ts'

/**
 * Source of times. `nanoTime`: System.nanoTime(). `rdtsc`: the processor's time stamp counter. `counterTime`: HotSpot's clock based on that
 * counter (JFR's clock). `ticks`: `nanoTime` or `counterTime`, in profiles of versions that did not distinguish the two clocks.
 */
export type Clock = 'nanoTime' | 'counterTime' | 'rdtsc' | 'ticks'

/** All clocks, sorted by the cost of a reading, highest first. */
export const CLOCKS: readonly Clock[] = ['nanoTime', 'counterTime', 'ticks', 'rdtsc']

export interface AllocationFacts {
  /** Sampling interval: one in `sampleEvery` allocations was recorded. Objects and bytes are the recorded numbers times `sampleEvery`. */
  readonly sampleEvery: number
  /**
   * Bytes allocated by the threads inside roots, as reported by the JVM. This number includes uninstrumented code, but not allocations that
   * the compiler has removed. Absent if the JVM does not report it for all threads.
   */
  readonly jvmBytes?: number
  /** With --liveness: number of garbage collections, and number of objects that were not tracked because the table was full. */
  readonly liveness?: { readonly collections: number; readonly untracked: number }
}

/** A change by the user during the session. */
export interface HandChange {
  /** Methods were excluded, included again, or added; or the roots were changed, and `text` names the old roots. */
  readonly what: 'exclude' | 'include' | 'add' | 'roots'
  readonly text: string
  /** Time since the start of the recording; 0 for settings made before the start. */
  readonly atMs: number
  /** Number of methods that lost or got probes. */
  readonly methods: number
}

/** One of several JVMs that were recorded together. */
export interface JvmFacts {
  readonly pid: number
  readonly mainClass: string
  readonly jdk: string
  readonly durationMs: number
  /** Number of threads that called a root. */
  readonly threads: number
  /** Whether the JVM or its session ended prematurely. */
  readonly truncated: boolean
}

export interface Profile {
  readonly target: {
    readonly pid: number
    /** Version of the runtime, "17.0.15". */
    readonly jdk: string
    /** Name of the JVM: "OpenJDK 64-Bit Server VM". */
    readonly vm: string
    /** Main class or jar. */
    readonly mainClass: string
  }
  /**
   * Present in a profile of several JVMs: `threads` then has one entry per JVM. `target` contains the process id of the first JVM; its
   * other texts list the different values of all JVMs.
   */
  readonly jvms?: readonly JvmFacts[]
  readonly mode: Mode
  /** For mode `bytecodes`: text that defines where a basic block ends. */
  readonly blocks?: string
  /** For mode `sample`: the sampling interval, and the source of the samples. */
  readonly sampling?: Sampling
  /** Facts about allocations; absent except in mode `alloc`. */
  readonly allocation?: AllocationFacts
  /** Order of instrumentation (paper, section 6): all methods at once, or on first invocations. */
  readonly scheme: Scheme
  /** Roots as given by the user. */
  readonly roots: readonly string[]
  /** Other options that selected methods; absent in profiles of versions that did not record them. */
  readonly selection?: {
    readonly include: readonly string[]
    readonly exclude: readonly string[]
    readonly jdk: boolean
    /** Changes by the user, oldest first; absent if there were none. */
    readonly byHand?: readonly HandChange[]
  }
  /** ISO 8601 time of the start of the recording. */
  readonly startedAt: string
  /**
   * ISO 8601 time of the start of the JVM; absent if it is unknown, for several JVMs, and in profiles of versions that did not record it.
   */
  readonly jvmStartedAt?: string
  readonly durationMs: number
  /** t_I and t_O of the paper's section 5.3, measured in this target; 0 if no clock was read. */
  readonly calibration: {
    readonly innerNs: number
    readonly outerNs: number
    /** Most calibration runs exceed innerNs and outerNs by at most these values; absent in profiles of versions that did not measure it. */
    readonly innerSpreadNs?: number
    readonly outerSpreadNs?: number
    readonly clock: Clock
    /** Duration of one clock reading, and the clock's frequency; absent in profiles of versions that did not measure them. */
    readonly readNs?: number
    readonly clockMHz?: number
  }
  readonly instrumentation: {
    readonly instrumentedMethods: number
    readonly calledMethods: number
    /** Number of calls of RedefineClasses. Each call stopped the target. */
    readonly redefinitions: number
    readonly redefinedClasses: number
    readonly hotSwapMs: number
    /**
     * Longest pause of the target during a redefinition. A garbage collection during the redefinition counts, too. Absent if the JVM does
     * not report pauses, and in profiles of versions that did not record them.
     */
    readonly longestPauseMs?: number
    readonly analysisMs: number
    readonly skipped: readonly SkippedMethod[]
    /** Number of classes or methods that were called before they were instrumented. */
    readonly gaps: number
    /** Number of frames without an exit event. Such a frame is closed at the exit of an outer frame or at a root. */
    readonly healed: number
    /** StackOverflowErrors per method; absent in profiles of versions that did not record them. */
    readonly overflows?: readonly Overflow[]
  }
  /** Time until the last redefinition had settled. `warmupSelfNs` of the trees is the self time until this moment. */
  readonly warmupMs: number
  /** False, true, or the reason why the session ended prematurely. */
  readonly truncated: boolean | string
  readonly warnings: readonly string[]
  readonly events: {
    readonly count: number
    /** Time application threads were stalled by jfluid. Excluded from every node. */
    readonly waitMs: number
  }
  /**
   * Maximum memory of the agent in the target during the session, as counted by the agent; absent in profiles of versions that did not
   * count this memory.
   */
  readonly kept?: {
    /** Bytes in the target's heap. */
    readonly heapBytes: number
    /** Bytes outside the heap: instrumented method bodies. */
    readonly outsideBytes: number
  }
  /** Results of the checks after the detach; absent if the session ended without a detach, and in profiles of versions without checks. */
  readonly detach?: DetachFacts
  /** Facts about stacks; absent if no stacks of threads inside roots were sampled. */
  readonly stacks?: StackFacts
  /** Methods with short calls, those with the most calls first; absent if there are none. */
  readonly shortMethods?: readonly ShortMethod[]
  /** Ids of `methodNames` stand for pairs of method and call site; absent if call sites were not recorded. */
  readonly callSites?: true
  /** Comparison with calls without probes; absent if not useful or not possible, and with schemes other than b. */
  readonly bareCalls?: BareCalls
  /** Number of submitted tasks and threads shown below the submitting context; absent without --follow-threads. */
  readonly followedTasks?: number
  /** For bytecodes, which are counted when a call ends: number of calls unfinished at the end of the recording; absent if 0. */
  readonly openCalls?: number
  /** Durations of root calls, for modes that measure times or bytecodes; absent in profiles of versions that did not record them. */
  readonly rootCalls?: RootCallTimes
  /** Values per second, for at most the last hour; absent in the same cases as `rootCalls`. */
  readonly course?: CourseTimes
  /** Values of root calls in this profile; absent if none were recorded. */
  readonly values?: ValueFacts
  /** Parts of the recording, from which `ofRange` makes trees; absent if not kept, and in profiles of versions that did not keep them. */
  readonly segments?: SegmentTimes
  /** Present in a profile of a time range, which `ofRange` has made. */
  readonly range?: RangeFacts
  /** Slow calls with their trees; absent if slow calls were not recorded. */
  readonly slowCalls?: SlowTimes
  /** Timed regions. A profile of regions has no trees. Absent in profiles of roots. */
  readonly regions?: readonly RegionTimes[]
  /** Root calls recorded event by event; absent if not requested. */
  readonly trace?: Trace
  /** Samples per source line, of all threads; absent if no samples were taken, and in profiles of versions that did not keep lines. */
  readonly lines?: LineTable
  /** Names, indexed by method id; [0] is unused. */
  readonly methodNames: readonly MethodName[]
  /** Tree with the sums of all threads. */
  readonly merged: Tree
  readonly threads: readonly ThreadTree[]
}

/**
 * Sampling interval and source. A sample is taken after every `every` units: bytecodes executed by the thread, or nanoseconds.
 * `probes`: threads sample themselves in instrumented methods inside a root. With all other sources, no method is instrumented, and the JVM
 * samples its threads. If there are roots, only samples inside roots are kept. `jfr`: the flight recorder. `cpu`: the flight recorder, by
 * CPU time. `stacks`: a dump of all threads; `every` is the average interval if the interval was adapted to the cost of dumps.
 */
export interface Sampling {
  readonly every: number
  readonly unit: 'bytecodes' | 'ns'
  /** Upper bound of the random number that is added to each interval; 0 if the intervals are constant. */
  readonly random?: number
  readonly by: 'probes' | 'jfr' | 'cpu' | 'stacks'
  /** For samples by the JVM with roots: number of samples outside the roots, which are discarded. */
  readonly outside?: number
  /** For `stacks`: number of dumps. */
  readonly dumps?: number
  /** For `stacks`: total time for which dumps stopped the JVM, or the total duration of the dumps if the JVM does not report this time. */
  readonly stoppedNs?: number
  /** Number of samples of all threads. */
  readonly samples?: number
  /** Number of bytecodes that all threads executed before their last samples. */
  readonly bytecodes?: number
  /** Delay between the time when a sample is due and the time when it is taken. */
  readonly latencyNs?: Latency
}

export interface Latency {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

/** One method that a --region matches, or lines of the method. */
export interface RegionTimes extends Durations {
  /** Region as written by the user. */
  readonly region: string
  /** Id of the method. */
  readonly method: number
  /** Inclusive line range; null for the whole method. */
  readonly lines: { readonly from: number; readonly to: number } | null
}

export interface SkippedMethod {
  readonly method: string
  readonly reason: string
}

/** Returns whether the JVM itself samples its threads, without instrumentation. */
export function isSampledByJvm({ sampling }: Profile): boolean {
  return sampling !== undefined && sampling.by !== 'probes'
}

/** Returns all warnings, including the reason of a truncation, for views and JSON. */
export function allWarnings(profile: Profile): readonly string[] {
  if (typeof profile.truncated !== 'string') return profile.warnings
  const reason = `truncated: ${profile.truncated}`
  return profile.warnings.includes(reason) ? profile.warnings : [reason, ...profile.warnings]
}

/** Returns the name of a method id, or a placeholder for an unknown id. */
export function nameOf(names: readonly MethodName[], id: number): MethodName {
  if (id === COLLAPSED) return COLLAPSED_NAME
  return names[id] ?? { class: '?', method: `#${id}`, descriptor: '()V', loader: '?' }
}

/** Returns a key that is equal for all call sites of a method. */
export function nameKey({ class: owner, method, descriptor, loader }: MethodName): string {
  return [owner, method, descriptor, loader].join('\n')
}

/** Returns the array for `Tree.methodOf`: it maps the ids of all call sites of a method to one id. */
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

/** Returns a metric column, or a column of zeros if the tree has no such column. */
export function column(tree: Tree, name: string): Float64Array {
  const found = tree.metrics[name]
  if (found) return found
  return tree.count === 0 ? NO_NUMBERS : new Float64Array(tree.count)
}

/** Returns the total cost of all top nodes: the divisor for shares of hot methods. */
export function rootTotal(tree: Tree): number {
  return topSum(tree, metricOf(tree).total)
}
