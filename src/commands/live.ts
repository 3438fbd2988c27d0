// The live view of a session: adapts the session's interface to the interface of the view.

import { dirname } from 'node:path'
import { skippedWarnings } from '../profile/skipped.ts'
import { codeSince } from '../profile/source-lines.ts'
import { valuePaths } from '../profile/values.ts'
import type { Session } from '../session/session.ts'
import type { LiveSource, LiveStatus } from '../tui/app.ts'
import type { RegionSource } from '../tui/region-app.ts'
import { sessionKeeper, sessionRanges } from './keeper.ts'
import { keptBeside, sessionSteering } from './steering.ts'
import { threadText } from './threads.ts'

/** Status before the first request. */
const NOTHING_YET = {
  ...{ instrumentedMethods: 0, calledMethods: 0, events: 0, eventsPerSecond: 0, waitPercent: 0 },
  ...{ elapsedMs: 0, phase: 'starting', warnings: [] },
} as const satisfies Partial<LiveStatus>

/** Source for the view of regions. */
export function regionSource(session: Session, out: string | null): RegionSource {
  const { snapshot, ...source } = liveSource(session, out)
  return {
    ...source,
    overheadNs: session.overheadNs,
    async regions() {
      const [regions] = await Promise.all([session.regions(), snapshot(false)])
      return regions
    },
  }
}

/**
 * Source for the view of calls. Rates cover the time between two status calls.
 *
 * @param out  file for the profile; null if there is none
 */
export function liveSource(session: Session, out: string | null = null): LiveSource {
  /** Values at the previous computation of the rates. */
  let last = { events: 0, waitMs: 0, costMs: 0, elapsedMs: 0 }
  let rates = { eventsPerSecond: 0, waitPercent: 0 }
  let costPercent = 0
  const openedAt = new Date().toISOString()
  const facts = () => ({
    pid: session.pid,
    mainClass: session.target.command.split(' ')[0] ?? '',
    jdk: session.target.version,
    scheme: session.scheme,
    mode: session.mode,
    roots: session.rootNames,
    ...(session.values !== null && { values: valuePaths(session.values) }),
    codeSince: codeSince(session.jvmStartedAt, openedAt),
  })
  let latest: LiveStatus | null = null
  const poll = async (): Promise<void> => {
    const s = await session.status()
    const { events, waitMs, elapsedMs, instrumentedMethods, calledMethods, phase } = s
    if (elapsedMs < last.elapsedMs) last = { events: 0, waitMs: 0, costMs: 0, elapsedMs: 0 } // the counts were reset
    const spentMs = elapsedMs - last.elapsedMs
    if (spentMs > 500) {
      const costMs = s.stacks?.costMs ?? 0
      rates = {
        eventsPerSecond: Math.max(0, ((events - last.events) * 1000) / spentMs),
        waitPercent: Math.max(0, ((waitMs - last.waitMs) * 100) / spentMs),
      }
      costPercent = Math.max(0, ((costMs - last.costMs) * 100) / spentMs)
      last = { events, waitMs, costMs, elapsedMs }
    }
    latest = {
      ...facts(),
      ...rates,
      instrumentedMethods,
      calledMethods,
      events,
      elapsedMs,
      phase,
      ...(s.stacks !== undefined && { stacks: { ...s.stacks, costPercent } }),
      ...(s.message === null ? {} : { message: s.message }),
      warnings: [...s.warnings, ...skippedWarnings(s.skipped)],
    }
  }
  return {
    async snapshot(perThread, slow) {
      // Ids are valid for one generation of the session. An answer for an older generation is discarded.
      for (;;) {
        const { generation } = session
        const [snapshot] = await Promise.all([session.snapshot(perThread, slow), poll()]).catch(
          (error: unknown) => {
            if (generation === session.generation) throw error
            return [null]
          },
        )
        if (snapshot !== null && generation === session.generation) return snapshot
      }
    },
    methodName: (id) => session.methodName(id),
    ...(session.samplesLines && { linesOf: (id: number) => session.linesOf(id) }),
    placeOf: (id) => session.placeOf(id),
    status: () => latest ?? { ...facts(), ...NOTHING_YET },
    ...(session.mayKeepSlow && {
      keepSlow: () => {
        if (!session.keepsSlow) session.keepSlow()
      },
    }),
    dumpThreads: async (isConfirmed) => threadText(await session.dumpThreads(isConfirmed)),
    reset: () => session.reset(),
    keeper: sessionKeeper(session),
    ranges: sessionRanges(session, () => session.mode),
    steering: sessionSteering(session, keptBeside(session.pid, out === null ? '.' : dirname(out))),
    instrumentation: () => session.instrumentation(),
    ended: session.ended,
  }
}
