// What a session is asked for, and what that means for the engine.

import type { Scheme, SchemeChoice } from '../base/scheme.ts'
import { FIRST_METHOD, FIRST_METHOD_BESIDE_WAITS } from '../events/wait-ids.ts'
import type { BlockAnalysis } from '../instrument/blocks.ts'
import type { BlockCounting } from '../instrument/counting.ts'
import { EVENTS, type Events } from '../measures/events.ts'
import { allCallsNeeded, type Passed } from '../options/table.ts'
import type { Mode } from '../profile/profile.ts'
import type { ClassPattern, RootPattern } from '../reveal/patterns.ts'
import type { RegionPattern } from '../reveal/region-pattern.ts'
import type { Seen } from './adaptive/choose.ts'

/** Threads take a sample of themselves after so many bytecodes, and a random number from 0 to below `random` more. */
export interface SelfSampling {
  readonly unit: 'bytecodes'
  readonly every: number
  readonly random: number
}

/** What is asked for: what `options/` says of a session goes in as it is, and the rest. */
export interface SessionRequest extends Passed {
  /** Of mode `bytecodes`, where basic blocks end, and what that is called. Default: default. */
  readonly blocks?: { readonly name: string; readonly analysis: BlockCounting | BlockAnalysis }
  /** Of mode `sample`: when one is due. */
  readonly sampling?: SelfSampling
  /** Path of a jar with a jfluid.api.Profiler, for mode `bytecodes`. */
  readonly profiler?: string
  readonly scheme: SchemeChoice
  /**
   * Methods that schemes a and b may give probes. Roots from which more are reached are refused before anything is changed; of what is loaded
   * later, no more get some. Default: any number.
   */
  readonly mostMethods?: number
  /** A busy JVM of which the first redefinition discards all compiled code is not refused. */
  readonly mayFlush?: boolean
  readonly roots: readonly RootPattern[]
  /** Of scheme adaptive: methods below the roots that have exact times from the start. */
  readonly timed?: readonly RootPattern[]
  /** Of scheme adaptive: methods below the roots by samples from before, of which the first batch is chosen. It goes in with the roots. */
  readonly seen?: readonly Seen[]
  /** Times these and records no calls; the roots are then their methods, the scheme b. */
  readonly regions?: readonly RegionPattern[]
  readonly include: readonly ClassPattern[]
  readonly exclude: readonly ClassPattern[]
  readonly jdk: boolean
  /** The target's end is the expected end of the session, as with `run`. */
  readonly untilExit?: boolean
}

/** The same, once it is known which scheme is taken. */
export interface SessionOptions extends SessionRequest {
  readonly scheme: Scheme
}

/**
 * What needs the calls of all methods below the roots, which scheme adaptive does not record.
 *
 * @returns the option, as it is typed; null if nothing does
 */
export function needsAllCalls(request: SessionRequest): string | null {
  const mode = modeOf(request)
  if (request.regions !== undefined) return '--region'
  if (!eventsOf(request).isForAdaptive) return `--mode ${mode}`
  return allCallsNeeded(request)
}

/** Whether scheme adaptive is taken by its name, or in place of auto, for an option that is for no other one. */
export function asksForAdaptive({ maxOverhead, scheme, timed }: SessionRequest): boolean {
  return scheme === 'adaptive' || (scheme === 'auto' && (maxOverhead !== undefined || timed !== undefined))
}

/** Whether the user is to be asked before a busy JVM throws its compiled code away. Schemes a and b by their names are for other programs. */
export function asksFirst({ mayFlush, scheme }: SessionRequest): boolean {
  return mayFlush !== true && scheme !== 'a' && scheme !== 'b'
}

export function modeOf({ mode }: SessionRequest): Mode {
  return mode ?? 'exact'
}

/** What its events tell (`measures/`). */
export function eventsOf(request: SessionRequest): Events {
  return EVENTS[request.regions === undefined ? modeOf(request) : 'regions']
}

/** Whether threads count in trees of their own, where the buffer is a file: no option needs an event for each call. */
export function keepsTrees(request: SessionRequest): boolean {
  const { callSites, followThreads, profiler, slow, trace } = request
  if (!eventsOf(request).keepsTrees) return false
  const needed = [profiler, slow, trace].some((it) => it !== undefined)
  return !needed && callSites !== true && followThreads !== true
}

/** Ids below stand for waiting. */
export function firstMethodOf(options: SessionRequest): number {
  return eventsOf(options).tellsWaits ? FIRST_METHOD_BESIDE_WAITS : FIRST_METHOD
}

/** Ids below have no place where they were called: of waiting, and of classes that are allocated. */
export function firstPlacedOf(options: SessionRequest): number {
  return eventsOf(options).firstMethod ?? firstMethodOf(options)
}

export function looksAhead({ regions, scheme }: SessionOptions): boolean {
  return scheme === 'b' && regions === undefined
}
