// Rejects ids that are larger than any id of a correct target. A table indexed by such an id would exhaust the memory.

import { EX_SOFTWARE, JfluidError } from '../base/errors.ts'
import { METHOD_MASK } from '../events/event-halves.ts'

/** Thrown if the event buffer contains an impossible method or call site. */
export class ImpossibleCall extends JfluidError {
  static sample = () => new ImpossibleCall(8191)
  readonly exitCode = EX_SOFTWARE
  readonly hint =
    'Attach again, and report this message: something in the JVM has overwritten the event buffer.'
  constructor(method: number, site?: number) {
    super(
      `the event buffer contains an impossible call: method ${method}${site ? `, call site ${site}` : ''}`,
    )
  }
}

export function checkMethod(method: number, site = 0): void {
  if (method < 1 || method > METHOD_MASK || site >= 2 ** 31) throw new ImpossibleCall(method, site)
}
