// A session in a proxy: what its client asks for, done with the session's own commands.

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

/** What the client is told once it records. */
export interface Started {
  readonly pid: number
  readonly timesRegions: boolean
  /** What the patterns matched. */
  readonly matches: readonly string[]
}

export interface Left {
  /** How the target was left. */
  readonly described: string
  /** Of the profile. */
  readonly bytes: number
}

/** Changes of what is recorded, as `Steering` calls them; the roots are changed otherwise. */
const STEERED = ['leaveOut', 'add', 'costToTime', 'time', 'takeBack'] as const
export type Steered = (typeof STEERED)[number]

/** Profiles so far that can be had at a time: one is autosaved, and the view looks at one. */
const MOST_SO_FAR = 3

export class HostedSession implements Hosted {
  readonly #pace = new Pace()
  #pid: Promise<number> | undefined
  #starting: Promise<Session> | undefined
  #finishing: Promise<Finished> | undefined
  #view: HostedView | undefined
  #finished: Buffer | undefined
  /** By number, the oldest first. */
  readonly #soFar = new Map<number, Buffer>()
  #nextSoFar = 1
  /** What the last change of the roots would have lost; undefined if it has lost nothing. */
  #before: Buffer | undefined
  #tell: (reason: string) => void = () => {}
  /** Why the proxy ends it. */
  readonly #told = new Promise<string>((resolve) => {
    this.#tell = resolve
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
        this.#told.then((why) => [why, true]),
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
      // What is looked at meanwhile comes first.
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
   * @param place  where the client puts what was recorded before, if that would be lost: what follows says so
   * @returns what to tell the user
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
    if (change === undefined) throw new Malformed(`to ${what} something`)
    return await steering[change](text)
  }

  async #start(flags: SessionFlags): Promise<Session> {
    checkRemoteFlags('session', flags)
    const options = await commandOptions(flags)
    const pid = await (this.#pid ?? Promise.reject(new Error('no JVM has been asked for')))
    return await Session.start(await attachDoor(pid, asksFirst(options)), options)
  }

  #session(): Promise<Session> {
    return this.#starting ?? Promise.reject(new Error('nothing has been started'))
  }

  async #shown(): Promise<HostedView> {
    const session = await this.#session()
    this.#view ??= new HostedView(session, liveSource(session))
    return this.#view
  }

  /** @returns its number and its length in bytes: pieces of two are asked for in turn where one is autosaved as the user asks for one */
  #keep(file: Buffer): Value {
    const number = this.#nextSoFar++
    this.#soFar.set(number, file)
    for (const old of this.#soFar.keys()) if (old <= number - MOST_SO_FAR) this.#soFar.delete(old)
    return [number, file.length]
  }

  #finish(session: Session): Promise<Finished> {
    this.#finishing ??= finish(session)
    return this.#finishing
  }

  async end(reason: string): Promise<boolean> {
    this.#tell(reason)
    await this.close()
    return this.#finishing !== undefined
  }

  async close(): Promise<void> {
    // Whoever asked for one that did not start has been told.
    const session = await this.#starting?.catch(() => null)
    try {
      if (session) await this.#finish(session)
    } catch (error) {
      // Whoever would be told has gone, and the agent leaves by itself what could not be left.
      if (!(error instanceof JfluidError)) throw error
    }
  }
}

function partsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new Malformed('a request without its parts')
  return value as Readonly<Record<string, unknown>>
}
