// The manual page, in the man macros of roff (man(7)), generated from the table of the command line.

import type { Argument, Command } from 'commander'
import { TOPICS } from '../../base/debug.ts'
import { NEWEST_JDK, OLDEST_JDK } from '../../base/jdk-releases.ts'
import { argumentOf, defaultOf, helpOf, longOf, type Row, shortOf } from '../../options/option.ts'
import { EXAMPLES, type Example } from '../examples.ts'
import { shownCommands, shownOptions } from './command-line.ts'
import { EXIT_STATUS } from './exit-status.ts'

export function manual(program: Command, version: string): string {
  const commands = shownCommands(program)
  const lines = [
    `.TH JFLUID 1 "" "jfluid ${version}" "User Commands"`,
    '.SH NAME',
    'jfluid \\- profile one task of a running JVM',
    '.SH SYNOPSIS',
    ...commands.flatMap(synopsis),
    '.SH DESCRIPTION',
    text(program.description()),
    '.PP',
    text(
      `Targets are HotSpot JVMs (OpenJDK and its builds) ${OLDEST_JDK} to ${NEWEST_JDK} on Linux that belong to you. They need no restart, no option ` +
        'and no open port. When jfluid detaches, it restores the original code of all methods.',
    ),
    '.SH COMMANDS',
    ...commands.flatMap(commandLines),
    '.SH EXIT STATUS',
    ...EXIT_STATUS.flatMap(([status, says]) => ['.TP', `${status}`, text(says.replaceAll('`', ''))]),
    '.PP',
    'If a signal ends jfluid, the status is 128 plus the signal number. The status of',
    '.B run',
    'is the status of the program.',
    '.SH FILES',
    '.TP',
    '.I *.jfluid',
    text('a recorded profile; written completely or not at all'),
    '.TP',
    '.I jfluid.config.json',
    text('options of the commands that are run in its directory; the command line has precedence'),
    '.SH ENVIRONMENT',
    '.TP',
    '.B NO_COLOR',
    text('if set, the live view and the reports use no colours'),
    '.TP',
    '.B JAVA_TOOL_OPTIONS',
    text('set by the command run if the started program is not java'),
    '.TP',
    '.B JFLUID_DEBUG',
    text(
      `topics of the debug log, separated by commas, or all: ${Object.keys(TOPICS).join(', ')}. The log is jfluid-debug-<pid>.log in the current directory, or in the directory JFLUID_DEBUG_DIR`,
    ),
    '.SH SEE ALSO',
    '.BR java (1),',
    '.BR jcmd (1),',
    '.BR jps (1)',
  ]
  return `${lines.join('\n')}\n`
}

function synopsis(command: Command): string[] {
  const { registeredArguments: args } = command
  const rest = args.map((it) => {
    const dots = it.variadic ? '...' : ''
    return it.required ? `${argumentText(it)}${dots}` : `[${argumentText(it)}${dots}]`
  })
  const dashes = args.some((it) => it.name() === 'command') ? ['\\-\\-'] : []
  return [`.B jfluid ${command.name()}`, ['[\\fIoptions\\fR]', ...dashes, ...rest].join(' '), '.br']
}

function argumentText(argument: Argument): string {
  return `\\fI${text(argument.name())}\\fR`
}

function commandLines(command: Command): string[] {
  return [
    `.SS ${command.name()}`,
    text(`${capital(command.description())}.`),
    ...command.registeredArguments.flatMap((it) => ['.TP', argumentText(it), text(it.description)]),
    ...shownOptions(command).flatMap(optionLines),
    ...exampleLines(EXAMPLES[command.name()] ?? []),
  ]
}

function optionLines(row: Row): string[] {
  const [argument, help, choices] = [argumentOf(row), helpOf(row), row.value?.choices ?? []]
  const value = argument === undefined ? '' : ` \\fI${text(argument)}\\fR`
  const names = [shortOf(row), longOf(row)]
    .filter((it) => it !== undefined)
    .map((it) => `\\fB${text(it)}\\fR`)
  const more = [
    ...(choices.length > 0 && !choices.every((it) => help.includes(it))
      ? [`One of ${choices.join(', ')}.`]
      : []),
    ...(defaultOf(row) === undefined ? [] : [`Default: ${defaultOf(row)}.`]),
    ...(row.isRequired ? ['Required.'] : []),
  ]
  return ['.TP', names.join(', ') + value, [text(help), ...more.map(text)].join('. ').replace(/\.\. /g, '. ')]
}

function exampleLines(examples: readonly Example[]): string[] {
  return examples.flatMap(({ line, says }) => [
    '.PP',
    text(`${capital(says)}`),
    '.RS',
    `.EX`,
    text(`jfluid ${line}`),
    '.EE',
    '.RE',
  ])
}

function capital(says: string): string {
  return says.charAt(0).toUpperCase() + says.slice(1)
}

/** Escapes a line of text: it must not contain macros or escapes, and its hyphens must be copyable. */
function text(plain: string): string {
  const safe = plain
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replace(
      /[^\x00-\x7f]/gu,
      (it) => `\\[u${it.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
    )
  return /^[.']/.test(safe) ? `\\&${safe}` : safe
}
