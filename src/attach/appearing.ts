// Waiting for a JVM to appear: who looks again when, and no more often than that.
//
// A JVM makes its file of performance data in /tmp/hsperfdata_<user> before it loads its first class, so these directories are
// watched. Not all have one (-XX:-UsePerfData), and those in containers have theirs elsewhere: for them a look now and then must do,
// as for a machine that has no watches left.

import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { namesIn } from '../base/visible.ts'
import type { Jvm } from './jvms.ts'
import { readTargetFacts } from './target-facts.ts'

/** Between two looks for what nobody tells us of. */
const LOOK_MS = 500
/** Between two looks at a JVM that is starting. */
const STARTING_LOOK_MS = 10
/** As long a JVM may take to start; then it is attached to as it is, which says what is wrong with it. */
const STARTING_MS = 10_000

const DIRECTORY = /^hsperfdata_./

/** Tells when a JVM may have appeared. */
export class JvmStarts {
  readonly #tmp: string
  readonly #watchers = new Map<string, FSWatcher>()
  /** Something has happened since `next` has returned. */
  #told = false
  #wake: (() => void) | null = null

  constructor(tmp = '/tmp') {
    this.#tmp = tmp
    this.#watch(tmp, (name) => {
      if (DIRECTORY.test(name)) this.#watchDirectories()
    })
    this.#watchDirectories()
  }

  /** How many directories are watched: 0 where the system has no watches left. */
  get watched(): number {
    return this.#watchers.size
  }

  /** Resolves once something has happened since it has last resolved, or `mostMs` have passed, or `stop` fires. */
  async next(mostMs: number, stop?: AbortSignal): Promise<void> {
    if (!this.#told && stop?.aborted !== true) {
      const over = new AbortController()
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      const signal = stop === undefined ? over.signal : AbortSignal.any([over.signal, stop])
      await Promise.race([woken, sleep(mostMs, undefined, { signal }).catch(() => {})])
      over.abort()
      this.#wake = null
    }
    this.#told = false
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
      this.#watch(directory, () => this.#tell())
      this.#tell() // what was in it before it was watched
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
      // No watches left, or not ours to look into: there is a look now and then.
    }
  }

  #tell(): void {
    this.#told = true
    this.#wake?.()
  }
}

/**
 * Waits until one of the JVMs that are meant can be attached to, as far as can be seen from outside.
 *
 * @param meant  those among all that run
 * @param stop   ends the waiting
 * @returns the one that was started first; null if `stop` has fired before there was any
 */
export async function appeared(meant: () => readonly Jvm[], stop: AbortSignal): Promise<Jvm | null> {
  const starts = new JvmStarts()
  try {
    while (!stop.aborted) {
      const found = meant()
      const ready = found.filter(({ pid }) => !isStarting(pid))
      if (ready.length > 0) return oldestOf(ready)
      await starts.next(found.length > 0 ? STARTING_LOOK_MS : LOOK_MS, stop)
    }
    return null
  } finally {
    starts.close()
  }
}

/** Its performance data say so; where it has none to read, the attach itself waits for it. */
function isStarting(pid: number): boolean {
  const facts = readTargetFacts(pid)
  if (facts === undefined) return true // it has just ended
  const isYoung = Date.now() - facts.process.startedAt < STARTING_MS
  return isYoung && facts.perf?.complete === false
}

/** Process ids may have come round. */
function oldestOf(jvms: readonly Jvm[]): Jvm {
  const startOf = ({ pid }: Jvm) => readTargetFacts(pid)?.process.startTicks ?? Number.POSITIVE_INFINITY
  const starts = new Map(jvms.map((jvm) => [jvm, startOf(jvm)]))
  return jvms.reduce((a, b) => (starts.get(b)! < starts.get(a)! ? b : a))
}
