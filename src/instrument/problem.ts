// Why a method keeps its code.

/** The method is left alone, for a reason that is shown to the user. Never leaves `instrument/`. */
export class NotInstrumentable extends Error {
  override readonly name = 'NotInstrumentable'
}
