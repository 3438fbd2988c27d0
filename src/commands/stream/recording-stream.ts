// jfluid record --stream: sends the recorded data to other programs during the recording. Writes one JSON object per line to stdout.
// docs/exports.md documents the keys. New versions only add keys.

import { metricOf } from '../../cct/metric.ts'
import { hotMethods, mergedMethods } from '../../cct/snapshot.ts'
import type { MethodName, Tree } from '../../cct/tree.ts'
import { reasonOf } from '../../profile/errors.ts'
import { flatNodes } from '../../profile/json.ts'
import { jsonText } from '../../profile/json-text.ts'
import { nameKey, nameOf, type Profile, type RegionTimes } from '../../profile/profile.ts'
import type { Session, SessionStatus } from '../../session/session.ts'
import { LineWriter } from './line-writer.ts'

export const STREAM_VERSION = 1
/** Interval of the snapshots. The creation of snapshots takes at most half of the time. */
const SNAPSHOT_INTERVAL_MS = 1000
/** Interval of the checks for other changes. */
const CHECK_INTERVAL_MS = 250
/** Maximum number of methods in a snapshot. */
const MAX_METHODS = 20
/** Maximum wait for a stalled reader at the end of the recording. */
const FLUSH_TIMEOUT_MS = 2000
/** Maximum number of tree nodes per line. */
const MAX_NODES_PER_LINE = 1000

/** The part of a session that the stream reads. */
export type Streamed = Pick<
  Session,
  'status' | 'snapshot' | 'regions' | 'timesRegions' | 'methodName' | 'pid' | 'mode' | 'scheme' | 'rootNames'
> & {
  readonly target: { readonly version: string; readonly command: string }
  readonly engine: {
    readonly installation: { readonly redefinitions: number; readonly hotSwapMs: number }
  }
}

/** Destination of the lines. */
export type LineSink = Pick<LineWriter, 'line' | 'isBusy' | 'flush' | 'close' | 'gone'>

interface Sums {
  readonly calls: number
  readonly self: number
  readonly total: number
}

interface Named<T> extends Sums {
  readonly name: T
}

type Figures = Pick<
  SessionStatus,
  'elapsedMs' | 'events' | 'instrumentedMethods' | 'calledMethods' | 'waitMs'
>

export class RecordingStream {
  /** Resolves with a reason when the reader has closed the stream, or on a write error. */
  readonly gone: Promise<string>
  readonly #session: Streamed
  readonly #out: LineSink
  readonly #told = new Set<string>()
  #redefinitions = 0
  /** Values at the last snapshot, keyed by name of a method or region. Ids are not used, since they may differ in the finished profile. */
  #before = new Map<string, Sums>()
  #beforeMs = 0
  #isOver = false
  #timers: NodeJS.Timeout[] = []
  #looking: Promise<void> = Promise.resolve()

