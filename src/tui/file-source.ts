// Adapts a profile file to the LiveSource interface of the live view. The snapshot uses the arrays of the profile, so a profile with a
// million contexts needs no additional memory.

import { basename } from 'node:path'
import { linesIn } from '../cct/line-samples.ts'
import type { Snapshot } from '../cct/tree.ts'
import { allWarnings, isSampledByJvm, nameOf, type Profile, type RegionTimes } from '../profile/profile.ts'
import { whyNoSegments } from '../profile/range.ts'
import { skippedWarnings } from '../profile/skipped.ts'
import type { SourceFolders } from '../profile/source-folders.ts'
import { codeSince } from '../profile/source-lines.ts'
import { span } from '../profile/text.ts'
import { valuePaths } from '../profile/values.ts'
import type { Keeper } from './keeper.ts'
import type { LiveSource, LiveStatus } from './live-source.ts'
import type { RegionSource } from './region-app.ts'

/** Adapts a profile of calls to the LiveSource interface. @param path  path of the profile's file @param sources  folders of --source */
export function fileSource(
  profile: Profile,
  path: string,
  keeper?: Keeper,
  sources?: SourceFolders,
): LiveSource {
  const status = statusOf(profile, path)
  const { lines, methodNames } = profile
  const snapshot = snapshotOf(profile)
  return {
    snapshot: async () => snapshot,
    methodName: (id) => nameOf(methodNames, id),
    status: () => status,
    reset: () => {},
    ...(keeper !== undefined && { keeper }),
    ranges: { refusal: () => whyNoSegments(profile), profile: async () => profile },
    ...(profile.trace !== undefined && { trace: profile.trace }),
    ...(lines !== undefined && { linesOf: (id) => linesIn(lines, id) }),
    ...(sources !== undefined && { sources }),
    ended: new Promise(() => {}),
  }
}

/** Returns the data that a view of calls shows. */
export function snapshotOf({
  course,
  events,
  instrumentation,
  merged,
  rootCalls,
  slowCalls,
  threads,
}: Profile): Snapshot {
  return {
    merged,
    threads,
    events: events.count,
    waitNs: events.waitMs * 1e6,
    healed: instrumentation.healed,
    ...(rootCalls !== undefined && { rootCalls }),
    ...(course !== undefined && { course }),
    ...(slowCalls !== undefined && { slow: slowCalls }),
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

/** Returns the name of the file. If the profile is a part of the recording, the time range is first: a long name may be cut. */
function titleOf({ range }: Profile, path: string): string {
  const name = basename(path)
  return range === undefined ? name : `${(range.fromMs / 1000).toFixed(1)}-${span(range.toMs)} of ${name}`
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
    ...(profile.values !== undefined && { values: valuePaths(profile.values) }),
    ...(isSampledByJvm(profile) && { isSampledByJvm: true }),
    instrumentedMethods: instrumentation.instrumentedMethods,
    calledMethods: instrumentation.calledMethods,
    events: events.count,
    eventsPerSecond: durationMs > 0 ? (events.count * 1000) / durationMs : 0,
    ...(profile.stacks !== undefined && { stacks: profile.stacks }),
    waitPercent: durationMs > 0 ? (events.waitMs * 100) / durationMs : 0,
    elapsedMs: durationMs,
    phase: 'file',
    codeSince: codeSince(profile.jvmStartedAt, profile.startedAt),
    file: { name: titleOf(profile, path), recordedAt: profile.startedAt },
    warnings: [...allWarnings(profile), ...skippedWarnings(instrumentation.skipped)],
  }
}
