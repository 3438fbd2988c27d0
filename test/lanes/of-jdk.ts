const COMMANDS = new Set(['java', 'javac', 'javap', 'jar', 'jcmd', 'jlink', 'jimage', 'jshell', 'jps', 'mvn'])

/** Whether a command, by its name or path, is one of a JDK, or runs one. */
export function isOfJdk(command: string): boolean {
  return COMMANDS.has(command.slice(command.lastIndexOf('/') + 1))
}
