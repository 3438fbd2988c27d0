// Reasons why a method does not pass the check. These exceptions are caught inside this folder: callers get a result, never an exception.

/** Thrown if the code breaks a rule at `bci`. */
export class TypeProblem extends Error {
  override readonly name = 'TypeProblem'
  readonly bci: number
  constructor(bci: number, reason: string) {
    super(reason)
    this.bci = bci
  }
}

/** Thrown if the check cannot give a verdict. The types of the method may be valid or invalid. */
export class Unchecked extends Error {
  override readonly name = 'Unchecked'
}
