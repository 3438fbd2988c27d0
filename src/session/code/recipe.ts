// What the probes of a session tell.

import { EXACT_TIME, type Recipe } from '../../instrument/class.ts'
import type { SiteNumbers } from '../../instrument/sites.ts'
import { type SessionOptions, tellsWaits } from '../session-options.ts'
import { waitRecipe } from './wait-points.ts'

/**
 * @param feature  version of the target's JDK
 * @param sites    null unless call sites are told
 */
export function recipeOf(options: SessionOptions, feature: number, sites: SiteNumbers | null): Recipe {
  const recipe = whatIsTold(options, feature)
  return sites === null ? recipe : { ...recipe, sites }
}

function whatIsTold(options: SessionOptions, feature: number): Recipe {
  const { mode, blocks, jdk } = options
  if (mode === 'alloc') return { tells: 'allocations', jdk, liveness: options.liveness === true }
  if (mode === 'sample') return { tells: 'samples' }
  if (mode === 'bytecodes') return { tells: 'bytecodes', blocks: blocks?.analysis ?? 'default', jdk }
  if (mode === 'count') return { tells: 'calls', jdk }
  if (options.scheme === 'adaptive') return { tells: 'time', switched: true }
  if (tellsWaits(options)) return { tells: 'time', waits: waitRecipe(feature, jdk) }
  return options.maxOverhead === undefined ? EXACT_TIME : { tells: 'time', mayCount: true }
}
