// Creates docs/options.md from the table of options. `npx vitest run --project unit test/docs -u` writes the file.

import { attributeOf, defaultOf, GROUPS, longOf, type Refusal, type Row } from '../../src/options/option.ts'
import { exclusionOf, notWithAllOf, rowOf } from '../../src/options/refusals.ts'
import { OPTIONS, optionsOf } from '../../src/options/table.ts'

const code = (text: string): string => `\`${text}\``
const cell = (text: string): string => text.replaceAll('|', '\\|')
const list = (texts: readonly string[]): string => texts.map(code).join(', ')
const line = (...cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`

/** Returns the long names of an attribute in the commands of a row. Not all of these commands may have the attribute. */
function names(attribute: string, { commands }: Row): string[] {
  const rows = commands.flatMap(optionsOf).filter((it) => attributeOf(it) === attribute)
  return [...new Set(rows.map(longOf))]
}

/** Returns the conditions of an option and the options that exclude it. */
function goesWith(row: Row): string {
  const { modes, schemes, needs, excludes = {} } = row
  const parts: string[] = []
  if (modes !== undefined) parts.push(`for --mode ${list(modes.takes)}`)
  if (schemes !== undefined) parts.push(`for --scheme ${list(schemes.takes)}`)
  if (needs !== undefined)
    parts.push(
      `needs ${needs.oneOf
        .flatMap((it) => names(it, row))
        .map(code)
        .join(' or ')}`,
    )
  const not = Object.keys(excludes).map((it) => longOf(rowOf(it, row)))
  if (not.length > 0) parts.push(`not with ${list(not)}`)
  if (row.needsAllCalls === true) parts.push('not with `--scheme adaptive`')
  else if (row.needsAllCalls !== undefined)
    parts.push(`${list(row.needsAllCalls)}: not with \`--scheme adaptive\``)
  if (row.notSampled !== undefined) parts.push('not with samples by time')
  if (row.notWithAll !== undefined) parts.push('not with `--all`')
  if (row.commands.includes('session')) {
    if (row.withRegion === undefined) parts.push('not with `--region`')
    else if (row.withRegion !== true) parts.push(`with \`--region\`: ${list(row.withRegion)}`)
    if (row.withSamples === undefined && !modes?.takes.includes('sample'))
      parts.push('not with samples by time')
  }
  return parts.join('; ')
}

function optionLine(row: Row): string {
  const { harmless, notInFile } = row
  const name = [row.name, row.isRepeatable ? '…' : ''].join(' ').trim()
  const commands = row.commands.filter((it) => it !== 'session')
  const inFile =
    row.group === 'Options'
      ? 'no'
      : notInFile === undefined
        ? 'yes'
        : harmless === undefined
          ? `no: it ${notInFile}`
          : `${list(harmless)}; else no: it ${notInFile}`
  return line(code(name), commands.join(', '), row.help, defaultOf(row) ?? '', goesWith(row), inFile)
}

/** Returns all messages about options that cannot be combined. */
function refusals(): string[] {
  const found = new Map<string, string>()
  const add = ({ says, hint }: Refusal): unknown => found.set(says, hint)
  for (const row of OPTIONS) {
    const { modes, schemes, needs, notSampled, excludes = {}, refuses } = row
    if (modes !== undefined) add({ says: modes.says('<mode>' as never), hint: modes.hint })
    if (schemes !== undefined) add({ says: schemes.says('<scheme>' as never), hint: schemes.hint })
    if (needs !== undefined) add(needs)
    if (notSampled !== undefined) add(notSampled)
    for (const [other, why] of Object.entries(excludes)) add(exclusionOf(row, other, why))
    const byValue = refuses?.(0, 'bytecodes')
    if (byValue) add(byValue)
    const all = notWithAllOf(row)
    if (all !== null) add(all)
  }
  return [...found].map(([says, hint]) => line(code(says), hint.replaceAll(/<\w+>/g, code)))
}

export function optionsPage(): string {
  const groups = GROUPS.map((group) => ({
    group,
    rows: OPTIONS.filter((it) => it.group === group && !it.isHidden),
  }))
  return [
    '# All options',
    '',
    '<!-- Made from src/options: npx vitest run --project unit test/docs -u -->',
    '',
    'All chapters: [the manual](README.md). `jfluid <command> --help` lists the options of one command. An option with `…` can be given several times.',
    'The last column says whether [jfluid.config.json](configuration.md) can have the option.',
    ...groups.flatMap(({ group, rows }) => [
      '',
      `## ${group === 'Options' ? 'Other options' : group}`,
      '',
      '| option | of | does | default | goes with | in a file |',
      '| --- | --- | --- | --- | --- | --- |',
      ...rows.map(optionLine),
    ]),
    '',
    '## Options that cannot be combined',
    '',
    'jfluid refuses these combinations before it looks for a JVM (exit code 64). With `--region`, and with sampling by time, it also refuses each option',
    'that the tables above exclude. `--debug-info` works only with the flight recorder, not with thread dumps or sampling by bytecodes. `--random`,',
    '`--reproducible` and `--profiler` work only with sampling by bytecodes (`--every 10000bc`). `--scheme adaptive` refuses each option that needs the',
    'calls of all methods.',
    '',
    '| message | what to do |',
    '| --- | --- |',
    ...refusals(),
    '',
  ].join('\n')
}
