// Slow calls: the slowest calls, the latest calls that an exception ended, and the contexts that take longer in a slow call than in an average
// call.

import type { SlowCallTimes, SlowTimes } from '../../../cct/slow-times.ts'
import { nameOf as methodNameOf, type Profile } from '../../../profile/profile.ts'
import {
  averageText,
  callFacts,
  keptText,
  slowChanges,
  thresholdText,
  treePartRemark,
} from '../../../profile/slow-calls.ts'
import { plural } from '../../../profile/text.ts'
import type { PageList, PageRow, PlaceInTree } from '../page-data.ts'

/** Maximum number of contexts listed with more cost in slow calls. */
const MAX_CHANGES = 20

export interface SlowPlaces {
  /** Returns the place of a slow call's own tree; null if the page has no tree of the call. */
  call(number: number): PlaceInTree | null
  /** Returns the place of a node of the tree of all slow calls; null if the node is not in the page. */
  node(node: number): PlaceInTree | null
}

/** @param nameOf  returns the number of a method id's name on the page */
export function slowLists(profile: Profile, nameOf: (id: number) => number, places: SlowPlaces): PageList[] {
  const { slowCalls: slow } = profile
  if (slow === undefined) return []
  const { slowest: calls, threw } = slow
  return [
    ...(calls.length > 0 ? [slowest(slow, profile, nameOf, places)] : []),
    ...(threw !== undefined && threw.latest.length > 0 ? [thrown(slow, threw, profile, nameOf, places)] : []),
    ...(calls.length > 0 ? changed(slow, profile, nameOf, places) : []),
  ]
}

function slowest(
  slow: SlowTimes,
  profile: Profile,
  nameOf: (id: number) => number,
  places: SlowPlaces,
): PageList {
  const { count, dropped, slowest: calls } = slow
  const kept = keptText(slow)
  const part = treePartRemark(slow)
  return {
    title: `${kept === null ? '' : 'Kept of this range: '}${plural(count, 'call')} ${thresholdText(slow)}`,
    notes: [
      ...(kept === null ? [] : [kept]),
      ...(slow.tree === undefined || slow.tree.count === 0
        ? []
        : [`${averageText(slow, profile.merged)}. The list beside the tabs has the tree of all slow calls.`]),
      ...(part === null ? [] : [part]),
      'Enter or a double click shows the tree of one call.',
      ...(dropped > 0 ? [`${plural(dropped, 'slow call')} too large for the tree.`] : []),
    ],
    head: 'root (slowest calls first)',
    ...callRows(calls, slow, profile, nameOf, places),
  }
}

function thrown(
  slow: SlowTimes,
  { count, latest }: NonNullable<SlowTimes['threw']>,
  profile: Profile,
  nameOf: (id: number) => number,
  places: SlowPlaces,
): PageList {
  return {
    title: `${plural(count, 'call')} that an exception ended`,
    notes: ['Enter or a double click shows the tree of one call.'],
    head: 'root (latest calls first)',
    ...callRows(latest, slow, profile, nameOf, places),
  }
}

/** Returns a row per call with what identifies the call, and rows below it with its origin and its samples. */
function callRows(
  calls: readonly SlowCallTimes[],
  slow: SlowTimes,
  { methodNames }: Profile,
  nameOf: (id: number) => number,
  { call: placeOf }: SlowPlaces,
): Pick<PageList, 'columns' | 'rows' | 'places'> {
  const rows: PageRow[] = []
  const places: (PlaceInTree | null)[] = []
  for (const it of calls) {
    const { call, origin } = callFacts(it, slow, (id) => methodNameOf(methodNames, id))
    rows.push([0, nameOf(it.method), call.join(', '), it.time, it.atMs * 1e6, it.number])
    places.push(placeOf(it.number))
    for (const fact of origin) {
      rows.push([1, fact, '', '', '', ''])
      places.push(placeOf(it.number))
    }
  }
  return {
    columns: [
      ['duration', 'duration of the call', 'cost'],
      ['ended at', 'end of the call since the start of the recording', 'ns'],
      ['call', 'number of the call, in the order in which calls ended', 'count'],
    ],
    ...{ rows, places },
  }
}

function changed(
  { tree, unit }: SlowTimes,
  { merged }: Profile,
  nameOf: (id: number) => number,
  { node: placeOf }: SlowPlaces,
): PageList[] {
  const changes = tree === undefined ? [] : slowChanges(tree, merged, MAX_CHANGES)
  if (changes.length === 0) return []
  return [
    {
      title: 'Contexts that take longer in a slow call',
      notes: [`Own ${unit === 'ns' ? 'time' : 'bytecodes'} per root call, largest differences first.`],
      columns: [
        ['slow', 'per slow call', 'cost'],
        ['all calls', 'per root call, of all calls', 'cost'],
        ['difference', 'slow calls minus all calls', 'cost'],
      ],
      head: 'method',
      rows: changes.map(
        ({ method, slow, all }): PageRow => [...([0, nameOf(method), ''] as const), slow, all, slow - all],
      ),
      places: changes.map(({ node }) => (node < 0 ? null : placeOf(node))),
      bar: 2,
    },
  ]
}
