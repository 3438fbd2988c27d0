// The live view of a session: from the session's port to the view's.

import { dirname } from 'node:path'
import { skippedWarnings } from '../profile/skipped.ts'
import type { Session } from '../session/session.ts'
import type { LiveSource, LiveStatus } from '../tui/app.ts'
import type { RegionSource } from '../tui/region-app.ts'
import { sessionKeeper } from './keeper.ts'
import { keptBeside, sessionSteering } from './steering.ts'

/** The same for the view of regions. */
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
 * What the view reads. Rates are over the time between two status calls.
 *
 * @param out  where the profile goes; null for nowhere
 */
export function liveSource(session: Session, out: string | null = null): LiveSource {
  let lastEvents = 0
  let lastWaitMs = 0
  let lastMs = 0
  let eventsPerSecond = 0
  let waitPercent = 0
  let lastCostMs = 0
  let costPercent = 0
  let latest: LiveStatus | null = null
  const poll = async (): Promise<void> => {
    const s = await session.status()
    if (s.elapsedMs < lastMs) lastEvents = lastWaitMs = lastCostMs = lastMs = 0 // all was set to zero
    const spent = s.elapsedMs - lastMs
    if (spent > 500) {
      eventsPerSecond = ((s.events - lastEvents) * 1000) / spent
      waitPercent = ((s.waitMs - lastWaitMs) * 100) / spent
      const costMs = s.stacks?.costMs ?? 0
      costPercent = Math.max(0, ((costMs - lastCostMs) * 100) / spent)
      lastCostMs = costMs
      lastEvents = s.events
      lastWaitMs = s.waitMs
      lastMs = s.elapsedMs
    }
    latest = {
      pid: session.pid,
      mainClass: session.target.command.split(' ')[0] ?? '',
      jdk: session.target.version,
      scheme: session.scheme,
      mode: session.mode,
      roots: session.rootNames,
      instrumentedMethods: s.instrumentedMethods,
      calledMethods: s.calledMethods,
      events: s.events,
      eventsPerSecond: Math.max(0, eventsPerSecond),
      waitPercent: Math.max(0, waitPercent),
      ...(s.stacks !== undefined && { stacks: { ...s.stacks, costPercent } }),
      elapsedMs: s.elapsedMs,
      phase: s.phase,
      ...(s.message === null ? {} : { message: s.message }),
      warnings: [...s.warnings, ...skippedWarnings(s.skipped)],
    }
  }
  return {
    async snapshot(perThread, slow) {
      // Ids are those of one generation: what was on its way meanwhile is of no use.
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
    status: () =>
      latest ?? {
        pid: session.pid,
        mainClass: session.target.command.split(' ')[0] ?? '',
        jdk: session.target.version,
        scheme: session.scheme,
        mode: session.mode,
        roots: session.rootNames,
        instrumentedMethods: 0,
        calledMethods: 0,
        events: 0,
        eventsPerSecond: 0,
        waitPercent: 0,
        elapsedMs: 0,
        phase: 'starting',
        warnings: [],
      },
    ...(session.mayKeepSlow && {
      keepSlow: () => {
        if (!session.keepsSlow) session.keepSlow()
      },
    }),
    reset: () => session.reset(),
    keeper: sessionKeeper(session),
    steering: sessionSteering(session, keptBeside(session.pid, out === null ? '.' : dirname(out))),
    instrumentation: () => session.instrumentation(),
    ended: session.ended,
  }
}
