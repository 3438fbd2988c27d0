// The manual page, in the man macros of roff (man(7)), from the table of the command line.

import { TOPICS } from '../../base/debug.ts'
import { EXAMPLES, type Example } from '../examples.ts'
import { EXIT_STATUS } from './exit-status.ts'
import type { CommandRow, OptionRow } from './table.ts'

export interface ManualFacts {
  readonly version: string
  readonly description: string
  readonly commands: readonly CommandRow[]
}

export function manual({ version, description, commands }: ManualFacts): string {
  const lines = [
    `.TH JFLUID 1 "" "jfluid ${version}" "User Commands"`,
    '.SH NAME',
    'jfluid \\- profile one task of a running JVM',
    '.SH SYNOPSIS',
    ...commands.flatMap(synopsis),
    '.SH DESCRIPTION',
    text(description),
    '.PP',
    text(
      'Targets are HotSpot JVMs (OpenJDK and its builds) 17 to 25 on Linux that belong to you. They need no restart, no option ' +
        'and no open port. When jfluid leaves, methods get their original code back.',
    ),
    '.SH COMMANDS',
    ...commands.flatMap(commandLines),
    '.SH EXIT STATUS',
    ...EXIT_STATUS.flatMap(([status, says]) => ['.TP', `${status}`, text(says.replaceAll('`', ''))]),
    '.PP',
    'A signal that ends jfluid is 128 and its number. Of',
    '.B run',
    'it is that of the program.',
    '.SH FILES',
    '.TP',
    '.I *.jfluid',
    text('a recorded profile, with all numbers; it is written whole or not at all'),
    '.SH ENVIRONMENT',
    '.TP',
    '.B NO_COLOR',
    text('if it is set, the live view and reports do without colours'),
    '.TP',
    '.B JAVA_TOOL_OPTIONS',
    text('set by run for a command that is not java itself'),
    '.TP',
    '.B JFLUID_DEBUG',
    text(
      `topics of a log, with commas between them, or all: ${Object.keys(TOPICS).join(', ')}. It is jfluid-debug-<pid>.log in the current folder, or in that of JFLUID_DEBUG_DIR`,
    ),
    '.SH SEE ALSO',
    '.BR java (1),',
    '.BR jcmd (1),',
    '.BR jps (1)',
  ]
  return `${lines.join('\n')}\n`
}

function synopsis({ name, arguments: args }: CommandRow): string[] {
  const rest = args.map((it) => {
    const dots = it.isVariadic ? '...' : ''
    return it.isRequired ? `\\fI${text(it.name)}\\fR${dots}` : `[\\fI${text(it.name)}\\fR${dots}]`
  })
  const dashes = args.some((it) => it.name === 'command') ? ['\\-\\-'] : []
  return [`.B jfluid ${name}`, ['[\\fIoptions\\fR]', ...dashes, ...rest].join(' '), '.br']
}

function commandLines({ name, says, arguments: args, options }: CommandRow): string[] {
  return [
    `.SS ${name}`,
    text(`${capital(says)}.`),
    ...args.flatMap((it) => ['.TP', `\\fI${text(it.name)}\\fR`, text(it.says)]),
    ...options.flatMap(optionLines),
    ...exampleLines(EXAMPLES[name] ?? []),
  ]
}

function optionLines(option: OptionRow): string[] {
  const value = option.value === undefined ? '' : ` \\fI${text(option.value)}\\fR`
  const names = [option.short, option.long]
    .filter((it) => it !== undefined)
    .map((it) => `\\fB${text(it)}\\fR`)
  const more = [
    ...(option.choices.length > 0 && !option.choices.every((it) => option.says.includes(it))
      ? [`One of ${option.choices.join(', ')}.`]
      : []),
    ...(option.initially === undefined ? [] : [`Default: ${option.initially}.`]),
    ...(option.isRequired ? ['It must be given.'] : []),
  ]
  return [
    '.TP',
    names.join(', ') + value,
    [text(option.says), ...more.map(text)].join('. ').replace(/\.\. /g, '. '),
  ]
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

/** A line of text: no macro, no escape, and hyphens that can be copied. */
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
