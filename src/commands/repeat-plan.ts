// Decisions of `record --repeat`: when the next session begins, whether the machine is too busy, how much metaspace the sessions have used,
// and the texts for the user. Nothing here reads a clock or the target.

import type { Pressure } from '../attach/pressure.ts'
import { durationText } from '../base/duration.ts'
import { thousands } from '../base/thousands.ts'
import { allCallsNeeded } from '../options/refusals.ts'
import type { Flags } from '../options/table.ts'
import { callsOf, type Overhead, overheadOf } from '../profile/overhead.ts'
import type { Profile } from '../profile/profile.ts'
import { plural, roundSpan, span } from '../profile/text.ts'

/** The interval is doubled after each skipped or failed session, up to this factor. */
export const MAX_BACK_OFF = 8

/** Doubles the factor of the interval after a skipped or failed session. A recorded session resets it to 1. */
export function backOff(factor: number): number {
  return Math.min(MAX_BACK_OFF, factor * 2)
}

/**
 * Returns the start of the next session, in ms: a multiple of the interval after the first session. So a long session or a suspended
 * machine causes no drift, and no sessions that follow each other without a pause.
 *
 * @param begunMs  start of the first session
 * @param lastMs   planned start of the last session
 * @param nowMs    the present time
 * @param factor   number of intervals until the next session, see `backOff`
 */
export function nextStart(
  begunMs: number,
  lastMs: number,
  nowMs: number,
  intervalMs: number,
  factor: number,
): number {
  const planned = Math.round((lastMs - begunMs) / intervalMs) + factor
  const possible = Math.ceil((nowMs - begunMs) / intervalMs)
  return begunMs + Math.max(planned, possible) * intervalMs
}

/** Minimum age of a JVM that replaces another one, or the interval if that is shorter. */
const MIN_AGE_MS = 30_000

/**
 * Returns whether a JVM that replaces another one has just started. A starting program uses much processor time, and its first calls are not
 * typical.
 */
export function isTooYoung(isSuccessor: boolean, ageMs: number, intervalMs: number): boolean {
  return isSuccessor && ageMs < Math.min(MIN_AGE_MS, intervalMs)
}

/**
 * Returns the name by which the JVM that replaces another one is found: the main class of the first JVM, since a part of a name may also fit
 * another program; or the pattern that the user gave.
 *
 * @param mainClass  main class of the first JVM; undefined if unknown
 */
export function successorOf(name: string, mainClass: string | undefined): { name: string; isExact: boolean } {
  return name.includes('*') || mainClass === undefined
    ? { name, isExact: false }
    : { name: mainClass, isExact: true }
}

/** Above this share of the time with runnable threads, the threads of the target wait too often for a processor. */
const MAX_DELAYED_PART = 0.5
/** Less waiting than this share of the elapsed time is of no importance: the target hardly runs. */
const MIN_DELAYED_OF_ELAPSED = 0.1
/** Maximum share of the quota periods in which the target ran. */
const MAX_THROTTLED_PART = 0.1

/** Returns the reason to record nothing now; null if the target gets the processor time that it needs. */
export function whyBusy({ elapsedMs, ranMs, delayedMs, periods }: Pressure): string | null {
  const part = (of: number, all: number): string => `${Math.round((100 * of) / all)} %`
  if (periods !== null && periods.throttled > MAX_THROTTLED_PART * periods.all)
    return `the processor quota of the JVM was used up in ${part(periods.throttled, periods.all)} of its periods`
  const runnable = ranMs + delayedMs
  if (delayedMs > MAX_DELAYED_PART * runnable && delayedMs > MIN_DELAYED_OF_ELAPSED * elapsedMs)
    return `threads of the JVM waited for a processor in ${part(delayedMs, runnable)} of the time in which they could run`
  return null
}

