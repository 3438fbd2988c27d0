// Finds remains of jfluid in a target and in its files, by reading /proc. Remains that stay until the JVM ends (docs/target.md) are not
// listed: the agent's jar, the attach socket, classes.

import { existsSync, lstatSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readTargetProcess } from '../attach/target-process.ts'
import { ifVisible, linkOf, namesIn, textOf } from '../base/visible.ts'
import { believedBy, isLaunchFileInUse } from './doors/session-directory.ts'

/** One thread, mapping, descriptor or file of jfluid. */
interface Trace {
  /** Text for the user, such as "thread jfluid-agent" or "mapping /dev/shm/jfluid-…/ring". */
  readonly what: string
  /** Kernel id of the thread, or name of the session directory that contains the file; null if both are unknown. */
  readonly of: number | string | null
}

/** Remains of jfluid visible in /proc/<pid>. */
export interface Remains {
  readonly traces: readonly Trace[]
  /** Kernel ids of threads of jfluid. */
  readonly threads: number[]
  /** Names of the session directories that contain a mapped or open file. */
  readonly sessions: string[]
  /** Number of open counter files. The JVM itself may have opened some of them. */
  readonly counterFiles: number
  /** Names of the parts that could not be read for lack of permission. */
  readonly unseen: string[]
}

/** Matches the path of a file in a session directory, even if deleted, but not a copy of the agent's jar. */
const OURS = /\/(jfluid-\d+-\d+-\w{6})(?:\/(?!jfluid-agent\.jar)|$| )/
const COUNTERS = /\/hsperfdata_[^/]+\/\d+$/
const OWN_MEMORY = /^\/proc\/\d+\/mem$/

const ELSEWHERE: Remains = {
  ...{ traces: [], threads: [], sessions: [], counterFiles: 0 },
  unseen: ['its process, which is not on this machine'],
}

/**
 * Lists the remains in a process.
 *
 * @param pid  null if the process is on another machine
 * @returns null if the process has ended
 */
export function remainsOf(pid: number | null): Remains | null {
  if (pid === null) return ELSEWHERE
  const target = readTargetProcess(pid)
  if (target === undefined) return null
  const traces: Trace[] = []
  const unseen: string[] = []
  const ours = ourThreads(pid)
  if (ours === null) unseen.push('threads')
  const threads = [...(ours ?? new Map<number, string>()).keys()]
  for (const [id, name] of ours ?? []) traces.push({ what: `thread ${name}`, of: id })
  const maps = textOf(`/proc/${pid}/maps`)
  if (maps === undefined) unseen.push('mappings')
  for (const line of (maps ?? '').split('\n')) {
    const path = line.slice(Math.max(0, line.indexOf('/')))
    const session = OURS.exec(path)?.[1]
    if (session !== undefined) traces.push({ what: `mapping ${path}`, of: session })
  }
  const open = namesIn(`/proc/${pid}/fd`)
  if (open === undefined) unseen.push('descriptors')
  let counterFiles = 0
  for (const descriptor of open ?? []) {
    const path = linkOf(`/proc/${pid}/fd/${descriptor}`) // undefined: the descriptor was closed during the check
    if (path === undefined) continue
    const session = OURS.exec(path)?.[1]
    if (session !== undefined || OWN_MEMORY.test(path))
      traces.push({ what: `descriptor of ${path}`, of: session ?? null })
    else if (COUNTERS.test(path)) counterFiles++
  }
  const launch = `/tmp/.jfluid_pid${target.nsPid}`
  const owner = ifVisible(() => lstatSync(`${target.root}${launch}`).uid)
  const believed = believedBy(target)
  // Any user can create a file with this name, but agents ignore files of unexpected owners. Another client may be using the file.
  if (
    owner !== undefined &&
    believed.includes(owner) &&
    !isLaunchFileInUse(`${target.root}${launch}`, believed, target.root)
  )
    traces.push({ what: `file ${launch}`, of: null })
  const sessions = traces.flatMap(({ of }) => (typeof of === 'string' ? [of] : []))
  return { traces, threads, sessions: [...new Set(sessions)], counterFiles, unseen }
}

/** @returns thread names keyed by kernel id; null if they cannot be read, or the process has ended */
export function ourThreads(pid: number): Map<number, string> | null {
  const tasks = namesIn(`/proc/${pid}/task`)
  if (tasks === undefined) return null
  const ours = new Map<number, string>()
  for (const id of tasks) {
    const name = textOf(`/proc/${pid}/task/${id}/comm`)?.trimEnd()
    if (name?.startsWith('jfluid-') === true) ours.set(Number(id), name)
  }
  return ours
}

/** Returns the texts for the user, without duplicates. */
export function named(traces: readonly Trace[]): string[] {
  return [...new Set(traces.map((it) => it.what))]
}

/**
 * Returns the remains of a finished session, without remains of a session that another client has begun since.
 *
 * @param before     remains that were found while the session ran. If one of them is null (unknown), all remains of `after` are returned
 * @param directory  the session's directory
 */
export function leftOf(before: readonly (Remains | null)[], directory: string, after: Remains): string[] {
  const known = new Set<number | string>([basename(directory)])
  for (const it of before) {
    if (it === null) return named(after.traces)
    for (const of of [...it.threads, ...it.sessions]) known.add(of)
  }
  return named(after.traces.filter(({ of }) => of === null || known.has(of)))
}

/** Timeout for the end of the agent's thread. It ends shortly after its last answer, but later if all processors are busy. */
export const GONE_TIMEOUT_MS = 5_000
const CHECK_INTERVAL_MS = 5

/** Waits at most `GONE_TIMEOUT_MS` until these threads have ended. */
export async function threadsGone(pid: number, threads: readonly number[]): Promise<void> {
  const until = performance.now() + GONE_TIMEOUT_MS
  const anyRuns = (): boolean => threads.some((id) => existsSync(`/proc/${pid}/task/${id}`))
  while (anyRuns() && performance.now() < until) await sleep(CHECK_INTERVAL_MS)
}
