// Reasons why a method does not pass. They are caught inside this folder: callers get a result, never an exception.

/** Thrown if the code breaks a rule at `bci`. */
export class TypeProblem extends Error {
  override readonly name = 'TypeProblem'
  readonly bci: number
  constructor(bci: number, reason: string) {
    super(reason)
    this.bci = bci
  }
}

/** Thrown if the method cannot be judged. Its types may be valid or invalid. */
export class Unchecked extends Error {
  override readonly name = 'Unchecked'
}
