// Reasons why a method is not instrumented.

/** The method gets no probes, for a reason shown to the user. Caught within `instrument/`. */
export class NotInstrumentable extends Error {
  override readonly name: string = 'NotInstrumentable'
}

/** The method would be too long; it may fit in compact form. */
export class TooLong extends NotInstrumentable {
  override readonly name = 'TooLong'
}
