// Numbers that no target gives: a table made for one would take all memory.

import { EX_SOFTWARE, JfluidError } from '../base/errors.ts'
import { METHOD_MASK } from '../events/event-halves.ts'

/** The event buffer tells of a method, or a call site, that cannot be. */
export class ImpossibleCall extends JfluidError {
  static sample = () => new ImpossibleCall(8191)
  readonly exitCode = EX_SOFTWARE
  readonly hint = 'Detach, attach again, and please report this: the event buffer was overwritten.'
  constructor(method: number, site?: number) {
    super(
      `the event buffer tells of a call that cannot be: of method ${method}${site ? `, from site ${site}` : ''}`,
    )
  }
}

export function checkMethod(method: number, site = 0): void {
  if (method < 1 || method > METHOD_MASK || site >= 2 ** 31) throw new ImpossibleCall(method, site)
}
