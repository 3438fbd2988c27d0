// Messages between client and agent. The client listens on a UNIX socket in its own 0700 directory, and the agent connects. A frame is a
// u32 little-endian length and one MessagePack array.
//
//   client → agent   [id, op, …arguments]     id > 0 requests a reply; 0 means no reply
//   agent → client   [id, true, value] or [id, false, message]
//   agent → client   [0, event, …arguments]
//
// Commands (arguments → value):
//   hello                → [build, clock, feature, version, vm, command, pid, number of loaded classes with arrays, keeps code]
//   configure ring, chunkBytes, chunkCount, chunksOffset, perfFile, safepointTimeOffset,
//             [class name, …] of JDK classes that submit work to other threads, if threads are followed,
//             whether events count bytecodes instead of time, whether waits are distinguished,
//             whether threads keep trees after the chunks, whether this client has started the JVM
//                        → [clock at the hello, clock now, pausesKnown]  clock: [ticks, nanos, width]; ticks since session start
//   loadedClasses        → [[[loader, name, parent], …], [class row, …]]  loaders and classes that are new since the last call
//   findClasses names    → the same rows, for classes with a name that ends with one of `names`, and for all their supertypes
//   ready ids, highest id → nil                 probes of these methods send no further `first` event
//   neverWait            → nil                  a thread without room in the buffer continues unrecorded
//   sampleInside [class, method, …] of the roots
//                        → nil                  sample stacks of threads inside the roots, after `go`
//   modes bytes          → nil                  per method id: off, counted or timed, from the next root call on
//   timeOneOf calls      → nil                  time one in `calls` root calls, chosen at random; only count the other root calls
//   slowFrom ticks, threw → nil                 write the details of outermost root calls of at least this duration, and if `threw`, of
//                        those that an exception ends, for later calls
//   values [[start, steps] | nil, …], first method id of --by | -1, start that is the exception | -1
//                        → nil                  read these values of root calls; per path the number of its start and of its steps
//   valueStep path, step, class, 1: field | 2: getter | 3: needs --call-getters | 4: no such member, class that declares it, name,
//             descriptor → whether the class is loaded    how the step is read for objects of the class
//   valueCounts          → [calls of getters, ns, longest ns, calls over 1 ms, calls that threw, slow calls without values,
//                           [[path, step, class, ns], …] getters that are switched off,
//                           [[path, step, values], …] values not read, since the step has met too many classes,
//                           [path, …] paths of which all values are only names of classes]
//   classesNamed names   → [[class, …], …]     loaded classes with these names, for each name. Their rows follow in the next answer with rows
//   traceIds sources     → nil                  threads write the trace id that a library holds with the details of a root call
//   modeCounts           → eight bytes for each method id: number of calls that were only counted
//   insideSamples        → [[[class, method], …], stacks, samples, ticks, taken, missed, dropped, cost in ns, longest delay of
//                           a tick in ns, its time in ticks, ns at safepoints | -1, why sampling has stopped | nil, root
//                           calls, ticks now]   for each value, see inside-news.ts
//   classBytes ids       → [bytes | null, …]
//   vmLibrary            → address of the JVM's library, 0 if unknown
//   mirrorWords offset, ids → 8 bytes of each class's mirror
//   peek length, addresses → `length` bytes at each address, zeros if unreadable
//   extendConstantPool class, crc, entries, pool → nil
//   redefineMethods [[class, method, code], …], ready ids, highest id
//                        → [[[class, why], …], t0, t1, safepoint ns | -1, redefinition calls,
//                           whether classes were loaded]
//   watch jdk            → nil                  class-load hook on; `jdk`: also for JDK classes
//   enable               → nil                  the client is ready: threads may wait for its answers
//   go                   → nil                  record roots; main() begins if jfluid started the JVM
//   calibrate ms least   → [t_I, t_O, spread of t_I, spread of t_O, cost of a clock read] in ticks
//   timeRegions ms       → [session number for the probes, t_I, t_O in ticks]
//   status               → [[ticks, nanos, width], [[number, tid, name, virtual], …], gaps, heap bytes,
//                           [[class, …], [loader, …]],   unloaded since the last call; their numbers are not reused
//                           [heap, outside],   bytes that the agent keeps for this session
//                           [[number, ALLOCATED words written, bytes], …]]  allocation of threads inside roots since they
//                           entered; nil if unknown
//                           [collections, untracked objects, [token, born, bytes] of new objects, tokens of dead
//                           objects]   numbers of eight bytes; nil without liveness
//                           [[loader, name, parent], …]   loaders that no answer has contained
//   stackTraces depth    → [[tid, name, [[class, method], …]], …]
//   reclaim              → number of chunks reclaimed from threads outside the graph
//   sampling every, random
//                        → nil                  samples are due after this many bytecodes
//   tellSites            → nil                  callers record their call sites
//   profiler jar         → nil                  the user's profiling agent, called by threads inside a root
//   allocations every, whether objects are tracked
//                        → nil                  events count allocated bytes instead of time; one in `every` allocations is recorded
//   restore              → [classes restored, classes refused, ms, mapping released, exception of the profiler | nil,
//                           restored lambda classes, whether the transformer was removed, safepoint ns | -1, names of refused classes,
//                           number and names of classes that cannot be linked]
//                           recording has ended, classes have their original code; memory can still be read
//   detach               → same reply as `restore`; restores the code, then the agent ends
//   loadHook hook, entries, pool, [[method, code], …], ready ids, highest id    (no reply)
//   reflected request                                                          (no reply)
//   names [[method id, class, method, descriptor], …]                          (no reply), for the profiler
//
// Events:
//   first method                                 an instrumented method is entered for the first time
//   reflect request, class, name, descriptor     first call of a method by reflection or a method handle
//   hiddenClass request, host, bytes             a hidden class is about to be defined for the class `host`
//   classLoading hook, class, loader, name, bytes, whether a redefinition waits for it
//   changed class, unprobed                      another agent has redefined the class; `unprobed`: the class has lost its probes
//   waited id, kind, whether the thread waits for the `Class` object itself, class   the first wait of this kind for an object of the class
//   valueClass path, step, class                 the first object of the class at this step of a value
//   lateLoad hook                                the loading thread did not wait any longer for the answer to this hook
//   ended reason                                 the agent detaches by itself

