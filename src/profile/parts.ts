// Parts of a recording, from whose differences the noise of a comparison is estimated: its segments. Also names that match in two
// recordings.

import { MIN_SEGMENTS } from './noise.ts'
import type { Profile } from './profile.ts'
import { ofRange, type Range } from './range.ts'
import { hasSampledRows } from './sampled-rows.ts'

/**
 * Returns a profile per segment in a range of a recording. If the set of timed methods changed in another scheme than adaptive, only
 * segments of the set to which the rows of the range belong. Returns the profile itself if there are too few segments.
 * @param profile  the whole recording
 * @param rows     the range of the recording whose rows are compared, from `ofRange`; the recording itself without a range
 */
export function segmentsOf(profile: Profile, rows: Profile): readonly Profile[] {
  const all = profile.segments?.segments ?? []
  const { range } = rows
  const epoch = all.at(-1)?.epoch
  // With scheme adaptive, the set of timed methods changes in the first seconds. The variation of the root calls does not depend on it.
  const isAdaptive = hasSampledRows(profile.merged)
  const isIn = (it: (typeof all)[number]): boolean =>
    range === undefined
      ? isAdaptive || it.epoch === epoch
      : it.beginMs >= range.rowsFromMs && it.endMs <= range.rowsToMs
  // A short segment, at the end of an epoch, has too few calls to show a variation.
  const least = (profile.segments?.widthMs ?? 0) / 2
  const chosen = all.filter((it) => isIn(it) && it.endMs - it.beginMs >= least)
  if (chosen.length < MIN_SEGMENTS) return [rows]
  return chosen.map(({ beginMs, endMs }) =>
    ofRange(profile, { fromMs: beginMs, toMs: endMs } satisfies Range, ''),
  )
}

/**
 * Returns the profiles with names that match. A sampled row has no descriptor and no class loader, and a method may be timed in one
 * recording and sampled in the other. If a profile has sampled rows, all names lose their descriptors, so that overloads are one method.
 */
export function withMatchingNames(profiles: readonly Profile[]): readonly Profile[] {
  if (!profiles.some(({ merged }) => hasSampledRows(merged))) return profiles
  return profiles.map((profile) => ({
    ...profile,
    methodNames: profile.methodNames.map((name) =>
      name.descriptor.startsWith('(') ? { ...name, descriptor: '', loader: '' } : name,
    ),
  }))
}
