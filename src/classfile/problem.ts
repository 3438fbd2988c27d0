// Errors in class files. Class files belong to other programs, so a broken class file is not a defect of jfluid: callers
// catch this error and report the class with the reason.

/** Error for a truncated, inconsistent or hostile class file. The message names the defect and its position. */
export class ClassFormatProblem extends Error {
  override readonly name = 'ClassFormatProblem'
}
