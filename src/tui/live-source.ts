// The port of the live view to a session, or to a profile in a file: everything it asks, and nothing else of it.

import type { Scheme } from '../base/scheme.ts'
import type { SlowWant } from '../cct/slow-times.ts'
import type { Trace } from '../cct/trace.ts'
import type { MethodName, Snapshot } from '../cct/tree.ts'
import type { InstrumentationFacts } from '../profile/code-facts.ts'
import type { Mode } from '../profile/profile.ts'
import type { Keeper } from './keeper.ts'
import type { Steering } from './steering.ts'

export interface LiveStatus {
  readonly pid: number
  /** Of several: how many, which stand in the place of threads; `pid` is that of the first. */
  readonly jvms?: number
  readonly mainClass: string
  readonly jdk: string
  readonly scheme: Scheme
  readonly mode: Mode
  readonly roots: readonly string[]
  /** Nothing is instrumented: the JVM looks at its threads itself. */
  readonly isSampledByJvm?: boolean
  readonly instrumentedMethods: number
  readonly calledMethods: number
  readonly events: number
  readonly eventsPerSecond: number
  /** Share of the target's time spent waiting for us. */
  readonly waitPercent: number
  readonly elapsedMs: number
  /** `file`: what was recorded once, and changes no more. */
  readonly phase: 'starting' | 'waiting for root' | 'recording' | 'changing roots' | 'ended' | 'file'
  /** In phase `file`. */
  readonly file?: {
    readonly name: string
    /** ISO 8601, when recording started. */
    readonly recordedAt: string
  }
  /**
   * With scheme adaptive: stacks of threads inside roots, how late the thread woke at most that takes them, and what stacks and probes
   * have cost the target of late, in percent of a processor; undefined of a file.
   */
  readonly stacks?: {
    readonly samples: number
    readonly longestStallMs: number
    readonly costPercent?: number
  }
  /** A hint, such as "root not called yet; on the stack of thread X". */
  readonly message?: string
  readonly warnings: readonly string[]
  /** Of a JVM on another machine: how it is reached, for how long it has not been (null while it is), and contexts whose latest values are yet to come. */
  readonly remote?: {
    readonly where: string
    readonly lostForMs: number | null
    /** Why it does not come back, where that is known. */
    readonly problem: string | null
    readonly pending: number
  }
}

export interface LiveSource {
  /**
   * Asked for eight times a second, and when the view is frozen or its threads are listed; not while it is frozen. Of a file once.
   *
   * @param perThread whether the trees of single threads are wanted, too
   * @param slow      what is wanted of slow calls, if they are kept
   */
  snapshot(perThread: boolean, slow?: SlowWant): Promise<Snapshot>
  methodName(id: number): MethodName
  status(): LiveStatus
  /** From now on slow calls are kept, if they are not; absent where that cannot be. */
  keepSlow?(): void
  /** Begins all counts and times at zero; not asked of a file. */
  reset(): void
  /** Writes what has been recorded to files; absent where nobody does. */
  readonly keeper?: Keeper
  /** Calls that were kept event by event; absent while they are recorded, and where none were. */
  readonly trace?: Trace
  /** What has been done to the target's code; undefined where nothing was. */
  instrumentation?(): InstrumentationFacts
  /** Undefined where nothing can be changed: of a file, and of samples of a whole JVM. */
  readonly steering?: Steering
  /** Settles when the target died or the session ended by itself, with the reason. */
  readonly ended: Promise<string>
}
