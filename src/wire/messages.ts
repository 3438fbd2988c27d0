// The messages between client and agent. The client listens on a UNIX socket in its own 0700
// directory, the agent connects; frames are a u32 little-endian length and one MessagePack array.
//
//   client → agent   [id, op, …arguments]     id > 0 asks for a reply, 0 does not
//   agent → client   [id, true, value] or [id, false, message]
//   agent → client   [0, event, …arguments]
//
// Commands (arguments → value):
//   hello                → [build, clock, feature, version, vm, command, pid, loaded classes, arrays included, keeps code]
//   configure ring, chunkBytes, chunkCount, chunksOffset, perfFile, safepointTimeOffset,
//             [class name, …] where work changes hands, if threads are followed,
//             whether events tell what was executed, and not the time, whether waits are told apart,
//             whether threads keep trees behind the chunks
//                        → [[ticks, nanos, width] at the hello, the same now, pausesKnown]  ticks count from this session's start
//   loadedClasses        → [[[loader, name, parent], …], [class row, …]]  what is new since the last call
//   findClasses names    → the same of those whose names end with one of these, and of all above them
//   ready ids, highest id → nil                 probes of these methods ask nothing
//   neverWait            → nil                  a thread without room in the buffer goes on unrecorded
//   sampleInside [class, method, …] of the roots
//                        → nil                  stacks of threads inside them are taken, from go on
//   modes bytes          → nil                  by method id: off, counted or timed, from the next call of a root on
//   timeOneOf calls      → nil                  of so many calls of roots one is timed, at random, and the others are only counted
//   modeCounts           → eight bytes for each method id: calls that were only counted
//   insideSamples        → [[[class, method], …], stacks, samples, ticks, taken, missed, dropped, ns that they took, longest delay of
//                           a tick in ns, when that was in ticks, ns at safepoints | -1, why no more are taken | nil, calls of
//                           roots, ticks now]   since the last call, or all; layouts: inside-news.ts
//   classBytes ids       → [bytes | null, …]
//   vmLibrary            → address of the JVM's library, 0 if unknown
//   mirrorWords offset, ids → 8 bytes of each class's mirror
//   peek length, addresses → that many bytes of each place, zeros where nothing can be read
//   extendConstantPool class, crc, entries, pool → nil
//   redefineMethods [[class, method, code], …], ready ids, highest id
//                        → [[[class, why], …], t0, t1, safepoint ns | -1, redefinition calls,
//                           whether classes were loaded]
//   watch jdk            → nil                  class-load hook on, for JDK classes too or not
//   enable               → nil                  the client is there: what waits for one may wait
//   go                   → nil                  roots are recorded; main() begins, where the JVM was started by us
//   calibrate ms         → [t_I, t_O, spread of t_I, of t_O, a reading of the clock] in ticks
//   timeRegions ms       → [number of the session, for its probes, t_I, t_O in ticks]
//   status               → [[ticks, nanos, width], [[number, tid, name, virtual], …], gaps, heap bytes,
//                           [[class, …], [loader, …]],   unloaded since the last call; no row follows
//                           [kept in the heap, kept outside of it],   bytes, for this session
//                           [[number, ALLOCATED words so far, bytes], …]]  what threads inside roots have allocated since
//                           they came; nil if that is not known
//                           [collections, objects not followed, [token, born, bytes] of objects that have come, tokens of
//                           those that have gone]   numbers of eight bytes; nil without liveness
//   stackTraces depth    → [[tid, name, [[class, method], …]], …]
//   reclaim              → chunks taken back from threads outside the graph
//   sampling every, random
//                        → nil                  samples are due after so many bytecodes
//   tellSites            → nil                  callers tell where they call
//   profiler jar         → nil                  a profiling agent of the user's, to be called by threads in the graph
//   allocations every, whether objects are looked after
//                        → nil                  the clock of events is what is allocated; one of so many is told
//   restore              → [classes restored, classes refused, ms, mapping released, what the profiler has thrown | nil,
//                           lambda classes of those, whether the transformer has gone, safepoint ns | -1]   nothing is recorded
//                           from here on, classes have their own code; memory can still be read
//   detach               → as restore, which it implies; then the agent ends
//   loadHook hook, entries, pool, [[method, code], …], ready ids, highest id    (no reply)
//   reflected request                                                          (no reply)
//   names [[method id, class, method, descriptor], …]                          (no reply), for the profiler
//
// Events:
//   first method                                 an instrumented method is entered for the first time
//   reflect request, class, name, descriptor     reflection or a handle calls a method for the first time
//   hiddenClass request, host, bytes             a hidden class is about to be defined in the name of `host`
//   classLoading hook, class, loader, name, bytes, whether a redefinition waits for it
//   changed class, unprobed                      another agent has redefined it, and whether it has lost its probes
//   waited id, kind, whether the class itself, class   the first wait of its kind for an object of the class
//   lateLoad hook                                the loading thread did not wait for the answer to this hook
//   ended reason                                 the agent leaves by itself

