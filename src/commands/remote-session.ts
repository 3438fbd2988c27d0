// A session of a proxy on another machine, as an object for local commands.

import { EX_IOERR, type JfluidError, messageOf } from '../base/errors.ts'
import { packageVersion } from '../base/package-root.ts'
import type { SessionFlags } from '../options/table.ts'
import { decodeProfile } from '../profile/file.ts'
import type { Profile } from '../profile/profile.ts'
import type { RemoteAddress } from '../remote/address.ts'
import { Caller } from '../remote/caller.ts'
import { NoProxyKey, NotAProxy, ProxySays, readErrorFrame } from '../remote/errors.ts'
import { keyOfEnvironment } from '../remote/key.ts'
import { BEFORE, FINISHED, PIECE_BYTES } from '../remote/protocol.ts'
import { sshWay, tcpWay } from '../remote/transports.ts'
import { type KeepProfile, OldRootsAgain } from '../session/changed-roots.ts'
import type { SessionStatus } from '../session/session.ts'
import type { Saved } from './autosave.ts'
import type { Left, Started, Steered } from './hosted-session.ts'
import { type Kept, SessionCutShort } from './outcome.ts'
import type { SourceResult } from './source.ts'

/** Maximum number of outstanding requests for pieces of a profile. Pipelining hides the latency of the network. */
const MAX_PENDING_PIECES = 16
/** Maximum size of a profile. */
const MAX_PROFILE_BYTES = 2 ** 31

export class RemoteSession implements Saved {
  readonly #caller: Caller
  readonly pid: number
  readonly timesRegions: boolean
  /** Lines that describe the matches of the user's patterns. */
  readonly matches: readonly string[]
  /** Reason why the proxy ended the session; null while the session continues. After the end, only the profile is transferred. */
  #proxyEnded: string | null = null
  #finishing: Promise<SourceResult> | undefined
  /** Actual locations of earlier profiles (before a change of roots), keyed by their planned location; null if the profile is lost. */
  readonly #elsewhere = new Map<string, string | null>()
  /** Resolves when the session ends other than by `finish`; rejects when the proxy is permanently unreachable. */
  readonly ended: Promise<string>

  private constructor(caller: Caller, { pid, timesRegions, matches }: Started) {
    this.#caller = caller
    this.pid = pid
    this.timesRegions = timesRegions
    this.matches = matches
    this.ended = caller.ask('ended').then((said) => this.#hasEnded(said), messageOf)
  }

  #hasEnded(said: unknown): string {
    const [reason, isOfProxy] = Array.isArray(said) ? said : []
    // Skipped if this client has ended the session before.
    if (isOfProxy === true && this.#finishing === undefined) {
      this.#proxyEnded = String(reason)
      // The proxy waits only briefly, so the profile is fetched at once, even if the user still watches the view.
      this.finish().then(
        () => this.#caller.leave(),
        () => {}, // the caller of `finish` receives the error
      )
    }
    return String(reason)
  }

  /** @throws NoProxyKey, CannotReach, WrongProxyKey, NotAProxy, OtherProxyVersion */
  static async reach(address: RemoteAddress): Promise<Caller> {
    if (address.by === 'ssh') return await Caller.connect(sshWay(address, process.env), packageVersion())
    const key = keyOfEnvironment(process.env)
    if (key === null) throw new NoProxyKey('neither JFLUID_PROXY_KEY nor JFLUID_PROXY_KEY_FILE is set')
    return await Caller.connect(tcpWay(address, key), packageVersion())
  }