/** Limits of `--repeat`. Tests change them by environment variables, which are not meant for users. */
export interface RepeatLimits {
  /** A shorter interval would be one typing error away from the continuous redefinition of classes. */
  readonly minIntervalMs: number
  /** Metaspace that all sessions with one JVM together may use. Sessions beyond it redefine only the roots. */
  readonly metaspaceBytes: number
}

const MIN_INTERVAL_MS = 10_000
export const MAX_METASPACE_OF_SESSIONS_BYTES = 24 << 20

export function repeatLimits(env: Readonly<Record<string, string | undefined>>): RepeatLimits {
  return {
    minIntervalMs: Number(env.JFLUID_REPEAT_MIN_MS ?? MIN_INTERVAL_MS),
    metaspaceBytes: Number(env.JFLUID_REPEAT_METASPACE ?? MAX_METASPACE_OF_SESSIONS_BYTES),
  }
}

/**
 * Part of the limit: methods below the roots are timed again if less metaspace is used. A collection of the JVM may free metaspace.
 */
const AGAIN_BELOW_PART = 2 / 3
/**
 * Multiple of the limit: nothing is recorded until the JVM has freed metaspace if more is used. On JDK 17 even a session that redefines only
 * a root uses 0.1 to 0.2 MiB.
 */
const MOST_METASPACE_FACTOR = 2

/**
 * Maximum metaspace of the agent and of one redefined class. The agent used 2.6 MiB, a redefined class 7 to 90 KiB. A session cannot have
 * used more, so the rest is the program's: a program that starts loads many classes.
 */
const MAX_BYTES_OF_AGENT = 4 << 20
const MAX_BYTES_OF_CLASS = 256 << 10

/** Number of classes that a failed session may have redefined: its number is unknown. */
export const CLASSES_OF_FAILED_SESSION = 16

/** Growth of the metaspace during one session. */
interface SessionGrowth {
  readonly bytes: number
  readonly ms: number
  /** Bytes that the session can have used. */
  readonly mostBytes: number
  /** Growth per ms in the time before the session; null if unknown. */
  readonly rateBefore: number | null
}

/**
 * Estimates the metaspace that sessions use in one JVM, from the JVM's own figure before and after each session. The program itself may
 * load classes during a session. Its rate is the lower one of the rates just before and just after the session, and is subtracted from
 * this session only: if the program loads many classes once, at most the session before and the session after are counted too low.
 *
 * Metaspace that the JVM frees is the program's as far as the program has used some since the first session: a program that loads and unloads
 * classes again and again must not lower the sum of the sessions.
 */
export class MetaspaceAccount {
  /** Bytes of the sessions before the last one, without what the JVM has freed. */
  #settledBytes = 0
  /** Bytes that the program has used since the first session, without what the JVM has freed. */
  #programBytes = 0
  /** The last session, until the rate after it is known. */
  #session: SessionGrowth | null = null
  #rate: number | null = null
  #last: { readonly bytes: number; readonly atMs: number } | null = null
  #isRootOnly = false

  /** @param maxBytes  bytes that the sessions may use; with more, only roots may be redefined */
  constructor(readonly maxBytes = MAX_METASPACE_OF_SESSIONS_BYTES) {}

  /**
   * Takes the figure before a session, or at any time between sessions.
   *
   * @param bytes  used metaspace; undefined if unknown
   */
  before(bytes: number | undefined, atMs: number): void {
    const growth = bytes === undefined || this.#last === null ? null : bytes - this.#last.bytes
    this.#rate = growth === null ? null : Math.max(0, growth) / Math.max(1, atMs - this.#last!.atMs)
    this.#settle()
    if (growth !== null) this.#addProgram(growth)
    this.#take(bytes, atMs)
  }

  /** Adds the last session to the earlier ones. */
  #settle(): void {
    const session = this.#session
    if (session === null) return
    this.#session = null
    const used = usedBy(session, this.#rate)
    this.#settledBytes += used
    this.#addProgram(session.bytes - used)
  }

