// jfluid record --stream: what is recorded, as it comes, for other programs. One JSON object a line on the standard output;
// the keys are documented in the README, and are only ever added.

import { metricOf } from '../../cct/metric.ts'
import { hotMethods } from '../../cct/snapshot.ts'
import { reasonOf } from '../../profile/errors.ts'
import type { Profile } from '../../profile/profile.ts'
import type { Session } from '../../session/session.ts'
import { LineWriter } from './line-writer.ts'

export const STREAM_VERSION = 1
/** A picture is made that often, and at most half of the time. */
const SNAPSHOT_MS = 1000
/** What has changed besides is looked for that often. */
const LOOK_MS = 250
/** Methods of a snapshot. */
const METHODS = 20
/** How long the end waits for its reader. */
const LAST_MS = 2000

/** The part of a session that is looked at. */
export type Streamed = Pick<
  Session,
  'status' | 'snapshot' | 'regions' | 'timesRegions' | 'methodName' | 'pid' | 'mode' | 'scheme' | 'rootNames'
> & {
  readonly target: { readonly version: string; readonly command: string }
  readonly engine: {
    readonly installation: { readonly redefinitions: number; readonly hotSwapMs: number }
  }
}

/** Where its lines go. */
export type LineSink = Pick<LineWriter, 'line' | 'isBusy' | 'flush' | 'gone'>

interface Sums {
  readonly calls: number
  readonly self: number
  readonly total: number
}

export class RecordingStream {
  /** Resolves with a reason when nobody reads any more, or it cannot be written. */
  readonly gone: Promise<string>
  readonly #session: Streamed
  readonly #out: LineSink
  readonly #told = new Set<string>()
  #redefinitions = 0
  /** By method, or by region: what the last snapshot told up to. */
  #before = new Map<number, Sums>()
  #beforeMs = 0
  #isOver = false
  #timers: NodeJS.Timeout[] = []
  #looking: Promise<void> = Promise.resolve()

  /** Says that recording has begun, and goes on from there. */
  constructor(session: Streamed, out: LineSink = new LineWriter(1)) {
    this.#session = session
    this.#out = out
    this.gone = out.gone.then((code) =>
      code === 'EPIPE'
        ? 'nobody reads the stream any more'
        : `the stream cannot be written: ${reasonOf(code)}`,
    )
    this.#say('started', {
      version: STREAM_VERSION,
      ...{ pid: session.pid, jdk: session.target.version },
      mainClass: session.target.command.split(' ')[0] ?? '',
      ...{ mode: session.mode, scheme: session.scheme, roots: session.rootNames },
      startedAt: new Date().toISOString(),
    })
    this.#redefinitions = session.engine.installation.redefinitions
    this.#again(LOOK_MS, () => this.#look())
    this.#again(SNAPSHOT_MS, () => this.#snapshot())
  }

  /** Nothing more is told but the end. Call before the session is detached. */
  async stop(): Promise<void> {
    this.#isOver = true
    for (const timer of this.#timers) clearTimeout(timer)
    await this.#looking
  }

  /** The last line; waits a little for its reader. */
  async ended(profile: Profile, why: string, file: string): Promise<void> {
    for (const text of profile.warnings) this.#warn(text, profile.durationMs)
    const { durationMs, events, truncated } = profile
    this.#say('ended', { atMs: durationMs, why, file, events: events.count, truncated: truncated !== false })
    await this.#out.flush(LAST_MS)
  }

  /** One after the other, with a rest that is as long as what was done. */
  #again(everyMs: number, what: () => Promise<void>): void {
    const at = this.#timers.length
    const next = (restMs: number): void => {
      this.#timers[at] = setTimeout(async () => {
        const begun = performance.now()
        // What is asked of a session that is about to end may not be answered: the end is told by others.
        const turn = this.#looking.then(what).catch(() => {})
        this.#looking = turn
        await turn
        if (!this.#isOver) next(Math.max(everyMs - (performance.now() - begun), performance.now() - begun))
      }, restMs)
      this.#timers[at].unref()
    }
    next(everyMs)
  }

  async #look(): Promise<void> {
    if (this.#isOver) return
    const status = await this.#session.status()
    for (const text of status.warnings) this.#warn(text, status.elapsedMs)
    const { redefinitions, hotSwapMs } = this.#session.engine.installation
    if (redefinitions === this.#redefinitions) return
    this.#redefinitions = redefinitions
    const { elapsedMs, instrumentedMethods } = status
    this.#say('redefinition', { atMs: elapsedMs, redefinitions, hotSwapMs, instrumentedMethods })
  }

  #warn(text: string, atMs: number): void {
    if (this.#told.has(text)) return
    this.#told.add(text)
    this.#say('warning', { atMs, text })
  }

  /** A reader that is behind gets none; the next one that it does get tells of all the time since. */
  async #snapshot(): Promise<void> {
    if (this.#isOver || this.#out.isBusy) return
    const status = await this.#session.status()
    const what = this.#session.timesRegions ? await this.#regions() : await this.#methods()
    if (this.#isOver) return
    const { elapsedMs, events, instrumentedMethods, calledMethods, waitMs } = status
    this.#say('snapshot', {
      ...{ atMs: elapsedMs, sinceMs: this.#beforeMs },
      ...{ events, instrumentedMethods, calledMethods, waitMs },
      ...what,
    })
    this.#beforeMs = elapsedMs
  }

  async #methods(): Promise<object> {
    const { merged } = await this.#session.snapshot(false)
    const metric = metricOf(merged)
    const changed = this.#changes(hotMethods(merged).map(({ method, ...sums }) => [method, sums]))
    const methods = changed
      .sort((a, b) => b.self - a.self || b.calls - a.calls || a.id - b.id)
      .slice(0, METHODS)
      .map(({ id, calls, self, total }) => {
        const { class: className, method, descriptor } = this.#session.methodName(id)
        return { class: className, method, descriptor, calls, [metric.self]: self, [metric.total]: total }
      })
    return { methods }
  }

  async #regions(): Promise<object> {
    const found = await this.#session.regions()
    const changed = this.#changes(
      found.map(({ count, totalNs }, i) => [i, { calls: count, self: totalNs, total: totalNs }]),
    )
    const regions = changed.map(({ id, calls, total }) => ({
      ...{ region: found[id]!.region, count: calls, totalNs: total },
    }))
    return { regions }
  }

  /** What has come since the last time, of those of which something has. */
  #changes(now: readonly (readonly [id: number, sums: Sums])[]): (Sums & { readonly id: number })[] {
    const before = this.#before
    this.#before = new Map(now)
    return now
      .map(([id, sums]) => {
        const { calls = 0, self = 0, total = 0 } = before.get(id) ?? {}
        return { id, calls: sums.calls - calls, self: sums.self - self, total: sums.total - total }
      })
      .filter(({ calls, self, total }) => calls !== 0 || self !== 0 || total !== 0)
  }

  #say(kind: string, what: object): void {
    this.#out.line(JSON.stringify({ kind, ...what }))
  }
}
