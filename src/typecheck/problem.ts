// Why a method does not pass. Inside this folder only: callers get a result, never an exception.

/** The code breaks a rule at `bci`. */
export class TypeProblem extends Error {
  override readonly name = 'TypeProblem'
  readonly bci: number
  constructor(bci: number, reason: string) {
    super(reason)
    this.bci = bci
  }
}

/** The method cannot be judged: it says nothing about whether its types are right. */
export class Unchecked extends Error {
  override readonly name = 'Unchecked'
}