  /** @param growth  negative if the JVM has freed metaspace */
  #addProgram(growth: number): void {
    this.#programBytes += growth
    if (this.#programBytes >= 0) return
    // The rest is memory of earlier versions of redefined classes.
    this.#settledBytes = Math.max(0, this.#settledBytes + this.#programBytes)
    this.#programBytes = 0
  }

  /**
   * @param bytes    used metaspace; undefined if unknown
   * @param classes  number of classes that the session has redefined
   */
  after(bytes: number | undefined, atMs: number, classes: number): void {
    if (bytes !== undefined && this.#last !== null) {
      this.#session = {
        bytes: bytes - this.#last.bytes,
        ms: atMs - this.#last.atMs,
        mostBytes: MAX_BYTES_OF_AGENT + classes * MAX_BYTES_OF_CLASS,
        rateBefore: this.#rate,
      }
    }
    this.#take(bytes, atMs)
  }

  #take(bytes: number | undefined, atMs: number): void {
    this.#last = bytes === undefined ? null : { bytes, atMs }
    this.#isRootOnly = this.bytes >= this.maxBytes * (this.#isRootOnly ? AGAIN_BELOW_PART : 1)
  }

  /** Bytes that the sessions use. */
  get bytes(): number {
    const freed = Math.max(0, -(this.#session?.bytes ?? 0) - this.#programBytes)
    return Math.max(0, this.#settledBytes + usedBy(this.#session, null) - freed)
  }

  /** Bytes that are left for further sessions; 0 if only roots may be redefined. */
  get leftBytes(): number {
    return this.#isRootOnly ? 0 : Math.max(0, this.maxBytes - this.bytes)
  }
}

/** Returns the bytes that a session has used; 0 if the JVM has freed more during the session. */
function usedBy(session: SessionGrowth | null, rateAfter: number | null): number {
  if (session === null || session.bytes <= 0) return 0
  const { rateBefore, ms } = session
  const ofProgram = Math.min(rateBefore ?? rateAfter ?? 0, rateAfter ?? rateBefore ?? 0) * ms
  return Math.min(session.mostBytes, Math.max(0, session.bytes - ofProgram))
}

/** What sessions may time: methods below the roots, only roots, or nothing. */
export type Depth = 'methods' | 'roots' | 'nothing'

/** Returns the option that needs probes in methods below the roots; null if there is none. */
export function neededMethods(flags: Partial<Pick<Flags<'record'>, 'region' | 'scheme'>>): string | null {
  if (flags.region !== undefined) return '--region'
  if (flags.scheme === 'a' || flags.scheme === 'b') return `--scheme ${flags.scheme}`
  return allCallsNeeded({ ...flags })
}

/** @param needs  result of `neededMethods` */
export function depthOf(
  { bytes, leftBytes, maxBytes }: Pick<MetaspaceAccount, 'bytes' | 'leftBytes' | 'maxBytes'>,
  mode: Flags<'record'>['mode'],
  needs: string | null,
): Depth {
  if (leftBytes > 0 || mode === 'sample') return 'methods'
  return needs !== null || bytes >= MOST_METASPACE_FACTOR * maxBytes ? 'nothing' : 'roots'
}

/**
 * Returns the label of a session that timed only the roots: without it, the methods below them would seem to have vanished. Other sessions
 * have no such label, and neither have samples, which contain all methods.
 */
export function depthLabel(depth: Depth, mode: Profile['mode']): Map<string, string> {
  return new Map(depth === 'roots' && mode !== 'sample' ? [['depth', depth]] : [])
}

/** Returns the message at a change of the depth. */
export function depthText(depth: Depth, bytes: number, pid: number, needs: string | null): string {
  if (depth === 'methods') return 'methods below the roots are timed again: the JVM has freed metaspace'
  const used = `the sessions have used ${bytes >> 20} MiB of the metaspace of JVM ${pid}`
  if (depth === 'roots') return `only the roots are timed from now on: ${used}`
  const instead =
    needs === null
      ? 'Restart the program, or use --mode sample, which changes no class.'
      : `Leave ${needs} out, so that later sessions time only the roots; or restart the program.`
  return `nothing is recorded until the JVM has freed some of it: ${used}, and ${needs ?? 'each session'} needs more. ${instead}`
}

const OVERHEAD_BOUNDS = [0.01, 0.03, 0.1]
const PAUSE_BOUNDS_MS = [50, 150, 400]

/**
 * Returns the labels of a session's own cost. The values are ranges, since each different value of a label is a separate series in a profile
 * server.
 */
export function overheadLabels({ part, longestPauseMs }: Omit<Overhead, 'probesMs'>): Map<string, string> {
  const range = (value: number, bounds: readonly number[], text: (bound: number) => string): string => {
    const above = bounds.findIndex((it) => value < it)
    if (above === 0) return `<${text(bounds[0]!)}`
    if (above < 0) return `>=${text(bounds.at(-1)!)}`
    return `${text(bounds[above - 1]!)}-${text(bounds[above]!)}`
  }
  const labels = new Map<string, string>()
  if (part !== null)
    labels.set(
      'overhead',
      range(part, OVERHEAD_BOUNDS, (it) => `${Math.round(it * 100)}%`),
    )
  if (longestPauseMs !== null)
    labels.set(
      'longest_pause',
      range(longestPauseMs, PAUSE_BOUNDS_MS, (it) => `${it}ms`),
    )
  return labels
}

/** Local time as 2026-11-29 18:35:02. */
export function timeOf(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 19).replace('T', ' ')
}

/** What a session has recorded, as text. */
export function recordedText(
  profile: Profile,
  metaspace: Pick<MetaspaceAccount, 'bytes' | 'maxBytes'> | null,
): string {
  const { durationMs, events, mode, rootCalls, stacks } = profile
  const calls = stacks?.rootCalls ?? rootCalls?.count
  const what =
    mode === 'sample'
      ? plural(events.count, 'sample')
      : calls === undefined
        ? plural(callsOf(events.count), 'call')
        : `${thousands(calls)} root ${calls === 1 ? 'call' : 'calls'}`
  const { part, longestPauseMs } = overheadOf(profile)
  return [
    `${what} in ${roundSpan(durationMs)}`,
    ...(part === null ? [] : [`overhead ${(part * 100).toFixed(1)} % of a processor`]),
    ...(longestPauseMs === null ? [] : [`longest pause ${span(longestPauseMs)}`]),
    ...(metaspace === null ? [] : [metaspaceText(metaspace)]),
  ].join(', ')
}

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)

