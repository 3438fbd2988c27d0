// Whether a JVM whose first redefinition discards all compiled code has had it.

import { INVALIDATES_LITTLE } from '../attach/admission.ts'
import type { Engine } from './engine.ts'
import type { SessionRequest } from './session-options.ts'

/** Of the JVM as it was when the session began. One that the session has started is new, and has little compiled code. */
export function firstRedefinition({
  door,
  facts,
  options,
}: Pick<Engine, 'door' | 'facts'> & { readonly options: Pick<SessionRequest, 'untilExit'> }):
  | 'is to come'
  | 'may be over'
  | 'is over' {
  if (facts.feature >= INVALIDATES_LITTLE || facts.keepsCode || options.untilExit === true) return 'is over'
  // An agent of ours, which may only have looked so far, has said so.
  return door.hadAgent === true && !door.woken ? 'may be over' : 'is to come'
}
