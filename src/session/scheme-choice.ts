// Which scheme a session takes. Schemes a and b give probes to all that can be reached: exact and harmless in a small program. In a server
// they are tens of thousands of methods, in redefinitions that stop its threads for seconds, and metaspace that is not given back. So what is reached
// is looked at first, and nothing is changed by that.

import type { Scheme } from '../base/scheme.ts'
import { thousands } from '../base/thousands.ts'
import { Revealer } from '../reveal/revealer.ts'
import type { Agent } from '../wire/agent.ts'
import type { LoadedClasses } from '../wire/messages.ts'
import { memorySlowness } from './adaptive/memory-latency.ts'
import { predictedPauseMs } from './adaptive/pause.ts'
import type { OpenDoor } from './doors/door.ts'
import {
  FREE_METASPACE,
  LONGEST_PAUSE_MS,
  METASPACE_A_BYTE,
  MOST_METASPACE,
  MOST_METHODS,
  TooManyMethods,
} from './limits.ts'
import { asksForAdaptive, firstMethodOf, needsAllCalls, type SessionRequest } from './session-options.ts'

/** Where more are loaded, even their list takes longer than a user waits. */
const MOST_LOADED = 5_000

export interface Choice {
  readonly scheme: Scheme
  /** For the user, where another scheme would have been expected. */
  readonly why: string | null
  /** What the look has asked the agent for, which tells each class once. */
  readonly listed: LoadedClasses | null
}

/** What scheme b would do. */
export interface Reached {
  /** More methods than it may take, of which the others are not counted. */
  readonly isTooMuch: boolean
  readonly methods: number
  readonly classes: number
  /** Of their class files. */
  readonly classBytes: number
  /** Of one redefinition of all of them, in ms; null where that cannot be told. */
  readonly pauseMs: number | null
  /** Bytes that the JVM's metaspace has room for; Infinity where it has no limit, or that is not known. */
  readonly metaspaceLeft: number
}

const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`

/** @returns why scheme b would not be harmless; null if it is */
export function whyNotB({ isTooMuch, classBytes, pauseMs, metaspaceLeft }: Reached): string | null {
  if (isTooMuch) return `b may give probes to more than ${thousands(MOST_METHODS)} methods`
  const metaspace = classBytes * METASPACE_A_BYTE
  if (metaspace > MOST_METASPACE) return `b would take about ${mib(metaspace)} of metaspace`
  if (metaspace > metaspaceLeft - FREE_METASPACE)
    return `b would take about ${mib(metaspace)} of metaspace, of which ${mib(metaspaceLeft)} are left`
  if (pauseMs !== null && pauseMs > LONGEST_PAUSE_MS)
    return `b would stop the JVM for about ${Math.round(pauseMs)} ms`
  return null
}

/** What is behind the door, before anything in it has been changed. */
export interface Behind {
  readonly agent: Agent
  readonly door: OpenDoor
  readonly loadedClasses: number
}

/**
 * @throws TooManyMethods
 * @throws RootNotFound and other errors of the revealer
 */
export async function chooseScheme(request: SessionRequest, behind: Behind): Promise<Choice> {
  const { mostMethods, regions, scheme } = request
  const needs = needsAllCalls(request)
  const atOnce = adaptiveAtOnce(request, behind.loadedClasses)
  if (atOnce !== null) return atOnce
  const isFree = scheme === 'auto' && needs === null
  const named = scheme === 'a' ? 'a' : 'b'
  const most = isFree ? MOST_METHODS : mostMethods
  if (most === undefined || regions !== undefined) return { scheme: named, why: null, listed: null }
  const listed = await behind.agent.loadedClasses()
  const reached = await reachedFrom({ ...request, mostMethods: most }, listed, behind)
  if (!isFree) {
    if (reached.isTooMuch) throw new TooManyMethods(named, most, needs)
    return { scheme: named, why: null, listed }
  }
  const why = whyNotB(reached)
  if (why === null) return { scheme: 'b', why, listed }
  return { scheme: 'adaptive', why: reasonText(why), listed }
}

/** @returns null if the program is to be looked at first, or another scheme is asked for */
export function adaptiveAtOnce(request: SessionRequest, loadedClasses: number): Choice | null {
  if (asksForAdaptive(request)) return { scheme: 'adaptive', why: null, listed: null }
  if (request.scheme !== 'auto' || needsAllCalls(request) !== null) return null
  const large = whyLarge(loadedClasses)
  return large === null ? null : { scheme: 'adaptive', why: reasonText(large), listed: null }
}

const reasonText = (why: string): string => `scheme adaptive: ${why} (--scheme b insists)`

/** @returns why a program is too large to look at what its roots reach; null if it is not */
export function whyLarge(loadedClasses: number): string | null {
  return loadedClasses > MOST_LOADED ? `${thousands(loadedClasses)} classes are loaded` : null
}

/** All that is reachable from the roots now, which is as much as scheme b takes at most. */
async function reachedFrom(
  request: SessionRequest,
  { classes }: LoadedClasses,
  { agent, door, loadedClasses }: Behind,
): Promise<Reached> {
  const sizes = new Map<number, number>()
  const classBytes = async (ids: readonly number[]) => {
    const files = await agent.classBytes(ids)
    for (const [i, file] of files.entries()) sizes.set(ids[i]!, file?.length ?? 0)
    return files
  }
  const revealer = new Revealer({ ...request, scheme: 'a', firstId: firstMethodOf(request) }, { classBytes })
  revealer.addClasses(classes)
  await revealer.start()
  const taken = new Set([...revealer.methods].map(({ classId }) => classId))
  let bytes = 0
  for (const id of taken) bytes += sizes.get(id) ?? 0
  const size = { compiledMethods: await door.compiled(), loadedClasses }
  return {
    isTooMuch: revealer.isFull,
    methods: revealer.counters.instrumentedMethods,
    classes: taken.size,
    classBytes: bytes,
    pauseMs: predictedPauseMs(size, taken.size, memorySlowness()),
    metaspaceLeft: await door.metaspaceLeft(),
  }
}
