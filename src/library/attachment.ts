// Recording for programs: attach, read, detach. Equivalent to `jfluid attach`, with the same options and errors.

import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { beginDebugLog } from '../base/debug-log.ts'
import { hotMethods } from '../cct/snapshot.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { finish } from '../commands/finish.ts'
import { commandOptions, parsePid } from '../commands/options.ts'
import { checkPlatform } from '../commands/platform.ts'
import { checkRemovedOptions } from '../options/removed.ts'
import type { SessionFlags } from '../options/table.ts'
import type { Profile } from '../profile/profile.ts'
import { attachDoor } from '../session/doors/door.ts'
import { Session, type SessionStatus } from '../session/session.ts'
import { asksFirst } from '../session/session-options.ts'

/**
 * Options of `jfluid attach` (docs/options.md) in camel case. `maxOverhead` is a fraction (0.05 is 5 %); `slow` is p99, ns, threw, or a
 * pair.
 */
export interface AttachOptions
  extends Partial<
    Omit<SessionFlags, 'root' | 'region' | 'include' | 'exclude' | 'sampler' | 'debugInfo' | 'reproducible'>
  > {
  readonly root?: string | readonly string[]
  readonly region?: string | readonly string[]
  readonly include?: string | readonly string[]
  readonly exclude?: string | readonly string[]
  /** Called with each step before the recording begins: "attaching to 4711", "calibrating". */
  readonly onPhase?: (phase: string) => void
}

/** Snapshot of a recording. */
export interface Picture {
  readonly elapsedMs: number
  readonly status: SessionStatus
  /** Tree of all threads together: arrays of numbers, one entry per node (see `Tree`). */
  readonly tree: Tree
  methodName(id: number): MethodName
  /** Methods with the highest self cost. `self` and `total` are in the mode's unit: nanoseconds or a count. */
  hottest(most?: number): HotMethodRow[]
}

export interface HotMethodRow {
  readonly name: MethodName
  readonly calls: number
  readonly self: number
  readonly total: number
}

export interface AttachmentEvents {
  /** A warning that affects the meaning of the numbers. Each warning is emitted once. */
  warning: [text: string]
  /** The recording ended without `detach`, for example since the JVM ended. `detach` still returns the recorded data. */
  ended: [reason: string]
}

const HOTTEST = 20
const STATUS_INTERVAL_MS = 250

/**
 * Attaches to a JVM and records until `detach`. The caller must call `detach`: if the process ends without it, the target notices and
 * restores its methods, but the profile is lost.
 *
 * @param pid      pid from `jvms`
 * @throws JfluidError, with `exitCode` and `hint`, if the attach fails; the target is then restored
 */
export async function attach(pid: number, options: AttachOptions): Promise<Attachment> {
  beginDebugLog(process.env)
  checkPlatform('attach', undefined, process.platform)
  checkRemovedOptions(options)
  const { onPhase = () => {}, ...given } = options
  const session = await commandOptions(flagsOf(given))
  onPhase(`attaching to ${pid}`)
  const door = await attachDoor(parsePid(`${pid}`), { asks: asksFirst(session), onPhase })
  return new Attachment(await Session.start(door, session, onPhase))
}

function flagsOf({ root, region, include, exclude, ...rest }: Omit<AttachOptions, 'onPhase'>): SessionFlags {
  const lists = Object.entries({ root, region, include, exclude }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === 'string' ? [value] : value] as const],
  )
  return { ...rest, ...Object.fromEntries(lists) }
}

export class Attachment extends EventEmitter<AttachmentEvents> implements AsyncDisposable {
  readonly #session: Session
  readonly #warned = new Set<string>()
  readonly #timer: NodeJS.Timeout
  #profile: Promise<Profile> | undefined

  /** Called by `attach`. */
  constructor(session: Session) {
    super()
    this.#session = session
    this.#timer = setInterval(() => void this.status().catch(() => {}), STATUS_INTERVAL_MS) // a session that ends emits `ended`
    this.#timer.unref()
    void session.ended.then((reason) => this.#emit('ended', reason))
  }

  /** Emits an event in a microtask. An exception in a listener is then uncaught, and does not reach the callers of other methods. */
  #emit(event: 'warning' | 'ended', text: string): void {
    queueMicrotask(() => this.emit(event, text))
  }

  get pid(): number {
    return this.#session.pid
  }

  /** JDK version such as "17.0.15", and main class or jar with arguments. */
  get target(): { readonly jdk: string; readonly command: string } {
    const { version, command } = this.#session.target
    return { jdk: version, command }
  }

  async status(): Promise<SessionStatus> {
    const status = await this.#session.status()
    for (const warning of status.warnings) {
      if (this.#warned.has(warning)) continue
      this.#warned.add(warning)
      this.#emit('warning', warning)
    }
    return status
  }

  /** Returns a snapshot. Costs a copy of the tree, and does not affect the target. */
  async picture(): Promise<Picture> {
    const session = this.#session
    const [status, { merged }] = await Promise.all([this.status(), session.snapshot(false)])
    const methodName = (id: number) => session.methodName(id)
    return {
      elapsedMs: status.elapsedMs,
      status,
      tree: merged,
      methodName,
      hottest(most = HOTTEST) {
        const rows = hotMethods(merged).sort((a, b) => b.self - a.self)
        return rows.slice(0, most).map(({ method, calls, self, total }) => ({
          ...{ name: methodName(method), calls, self, total },
        }))
      },
    }
  }

  /** Yields snapshots at an interval, until the recording ends or the loop exits. */
  async *pictures(everyMs = 1000): AsyncGenerator<Picture, void, void> {
    let over = false
    const wake = new AbortController()
    void this.#session.ended.then(() => {
      over = true
      wake.abort()
    })
    while (!over && this.#profile === undefined) {
      const begun = performance.now()
      const picture = await this.picture().catch((error: unknown) => {
        // A recording that is ending returns no snapshot; `ended` reports the reason.
        if (!over && this.#profile === undefined) throw error
      })
      if (picture === undefined) break
      yield picture
      const rest = Math.max(0, everyMs - (performance.now() - begun))
      await sleep(rest, undefined, { signal: wake.signal }).catch(() => {}) // the recording has ended
    }
  }

  /** Resets all counts and times to zero. */
  reset(): void {
    this.#session.reset()
  }

  /** Restores the target's code and returns the profile. A second call returns the same profile. */
  detach(): Promise<Profile> {
    this.#profile ??= this.#detach()
    return this.#profile
  }

  async #detach(): Promise<Profile> {
    clearInterval(this.#timer)
    const { profile, closed } = await finish(this.#session)
    await closed
    return profile
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.detach()
  }
}
