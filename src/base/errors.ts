// What every error of jfluid has: a message that says what happened, a hint that says what to do
// next, and an exit status from sysexits.h so that scripts can branch on it. Concrete errors live
// beside the code that raises them; only `cli.ts` prints them and exits.

export const EX_USAGE = 64
export const EX_DATAERR = 65
export const EX_NOINPUT = 66
export const EX_NOHOST = 68
export const EX_UNAVAILABLE = 69
export const EX_SOFTWARE = 70
export const EX_OSERR = 71
export const EX_CANTCREAT = 73
export const EX_IOERR = 74
export const EX_TEMPFAIL = 75
export const EX_PROTOCOL = 76
export const EX_NOPERM = 77
export const EX_CONFIG = 78

/** Something a user can act on. Broken invariants of our own are plain `Error`s instead. */
export abstract class JfluidError extends Error {
  /** Process exit status, from sysexits.h. */
  abstract readonly exitCode: number
  /** What to try next: one imperative sentence, printed under the message. */
  abstract readonly hint: string

  override get name(): string {
    return this.constructor.name
  }
}
