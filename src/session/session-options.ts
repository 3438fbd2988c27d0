// The request for a session, and its consequences for the engine.

import type { Scheme, SchemeChoice } from '../base/scheme.ts'
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

/** A thread samples itself after `every` bytecodes plus a random number below `random`. */
export interface SelfSampling {
  readonly unit: 'bytecodes'
  readonly every: number
  readonly random: number
}

/** Request for a session: the values that `options/` passes unchanged, and further values. */
export interface SessionRequest extends Passed {
  /** Mode `bytecodes`: the rule for the ends of basic blocks, and its name. Default: default. */
  readonly blocks?: { readonly name: string; readonly analysis: BlockCounting | BlockAnalysis }
  /** Mode `sample`: the distance between samples. */
  readonly sampling?: SelfSampling
  /** Path of a jar with a jfluid.api.Profiler, for mode `bytecodes`. */
  readonly profiler?: string
  readonly scheme: SchemeChoice
  /**
   * Maximum number of methods that schemes a and b instrument. Roots that reach more are refused before anything is changed. Classes loaded
   * later get no probes beyond the limit. Default: no limit.
   */
  readonly maxMethods?: number
  /** Whether to accept a busy JVM even if its first redefinition discards all compiled code. */
  readonly mayFlush?: boolean
  readonly roots: readonly RootPattern[]
  /** Scheme adaptive: methods below the roots that have exact times from the start. */
  readonly timed?: readonly RootPattern[]
  /**
   * Scheme adaptive: methods seen below the roots in earlier samples. The first batch is chosen from these methods and is instrumented
   * together with the roots.
   */
  readonly seen?: readonly Seen[]
  /** Times these regions and records no calls. The roots are then the methods of the regions, and the scheme is b. */
  readonly regions?: readonly RegionPattern[]
  readonly include: readonly ClassPattern[]
  readonly exclude: readonly ClassPattern[]
  readonly jdk: boolean
  /** The end of the target is the expected end of the session, as with `run`. */
  readonly untilExit?: boolean
}

/** A session request after the scheme has been chosen. */
export interface SessionOptions extends SessionRequest {
  readonly scheme: Scheme
}

/**
 * Returns the option that needs the calls of all methods below the roots. Scheme adaptive does not record all calls.
 *
 * @returns the option, as the user types it; null if there is none
 */
export function needsAllCalls(request: SessionRequest): string | null {
  return request.regions === undefined ? allCallsNeeded({ ...request }) : '--region'
}

/** Whether the user must consent before a busy JVM discards its compiled code. Users who name scheme a or b have accepted the cost. */
export function asksFirst({ mayFlush, scheme }: SessionRequest): boolean {
  return mayFlush !== true && scheme !== 'a' && scheme !== 'b'
}

export function modeOf({ mode }: SessionRequest): Mode {
  return mode ?? 'exact'
}

/** Content of the events in this mode (`measures/`). */
export function eventsOf(request: SessionRequest): Events {
  return EVENTS[request.regions === undefined ? modeOf(request) : 'regions']
}

/** Whether threads count in their own trees. This requires a buffer in a file, and no option that needs an event per call. */
export function keepsTrees(request: SessionRequest): boolean {
  const { callSites, followThreads, profiler, slow, trace } = request
  if (!eventsOf(request).keepsTrees) return false
  const needed = [profiler, slow, trace].some((it) => it !== undefined)
  return !needed && callSites !== true && followThreads !== true
}

/** First id of a method. Lower ids represent waiting. */
export function firstMethodOf(options: SessionRequest): number {
  return eventsOf(options).tellsWaits ? FIRST_METHOD_BESIDE_WAITS : FIRST_METHOD
}

/** First id that has a call site. Lower ids represent waiting and allocated classes. */
export function firstPlacedOf(options: SessionRequest): number {
  return eventsOf(options).firstMethod ?? firstMethodOf(options)
}

export function looksAhead({ regions, scheme }: SessionOptions): boolean {
  return scheme === 'b' && regions === undefined
}
