// What is not a flight recording, or is damaged: one error for the whole reader.

import { EX_DATAERR, JfluidError } from '../base/errors.ts'

/** The target writes what we read, so this is a file cut short, or a JDK whose format we do not know. */
export class BadRecording extends JfluidError {
  static sample = () => new BadRecording('its format is version 3.0')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Please report this, with the version of the JDK.'
  constructor(what: string) {
    super(`the flight recording cannot be read: ${what}`)
  }
}
