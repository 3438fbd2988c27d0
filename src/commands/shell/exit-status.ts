// Descriptions of the exit statuses, for the manual page. docs/exit-codes.md lists the same codes.

/** Descriptions, keyed by status. If a signal ends jfluid, the status is 128 plus the number of the signal. */
export const EXIT_STATUS: readonly (readonly [status: number, says: string])[] = [
  [0, 'done'],
  [64, 'the command line is wrong'],
  [65, 'a file is damaged, or not a jfluid profile'],
  [66, 'a file or a program was not found'],
  [67, 'the class or the method of a root was not found; what is close is named'],
  [68, 'there is no such process'],
  [69, 'the process is not a HotSpot JVM, or it (or this machine) cannot do what was asked'],
  [70, 'an error inside jfluid'],
  [71, 'the live view needs a terminal, and there is none'],
  [72, 'no JDK for the build, or the agent has not been built'],
  [73, 'a file cannot be written'],
  [74, 'the JVM ended while it was profiled; the profile until then is kept'],
  [
    75,
    'not now: the JVM does not answer, is stopped, has another jfluid attached, or left the session because jfluid was silent; try again',
  ],
  [76, "the JVM's answer was not understood"],
  [77, 'not allowed: the JVM belongs to somebody else'],
  [78, 'attaching is disabled by an option of the JVM'],
  [79, 'the root is abstract, native or never instrumented'],
  [80, 'an `--include` or `--exclude` matched no class by the end; the profile is kept and says so'],
  [81, 'the terminal is too small (80 × 24), or too simple, for the live view'],
  [82, '`gate`: a call of the root costs more than its baseline allows'],
]
