// The cost of a session for the target: processor time of probes and sampled stacks, and pauses.

import { maxOf } from '../base/arrays.ts'
import type { Profile } from './profile.ts'

export interface Overhead {
  /** Estimated processor time of the probes: number of calls with probes, multiplied by the calibrated cost of a call. Null if this cost is unknown. */
  readonly probesMs: number | null
  /**
   * Processor time of probes and stacks per time recorded: 0.01 is 1 % of one processor. Null if the mode does not report it. It does not
   * include slower code that probes or discarded code cause.
   */
  readonly part: number | null
  /** Longest pause of a redefinition. Null if the JVM does not report pauses. */
  readonly longestPauseMs: number | null
}

/** Number of events per call: an entry event and an exit event. */
const EVENTS_PER_CALL = 2

/** Returns the estimated cost of the probes that wrote `events`. @param nsPerCall  t_I + t_O */
export function probesMs(events: number, nsPerCall: number): number {
  return ((events / EVENTS_PER_CALL) * nsPerCall) / 1e6
}

/** Returns the number of calls that wrote `events`. */
export function callsOf(events: number): number {
  return Math.round(events / EVENTS_PER_CALL)
}

export function overheadOf(profile: Profile): Overhead {
  const { calibration, detach, durationMs, events, instrumentation, mode, stacks } = profile
  const pairNs = calibration.innerNs + calibration.outerNs
  const ofProbes = pairNs > 0 || events.count === 0 ? probesMs(events.count, pairNs) : null
  const isKnown = mode !== 'sample' && durationMs > 0 && (pairNs > 0 || stacks !== undefined)
  const pauses = [
    instrumentation.longestPauseMs,
    detach?.pauseMs,
    ...(stacks?.pauses.map((it) => it.measuredMs) ?? []),
  ].filter((it) => typeof it === 'number')
  return {
    probesMs: ofProbes,
    part: isKnown && ofProbes !== null ? (ofProbes + (stacks?.costMs ?? 0)) / durationMs : null,
    longestPauseMs: pauses.length === 0 ? null : maxOf(pauses),
  }
}
