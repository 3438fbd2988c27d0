// What is wrong with a class file. Class files come from other people's programs, so a broken one is
// data, not a bug of ours: callers catch this and report the class with the reason.

/** A truncated, contradictory or hostile class file. The message says what and where. */
export class ClassFormatProblem extends Error {
  override readonly name = 'ClassFormatProblem'
}
