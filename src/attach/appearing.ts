// Waits for a JVM to appear.
// A JVM creates its performance data file in /tmp/hsperfdata_<user> before it loads its first class, so these directories are watched. Some
// JVMs have no such file (-XX:-UsePerfData), and JVMs in containers have it in another file system. For these JVMs, and when the system's
// inotify limit is reached, the processes are polled.

import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { namesIn } from '../base/visible.ts'
import type { Jvm } from './jvms.ts'
import { readTargetFacts } from './target-facts.ts'

/** Interval between two polls for JVMs that no file watch reports. */
const POLL_INTERVAL_MS = 500
/** Interval between two polls of a JVM that is starting. */
const STARTING_POLL_INTERVAL_MS = 10
/** Maximum startup time of a JVM. After this time jfluid attaches even to a starting JVM, and the attach reports the problem. */
const MAX_STARTUP_MS = 10_000

const DIRECTORY = /^hsperfdata_./

/** Reports when a JVM may have appeared. */
export class JvmStarts {
  readonly #tmp: string
  readonly #watchers = new Map<string, FSWatcher>()
  /** Whether an event has occurred since `next` last returned. */
  #isNotified = false
  #wake: (() => void) | null = null

  constructor(tmp = '/tmp') {
    this.#tmp = tmp
    this.#watch(tmp, (name) => {
      if (DIRECTORY.test(name)) this.#watchDirectories()
    })
    this.#watchDirectories()
  }

  /** Number of watched directories: 0 if the system's inotify limit is reached. */
  get watched(): number {
    return this.#watchers.size
  }

  /** Resolves at the first event since the previous call, after `mostMs`, or when `stop` fires. */
  async next(mostMs: number, stop?: AbortSignal): Promise<void> {
    if (!this.#isNotified && stop?.aborted !== true) {
      const over = new AbortController()
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      const signal = stop === undefined ? over.signal : AbortSignal.any([over.signal, stop])
      await Promise.race([woken, sleep(mostMs, undefined, { signal }).catch(() => {})])
      over.abort()
      this.#wake = null
    }
    this.#isNotified = false
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #watchDirectories(): void {
    for (const name of namesIn(this.#tmp) ?? []) {
      if (!DIRECTORY.test(name)) continue
      const directory = join(this.#tmp, name)
      if (this.#watchers.has(directory)) continue
      this.#watch(directory, () => this.#notify())
      this.#notify() // the directory may already contain files
    }
  }

  #watch(directory: string, onName: (name: string) => void): void {
    try {
      const watcher = watch(directory, { persistent: false }, (_, name) => onName(name ?? ''))
      watcher.on('error', () => {
        watcher.close()
        this.#watchers.delete(directory)
      })
      this.#watchers.set(directory, watcher)
    } catch {
      // The inotify limit is reached, or the directory is unreadable: polling finds the JVMs.
    }
  }

  #notify(): void {
    this.#isNotified = true
    this.#wake?.()
  }
}

/**
 * Waits until one of the matching JVMs appears ready to attach.
 * @param meant  returns the matching JVMs among all running JVMs
 * @param stop   ends the wait
 * @returns the oldest matching JVM; null if `stop` fired first
 */
export async function appeared(meant: () => readonly Jvm[], stop: AbortSignal): Promise<Jvm | null> {
  const starts = new JvmStarts()
  try {
    while (!stop.aborted) {
      const found = meant()
      const ready = found.filter(({ pid }) => !isStarting(pid))
      if (ready.length > 0) return oldestOf(ready)
      await starts.next(found.length > 0 ? STARTING_POLL_INTERVAL_MS : POLL_INTERVAL_MS, stop)
    }
    return null
  } finally {
    starts.close()
  }
}

/** Returns whether the JVM is starting, by its performance data. False if the data is unreadable: the attach itself then waits. */
function isStarting(pid: number): boolean {
  const facts = readTargetFacts(pid)
  if (facts === undefined) return true // the process has just ended
  const isYoung = Date.now() - facts.process.startedAt < MAX_STARTUP_MS
  return isYoung && facts.perf?.complete === false
}

/** Returns the JVM with the earliest start time. Process ids wrap around, so they do not show the order of starts. */
function oldestOf(jvms: readonly Jvm[]): Jvm {
  const startOf = ({ pid }: Jvm) => readTargetFacts(pid)?.process.startTicks ?? Number.POSITIVE_INFINITY
  const starts = new Map(jvms.map((jvm) => [jvm, startOf(jvm)]))
  return jvms.reduce((a, b) => (starts.get(b)! < starts.get(a)! ? b : a))
}
