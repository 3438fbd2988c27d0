// Samples for which --debug-info would do nothing.

import { EX_USAGE, JfluidError } from '../../base/errors.ts'

export class DebugInfoUnused extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Sample with --sampler jfr, or leave --debug-info out.'
  /** @param instead  what is done, to follow "and" */
  constructor(instead: string) {
    super(`--debug-info is for the flight recorder, and ${instead}`)
  }
}
