// Lines that all live views share: identity of the JVM, pages, notices, keys, and the message for a terminal that is too small.

import { append } from '../base/arrays.ts'
import { ASCII, clean, count, cut, type Glyphs, pad, span, tail, UNICODE, width, wrap } from './format.ts'
import { type Binding, keysFor } from './keys.ts'
import type { LiveStatus } from './live-source.ts'
import type { Pages } from './pages.ts'
import type { Line, Run, Style } from './screen.ts'
import { isTooSmall, SMALLEST_COLUMNS, SMALLEST_ROWS } from './size.ts'
import type { ThreadPage } from './thread-page.ts'

/** Input of the drawing functions of every view. */
export interface FrameScene {
  readonly columns: number
  readonly rows: number
  readonly unicode: boolean
  readonly status: LiveStatus
  readonly paused: boolean
  /** Reason why the session has ended; undefined while the session runs. */
  readonly ended: string | undefined
  /** Message to the user, shown for a few seconds. */
  readonly notice: string | undefined
}

/** Number of lines below the rows: one line for details or a message, one for keys. */
export const BOTTOM_LINES = 2
/** Width of the gap between the two columns of the key page. */
const GAP_CELLS = 2

export function run(text: string, style: Style = 'plain'): Run {
  return { text, style }
}

/** Returns the line of a row. All text of a selected row has the style `selected`. */
export function rowLine(runs: Line, isSelected: boolean, columns: number): Line {
  return isSelected ? [run(pad(runs.map(({ text }) => text).join(''), columns), 'selected')] : runs
}

export function glyphsOf({ unicode }: FrameScene): Glyphs {
  return unicode ? UNICODE : ASCII
}

/** Parts of the screen that each view draws itself. */
interface ScreenParts<Page> {
  status(): readonly Line[]
  /** Returns the line of column heads above the rows. Absent for views without column heads. */
  head?(): Line
  rows(): Line[]
  page(name: Page): Line[]
  /** Returns two lines: details or a message, and keys. */
  bottom(): readonly [Line, Line]
}

/** Returns all lines of a screen: status, rows or the open page, and the two bottom lines. */
export function screenLines<Page extends string>(
  scene: FrameScene,
  { shown, first }: Pages<Page>,
  parts: ScreenParts<Page>,
): Line[] {
  const small = tooSmallLines(scene)
  if (small !== null) return small
  const body = shown === undefined ? parts.rows() : parts.page(shown).slice(first)
  const head = parts.head === undefined ? [] : [shown === undefined ? parts.head() : []]
  const room = scene.rows - BOTTOM_LINES
  const lines = [...parts.status(), ...head, ...body].slice(0, room)
  while (lines.length < room) lines.push([])
  return [...lines, ...parts.bottom()]
}

/** Returns the lines for a terminal that is too small, or null. */
function tooSmallLines(scene: FrameScene): Line[] | null {
  if (!isTooSmall(scene)) return null
  const { columns, rows } = scene
  const { times } = glyphsOf(scene)
  const text = [
    `The terminal is ${columns}${times}${rows};`,
    `jfluid needs ${SMALLEST_COLUMNS}${times}${SMALLEST_ROWS}.`,
    'Enlarge it, or press q.',
  ]
  const above = Math.max(0, Math.floor((rows - text.length) / 2))
  const lines: Line[] = Array.from({ length: above }, () => [])
  for (const line of text) {
    const left = Math.max(0, Math.floor((columns - line.length) / 2))
    lines.push([run(' '.repeat(left)), run(cut(line, columns), 'warning')])
  }
  return lines.slice(0, rows)
}

/** Joins the left and right parts of a line. The left part is cut if both do not fit. */
export function between(left: readonly Run[], atRight: readonly Run[], columns: number): Line {
  let room = columns - cells(atRight)
  const line: Run[] = []
  for (const { text, style } of left) {
    const shown = cut(text, room)
    room -= width(shown)
    line.push(run(shown, style))
  }
  return [...line, run(' '.repeat(Math.max(0, room))), ...atRight]
}

export function cells(line: Line): number {
  return line.reduce((sum, each) => sum + width(each.text), 0)
}

/** Returns the first line: the JVM or file, and the current phase. */
export function identityLine(scene: FrameScene, doing: string = scene.status.phase): Line {
  const { columns, status } = scene
  const warnings = status.warnings.length
  const { file } = status
  const wide = columns >= 100
  const who = [
    run(' jfluid ', 'title'),
    ...(file === undefined ? [] : [run(` ${cut(clean(file.name), wide ? 40 : 20)} `, 'title')]),
    run(file === undefined || wide ? ` ${whoseText(status)}  ` : ' ', 'dim'),
    run(clean(status.mainClass), file === undefined ? 'title' : 'plain'),
    run(wide ? `  JDK ${clean(status.jdk)}` : '', 'dim'),
  ]
  const atRight = [
    run(warnings === 0 ? '  ' : `  ${warnings} warning${warnings === 1 ? '' : 's'}: w  `, 'warning'),
    file === undefined
      ? phase(scene, doing)
      : run(`${wide ? 'recorded ' : ''}${minute(file.recordedAt)}`, 'dim'),
    run(` ${span(status.elapsedMs)} `),
  ]
  return between(who, atRight, columns)
}

