const COMMANDS = new Set(
  'java javac javap javadoc jar jarsigner jcmd jdeps jimage jlink jmap jps jshell jstack keytool'.split(' '),
)

/** Whether a command, by its name or path, is one of a JDK, or runs one. */
export function isOfJdk(command: string): boolean {
  return COMMANDS.has(command.slice(command.lastIndexOf('/') + 1))
}
