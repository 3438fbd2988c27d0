// A session in a proxy: executes the requests of its client with the commands of the session.

import { JfluidError } from '../base/errors.ts'
import type { SessionFlags } from '../options/table.ts'
import { encodeProfile } from '../profile/file.ts'
import { jsonText } from '../profile/json-text.ts'
import type { Operations, Value } from '../remote/desk.ts'
import { errorFrame } from '../remote/errors.ts'
import type { Hosted } from '../remote/host.ts'
import { Pace } from '../remote/pace.ts'
import { BEFORE, FINISHED, PIECE_BYTES } from '../remote/protocol.ts'
import { attachDoor } from '../session/doors/door.ts'
import { Session } from '../session/session.ts'
import { asksFirst } from '../session/session-options.ts'
import { Malformed } from '../wire/unpack.ts'
import { describeDetach, type Finished, finish } from './finish.ts'
import { HostedView } from './hosted-view.ts'
import { liveSource } from './live.ts'
import { describeMatches } from './matches.ts'
import { commandOptions } from './options.ts'
import { outcome } from './outcome.ts'
import { checkRemoteFlags, flagsFromAfar } from './remote-flags.ts'
import { sessionSteering } from './steering.ts'
import { targetFromAfar } from './target.ts'

/** Answer to the client after the session has started to record. */
export interface Started {
  readonly pid: number
  readonly timesRegions: boolean
  /** Lines that describe the matches of the user's patterns. */
  readonly matches: readonly string[]
}

export interface Left {
  /** Text that describes how the session left the target. */
  readonly described: string
  /** Length of the encoded profile in bytes. */
  readonly bytes: number
}

/** Members of `Steering` that change the recorded methods. A change of the roots is a separate request. */
const STEERED = ['leaveOut', 'add', 'costToTime', 'time', 'takeBack'] as const
export type Steered = (typeof STEERED)[number]

/** Maximum number of kept snapshots. An autosave and the view may each read a snapshot at the same time. */
const MAX_SNAPSHOTS = 3

export class HostedSession implements Hosted {
  readonly #pace = new Pace()
  #pid: Promise<number> | undefined
  #starting: Promise<Session> | undefined
  #finishing: Promise<Finished> | undefined
  #view: HostedView | undefined
  #finished: Buffer | undefined
  /** Snapshots keyed by number, the oldest first. */
  readonly #soFar = new Map<number, Buffer>()
  #nextSoFar = 1
  /** Profile from before the last change of the roots. Undefined unless it would otherwise be lost. */
  #before: Buffer | undefined
  #endWith: (reason: string) => void = () => {}
  /** Reason why the proxy ends the session. */
  readonly #endedByProxy = new Promise<string>((resolve) => {
    this.#endWith = resolve
  })

  readonly operations: Operations = {
    find: async (args) => {
      const { target } = partsOf(args)
      this.#pid ??= targetFromAfar(String(target))
      return await this.#pid
    },
    start: async (args) => {
      const flags = flagsFromAfar(partsOf(partsOf(args).flags))
      this.#starting ??= this.#start(flags)
      const session = await this.#starting
      const { pid, timesRegions } = session
      return jsonText({ pid, timesRegions, matches: describeMatches(session) } satisfies Started)
    },
    status: async () => jsonText(await (await this.#session()).status()),
    picture: async (args) => (await this.#shown()).picture(args, this.#pace),
    threads: async (args) => {
      const { isConfirmed } = partsOf(args)
      return jsonText(await (await this.#session()).dumpThreads(isConfirmed === true))
    },
    reset: async () => {
      const session = await this.#session()
      session.reset()
      return null
    },
    steer: async (args) => {
      const { what, text, place } = partsOf(args)
      return await this.#steer(await this.#session(), String(what), String(text), String(place))
    },
    before: async () => this.#before?.length ?? null,
    ended: async () => {
      const session = await this.#session()
      return await Promise.race([
        session.ended.then((why) => [why, false]),
        this.#endedByProxy.then((why) => [why, true]),
      ])
    },
    'so far': async (args) => {
      const { why } = args as { why: string }
      const session = await this.#session()
      return this.#keep(encodeProfile(await session.profileSoFar(String(why))))
    },
    finish: async () => {
      const session = await this.#session()
      const { profile, report } = await this.#finish(session)
      this.#finished ??= encodeProfile(profile)
      const bytes = this.#finished.length
      return jsonText({ described: describeDetach(session, report), bytes } satisfies Left)
    },
    piece: async (args) => {
      const { of, at } = args as { of: number; at: number }
      const file = of === FINISHED ? this.#finished : of === BEFORE ? this.#before : this.#soFar.get(of)
      const piece = file?.subarray(at, at + PIECE_BYTES) ?? Buffer.alloc(0)
      // The live view has priority over other transfers.
      if (of !== FINISHED) {
        await this.#pace.wait()
        this.#pace.spend(piece.length)
      }
      return piece
    },
    outcome: async (args): Promise<Value> => {
      const { signal, kept } = args as { signal: NodeJS.Signals | null; kept: Parameters<typeof outcome>[2] }
      const problem = outcome(await this.#session(), signal, kept)
      return problem === null ? null : errorFrame(problem)
    },
  }

  /**
   * Executes a steering request.
   *
   * @param place  path where the client puts the earlier profile if it would be lost; the next profile mentions this path
   * @returns message for the user
   */
  async #steer(session: Session, what: string, text: string, place: string): Promise<string> {
    const steering = sessionSteering(session, async (profile) => {
      this.#before = encodeProfile(profile)
      return place
    })
    if (what === 'changeRoot') {
      this.#before = undefined
      return await steering.changeRoot(text, () => {})
    }
    const change = STEERED.find((it) => it === what)
    if (change === undefined) throw new Malformed(`an unknown change ${what}`)
    return await steering[change](text)
  }

  async #start(flags: SessionFlags): Promise<Session> {
    checkRemoteFlags('session', flags)
    const options = await commandOptions(flags)
    const pid = await (this.#pid ?? Promise.reject(new Error('no JVM has been asked for')))
    return await Session.start(await attachDoor(pid, { asks: asksFirst(options) }), options)
  }

  #session(): Promise<Session> {
    return this.#starting ?? Promise.reject(new Error('nothing has been started'))
  }

  async #shown(): Promise<HostedView> {
    const session = await this.#session()
    this.#view ??= new HostedView(session, liveSource(session))
    return this.#view
  }

  /**
   * @returns number of the snapshot and its length in bytes. Two snapshots may be transferred alternately: one for autosave, one for the
   * user
   */
  #keep(file: Buffer): Value {
    const number = this.#nextSoFar++
    this.#soFar.set(number, file)
    for (const old of this.#soFar.keys()) if (old <= number - MAX_SNAPSHOTS) this.#soFar.delete(old)
    return [number, file.length]
  }

  #finish(session: Session): Promise<Finished> {
    this.#finishing ??= finish(session)
    return this.#finishing
  }

  async end(reason: string): Promise<boolean> {
    this.#endWith(reason)
    await this.close()
    return this.#finishing !== undefined
  }

  async close(): Promise<void> {
    // If the session did not start, the client has already received the error.
    const session = await this.#starting?.catch(() => null)
    try {
      if (session) await this.#finish(session)
    } catch (error) {
      // The client has disconnected. If the detach failed, the agent detaches on its own.
      if (!(error instanceof JfluidError)) throw error
    }
  }
}

function partsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new Malformed('an incomplete request')
  return value as Readonly<Record<string, unknown>>
}
