const COMMANDS = new Set(
  'java javac javap javadoc jar jarsigner jcmd jdeps jimage jlink jmap jps jshell jstack keytool'.split(' '),
)

/** Returns whether a command, given by name or path, belongs to a JDK or runs a JDK command. */
export function isOfJdk(command: string): boolean {
  return COMMANDS.has(command.slice(command.lastIndexOf('/') + 1))
}
