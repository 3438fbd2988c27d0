// What the probes of a session tell.

import type { Recipe } from '../../instrument/class.ts'
import type { SiteNumbers } from '../../instrument/sites.ts'
import { PROBES } from '../../measures/probes.ts'
import { modeOf, type SessionOptions } from '../session-options.ts'

/**
 * @param feature  version of the target's JDK
 * @param sites    null unless call sites are told
 */
export function recipeOf(options: SessionOptions, feature: number, sites: SiteNumbers | null): Recipe {
  const recipe = PROBES[modeOf(options)].recipe(options, feature)
  return sites === null ? recipe : { ...recipe, sites }
}
