// Why a method keeps its code.

/** The method is left alone, for a reason that is shown to the user. Never leaves `instrument/`. */
export class NotInstrumentable extends Error {
  override readonly name: string = 'NotInstrumentable'
}

/** The method would be too long; in a more compact form it may not be. */
export class TooLong extends NotInstrumentable {
  override readonly name = 'TooLong'
}