function whoseText({ pid, jvms }: LiveStatus): string {
  return jvms === undefined ? `pid ${pid}` : `${jvms} JVM${jvms === 1 ? '' : 's'}`
}

/** Returns the noun for one of several trees: thread or JVM. */
export function partWord({ jvms }: LiveStatus): 'thread' | 'JVM' {
  return jvms === undefined ? 'thread' : 'JVM'
}

/** Formats an instant as in reports: "2026-11-23 04:13Z". */
function minute(instant: string): string {
  return clean(instant).replace(/^(\d+-\d+-\d+)T(\d+:\d+):\d+(?:\.\d+)?Z$/, '$1 $2Z')
}

function phase({ status, paused, ended }: FrameScene, doing: string): Run {
  if (ended !== undefined || status.phase === 'ended') return run('ended', 'error')
  if (isLost(status)) return run('reconnecting', 'error')
  if (paused) return run('PAUSED', 'warning')
  return run(doing, status.phase === 'recording' ? 'good' : 'warning')
}

function isLost({ remote }: LiveStatus): boolean {
  return remote !== undefined && remote.lostForMs !== null
}

/** Returns the reason why the view of a remote JVM is out of date, or null. */
function remoteLine({ columns, status }: FrameScene): Line | null {
  const { remote } = status
  if (remote === undefined) return null
  const { where, lostForMs, problem, pending } = remote
  if (lostForMs !== null) {
    const lost = `connection to ${where} lost for ${span(lostForMs)}`
    const what =
      problem === null ? ': reconnecting; recording continues' : `; recording continues: ${problem}`
    return say(lost + what, 'error', columns)
  }
  if (pending === 0) return null
  return say(
    `${count(pending)} contexts are not up to date (1 MB/s limit); largest changes come first`,
    'dim',
    columns,
  )
}

/** Returns the message shown instead of details: a notice, the end of the session, or how to close a page. Null without a message. */
export function messageLine<Name extends string>(
  scene: FrameScene,
  pages: Pages<Name>,
  all: number,
  room: number,
): Line | null {
  const { columns, ended, notice } = scene
  if (notice !== undefined) return say(notice, 'warning', columns)
  if (ended !== undefined) return say(`${ended}: press q to quit and see the report`, 'error', columns)
  if (pages.shown === undefined) return remoteLine(scene)
  const shown = `${count(pages.first + 1)} to ${count(Math.min(all, pages.first + room))}`
  const more = all > room ? [run(`lines ${shown} of ${count(all)} `, 'dim')] : []
  return between([run(' Esc closes this page', 'dim')], more, columns)
}

export function say(text: string, style: Style, columns: number): Line {
  return [run(` ${cut(clean(text), columns - 1)}`, style)]
}

/** Returns the lines of the key page. */
export function keyLines<Actions>(
  bindings: readonly Binding<Actions>[],
  { columns, status }: FrameScene,
): Line[] {
  const entries = keysFor(bindings, status.phase === 'file')
    .filter(({ label }) => label !== '')
    .map(({ label, help }): Line => [run(`  ${pad(label, 9)}`, 'key'), run(help)])
  const lines: Line[] = []
  const middle = Math.ceil(entries.length / 2)
  const widest = (part: readonly Line[]): number => part.reduce((most, it) => Math.max(most, cells(it)), 0)
  const leftCells = widest(entries.slice(0, middle)) + GAP_CELLS
  const half = leftCells + widest(entries.slice(middle)) <= columns ? middle : entries.length
  for (let i = 0; i < half; i++) {
    const left = entries[i]!
    const beside = entries[half + i]
    lines.push(beside ? [...left, run(' '.repeat(leftCells - cells(left))), ...beside] : left)
  }
  return lines
}

/** Returns the lines of the warning page. */
export function warningLines({ columns, status }: FrameScene): Line[] {
  const lines: Line[] = []
  if (status.warnings.length === 0) lines.push([run('  No warnings.')])
  for (const warning of status.warnings) {
    for (const line of wrap(clean(warning), columns - 4)) lines.push([run(`  ${line}`)])
    lines.push([])
  }
  return lines
}

/** Returns the lines of the page with a thread dump. */
export function dumpLines(page: ThreadPage, { columns }: FrameScene): Line[] {
  return page.lines(columns).map((text) => [run(text, styleOf(text))])
}

function styleOf(text: string): Style {
  if (text.startsWith('deadlock')) return 'error'
  return /^ +at /.test(text) ? 'dim' : 'plain'
}

/** Returns the last line of the screen while a search is typed. */
export function searchLine(scene: FrameScene, typed: string): Line {
  const { cursor, ellipsis } = glyphsOf(scene)
  const hint = run('   Enter: find   Esc: end the search', 'dim')
  return [run(' /', 'key'), run(tail(typed, scene.columns - 44, ellipsis) + cursor), hint]
}

/** Returns the last line of the screen, with as many keys as fit. */
export function keyLine<Actions>(
  bindings: readonly Binding<Actions>[],
  { columns, status }: FrameScene,
): Line {
  const line: Run[] = []
  for (const { label, short } of keysFor(bindings, status.phase === 'file')) {
    if (short === undefined) continue
    const entry = [run(` ${label.split(' ')[0]!}`, 'key'), run(` ${short} `, 'dim')]
    if (cells(line) + cells(entry) > columns) break
    append(line, entry)
  }
  return line
}
