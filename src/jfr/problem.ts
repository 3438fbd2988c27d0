// The reader's only error: the data are not a flight recording, or are damaged.

import { EX_DATAERR, JfluidError } from '../base/errors.ts'

/** Thrown for a truncated file, or for an unknown format of the JDK. The target writes the data. */
export class BadRecording extends JfluidError {
  static sample = () => new BadRecording('its format is version 3.0')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Report this message with the version of the JDK.'
  constructor(what: string) {
    super(`cannot read the flight recording: ${what}`)
  }
}