function metaspaceText({ bytes, maxBytes }: Pick<MetaspaceAccount, 'bytes' | 'maxBytes'>): string {
  return `metaspace ${mib(bytes)} of ${maxBytes >> 20} MiB`
}

/** Totals of all sessions. */
export interface Totals {
  readonly recorded: number
  readonly pushed: number
  readonly unpushed: number
  readonly skipped: number
  readonly failed: number
  /** Number of JVMs that were recorded one after the other. */
  readonly jvms: number
  readonly longestPauseMs: number
}

export function summaryText(totals: Totals, elapsedMs: number, isPushed: boolean): string {
  const { recorded, pushed, unpushed, skipped, failed, jvms, longestPauseMs } = totals
  return [
    `${plural(recorded, 'session')} in ${roundSpan(elapsedMs)}`,
    ...(isPushed ? [`${pushed} pushed`] : []),
    ...(unpushed > 0 ? [`${unpushed} not pushed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(jvms > 1 ? [`${jvms} JVMs one after the other`] : []),
    ...(longestPauseMs > 0 ? [`longest pause ${span(longestPauseMs)}`] : []),
  ].join(', ')
}

/** @param nextMs  time until the next session */
export function againText(nextMs: number, factor: number, intervalMs: number): string {
  const wider =
    factor === 1 ? '' : ` (the interval is ${durationText(intervalMs * factor)} until a session succeeds)`
  return `next session in ${roundSpan(Math.max(1000, nextMs))}${wider}`
}