  /** Writes that recording has begun, and starts the snapshots. */
  constructor(session: Streamed, out: LineSink = new LineWriter(1)) {
    this.#session = session
    this.#out = out
    this.gone = out.gone.then((code) =>
      code === 'EPIPE'
        ? 'the reader of the stream has closed it'
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
    this.#again(CHECK_INTERVAL_MS, () => this.#look())
    this.#again(SNAPSHOT_INTERVAL_MS, () => this.#snapshot())
  }

  /** Stops all output except the end. Call it before the session is detached. */
  async stop(): Promise<void> {
    this.#isOver = true
    for (const timer of this.#timers) clearTimeout(timer)
    await this.#looking
  }

  /**
   * Writes the changes since the last snapshot, the whole tree, and the last line. Waits for the reader while it makes progress. A stalled
   * reader does not receive the end.
   */
  async ended(profile: Profile, why: string, file: string | null): Promise<void> {
    const { durationMs, events, instrumentation, regions, truncated } = profile
    for (const text of profile.warnings) this.#warn(text, durationMs)
    const { instrumentedMethods, calledMethods } = instrumentation
    this.#sayAll(
      {
        elapsedMs: durationMs,
        events: events.count,
        waitMs: events.waitMs,
        instrumentedMethods,
        calledMethods,
      },
      regions === undefined
        ? this.#methodsOf(profile.merged, (id) => nameOf(profile.methodNames, id))
        : this.#regionsOf(regions),
    )
    if (regions !== undefined || (await this.#tellTree(profile))) {
      const isCut = truncated !== false
      this.#say('ended', { atMs: durationMs, why, file, events: events.count, truncated: isCut })
      await this.#out.flush(FLUSH_TIMEOUT_MS)
    }
    this.#out.close()
  }

  /** @returns whether the reader has accepted everything */
  async #tellTree(profile: Profile): Promise<boolean> {
    const { durationMs } = profile
    let nodes: string[] = []
    let first = 0
    let isTaken = true
    const tell = async (): Promise<void> => {
      this.#out.line(`{"kind":"tree","atMs":${durationMs},"first":${first},"nodes":[${nodes.join(',')}]}`)
      first += nodes.length
      nodes = []
      isTaken = await this.#out.flush(FLUSH_TIMEOUT_MS)
    }
    for (const node of flatNodes(profile)) {
      nodes.push(node)
      if (nodes.length === MAX_NODES_PER_LINE) await tell()
      if (!isTaken) return false
    }
    if (nodes.length > 0 || first === 0) await tell()
    return isTaken
  }

  /** Runs a function repeatedly. The pause after each run is at least as long as the run. */
  #again(everyMs: number, what: () => Promise<void>): void {
    const at = this.#timers.length
    const next = (restMs: number): void => {
      this.#timers[at] = setTimeout(async () => {
        const begun = performance.now()
        // A request to a session that is ending may fail. Another part of jfluid reports the end.
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

  /** Skips the snapshot if the reader is behind. The next snapshot covers the whole time since the last written snapshot. */
  async #snapshot(): Promise<void> {
    if (this.#isOver || this.#out.isBusy) return
    const status = await this.#session.status()
    const { timesRegions } = this.#session
    const found = timesRegions ? await this.#session.regions() : await this.#session.snapshot(false)
    if (this.#isOver) return
    this.#sayAll(
      status,
      'merged' in found
        ? this.#methodsOf(found.merged, (id) => this.#session.methodName(id))
        : this.#regionsOf(found),
    )
  }

  #sayAll(
    { elapsedMs, events, instrumentedMethods, calledMethods, waitMs }: Figures,
    since: { readonly methods: readonly object[] } | { readonly regions: readonly object[] },
  ): void {
    this.#say('snapshot', {
      ...{ atMs: elapsedMs, sinceMs: this.#beforeMs },
      ...{ events, instrumentedMethods, calledMethods, waitMs },
      ...since,
    })
    this.#beforeMs = elapsedMs
  }

  #methodsOf(merged: Tree, named: (id: number) => MethodName): { readonly methods: readonly object[] } {
    const metric = metricOf(merged)
    const now = new Map<string, Named<MethodName>>()
    for (const { method: id, ...sums } of hotMethods(mergedMethods(merged, (id) => nameKey(named(id))))) {
      const name = named(id)
      now.set(nameKey(name), { name, ...sums })
    }
    const methods = this.#changes(now)
      .sort((a, b) => b.self - a.self || b.calls - a.calls)
      .slice(0, MAX_METHODS)
      .map(({ name: { class: className, method, descriptor }, calls, self, total }) => ({
        ...{ class: className, method, descriptor, calls, [metric.self]: self, [metric.total]: total },
      }))
    return { methods }
  }

  #regionsOf(found: readonly RegionTimes[]): { readonly regions: readonly object[] } {
    const now = new Map<string, Named<string>>()
    for (const { region: name, method, count, totalNs } of found)
      now.set(`${method} ${name}`, { name, calls: count, self: totalNs, total: totalNs })
    const changed = this.#changes(now)
    return {
      regions: changed.map(({ name, calls, total }) => ({ region: name, count: calls, totalNs: total })),
    }
  }

  /** Returns the differences since the last call, for entries that have changed. */
  #changes<T>(now: ReadonlyMap<string, Named<T>>): Named<T>[] {
    const before = this.#before
    this.#before = new Map(now)
    return [...now]
      .map(([key, { name, ...sums }]) => {
        const { calls = 0, self = 0, total = 0 } = before.get(key) ?? {}
        return { name, calls: sums.calls - calls, self: sums.self - self, total: sums.total - total }
      })
      .filter(({ calls, self, total }) => calls !== 0 || self !== 0 || total !== 0)
  }

  #say(kind: string, what: object): void {
    this.#out.line(jsonText({ kind, ...what }))
  }
}
