// Reasons why a method is not instrumented.

/** Error if a method cannot get probes. The message is shown to the user. The error is caught within `instrument/`. */
export class NotInstrumentable extends Error {
  override readonly name: string = 'NotInstrumentable'
}

/** Error if the method with probes would be too long. In compact form (shared-exits.ts) it may be short enough. */
export class TooLong extends NotInstrumentable {
  override readonly name = 'TooLong'
}
