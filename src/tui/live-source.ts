// Interface through which the live view reads a session or a profile file.

import type { Scheme } from '../base/scheme.ts'
import type { MethodLines } from '../cct/line-samples.ts'
import type { SlowWant } from '../cct/slow-times.ts'
import type { Trace } from '../cct/trace.ts'
import type { MethodName, Snapshot } from '../cct/tree.ts'
import type { InstrumentationFacts } from '../profile/code-facts.ts'
import type { Mode, Profile } from '../profile/profile.ts'
import type { SourceFolders } from '../profile/source-folders.ts'
import type { CodeSince, MethodPlace } from '../profile/source-lines.ts'
import type { Keeper } from './keeper.ts'
import type { Steering } from './steering.ts'
import type { ThreadText } from './thread-page.ts'

export interface LiveStatus {
  readonly pid: number
  /** Number of JVMs, if several are profiled. The view shows JVMs in place of threads; `pid` is the process id of the first JVM. */
  readonly jvms?: number
  readonly mainClass: string
  readonly jdk: string
  readonly scheme: Scheme
  readonly mode: Mode
  readonly roots: readonly string[]
  /** Paths of the recorded values of root calls; absent without such values. */
  readonly values?: string
  /** True if the JVM samples its own threads, so no method is instrumented. */
  readonly isSampledByJvm?: boolean
  readonly instrumentedMethods: number
  readonly calledMethods: number
  readonly events: number
  readonly eventsPerSecond: number
  /** Time for which jfluid stalled application threads, in percent of one thread. */
  readonly waitPercent: number
  readonly elapsedMs: number
  /** `file`: the source is a file, and its data does not change. */
  readonly phase: 'starting' | 'waiting for root' | 'recording' | 'changing roots' | 'ended' | 'file'
  /** The earliest of several JVMs. Absent if unknown. Does not change when the counts are reset. */
  readonly codeSince?: CodeSince
  /** Facts about the file; only in phase `file`. */
  readonly file?: {
    readonly name: string
    /** Start of the recording, ISO 8601. */
    readonly recordedAt: string
  }
  /**
   * Facts about sampled stacks, only with scheme adaptive: number of stacks sampled inside roots, longest delay of the sampling thread, and
   * recent overhead of stacks and probes in percent of a processor (undefined for a file).
   */
  readonly stacks?: {
    readonly samples: number
    readonly longestStallMs: number
    readonly costPercent?: number
  }
  /** Hint for the user, such as "root not called yet; on the stack of thread X". */
  readonly message?: string
  readonly warnings: readonly string[]
  /** Connection to a remote JVM: address, time since it was lost (null while connected), number of contexts that are out of date. */
  readonly remote?: {
    readonly where: string
    readonly lostForMs: number | null
    /** Reason why reconnecting fails, if known. */
    readonly problem: string | null
    readonly pending: number
  }
}

/** Source of the time ranges that the user selects in the timeline. */
export interface RangeSource {
  /** Returns the reason why the recording has no time ranges; null if the reason is unknown, or the recording has time ranges. */
  refusal(): string | null
  /** Returns the profile recorded so far, with its segments. */
  profile(): Promise<Profile>
}

export interface LiveSource {
  /**
   * Reads a snapshot. The view calls this eight times per second, and additionally before a pause and when threads are listed. A paused
   * view does not call it, and a view of a file calls it once.
   *
   * @param perThread whether to include the trees of single threads
   * @param slow      requested data of slow calls, if slow calls are kept
   */
  snapshot(perThread: boolean, slow?: SlowWant): Promise<Snapshot>
  methodName(id: number): MethodName
  status(): LiveStatus
  /** Starts to keep slow calls, if they are not kept already. Absent if slow calls are not supported. */
  keepSlow?(): void
  /**
   * Takes a thread dump of the JVM, which stops the JVM. Rejects with an error for the user. Absent for several JVMs and for a file.
   *
   * @param isConfirmed  whether the user has requested the dump again after the error ManyThreads
   */
  readonly dumpThreads?: ((isConfirmed: boolean) => Promise<ThreadText>) | undefined
  /** Resets all counts and times to zero. Not called for a file. */
  reset(): void
  /** Writes the profile to files. Absent if not supported. */
  readonly keeper?: Keeper
  /** Time ranges of the recording. Absent for several JVMs. */
  readonly ranges?: RangeSource
  /** Traced calls. Absent during the recording, and if no call was traced. */
  readonly trace?: Trace
  /** Instrumentation facts. Undefined if no method was instrumented. */
  instrumentation?(): InstrumentationFacts
  /** Returns the samples per source line of a method; undefined if no sample contains the method. Absent if no lines are sampled. */
  linesOf?(id: number): MethodLines | undefined
  /** Reads the place of a method's code from its class file; null if the class file is not available. Absent without class files. */
  placeOf?(id: number): Promise<MethodPlace | null>
  /** Folders with source files. Absent without --source. */
  readonly sources?: SourceFolders
  /** Changes probes and roots. Undefined for a file and for samples of a whole JVM. */
  readonly steering?: Steering
  /** Resolves with the reason when the target or the session has ended. */
  readonly ended: Promise<string>
}
