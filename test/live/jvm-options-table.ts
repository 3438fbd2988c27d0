// The tables of docs/jvm-options.md, which a test fills with what it has measured.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const PAGE = fileURLToPath(new URL('../../docs/jvm-options.md', import.meta.url))
/** Without JFLUID_UPDATE=1 the page stays as it is, since the figures differ with each run. */
const WRITES = process.env.JFLUID_UPDATE === '1'

/** Returns the date, and the commit whose code ran: `2026-11-29 1a2b3c4d`, with a `+` if the checkout has other code than the commit. */
function ranOn(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: dirname(PAGE), encoding: 'utf8' }).trim()
  const isChanged = git('status', '--porcelain', '--', '../src', '../backend-java') !== ''
  const date = new Date().toISOString().slice(0, 10)
  return `${date} ${git('rev-parse', '--short=8', 'HEAD')}${isChanged ? '+' : ''}`
}

/**
 * Writes a row, in the place of the row with the same first two cells. Its last cell has the date and the commit.
 *
 * @param table  first cell of the head of the table
 * @throws Error if the table is missing
 */
export function putRow(table: string, cells: readonly string[]): void {
  if (!WRITES) return
  const lines = readFileSync(PAGE, 'utf8').split('\n')
  const from = lines.findIndex((it) => it.startsWith(`| ${table} |`)) + 2
  if (from < 2) throw new Error(`${PAGE} has no table '${table}'`)
  const below = lines.slice(from).findIndex((it) => !it.startsWith('|'))
  const rows = lines.slice(from, from + below)
  const key = `| ${cells.slice(0, 2).join(' | ')} |`
  const at = rows.findIndex((it) => it.startsWith(key))
  const row = `| ${[...cells, ranOn()].join(' | ')} |`
  if (at < 0) lines.splice(from + rows.length, 0, row)
  else lines[from + at] = row
  writeFileSync(PAGE, lines.join('\n'))
}
