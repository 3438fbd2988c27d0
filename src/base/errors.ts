// What every error of jfluid has: a message that says what happened, a hint that says what to do
// next, and an exit status so that scripts can branch on it. Concrete errors live beside the code that
// raises them; only `cli.ts` prints them and exits.
//
// The statuses begin with those of sysexits.h, by their own names. Where a thing that scripts must tell
// apart has none there, it takes one that sysexits.h gives to what cannot happen here, or the next one
// above its range (decision 14). A signal that ends us is 128 + its number, as shells have it.

export const EX_USAGE = 64
export const EX_DATAERR = 65
export const EX_NOINPUT = 66
/** The class or the method of a root does not exist. sysexits.h: addressee unknown. */
export const EX_NOROOT = 67
export const EX_NOHOST = 68
export const EX_UNAVAILABLE = 69
export const EX_SOFTWARE = 70
/** sysexits.h: system error. */
export const EX_NOTERMINAL = 71
/** No JDK, or not what is built with it. sysexits.h: critical OS file missing. */
export const EX_OSFILE = 72
export const EX_CANTCREAT = 73
/** The JVM has gone. sysexits.h: input/output error. */
export const EX_IOERR = 74
export const EX_TEMPFAIL = 75
export const EX_PROTOCOL = 76
export const EX_NOPERM = 77
export const EX_CONFIG = 78
/** A root without bytecode. This and what follows is ours. */
export const EX_NOCODE = 79
/** An `--include` or `--exclude` that no class matched. */
export const EX_NOMATCH = 80
/** A terminal that is too small, or cannot do enough. */
export const EX_SMALLTERM = 81
/** A task costs more than its baseline allows. */
export const EX_REGRESSION = 82
/** No call of a root began. */
export const EX_NOTCALLED = 83
/** The target may still have code of ours. */
export const EX_NOTRESTORED = 84

/** Something a user can act on. Broken invariants of our own are plain `Error`s instead. */
export abstract class JfluidError extends Error {
  /** Process exit status: one of the above, or 128 + n for signal n. */
  abstract readonly exitCode: number
  /** What to try next: one imperative sentence, printed under the message. */
  abstract readonly hint: string

  override get name(): string {
    return this.constructor.name
  }
}

/** The command line is wrong, or something that is read with it. */
export abstract class UsageError extends JfluidError {
  readonly exitCode = EX_USAGE
}

/** What a user may want all the same: asked for on a terminal, or by `--yes`. Nothing has been changed. */
export abstract class NeedsConsent extends JfluidError {}

/** Of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
