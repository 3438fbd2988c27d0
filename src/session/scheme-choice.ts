// Chooses the scheme of a session. Schemes a and b instrument all reachable methods. In a small program this is exact and harmless. In a
// server, tens of thousands of methods are reachable: redefinitions would pause the threads for seconds and use metaspace that is not
// freed. So the reachable methods are counted first, which changes nothing in the target.

import type { Scheme } from '../base/scheme.ts'
import { thousands } from '../base/thousands.ts'
import { isAdaptiveAsked } from '../options/refusals.ts'
import { Revealer } from '../reveal/revealer.ts'
import type { Agent } from '../wire/agent.ts'
import type { LoadedClasses } from '../wire/messages.ts'
import { memorySlowness } from './adaptive/memory-latency.ts'
import { predictedPauseMs } from './adaptive/pause.ts'
import type { OpenDoor } from './doors/door.ts'
import {
  MAX_METASPACE_BYTES,
  MAX_METHODS,
  MAX_PAUSE_MS,
  METASPACE_PER_CLASS_BYTE,
  MIN_FREE_METASPACE_BYTES,
  TooManyMethods,
} from './limits.ts'
import { firstMethodOf, needsAllCalls, type SessionRequest } from './session-options.ts'

/** Maximum number of loaded classes for which methods are counted. Listing more classes takes too long for an interactive user. */
const MAX_LOADED_CLASSES = 5_000

export interface Choice {
  readonly scheme: Scheme
  /** Explanation for the user if he may expect another scheme; otherwise null. */
  readonly why: string | null
  /** Loaded classes, if they were listed to choose the scheme. They are passed on, since the agent sends each class only once. */
  readonly listed: LoadedClasses | null
}

/** Methods that scheme b would instrument, and their cost. */
export interface Reached {
  /** Whether more methods are reachable than scheme b may instrument. The count then stops at the limit. */
  readonly isTooMuch: boolean
  readonly methods: number
  readonly classes: number
  /** Total size of the class files of these classes, bytes. */
  readonly classBytes: number
  /** Pause of one redefinition of all these classes, in ms; null if unknown. */
  readonly pauseMs: number | null
  /** Free bytes of the JVM's metaspace; Infinity if it is unlimited or the limit is unknown. */
  readonly metaspaceLeft: number
  /** Maximum metaspace of the session, bytes. Default: MAX_METASPACE_BYTES. */
  readonly mostMetaspace?: number | undefined
}

const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`

/** @returns the reason why scheme b would be harmful; null if it would be harmless */
export function whyNotB(reached: Reached): string | null {
  const { isTooMuch, classBytes, pauseMs, metaspaceLeft, mostMetaspace = MAX_METASPACE_BYTES } = reached
  if (isTooMuch) return `scheme b may instrument more than ${thousands(MAX_METHODS)} methods`
  const metaspace = classBytes * METASPACE_PER_CLASS_BYTE
  if (metaspace > mostMetaspace) return `scheme b would need about ${mib(metaspace)} of metaspace`
  if (metaspace > metaspaceLeft - MIN_FREE_METASPACE_BYTES)
    return `scheme b would need about ${mib(metaspace)} of metaspace, and ${mib(metaspaceLeft)} are left`
  if (pauseMs !== null && pauseMs > MAX_PAUSE_MS)
    return `scheme b would stop the JVM for about ${Math.round(pauseMs)} ms`
  return null
}

/** The agent and facts about the JVM, before anything is changed. */
export interface Behind {
  readonly agent: Agent
  readonly door: OpenDoor
  readonly loadedClasses: number
}

/**
 * Chooses the scheme.
 *
 * @throws TooManyMethods
 * @throws RootNotFound and other errors of the revealer
 */
export async function chooseScheme(request: SessionRequest, behind: Behind): Promise<Choice> {
  const { maxMethods, regions, scheme } = request
  const needs = needsAllCalls(request)
  const atOnce = adaptiveAtOnce(request, behind.loadedClasses)
  if (atOnce !== null) return atOnce
  const isFree = scheme === 'auto' && needs === null
  const named = scheme === 'a' ? 'a' : 'b'
  const most = isFree ? MAX_METHODS : maxMethods
  if (most === undefined || regions !== undefined) return { scheme: named, why: null, listed: null }
  const listed = await behind.agent.loadedClasses()
  const reached = await reachedFrom({ ...request, maxMethods: most }, listed, behind)
  if (!isFree) {
    if (reached.isTooMuch) throw new TooManyMethods(named, most, needs)
    return { scheme: named, why: null, listed }
  }
  const why = whyNotB(reached)
  if (why === null) return { scheme: 'b', why, listed }
  return { scheme: 'adaptive', why: reasonText(why), listed }
}

/** @returns scheme adaptive; null if the reachable methods must be counted first, or another scheme was requested */
export function adaptiveAtOnce(request: SessionRequest, loadedClasses: number): Choice | null {
  if (isAdaptiveAsked({ ...request, time: request.timed }))
    return { scheme: 'adaptive', why: null, listed: null }
  if (request.scheme !== 'auto' || needsAllCalls(request) !== null) return null
  const large = whyLarge(loadedClasses)
  return large === null ? null : { scheme: 'adaptive', why: reasonText(large), listed: null }
}

const reasonText = (why: string): string => `scheme adaptive: ${why} (--scheme b overrides this)`

/** @returns a text if the program is too large to count the methods below its roots; otherwise null */
export function whyLarge(loadedClasses: number): string | null {
  return loadedClasses > MAX_LOADED_CLASSES ? `${thousands(loadedClasses)} classes are loaded` : null
}

/** Counts all methods that are currently reachable from the roots. Their number is an upper bound for scheme b. */
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
    mostMetaspace: request.metaspaceBytes,
  }
}
