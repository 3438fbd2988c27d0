// Determines whether the JVM has had its first redefinition, which may discard all compiled code.

import { SINCE } from '../base/jdk-releases.ts'
import type { Engine } from './engine.ts'
import type { SessionRequest } from './session-options.ts'

/**
 * Returns whether the JVM's first redefinition was still to come when the session began, or already over. If jfluid started the JVM, it
 * counts as over, since a new JVM has little compiled code to discard.
 */
export function firstRedefinition({
  door,
  facts,
  options,
}: Pick<Engine, 'door' | 'facts'> & { readonly options: Pick<SessionRequest, 'untilExit'> }):
  | 'is to come'
  | 'may be over'
  | 'is over' {
  if (facts.feature >= SINCE.SELECTIVE_INVALIDATION || facts.keepsCode || options.untilExit === true)
    return 'is over'
  // Another agent was loaded before this session. It may have redefined classes, or only read classes.
  return door.hadAgent === true && !door.woken ? 'may be over' : 'is to come'
}