import type { ClassInfo } from '../base/class-info.ts'
import {
  bytes,
  count,
  flag,
  integer,
  known,
  listOf,
  number,
  orNull,
  row,
  string,
  threadNumber,
} from './checked.ts'

/** Mode of a method below the roots, with scheme adaptive (JFluid1Modes). */
export const MODE_OFF = 0
export const MODE_COUNT = 1
export const MODE_TIME = 2

/** A field of a class: number of the class and name. The field must hold a reference, and no other field of the class has its name. */
export type TraceIdField = readonly [classId: number, field: string]

/** Where a library holds the trace id of a thread. Each step of a path has the fields of the classes that an object can have. */
export interface TraceIdSource {
  /** From a static field to a ThreadLocal. */
  readonly local: readonly (readonly TraceIdField[])[]
  /** Static field with the key of the span in the context that the ThreadLocal holds; null if it holds a map with trace ids. */
  readonly key: readonly (readonly TraceIdField[])[] | null
  /** From the context to its array of keys and values, then from the span to the trace id. */
  readonly steps: readonly (readonly TraceIdField[])[]
}

/** Sampling interval of threads that sample themselves, in bytecodes. */
export interface SamplingRequest {
  readonly every: number
  /** Exclusive upper bound of the random number that is added to each interval. */
  readonly random: number
}

/** Clocks of a session: the processor's time stamp counter, HotSpot's counter (JFR's clock), or System.nanoTime(). */
export const CLOCK_NAMES = ['rdtsc', 'counterTime', 'nanoTime'] as const
export type ClockName = (typeof CLOCK_NAMES)[number]

/** The session's clock and System.nanoTime() at one moment; ticks count from the session's start. */
const readClock = row({
  /** `ticks` is the middle of two clock reads, `width` ticks apart; `nanos` was read between them. */
  ticks: number,
  nanos: number,
  width: number,
})
export type ClockPair = ReturnType<typeof readClock>

export const readFacts = row({
  build: string,
  clock: (v): ClockName => CLOCK_NAMES.find((it) => it === v) ?? 'nanoTime',
  /** JDK feature version, 11 … 27. */
  feature: number,
  version: string,
  vm: string,
  /** Main class or jar with its arguments. */
  command: string,
  /** Process id in the target's own pid namespace. */
  pid: count,
  /** Number of loaded classes, arrays included. */
  loadedClasses: count,
  /**
   * Whether a redefinition discards only dependent code. This is true if an earlier jfluid session already made the JVM's first
   * redefinition, or if this agent was loaded when the JVM started.
   */
  keepsCode: flag,
})
export type AgentFacts = ReturnType<typeof readFacts>

export const readConfigured = row({ greeted: readClock, clock: readClock, pausesKnown: flag })

/** Reply of `loadedClasses`; each class and loader is reported once. */
export interface LoadedClasses {
  /** Loaders with names such as "app", "platform", or "com.foo.Loader@7". */
  readonly loaders: readonly { readonly id: number; readonly name: string; readonly parent: number }[]
  readonly classes: readonly ClassInfo[]
}

const readLoaders = listOf(row({ id: count, name: string, parent: integer }))

export const readClasses: (v: unknown) => LoadedClasses = row({
  loaders: readLoaders,
  classes: listOf(
    row({
      id: count,
      name: string,
      loader: integer,
      superId: integer,
      interfaceIds: listOf(integer),
      access: integer,
      flags: integer,
      nestHost: integer,
    }),
  ),
})

