// What of ours is in and around a target, as Linux shows it. What stays for ever (docs/target.md)
// is not named: the agent's jar, the attach socket, classes.

import { existsSync, lstatSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readTargetProcess } from '../attach/target-process.ts'
import { ifVisible, linkOf, namesIn, textOf } from '../base/visible.ts'
import { believedBy, isLaunchFileInUse } from './doors/session-directory.ts'

/** One thing of ours. */
interface Trace {
  /** "thread jfluid-agent", "mapping /dev/shm/jfluid-…/ring": as a user reads it. */
  readonly what: string
  /** A thread's kernel id, or the name of its session's directory; null where neither is known. */
  readonly of: number | string | null
}

/** What can be seen in /proc/<pid>. */
export interface Remains {
  readonly traces: readonly Trace[]
  /** Kernel ids. */
  readonly threads: number[]
  /** Names of the directories of sessions, of which something is mapped or open. */
  readonly sessions: string[]
  /** Open files of the JVM's own counters. It may have some itself. */
  readonly counterFiles: number
  /** What we may not look at. */
  readonly unseen: string[]
}

/** In a session directory, linked or not; but for a copy of the agent's jar. */
const OURS = /\/(jfluid-\d+-\d+-\w{6})(?:\/(?!jfluid-agent\.jar)|$| )/
const COUNTERS = /\/hsperfdata_[^/]+\/\d+$/
const OWN_MEMORY = /^\/proc\/\d+\/mem$/

const ELSEWHERE: Remains = {
  ...{ traces: [], threads: [], sessions: [], counterFiles: 0 },
  unseen: ['its process, which is none of this machine'],
}

/**
 * @param pid  null if it is no process of this machine
 * @returns null if the process has gone
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
    const path = linkOf(`/proc/${pid}/fd/${descriptor}`) // undefined: closed while we looked
    if (path === undefined) continue
    const session = OURS.exec(path)?.[1]
    if (session !== undefined || OWN_MEMORY.test(path))
      traces.push({ what: `descriptor of ${path}`, of: session ?? null })
    else if (COUNTERS.test(path)) counterFiles++
  }
  const launch = `/tmp/.jfluid_pid${target.nsPid}`
  const owner = ifVisible(() => lstatSync(`${target.root}${launch}`).uid)
  const believed = believedBy(target)
  // Anybody can put one there, which no agent believes; and another client may be about to begin.
  if (
    owner !== undefined &&
    believed.includes(owner) &&
    !isLaunchFileInUse(`${target.root}${launch}`, believed, target.root)
  )
    traces.push({ what: `file ${launch}`, of: null })
  const sessions = traces.flatMap(({ of }) => (typeof of === 'string' ? [of] : []))
  return { traces, threads, sessions: [...new Set(sessions)], counterFiles, unseen }
}

/** @returns names by kernel id; null if they may not be looked at, or the process has gone */
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

/** As a user reads them, each once. */
export function named(traces: readonly Trace[]): string[] {
  return [...new Set(traces.map((it) => it.what))]
}

/**
 * What is there of a session that is over, and not of one that another client has begun since.
 *
 * @param before     while it went on, at several times; null: nothing is known, and everything counts
 * @param directory  its own
 */
export function leftOf(before: readonly (Remains | null)[], directory: string, after: Remains): string[] {
  const known = new Set<number | string>([basename(directory)])
  for (const it of before) {
    if (it === null) return named(after.traces)
    for (const of of [...it.threads, ...it.sessions]) known.add(of)
  }
  return named(after.traces.filter(({ of }) => of === null || known.has(of)))
}

/** The agent's thread ends a few steps after its last answer; where it gets no processor, that takes its time. */
export const GONE_MS = 5_000
const LOOK_MS = 5

/** Waits until these threads have gone, for `GONE_MS` at most. */
export async function threadsGone(pid: number, threads: readonly number[]): Promise<void> {
  const until = performance.now() + GONE_MS
  const anyRuns = (): boolean => threads.some((id) => existsSync(`/proc/${pid}/task/${id}`))
  while (anyRuns() && performance.now() < until) await sleep(LOOK_MS)
}
