// Descriptions of the exit statuses, for the manual page. docs/exit-codes.md lists the same codes.

/** Descriptions, keyed by status. If a signal ends jfluid, the status is 128 plus the number of the signal. */
export const EXIT_STATUS: readonly (readonly [status: number, says: string])[] = [
  [0, 'success'],
  [64, 'the command line is wrong'],
  [65, 'a file is damaged, or not a jfluid profile'],
  [66, 'a file or a program was not found'],
  [67, 'the class or the method of a root was not found; similar names are printed'],
  [68, 'there is no such process'],
  [69, 'the process is not a HotSpot JVM, or the JVM or this machine does not support the request'],
  [70, 'an error inside jfluid'],
  [71, 'the live view needs a terminal, but standard input or output is not one'],
  [72, 'no JDK found for the build, or the agent is not built'],
  [73, 'a file cannot be written'],
  [74, 'the JVM ended while it was profiled; the profile recorded so far is kept'],
  [
    75,
    'temporary failure: the JVM does not answer, is stopped, has another jfluid attached, or ended the session because jfluid did not respond; try again',
  ],
  [76, "the JVM's answer was not understood"],
  [
    77,
    'permission denied: the JVM or `jfluid.config.json` belongs to another user, or other users can write this file',
  ],
  [78, 'attaching is disabled by an option of the JVM, or `jfluid.config.json` is invalid'],
  [79, 'the root is abstract, native or cannot be instrumented'],
  [80, 'an `--include` or `--exclude` pattern matched no class; the profile is kept, with a warning'],
  [81, 'the terminal is smaller than 80 × 24, or lacks functions that the live view needs'],
  [82, '`gate`: a call of the root costs more than its baseline allows'],
]
