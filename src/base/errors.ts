// Every error of jfluid has a message with the problem, a hint with the next step, and an exit status for scripts. Concrete errors are
// declared beside the code that throws them; only `cli.ts` prints them and exits.
// If sysexits.h has a suitable status, the status and its name are from there. Other errors use a status of sysexits.h whose original
// meaning cannot occur in jfluid, or a number above the range of sysexits.h (decision 14). After signal n the status is 128 + n, as in
// shells.

export const EX_USAGE = 64
export const EX_DATAERR = 65
export const EX_NOINPUT = 66
/** The class or method of a root does not exist. (Meaning in sysexits.h: addressee unknown.) */
export const EX_NOROOT = 67
export const EX_NOHOST = 68
export const EX_UNAVAILABLE = 69
export const EX_SOFTWARE = 70
/** The terminal cannot be used. (Meaning in sysexits.h: system error.) */
export const EX_NOTERMINAL = 71
/** There is no JDK, or jfluid's built files are missing. (Meaning in sysexits.h: critical OS file missing.) */
export const EX_OSFILE = 72
export const EX_CANTCREAT = 73
/** The JVM has ended. (Meaning in sysexits.h: input/output error.) */
export const EX_IOERR = 74
export const EX_TEMPFAIL = 75
export const EX_PROTOCOL = 76
export const EX_NOPERM = 77
export const EX_CONFIG = 78
/** A root has no bytecode. This number and the following numbers are above the range of sysexits.h. */
export const EX_NOCODE = 79
/** An `--include` or `--exclude` matched no class. */
export const EX_NOMATCH = 80
/** The terminal is too small or lacks a required capability. */
export const EX_SMALLTERM = 81
/** The cost of a task exceeds the limit given by its baseline. */
export const EX_REGRESSION = 82
/** No root was called. */
export const EX_NOTCALLED = 83
/** The target may still contain code of jfluid. */
export const EX_NOTRESTORED = 84

/** An error for which the user can do something. A violated internal invariant is a plain `Error` instead. */
export abstract class JfluidError extends Error {
  /** Exit status of the process: one of the constants above, or 128 + n for signal n. */
  abstract readonly exitCode: number
  /** Advice to the user: one imperative sentence, printed below the message. */
  abstract readonly hint: string

  override get name(): string {
    return this.constructor.name
  }
}

/** Error in the command line, or in a file or environment variable that the command reads before it starts. */
export abstract class UsageError extends JfluidError {
  readonly exitCode = EX_USAGE
}

/** Error if the user must consent first: at a prompt on a terminal, by `--yes` elsewhere. Nothing has been changed. */
export abstract class NeedsConsent extends JfluidError {}

/** Returns the message of an Error, or the thrown value as a string. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
