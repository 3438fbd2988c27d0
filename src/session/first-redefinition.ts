// Whether the JVM has had its first redefinition, which may discard all compiled code.

import { SELECTIVE_INVALIDATION_JDK } from '../attach/admission.ts'
import type { Engine } from './engine.ts'
import type { SessionRequest } from './session-options.ts'

/**
 * Returns the state of the first redefinition when the session began. A JVM that the session has started is new and has little compiled
 * code.
 */
export function firstRedefinition({
  door,
  facts,
  options,
}: Pick<Engine, 'door' | 'facts'> & { readonly options: Pick<SessionRequest, 'untilExit'> }):
  | 'is to come'
  | 'may be over'
  | 'is over' {
  if (facts.feature >= SELECTIVE_INVALIDATION_JDK || facts.keepsCode || options.untilExit === true)
    return 'is over'
  // Here an agent of jfluid was loaded before. The earlier agent may have redefined classes, or only read classes.
  return door.hadAgent === true && !door.woken ? 'may be over' : 'is to come'
}
