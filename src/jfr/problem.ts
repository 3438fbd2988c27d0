// The reader's only error: the data are not a flight recording, or are damaged.

import { EX_DATAERR, JfluidError } from '../base/errors.ts'

/** The target writes the data, so the file is truncated, or the JDK uses an unknown format. */
export class BadRecording extends JfluidError {
  static sample = () => new BadRecording('its format is version 3.0')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Please report this, with the version of the JDK.'
  constructor(what: string) {
    super(`the flight recording cannot be read: ${what}`)
  }
}
