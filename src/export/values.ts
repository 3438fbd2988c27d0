// What a profile measures, as kinds of values that other tools know: their names and units.

import { metricOf } from '../cct/metric.ts'
import type { Unit } from '../measures/columns.ts'
import type { Profile } from '../profile/profile.ts'

/** A kind of value: its name, as `pprof -sample_index=<type>` takes it, the unit, the tree's column. */
export interface Value {
  readonly type: string
  readonly unit: Unit
  readonly column: string
  /** Of the rows of classes that are allocated, or of all but these; absent for all. */
  readonly of?: 'classes' | 'methods'
}

const LIVE: readonly Value[] = [
  { type: 'inuse_objects', unit: 'count', column: 'liveObjects', of: 'classes' },
  { type: 'inuse_space', unit: 'bytes', column: 'liveBytes', of: 'classes' },
]
const CALLS: Value = { type: 'calls', unit: 'count', column: 'calls', of: 'methods' }

/** Calls first; the last is what is shown unless another one is asked for. */
export function valuesOf({ merged }: Profile): readonly Value[] {
  const isLooked = merged.metrics.liveBytes !== undefined
  const own = metricOf(merged)
    .values.filter(({ self }) => self !== CALLS.column)
    .map(({ type, unit, self, ofClasses }): Value => {
      return { type, unit, column: self, ...(ofClasses && { of: 'classes' }) }
    })
  return [CALLS, ...(isLooked ? LIVE : []), ...own.reverse()]
}