/** What a method below the roots tells, with scheme adaptive (JFluid1Modes). */
export const MODE_OFF = 0
export const MODE_COUNT = 1
export const MODE_TIME = 2

/** When threads sample themselves, in bytecodes. */
export interface SamplingRequest {
  readonly every: number
  /** Upper bound of what is added each time, itself excluded. */
  readonly random: number
}

/** What a session reads the time from: the processor's time stamp counter, what HotSpot makes of it (JFR's clock), or System.nanoTime(). */
export const CLOCK_NAMES = ['rdtsc', 'counterTime', 'nanoTime'] as const
export type ClockName = (typeof CLOCK_NAMES)[number]

/** The session's clock and System.nanoTime() at one moment; ticks count from the session's start. */
export interface ClockPair {
  /** In the middle of two readings, `width` ticks apart, between which `nanos` was read. */
  readonly ticks: number
  readonly nanos: number
  readonly width: number
}

export interface AgentStatus {
  readonly clock: ClockPair
  /** Threads that the runtime has met. */
  readonly threads: readonly {
    readonly number: number
    readonly id: number
    readonly name: string
    readonly virtual: boolean
  }[]
  readonly gaps: number
  readonly heapBytes: number
  /** Numbers of classes and loaders that no longer exist in the target. */
  readonly unloaded: { readonly classes: readonly number[]; readonly loaders: readonly number[] }
  /** Bytes that the agent keeps for the session, by its own count: in the target's heap, and outside of it (instrumented bodies). */
  readonly kept: { readonly heap: number; readonly outside: number }
  /**
   * What threads inside roots have allocated since they came there, as the JVM says: null where it does not tell, or nobody asked it.
   * `told`: words ALLOCATED that the thread has written; with the next, this is out of date.
   */
  readonly openAllocations:
    | readonly { readonly number: number; readonly told: number; readonly bytes: number }[]
    | null
  /**
   * What has become of the objects that are looked after, since the last status; null unless some are. `came`: token, collections at
   * birth and bytes of each, as eight bytes with the lowest first; `went`: tokens.
   */
  readonly survivors: {
    readonly collections: number
    readonly untracked: number
    readonly came: Uint8Array
    readonly went: Uint8Array
  } | null
}

export interface StackRow {
  readonly id: number
  readonly name: string
  /** Innermost first; class names with dots. */
  readonly frames: readonly { readonly class: string; readonly method: string }[]
}

export interface AgentFacts {
  readonly build: string
  readonly clock: ClockName
  /** JDK feature version, 17 … 25. */
  readonly feature: number
  readonly version: string
  readonly vm: string
  /** Main class or jar with its arguments. */
  readonly command: string
  /** Process id as the target itself sees it. */
  readonly pid: number
  /** Arrays included. */
  readonly loadedClasses: number
  /**
   * Whether the JVM has had its first redefinition, by a session of ours, or this agent was there from the start on: then no redefinition
   * discards code that does not depend on it.
   */
  readonly keepsCode: boolean
}

export interface RedefineResult {
  /** Classes of the request, and bodies that were sent with it. */
  readonly classes: number
  readonly methods: number
  readonly refused: readonly { readonly classId: number; readonly reason: string }[]
  readonly startTicks: number
  readonly endTicks: number
  /** Time the JVM spent at safepoints in between, null if it keeps no such counter. */
  readonly pauseNs: number | null
  /** Calls of retransformClasses it took; more than one when the JVM refused a class. */
  readonly calls: number
  /**
   * Linking has loaded classes, of which the client may know nothing: rows of `loadedClasses` tell of them. No method has
   * been made ready then.
   */
  readonly loadedClasses: boolean
}

export interface DetachReport {
  readonly restoredClasses: number
  readonly refusedClasses: number
  readonly ms: number
  /** Time the JVM spent at safepoints while classes got their code back; null if it keeps no such counter. */
  readonly pauseMs: number | null
  /** False if a thread would not leave the runtime: then the target keeps the mapping. */
  readonly released: boolean
  /** What a profiler of the user's has thrown. */
  readonly profilerFailure?: string
  /** Of the classes that had probes; the JVM never unloads them now. */
  readonly lambdaClasses: number
  readonly transformerGone: boolean
}
