// Error of the reader: the data are not a flight recording, or are damaged.

import { EX_DATAERR, JfluidError } from '../base/errors.ts'

/** Thrown for truncated or invalid data, and for a format of a JDK that is unknown to jfluid. */
export class BadRecording extends JfluidError {
  static sample = () => new BadRecording('its format is version 3.0')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Report this message with the version of the JDK.'
  constructor(what: string) {
    super(`cannot read the flight recording: ${what}`)
  }
}
