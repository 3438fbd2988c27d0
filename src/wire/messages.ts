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
const readClock = row({
  /** In the middle of two readings, `width` ticks apart, between which `nanos` was read. */
  ...{ ticks: number, nanos: number, width: number },
})
export type ClockPair = ReturnType<typeof readClock>

export const readFacts = row({
  build: string,
  clock: (v): ClockName => CLOCK_NAMES.find((it) => it === v) ?? 'nanoTime',
  /** JDK feature version, 17 … 25. */
  feature: number,
  ...{ version: string, vm: string },
  /** Main class or jar with its arguments. */
  command: string,
  /** Process id as the target itself sees it. */
  pid: count,
  /** Arrays included. */
  loadedClasses: count,
  /**
   * Whether the JVM has had its first redefinition, by a session of ours, or this agent was there from the start on: then no redefinition
   * discards code that does not depend on it.
   */
  keepsCode: flag,
})
export type AgentFacts = ReturnType<typeof readFacts>

export const readConfigured = row({ greeted: readClock, clock: readClock, pausesKnown: flag })

/** What `loadedClasses` tells, each class and loader once. */
export interface LoadedClasses {
  /** Names: "app", "platform", or "com.foo.Loader@7". */
  readonly loaders: readonly { readonly id: number; readonly name: string; readonly parent: number }[]
  readonly classes: readonly ClassInfo[]
}

export const readClasses: (v: unknown) => LoadedClasses = row({
  loaders: listOf(row({ id: count, name: string, parent: integer })),
  classes: listOf(
    row({
      ...{ id: count, name: string, loader: integer, superId: integer, interfaceIds: listOf(integer) },
      ...{ access: integer, flags: integer, nestHost: integer },
    }),
  ),
})

export const readStatus = row({
  clock: readClock,
  /** That the runtime has met. */
  threads: listOf(row({ number: threadNumber, id: integer, name: string, virtual: flag })),
  ...{ gaps: count, heapBytes: number },
  /** Numbers of classes and loaders that no longer exist in the target. */
  unloaded: row({ classes: listOf(count), loaders: listOf(count) }),
  /** Bytes that the agent keeps for the session, by its own count: in the target's heap, and outside of it (instrumented bodies). */
  kept: row({ heap: number, outside: number }),
  /**
   * What threads inside roots have allocated since they came there, as the JVM says: null where it does not tell, or nobody asked it.
   * `told`: words ALLOCATED that the thread has written; with the next, this is out of date.
   */
  openAllocations: orNull(listOf(row({ number: threadNumber, told: count, bytes: number }))),
  /**
   * Tracked objects that are new or have gone since the last status; null without --liveness. `came`: token, collections at
   * birth and bytes of each, as eight bytes with the lowest first; `went`: tokens.
   */
  survivors: orNull(row({ collections: count, untracked: count, came: bytes, went: bytes })),
})
export type AgentStatus = ReturnType<typeof readStatus>

/** Frames innermost first; class names with dots. */
const readStack = row({ id: number, name: string, frames: listOf(row({ class: string, method: string })) })
export const readStacks = listOf(readStack)
export type StackRow = ReturnType<typeof readStack>

export const readSwap = row({
  refused: listOf(row({ classId: count, reason: string })),
  ...{ startTicks: number, endTicks: number },
  /** Time the JVM spent at safepoints in between, null if it keeps no such counter. */
  pauseNs: known,
  /** Calls of retransformClasses it took; more than one when the JVM refused a class. */
  calls: number,
  /**
   * Linking has loaded classes, of which the client may know nothing: rows of `loadedClasses` tell of them. No method has
   * been made ready then.
   */
  loadedClasses: flag,
})

export interface RedefineResult extends ReturnType<typeof readSwap> {
  /** Classes of the request, and bodies that were sent with it. */
  readonly classes: number
  readonly methods: number
}

export const readCalibration = row({
  ...{ innerTicks: number, outerTicks: number, innerSpread: number, outerSpread: number, readTicks: number },
})

export const readRegions = row({ session: count, innerTicks: number, outerTicks: number })

const readReport = row({
  ...{ restoredClasses: count, refusedClasses: count, ms: number },
  /** False if a thread would not leave the runtime: then the target keeps the mapping. */
  released: flag,
  profilerFailure: (v) => (typeof v === 'string' ? v : undefined),
  /** Of the classes that had probes; the JVM never unloads them now. */
  lambdaClasses: count,
  ...{ transformerGone: flag, pauseNs: known },
})

export interface DetachReport extends Omit<ReturnType<typeof readReport>, 'pauseNs' | 'profilerFailure'> {
  /** Time the JVM spent at safepoints while classes got their code back; null if it keeps no such counter. */
  readonly pauseMs: number | null
  /** What a profiler of the user's has thrown. */
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

/** A class in the load hook; `urgent`: a redefinition waits for it. */
export const readLoading = row({
  ...{ hook: count, id: count, loader: count, name: string, bytes, urgent: flag },
})
export type ClassLoading = ReturnType<typeof readLoading>