export const readStatus = row({
  clock: readClock,
  /** Threads known to the runtime. */
  threads: listOf(row({ number: threadNumber, id: integer, name: string, virtual: flag })),
  gaps: count,
  heapBytes: number,
  /** Numbers of classes and loaders that no longer exist in the target. */
  unloaded: row({ classes: listOf(count), loaders: listOf(count) }),
  /** Number of bytes that the agent keeps for the session, as counted by the agent: in the heap, and outside it (instrumented bodies). */
  kept: row({ heap: number, outside: number }),
  /**
   * Per thread inside a root: bytes allocated since it entered the root, as counted by the JVM. Null if unavailable or not requested.
   * `told` is the number of ALLOCATED words that the thread has written; after its next ALLOCATED word the row is out of date.
   */
  openAllocations: orNull(listOf(row({ number: threadNumber, told: count, bytes: number }))),
  /**
   * Tracked objects that are new or dead since the last status; null without --liveness. `came` contains three numbers per new object: the
   * token, the number of collections at birth, and the bytes. `went` contains the tokens of dead objects. Numbers have eight bytes,
   * little-endian.
   */
  survivors: orNull(row({ collections: count, untracked: count, came: bytes, went: bytes })),
  /** Loaders that no answer has named. A loader of which a class has passed the load hook may be in no list of classes for a long time. */
  loaders: readLoaders,
})
export type AgentStatus = ReturnType<typeof readStatus>

/** Counts since the session began. */
export const readValueCounts = row({
  getterCalls: count,
  getterNs: number,
  longestNs: number,
  /** Number of getter calls over 1 ms. */
  late: count,
  threw: count,
  /** Number of slow calls whose values were not written. */
  dropped: count,
  off: listOf(row({ path: count, step: count, classId: count, ns: number })),
  tooMany: listOf(row({ path: count, step: count, values: count })),
  /** Paths of which all values are only names of classes. */
  named: listOf(count),
})
export type ValueCounts = ReturnType<typeof readValueCounts>

/** Stack of a thread: frames innermost first, class names with dots. */
const readStack = row({ id: number, name: string, frames: listOf(row({ class: string, method: string })) })
export const readStacks = listOf(readStack)
export type StackRow = ReturnType<typeof readStack>

export const readSwap = row({
  refused: listOf(row({ classId: count, reason: string })),
  startTicks: number,
  endTicks: number,
  /** Time that the JVM spent at safepoints between t0 and t1; null if it has no such counter. */
  pauseNs: known,
  /** Number of retransformClasses calls; more than one if the JVM refused a class. */
  calls: number,
  /**
   * Whether linking has loaded classes that the client may not know; `loadedClasses` returns these classes. If true, no method was made
   * ready.
   */
  loadedClasses: flag,
})

export interface RedefineResult extends ReturnType<typeof readSwap> {
  /** Number of classes in the request; `methods` is the number of method bodies in the request. */
  readonly classes: number
  readonly methods: number
}

export const readCalibration = row({
  innerTicks: number,
  outerTicks: number,
  innerSpread: number,
  outerSpread: number,
  readTicks: number,
})

export const readRegions = row({ session: count, innerTicks: number, outerTicks: number })

const readReport = row({
  restoredClasses: count,
  refusedClasses: count,
  ms: number,
  /** False if a thread did not leave the runtime: the target then keeps the mapping. */
  released: flag,
  profilerFailure: (v) => (typeof v === 'string' ? v : undefined),
  /** Number of restored lambda classes. The JVM can no longer unload these classes. */
  lambdaClasses: count,
  transformerGone: flag,
  pauseNs: known,
  /** Names of some of the refused classes, each with the reason. */
  keptNames: listOf(string),
  /** Number of classes with probes that the JVM cannot link, and so neither runs nor redefines. `refusedClasses` does not include them. */
  unlinkableClasses: count,
  /** Names of some of these classes. */
  unlinkableNames: listOf(string),
})

export interface DetachReport extends Omit<ReturnType<typeof readReport>, 'pauseNs' | 'profilerFailure'> {
  /** Time that the JVM spent at safepoints while classes were restored; null if it has no such counter. */
  readonly pauseMs: number | null
  /** Exception of the user's profiling agent. */
  readonly profilerFailure?: string
}

export function readDetached(reply: unknown): DetachReport {
  const { pauseNs, profilerFailure, ...report } = readReport(reply)
  return {
    ...report,
    pauseMs: pauseNs === null ? null : pauseNs / 1e6,
    ...(profilerFailure !== undefined && { profilerFailure }),
  }
}

/** A class in the load hook. `urgent`: a redefinition waits for the answer to this hook. */
export const readLoading = row({
  hook: count,
  id: count,
  loader: count,
  name: string,
  bytes,
  urgent: flag,
})
export type ClassLoading = ReturnType<typeof readLoading>
