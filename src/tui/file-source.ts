// Adapts a profile file to the LiveSource interface of the live view. The snapshot uses the arrays of the profile, so a profile with a
// million contexts needs no additional memory.

import { basename } from 'node:path'
import { allWarnings, isSampledByJvm, nameOf, type Profile, type RegionTimes } from '../profile/profile.ts'
import { skippedWarnings } from '../profile/skipped.ts'
import type { Keeper } from './keeper.ts'
import type { LiveSource, LiveStatus } from './live-source.ts'
import type { RegionSource } from './region-app.ts'

/** Adapts a profile of calls to the LiveSource interface. @param path  path of the profile's file */
export function fileSource(profile: Profile, path: string, keeper?: Keeper): LiveSource {
  const status = statusOf(profile, path)
  const { merged, threads, events, instrumentation, methodNames, rootCalls, course } = profile
  const snapshot = {
    merged,
    threads,
    events: events.count,
    waitNs: events.waitMs * 1e6,
    healed: instrumentation.healed,
    ...(rootCalls !== undefined && { rootCalls }),
    ...(course !== undefined && { course }),
    ...(profile.slowCalls !== undefined && { slow: profile.slowCalls }),
  }
  return {
    snapshot: async () => snapshot,
    methodName: (id) => nameOf(methodNames, id),
    status: () => status,
    reset: () => {},
    ...(keeper !== undefined && { keeper }),
    ...(profile.trace !== undefined && { trace: profile.trace }),
    ended: new Promise(() => {}),
  }
}

/** Adapts a profile of regions to the RegionSource interface. */
export function fileRegionSource(
  profile: Profile & { readonly regions: readonly RegionTimes[] },
  path: string,
  keeper?: Keeper,
): RegionSource {
  const { snapshot: _, ...source } = fileSource(profile, path, keeper)
  const { innerNs, outerNs } = profile.calibration
  return { ...source, overheadNs: innerNs + outerNs, regions: async () => [...profile.regions] }
}

function statusOf(profile: Profile, path: string): LiveStatus {
  const { target, events, instrumentation, durationMs } = profile
  return {
    pid: target.pid,
    ...(profile.jvms !== undefined && { jvms: profile.jvms.length }),
    mainClass: target.mainClass,
    jdk: target.jdk,
    scheme: profile.scheme,
    mode: profile.mode,
    roots: profile.roots,
    ...(isSampledByJvm(profile) && { isSampledByJvm: true }),
    instrumentedMethods: instrumentation.instrumentedMethods,
    calledMethods: instrumentation.calledMethods,
    events: events.count,
    eventsPerSecond: durationMs > 0 ? (events.count * 1000) / durationMs : 0,
    ...(profile.stacks !== undefined && { stacks: profile.stacks }),
    waitPercent: durationMs > 0 ? (events.waitMs * 100) / durationMs : 0,
    elapsedMs: durationMs,
    phase: 'file',
    file: { name: basename(path), recordedAt: profile.startedAt },
    warnings: [...allWarnings(profile), ...skippedWarnings(instrumentation.skipped)],
  }
}