  /** @throws ProxySays: BadPid, AmbiguousName, NoPid of the proxy */
  static async find(caller: Caller, target: string): Promise<number> {
    const pid = await caller.ask('find', { target })
    if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1)
      throw new NotAProxy(caller.where, 'it sent a process id that is not a number')
    return pid
  }

  /**
   * Starts the session.
   *
   * @param pid  process id that `find` returned
   * @throws ProxySays: errors of the attach on the other machine
   */
  static async start(caller: Caller, pid: number, flags: SessionFlags): Promise<RemoteSession> {
    const started = parsed<Started>(caller, await caller.ask('start', { flags }))
    // The process id is part of local file names.
    if (started.pid !== pid) throw new NotAProxy(caller.where, 'it sent a session of another JVM')
    return new RemoteSession(caller, started)
  }

  /** Time in ms since the connection was lost. Null while there is a connection, or after the proxy has ended the session. */
  get lostForMs(): number | null {
    return this.#proxyEnded === null ? this.#caller.lostForMs : null
  }

  /** Reason why reconnecting fails; null if unknown. */
  get problem(): string | null {
    return this.#caller.problem
  }

  get where(): string {
    return this.#caller.where
  }

  async status(): Promise<SessionStatus> {
    return parsed<SessionStatus>(this.#caller, await this.#caller.ask('status'))
  }

  ask(operation: string, args: unknown = null): Promise<unknown> {
    return this.#caller.ask(operation, args)
  }

  async profileSoFar(why: string): Promise<Profile> {
    if (this.#proxyEnded !== null) return (await this.finish()).profile
    const said = await this.#caller.ask('so far', { why })
    const [number, bytes] = Array.isArray(said) ? said : []
    if (typeof number !== 'number') throw new NotAProxy(this.where, 'it sent a profile without a number')
    return await this.#profile(number, bytes, 1)
  }

  /**
   * Changes the recorded methods.
   *
   * @returns message for the user
   * @throws ProxySays if the request failed. Then nothing has changed, or, with `changeRoot`, the old roots are recorded again from zero
   */
  async steer(what: 'changeRoot' | Steered, text: string, place = ''): Promise<string> {
    return String(await this.#caller.ask('steer', { what, text, place }))
  }

  /**
   * Records another root from zero.
   *
   * @param place  planned location of the earlier profile, which would be lost if the new root cannot be recorded
   * @param keep   saves the earlier profile at `place`, or elsewhere
   * @returns message for the user
   */
  async changeRoot(text: string, place: string, keep: KeepProfile): Promise<string> {
    try {
      return await this.steer('changeRoot', text, place)
    } catch (error) {
      if (!(error instanceof ProxySays && error.name === OldRootsAgain.name)) throw error
      const also = await this.#keepBefore(keep).then(
        (path) => (path === null || path === place ? null : this.#isNotIn(place, path)),
        (lost: unknown) => this.#isNotIn(place, null, lost),
      )
      throw also === null ? error : new ProxySays(error.with(also))
    }
  }

  /** @returns message for the user */
  #isNotIn(place: string, path: string | null, lost?: unknown): string {
    this.#elsewhere.set(place, path)
    if (path !== null) return `it is in ${path} instead`
    return `it is lost: ${messageOf(lost)}`
  }

  /** Corrects the warnings: the proxy has written the planned location into the warnings before the profile was saved. */
  #withRealPlaces(profile: Profile): Profile {
    const warnings = profile.warnings.map((warning) => {
      let right = warning
      for (const [place, path] of this.#elsewhere)
        right = right.replace(` is in ${place} (`, () => (path === null ? ' is lost (' : ` is in ${path} (`))
      return right
    })
    return { ...profile, warnings }
  }

  /** @returns location of the earlier profile; null if no earlier profile had to be saved */
  async #keepBefore(keep: KeepProfile): Promise<string | null> {
    const bytes = await this.#caller.ask('before')
    return bytes === null ? null : await keep(await this.#profile(BEFORE, bytes, MAX_PENDING_PIECES))
  }

  /** Detaches from the target, and transfers the whole profile. */
  finish(): Promise<SourceResult> {
    this.#finishing ??= this.#finish()
    return this.#finishing
  }

  async #finish(): Promise<SourceResult> {
    const { described, bytes } = parsed<Left>(this.#caller, await this.#caller.ask('finish'))
    return { profile: await this.#profile(FINISHED, bytes, MAX_PENDING_PIECES), described: [described] }
  }

  /** See `RecordedSource.outcome`. */
  async outcome(signal: NodeJS.Signals | null, kept: Kept): Promise<JfluidError | null> {
    const reason = this.#proxyEnded
    if (reason !== null) return new SessionCutShort({ how: 'by itself', reason, exitCode: EX_IOERR }, kept)
    const said = await this.#caller.ask('outcome', { signal, kept })
    const error = Array.isArray(said) ? readErrorFrame(said) : null
    return error === null ? null : new ProxySays(error)
  }

  async #profile(of: number, bytes: unknown, atOnce: number): Promise<Profile> {
    if (typeof bytes !== 'number' || !(bytes >= 0 && bytes <= MAX_PROFILE_BYTES))
      throw new NotAProxy(this.where, 'it sent a profile without a size')
    const pieces: Uint8Array[] = []
    for (let from = 0; from < bytes; from += atOnce * PIECE_BYTES) {
      const starts = Array.from({ length: atOnce }, (_, i) => from + i * PIECE_BYTES).filter(
        (at) => at < bytes,
      )
      const come = await Promise.all(starts.map((at) => this.#caller.ask('piece', { of, at })))
      for (const [i, piece] of come.entries()) {
        const length = Math.min(PIECE_BYTES, bytes - starts[i]!)
        if (!(piece instanceof Uint8Array) || piece.length !== length)
          throw new NotAProxy(this.where, 'it sent an invalid part of a profile')
        pieces.push(piece)
      }
    }
    return this.#withRealPlaces(decodeProfile(Buffer.concat(pieces), `the profile via ${this.where}`))
  }
}

/** Parses JSON from the proxy. Both sides have the same version, so the type is trusted. */
export function parsed<T extends object>({ where }: { readonly where: string }, text: unknown): T {
  let value: unknown
  try {
    value = JSON.parse(String(text))
  } catch {
    throw new NotAProxy(where, 'it sent an answer that is not JSON')
  }
  if (typeof value !== 'object' || value === null) throw new NotAProxy(where, 'it sent an incomplete answer')
  return value as T
}
