// docs/options.md: what the table of options says, for readers. `npx vitest run --project unit test/docs -u` writes it anew.

import { attributeOf, COMMANDS, GROUPS, longOf, type Refusal, type Row } from '../../src/options/option.ts'
import { OPTIONS } from '../../src/options/table.ts'

const code = (text: string): string => `\`${text}\``
const cell = (text: string): string => text.replaceAll('|', '\\|')
const list = (texts: readonly string[]): string => texts.map(code).join(', ')
const line = (...cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`

function nameOf(attribute: string): string {
  return longOf(OPTIONS.find((it) => attributeOf(it) === attribute)!)
}

/** What the option is for, and not. */
function goesWith(row: Row): string {
  const { modes, schemes, needs, excludes = {} } = row
  const parts: string[] = []
  if (modes !== undefined) parts.push(`for --mode ${list(modes.takes)}`)
  if (schemes !== undefined) parts.push(`for --scheme ${list(schemes.takes)}`)
  if (needs !== undefined) parts.push(`needs ${needs.oneOf.map((it) => code(nameOf(it))).join(' or ')}`)
  const not = Object.keys(excludes).map(nameOf)
  if (not.length > 0) parts.push(`not with ${list(not)}`)
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
  const { harmless, reaches } = row
  const name = [row.name, row.isRepeatable ? '…' : ''].join(' ').trim()
  const commands = row.commands.filter((it) => it !== 'session')
  const inFile =
    row.group === 'Options' || commands.includes('proxy')
      ? 'no'
      : reaches === undefined
        ? 'yes'
        : harmless === undefined
          ? `no: it ${reaches}`
          : `${list(harmless)}; else no: it ${reaches}`
  return line(
    code(name),
    commands.length === COMMANDS.length ? 'all' : commands.join(', '),
    row.help,
    row.default === undefined ? '' : code(`${row.default}`),
    goesWith(row),
    inFile,
  )
}

/** All that is told where things do not go together. */
function refusals(): string[] {
  const found = new Map<string, string>()
  const add = ({ says, hint }: Refusal): unknown => found.set(says, hint)
  for (const row of OPTIONS) {
    const { modes, schemes, needs, excludes = {}, refuses } = row
    if (modes !== undefined) add({ says: modes.says('<mode>' as never), hint: modes.hint })
    if (schemes !== undefined) add({ says: schemes.says('<scheme>' as never), hint: schemes.hint })
    if (needs !== undefined) add(needs)
    for (const [other, why] of Object.entries(excludes)) {
      if (typeof why !== 'string') add(why)
      else
        add({
          says: `${longOf(row)} does not go with ${nameOf(other)}: ${why}`,
          hint: 'Leave one of the two out.',
        })
    }
    const byValue = refuses?.(0, 'bytecodes')
    if (byValue) add(byValue)
    const { notWithAll } = row
    if (notWithAll === undefined) continue
    const [why, hint] =
      typeof notWithAll === 'string'
        ? [notWithAll, 'Leave it out, or record each JVM by itself: jfluid record <pid>']
        : [notWithAll.why, notWithAll.instead]
    add({ says: `--all does not go with ${longOf(row)}: ${why}`, hint })
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
    'All chapters: [the manual](README.md). `jfluid <command> --help` says the same of one command. `…` can be given several times.',
    'The last column says whether it can stand in [jfluid.config.json](configuration.md).',
    ...groups.flatMap(({ group, rows }) => [
      '',
      `## ${group === 'Options' ? 'Of options' : group}`,
      '',
      '| option | of | does | default | goes with | in a file |',
      '| --- | --- | --- | --- | --- | --- |',
      ...rows.map(optionLine),
    ]),
    '',
    '## What does not go together',
    '',
    'It is told before a JVM is looked at (exit code 64). `--region` and samples by time go with what the tables above say.',
    '',
    '| message | what to do |',
    '| --- | --- |',
    ...refusals(),
    '',
  ].join('\n')
}
