// Kinds of values for exports, with the names and units that pprof uses.

import { metricOf } from '../cct/metric.ts'
import type { Unit } from '../measures/columns.ts'
import type { Profile } from '../profile/profile.ts'

/** A kind of value: its name for `pprof -sample_index=<type>`, its unit, and its column in the tree. */
export interface Value {
  readonly type: string
  readonly unit: Unit
  readonly column: string
  /** Restricts the value to rows of allocated classes, or to all other rows; absent for all rows. */
  readonly of?: 'classes' | 'methods'
}

const LIVE: readonly Value[] = [
  { type: 'inuse_objects', unit: 'count', column: 'liveObjects', of: 'classes' },
  { type: 'inuse_space', unit: 'bytes', column: 'liveBytes', of: 'classes' },
]
const CALLS: Value = { type: 'calls', unit: 'count', column: 'calls', of: 'methods' }

/** Returns the kinds of values in a profile. The first is the number of calls; tools show the last by default. */
export function valuesOf({ merged }: Profile): readonly Value[] {
  const isLooked = merged.metrics.liveBytes !== undefined
  const own = metricOf(merged)
    .values.filter(({ self }) => self !== CALLS.column)
    .map(({ type, unit, self, ofClasses }): Value => {
      return { type, unit, column: self, ...(ofClasses && { of: 'classes' }) }
    })
  return [CALLS, ...(isLooked ? LIVE : []), ...own.reverse()]
}
