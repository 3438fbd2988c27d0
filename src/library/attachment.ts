// A recording for programs: attach, look, detach. What `jfluid attach` is for people, with the same options and errors.

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

/** As the options of `jfluid attach` are called (docs/options.md), in camel case; `maxOverhead` is a part, 0.05 is 5 %, and `slow` p99 or ns. */
export interface AttachOptions
  extends Partial<
    Omit<SessionFlags, 'root' | 'region' | 'include' | 'exclude' | 'sampler' | 'debugInfo' | 'reproducible'>
  > {
  readonly root?: string | readonly string[]
  readonly region?: string | readonly string[]
  readonly include?: string | readonly string[]
  readonly exclude?: string | readonly string[]
  /** Told what is being done before it records: "attaching to 4711", "calibrating". */
  readonly onPhase?: (phase: string) => void
}

/** What has been recorded at one moment. */
export interface Picture {
  readonly elapsedMs: number
  readonly status: SessionStatus
  /** All threads together: arrays of numbers, a node each (see `Tree`). */
  readonly tree: Tree
  methodName(id: number): MethodName
  /** The methods that cost most themselves; `self` and `total` in the unit of the mode, nanoseconds or what it counts. */
  hottest(most?: number): HotMethodRow[]
}

export interface HotMethodRow {
  readonly name: MethodName
  readonly calls: number
  readonly self: number
  readonly total: number
}

export interface AttachmentEvents {
  /** Something the user of the numbers should know; each once. */
  warning: [text: string]
  /** The recording ended without `detach`: the JVM has gone, say. What there is can still be had by `detach`. */
  ended: [reason: string]
}

const HOTTEST = 20
const STATUS_MS = 250

/**
 * Attaches to a JVM and records from then on, until `detach`, which must come: a process that ends without it is noticed by the target,
 * and its methods get their code back, but the profile is lost.
 *
 * @param pid      as `jvms` gives it
 * @throws JfluidError, with `exitCode` and `hint`, when it cannot be done; the target is then as it was
 */
export async function attach(pid: number, options: AttachOptions): Promise<Attachment> {
  beginDebugLog(process.env)
  checkPlatform('attach', undefined, process.platform)
  checkRemovedOptions(options)
  const { onPhase = () => {}, ...given } = options
  const session = await commandOptions(flagsOf(given))
  onPhase(`attaching to ${pid}`)
  const door = await attachDoor(parsePid(`${pid}`), asksFirst(session))
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

  /** Made by `attach`. */
  constructor(session: Session) {
    super()
    this.#session = session
    this.#timer = setInterval(() => void this.status().catch(() => {}), STATUS_MS) // a session that ends says so by `ended`
    this.#timer.unref()
    void session.ended.then((reason) => this.#tell('ended', reason))
  }

  /** A listener that throws throws at nobody who asks or detaches, as with any emitter: it is an uncaught exception. */
  #tell(event: 'warning' | 'ended', text: string): void {
    queueMicrotask(() => this.emit(event, text))
  }

  get pid(): number {
    return this.#session.pid
  }

  /** "17.0.15", and main class or jar with arguments. */
  get target(): { readonly jdk: string; readonly command: string } {
    const { version, command } = this.#session.target
    return { jdk: version, command }
  }

  async status(): Promise<SessionStatus> {
    const status = await this.#session.status()
    for (const warning of status.warnings) {
      if (this.#warned.has(warning)) continue
      this.#warned.add(warning)
      this.#tell('warning', warning)
    }
    return status
  }

  /** What has been recorded so far. Costs a copy of the tree; the target does not notice. */
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

  /** A picture now and then, until the recording ends or the loop is left. */
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
        // A recording that is ending has no more of them; why it ends comes by `ended`.
        if (!over && this.#profile === undefined) throw error
      })
      if (picture === undefined) break
      yield picture
      const rest = Math.max(0, everyMs - (performance.now() - begun))
      await sleep(rest, undefined, { signal: wake.signal }).catch(() => {}) // it has ended
    }
  }

  /** Begins all counts and times at zero. */
  reset(): void {
    this.#session.reset()
  }

  /** Gives the target its own code back and returns the profile. A second call gives the same. */
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
