// The request for a session, and properties of the session that follow from the request.

import type { Scheme, SchemeChoice } from '../base/scheme.ts'
import type { ValueRows } from '../cct/value-rows.ts'
import { FIRST_METHOD, FIRST_METHOD_BESIDE_WAITS } from '../events/wait-ids.ts'
import type { BlockAnalysis } from '../instrument/blocks.ts'
import type { BlockCounting } from '../instrument/counting.ts'
import { EVENTS, type Events } from '../measures/events.ts'
import { allCallsNeeded } from '../options/refusals.ts'
import type { Passed } from '../options/table.ts'
import type { Mode } from '../profile/profile.ts'
import type { ClassPattern, RootPattern } from '../reveal/patterns.ts'
import type { RegionPattern } from '../reveal/region-pattern.ts'
import type { Seen } from './adaptive/choose.ts'

/** Distance between samples: a thread samples itself after `every` bytecodes plus a random number below `random`. */
export interface SelfSampling {
  readonly unit: 'bytecodes'
  readonly every: number
  readonly random: number
}

/** Request for a session: values of command line options that `options/` passes unchanged, and further values. */
export interface SessionRequest extends Passed {
  /** Mode `bytecodes`: the rule that defines where basic blocks end, and the rule's name. By default, the rule named `default`. */
  readonly blocks?: { readonly name: string; readonly analysis: BlockCounting | BlockAnalysis }
  /** Mode `sample`: the distance between samples. */
  readonly sampling?: SelfSampling
  /** Path of a jar with a jfluid.api.Profiler, for mode `bytecodes`. */
  readonly profiler?: string
  readonly scheme: SchemeChoice
  /**
   * Maximum number of methods that schemes a and b instrument. If the roots reach more methods, the session is refused before anything is
   * changed. Classes loaded later get no probes beyond the limit. Default: no limit.
   */
  readonly maxMethods?: number
  /**
   * Maximum metaspace in bytes that this session's redefinitions below the roots may use, if less than `MAX_METASPACE_BYTES`. If 0, only
   * the roots are timed, and the scheme must be adaptive or auto.
   */
  readonly metaspaceBytes?: number
  /** Whether a busy JVM is accepted even if its first redefinition discards all compiled code. */
  readonly mayFlush?: boolean
  readonly roots: readonly RootPattern[]
  /** Scheme adaptive: methods below the roots that have exact times from the start. */
  readonly timed?: readonly RootPattern[]
  /**
   * Scheme adaptive: methods that earlier samples have found below the roots. The first batch is chosen from these methods and is
   * instrumented together with the roots.
   */
  readonly seen?: readonly Seen[]
  /** Regions to be timed. If present, no calls are recorded, the roots are the methods of the regions, and the scheme is b. */
  readonly regions?: readonly RegionPattern[]
  readonly include: readonly ClassPattern[]
  readonly exclude: readonly ClassPattern[]
  readonly jdk: boolean
  /** Whether the profile contains only data that are equal in two runs. Then no samples of allocations are taken. */
  readonly reproducible?: boolean
  /** Whether the session is expected to end when the target ends, as with `run`. */
  readonly untilExit?: boolean
}

/** A session request after the scheme has been chosen. */
export interface SessionOptions extends SessionRequest {
  readonly scheme: Scheme
}

/**
 * Returns the user's option that requires recording all calls below the roots. Scheme adaptive does not record all calls.
 *
 * @returns the option, as the user types it; null if there is none
 */
export function needsAllCalls(request: SessionRequest): string | null {
  return request.regions === undefined ? allCallsNeeded({ ...request }) : '--region'
}

/** Returns whether the user must consent before a busy JVM discards its compiled code. A user who names scheme a or b accepts the cost. */
export function asksFirst({ mayFlush, scheme }: SessionRequest): boolean {
  return mayFlush !== true && scheme !== 'a' && scheme !== 'b'
}

export function modeOf({ mode }: SessionRequest): Mode {
  return mode ?? 'exact'
}

/** Returns a description of the events in this mode (`measures/`). */
export function eventsOf(request: SessionRequest): Events {
  return EVENTS[request.regions === undefined ? modeOf(request) : 'regions']
}

/** Returns whether threads count calls in their own trees. This requires a buffer in a file, and no option that needs an event per call. */
export function keepsTrees(request: SessionRequest): boolean {
  const { callSites, followThreads, profiler, slow, trace } = request
  if (!eventsOf(request).keepsTrees) return false
  const needed = [profiler, slow, trace].some((it) => it !== undefined)
  return !needed && callSites !== true && followThreads !== true
}

/** Returns the lowest id of a method. Lower ids represent waiting. */
export function firstMethodOf(options: SessionRequest): number {
  return eventsOf(options).tellsWaits ? FIRST_METHOD_BESIDE_WAITS : FIRST_METHOD
}

/** Returns the lowest id that has a call site. Lower ids represent waiting and allocated classes. */
export function firstPlacedOf(options: SessionRequest): number {
  return eventsOf(options).firstMethod ?? firstMethodOf(options)
}

/** Number of ids that are reserved for rows of values (JFluid1Values). */
const VALUE_ROWS = 70

/** Returns the ids of the rows of values, which are the lowest ids of methods; undefined without --by. */
export function valueRowsOf(options: SessionRequest): ValueRows | undefined {
  if (options.by === undefined) return undefined
  const first = firstPlacedOf(options)
  return { first, last: first + VALUE_ROWS - 1 }
}

export function looksAhead({ regions, scheme }: SessionOptions): boolean {
  return scheme === 'b' && regions === undefined
}
