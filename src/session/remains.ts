// What of ours is in and around a target, as Linux shows it. What stays for ever (README, "What it does to the target, and what
// stays") is not named: the agent's jar, the attach socket, classes.

import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { readTargetProcess } from '../attach/target-process.ts'
import { believedBy } from './session-directory.ts'

/** What can be seen in /proc/<pid>. */
export interface Remains {
  /** "thread jfluid-agent", "mapping /dev/shm/jfluid-…/ring": as a user reads it. */
  readonly found: string[]
  /** Their kernel ids. */
  readonly threads: number[]
  /** Open files of the JVM's own counters. It may have some itself. */
  readonly counterFiles: number
  /** What we may not look at. */
  readonly unseen: string[]
}

/** In a session directory, linked or not. */
const OURS = /\/jfluid-\d+-\d+-\w{6}(?:\/|$| )/
const COUNTERS = /\/hsperfdata_[^/]+\/\d+$/
const OWN_MEMORY = /^\/proc\/\d+\/mem$/

/** @returns null if the process has gone */
export function remainsOf(pid: number): Remains | null {
  const target = readTargetProcess(pid)
  if (target === undefined) return null
  const found: string[] = []
  const unseen: string[] = []
  const threads: number[] = []
  const tasks = attempt(() => readdirSync(`/proc/${pid}/task`))
  if (tasks === null) unseen.push('threads')
  for (const id of tasks ?? []) {
    const name = attempt(() => readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trimEnd())
    if (name?.startsWith('jfluid-') !== true) continue
    threads.push(Number(id))
    found.push(`thread ${name}`)
  }
  const maps = attempt(() => readFileSync(`/proc/${pid}/maps`, 'utf8'))
  if (maps === null) unseen.push('mappings')
  for (const line of (maps ?? '').split('\n')) {
    const path = line.slice(Math.max(0, line.indexOf('/')))
    if (OURS.test(path)) found.push(`mapping ${path}`)
  }
  const open = attempt(() => readdirSync(`/proc/${pid}/fd`))
  if (open === null) unseen.push('descriptors')
  let counterFiles = 0
  for (const descriptor of open ?? []) {
    const path = attempt(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`)) // null: closed while we looked
    if (path === null) continue
    if (OURS.test(path) || OWN_MEMORY.test(path)) found.push(`descriptor of ${path}`)
    else if (COUNTERS.test(path)) counterFiles++
  }
  const launch = `/tmp/.jfluid_pid${target.nsPid}`
  const owner = attempt(() => lstatSync(`${target.root}${launch}`).uid)
  // Anybody can put one there, which no agent believes.
  if (owner !== null && believedBy(target).includes(owner)) found.push(`file ${launch}`)
  return { found: [...new Set(found)], threads, counterFiles, unseen }
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

function attempt<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
