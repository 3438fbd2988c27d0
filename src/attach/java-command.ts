// Parses the command line of the `java` launcher: its options, the main class, and the arguments of the program.
//
// Used when hsperfdata lacks the main class, or the flag that must be known before a signal is sent (`-XX:+DisableAttachMechanism`).
// Options may also come from environment variables and argument files. The caller reads these sources, and this module parses them.

/** Launcher options that have their value in the next argument. */
const TAKE_NEXT = new Set([
  '-cp',
  '-classpath',
  '--class-path',
  '-p',
  '--module-path',
  '--upgrade-module-path',
  '--add-modules',
  '--limit-modules',
  '--add-reads',
  '--add-exports',
  '--add-opens',
  '--patch-module',
  '--enable-native-access',
  '--illegal-native-access',
  '--source',
  '-d',
  '--describe-module',
])

export interface JavaCommand {
  /** Options of the JVM and the launcher, in order. */
  options: string[]
  /** Main class, jar path, `module/class` or source file; `undefined` if there is none. */
  main: string | undefined
  /** Arguments of the program. */
  args: string[]
}

/** Splits the arguments of a `java` command (program name first, as in /proc/<pid>/cmdline). */
export function parseJavaCommand(commandLine: readonly string[]): JavaCommand {
  const options: string[] = []
  for (let at = 1; at < commandLine.length; at++) {
    const argument = commandLine[at]
    if (argument === '-jar' || argument === '-m' || argument === '--module') {
      return { options, main: commandLine[at + 1], args: commandLine.slice(at + 2) }
    }
    if (argument.startsWith('--module=')) {
      return { options, main: argument.slice('--module='.length), args: commandLine.slice(at + 1) }
    }
    if (!argument.startsWith('-') && !argument.startsWith('@')) {
      return { options, main: argument, args: commandLine.slice(at + 1) }
    }
    options.push(argument)
    if (TAKE_NEXT.has(argument) && at + 1 < commandLine.length) options.push(commandLine[++at])
  }
  return { options, main: undefined, args: [] }
}

/**
 * Splits the text of an argument file or of JDK_JAVA_OPTIONS into words at white space. Handles single and double quotes, backslash escapes
 * inside quotes, and `#` comments.
 */
export function splitArguments(text: string): string[] {
  const words: string[] = []
  for (const line of text.replace(/\\\r?\n\s*/g, '').split(/\r?\n/)) {
    let word: string | undefined
    let quote = ''
    for (let at = 0; at < line.length; at++) {
      const char = line[at]
      if (quote !== '') {
        if (char === quote) quote = ''
        else if (char === '\\' && at + 1 < line.length) word += line[++at]
        else word += char
      } else if (char === '"' || char === "'") {
        quote = char
        word ??= ''
      } else if (char === '#') {
        break
      } else if (/\s/.test(char)) {
        if (word !== undefined) words.push(word)
        word = undefined
      } else {
        word = (word ?? '') + char
      }
    }
    if (word !== undefined) words.push(word)
  }
  return words
}

/** Returns the value of the last `-XX:+Name`/`-XX:-Name` flag, which takes effect; `undefined` if there is none. */
export function booleanFlag(options: readonly string[], name: string): boolean | undefined {
  const last = options.findLast((option) => option === `-XX:+${name}` || option === `-XX:-${name}`)
  return last === undefined ? undefined : last[4] === '+'
}

/** Returns a short name of the program: the main class, or the file name of the jar. For the parameters see `mainOf`. */
export function mainClassOf(
  javaCommand: string | undefined,
  commandLine: readonly string[],
): string | undefined {
  const main = mainOf(javaCommand, commandLine)
  return main?.slice(main.lastIndexOf('/') + 1) // also removes the module of `module/class`
}

/**
 * Returns the program that a JVM runs: the main class, perhaps with its module, or the path of a jar.
 *
 * @param javaCommand  `sun.rt.javaCommand`: main and its arguments joined by blanks; the end of `main` is ambiguous if a path contains
 * blanks
 * @param commandLine  the exact arguments; the longest argument that is a prefix of `javaCommand` is the main
 */
export function mainOf(javaCommand: string | undefined, commandLine: readonly string[]): string | undefined {
  let main: string | undefined
  if (javaCommand === undefined || javaCommand === '') {
    main = parseJavaCommand(commandLine).main
  } else {
    main = commandLine
      .filter((argument) => argument !== '' && `${javaCommand} `.startsWith(`${argument} `))
      .sort((a, b) => b.length - a.length)[0]
    main ??= javaCommand.split(' ', 1)[0]
  }
  return main
}

/** Returns whether the process looks like the `java` launcher, even if no JVM library is mapped yet. */
export function isJavaLauncher(executable: string | undefined, commandLine: readonly string[]): boolean {
  const program = executable ?? commandLine[0] ?? ''
  return program.slice(program.lastIndexOf('/') + 1).replace(/ \(deleted\)$/, '') === 'java'
}
