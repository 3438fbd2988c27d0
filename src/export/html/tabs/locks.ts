// Locks and waits, with the methods that waited.

import type { Tree } from '../../../cct/tree.ts'
import { tellsWaits } from '../../../cct/waits.ts'
import { hotLocks, namesOf, type Waiter } from '../../../profile/hot-locks.ts'
import type { Profile } from '../../../profile/profile.ts'
import { plural } from '../../../profile/text.ts'
import type { PageList, PageRow } from '../page-data.ts'

/** Maximum number of locks, and of waiting methods per lock. */
const [MAX_LOCKS, MAX_WAITERS] = [500, 20]

/** @param nameOf  returns the number of a method id's name on the page */
export function lockLists({ merged, methodNames }: Profile, nameOf: (id: number) => number): PageList[] {
  const all = waitsOf(merged, methodNames)
  if (all.length === 0) return []
  const whole = all.reduce((sum, { ns }) => sum + ns, 0)
  const row = (depth: number, { method, ns, times }: Waiter, of: number): PageRow => [
    depth,
    nameOf(method),
    '',
    ...[ns, of > 0 ? (100 * ns) / of : 0, times, times > 0 ? ns / times : 0],
  ]
  const shown = all.slice(0, MAX_LOCKS)
  return [
    {
      title: 'Locks and waits, by time',
      notes: [
        'Below each lock or wait are the methods that waited, with their share of its time.',
        ...(shown.length < all.length
          ? [`${plural(all.length - shown.length, 'shorter wait')} not in this page.`]
          : []),
      ],
      columns: [
        ['wait', 'time of waiting', 'ns'],
        ['% wait', 'share of all waiting; below a lock: share of the lock', 'percent'],
        ['times', 'how often', 'count'],
        ['per wait', 'time by times', 'ns'],
      ],
      head: 'lock or wait',
      rows: shown.flatMap((lock) => [
        row(0, lock, whole),
        ...lock.by.slice(0, MAX_WAITERS).map((waiter) => row(1, waiter, lock.ns)),
      ]),
      bar: 0,
    },
  ]
}

function waitsOf(merged: Tree, methodNames: Profile['methodNames']) {
  return tellsWaits(merged) ? hotLocks(merged, namesOf(methodNames)) : []
}
