// The live view as lines with styles. Pure: the same scene gives the same lines.
//
// From top to bottom: two status lines, the column heads, the rows or a page, one line for details or a message, one line of keys.

import type { MethodName } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { VIEWS } from '../measures/views.ts'
import { hotLocks } from '../profile/hot-locks.ts'
import { rootTotal } from '../profile/profile.ts'
import { boundsText, type RangeFacts } from '../profile/range.ts'
import { UNSEEN_LEGEND, UNSEEN_SHORT, unseenMark, unseenMethods } from '../profile/sampled-rows.ts'
import { survivorHeader, survivorLines } from '../profile/survivors.ts'
import { fullName, isWait } from '../profile/text.ts'
import {
  clean,
  count,
  cut,
  pad,
  percent,
  shortCount,
  shorten,
  shortName,
  signature,
  width,
  wrap,
} from './format.ts'
import {
  BOTTOM_LINES,
  between,
  dumpLines,
  type FrameScene,
  glyphsOf,
  identityLine,
  keyLine,
  keyLines,
  messageLine,
  partWord,
  run,
  say,
  screenLines,
  searchLine,
  warningLines,
} from './frame-lines.ts'
import { BINDINGS, type PageName } from './keys.ts'
import type { LiveStatus } from './live-source.ts'
import type { LiveModel } from './model.ts'
import type { Line, Run, Style } from './screen.ts'
import { slowPage } from './slow-choice.ts'
import type { ThreadPage } from './thread-page.ts'
import { wordsOf } from './views/columns.ts'

export const TOP_LINES = 3

/** Input of the drawing functions of the view of calls. */
export interface Scene extends FrameScene {
  readonly model: LiveModel
  /** Absent in the root chooser. */
  readonly dump?: ThreadPage
  readonly nameOf: (id: number) => MethodName
  /** Whether the user excluded the method of a row. */
  readonly isLeftOut?: (id: number) => boolean
}

/** Returns the number of tree rows that fit on the screen. */
export function bodyRows(screenRows: number): number {
  return Math.max(1, screenRows - TOP_LINES - BOTTOM_LINES)
}

export function sceneLines(scene: Scene): Line[] {
  return screenLines(scene, scene.model.pages, {
    status: () => statusLines(scene),
    head: () => scene.model.view.head(scene),
    rows: () => bodyLines(scene),
    page: (name) => pageLines(scene, name),
    bottom: () => [detailLine(scene), bottomLine(scene)],
  })
}

function statusLines(scene: Scene): Line[] {
  const { columns, model, status } = scene
  const wide = columns >= 100
  // A thread name or the overhead of stacks needs the space of two labels, which are then shortened.
  const calls = model.calls.title(wide)
  const isNarrowed =
    model.thread !== undefined || calls !== '' || model.root !== undefined || model.range !== undefined
  const short = !wide && (isNarrowed || status.stacks !== undefined)
  const isFile = status.phase === 'file'
  const second = [
    run(isFile ? ` ${status.mode} ` : '', 'dim'),
    run(` scheme ${status.scheme.toUpperCase()}  `, 'dim'),
    run(count(status.instrumentedMethods, 7)),
    run(short ? '/' : ' instrumented, ', 'dim'),
    run(count(status.calledMethods, 7)),
    run(short ? ' methods  ' : ' called  ', 'dim'),
    // These numbers are of the whole recording.
    ...(model.range !== undefined
      ? []
      : status.stacks === undefined
        ? events(scene)
        : stacks(status.stacks, columns)),
  ]
  const sampled = [
    run(isWholeJvm(status) ? ' whole JVM  ' : ' sampled by the JVM  ', 'dim'),
    run(count(status.events, 9)),
    run(' samples  ', 'dim'),
    run(shortCount(status.eventsPerSecond)),
    run(' per second', 'dim'),
    ...(short ? [] : [run(`  ${count(status.calledMethods, 7)}`), run(' methods', 'dim')]),
  ]
  const thread =
    model.thread !== undefined
      ? run(`  ${cut(threadName(scene), wide ? 40 : 24)} `, 'title')
      : calls !== ''
        ? run(`  ${cut(calls, wide ? 60 : 30)} `, 'title')
        : status.values !== undefined
          ? run(`  ${shorten(status.values, wide ? 40 : 20, glyphsOf(scene).ellipsis)} `, 'dim')
          : run(wide ? `  all ${partWord(status)}s ` : '', 'dim')
  const atRight = [
    ...(model.range === undefined ? [thread] : [...(calls === '' ? [] : [thread]), rangeTitle(model.range)]),
    ...(model.root === undefined ? [] : [rootTitle(scene, model.root)]),
  ]
  return [identityLine(scene), between(status.isSampledByJvm ? sampled : second, atRight, columns)]
}

function rangeTitle(range: RangeFacts): Run {
  return run(`  range ${boundsText(range)} `, 'title')
}

function rootTitle(scene: Scene, root: number): Run {
  const { columns, model } = scene
  const name = shortName(model.methodName(root), columns >= 100 ? 40 : 16, glyphsOf(scene).ellipsis)
  return run(`  below ${name} `, 'title')
}

function events({ columns, status }: Scene): Run[] {
  const isFile = status.phase === 'file'
  const stalled = columns >= 100 ? 'stalled by probes' : 'stalled'
  return [
    run(shortCount(isFile ? status.events : status.eventsPerSecond)),
    run(isFile ? ` events  ${stalled} ` : ` events/s  ${stalled} `, 'dim'),
    run(`${status.waitPercent.toFixed(1)} %`, status.waitPercent >= 5 ? 'warning' : 'plain'),
  ]
}

/**
 * Returns the status of sampled stacks. If stacks are sampled, threads never block on event buffers, but sampling stops threads briefly.
 */
function stacks(
  { samples, longestStallMs, costPercent }: NonNullable<LiveStatus['stacks']>,
  columns: number,
): Run[] {
  return [
    run(shortCount(samples)),
    run(' samples  ', 'dim'),
    ...(costPercent === undefined ? [] : [run('overhead ', 'dim'), run(`${costPercent.toFixed(1)} %  `)]),
    run(columns >= 100 ? 'longest stall ' : 'stall ', 'dim'),
    run(`${Math.round(longestStallMs)} ms`, longestStallMs >= MIN_REPORTED_STALL_MS ? 'warning' : 'plain'),
  ]
}

/** Minimum duration of a stall that is highlighted, since users notice it in the latency of requests. */
const MIN_REPORTED_STALL_MS = 150

/** Returns whether all threads of the JVM are sampled, without a root. */
export function isWholeJvm({ mode, roots }: LiveStatus): boolean {
  return METRICS[mode].isSampled === true && roots.length === 0
}

function threadName({ model, status }: Scene): string {
  const part = partWord(status)
  if (model.thread === undefined) return `all ${part}s`
  const thread = model.snapshot.threads.find((each) => each.id === model.thread)
  if (thread === undefined) return `${part} ${model.thread}, ended`
  // Several JVMs may have the same name, so the process id is shown too.
  return part === 'JVM' ? `JVM ${thread.id} ${clean(thread.name)}` : `thread ${clean(thread.name)}`
}

function bodyLines(scene: Scene): Line[] {
  const { view } = scene.model
  return view.count === 0 ? emptyLines(scene) : view.body(scene)
}

function emptyLines({ columns, model, status, ended }: Scene): Line[] {
  const lines: Line[] = [[]]
  const say = (text: string, style?: Style): void => {
    for (const line of wrap(text, columns - 4)) lines.push([run(`  ${line}`, style)])
  }
  const isOver = ended !== undefined || status.phase === 'ended' || status.phase === 'file'
  const waiting = status.phase === 'waiting for root' && !isOver
  const nothing = model.tree.count > 0 ? model.view.nothing() : undefined
  if (nothing !== undefined) say(clean(nothing))
  else if (model.root !== undefined)
    say(`No call of ${clean(fullName(model.methodName(model.root)))} here. Press Esc to show all rows.`)
  else if (!model.calls.isOfAll) say(model.calls.nothing)
  else if (status.isSampledByJvm) {
    const whom = model.thread === undefined ? 'No sample shows a thread' : 'No sample shows this thread'
    const where = isWholeJvm(status) ? 'running Java code' : `inside ${status.roots.map(clean).join(', ')}`
    const yet = isOver ? '.' : ' yet. Samples arrive once per second.'
    say(`${whom} ${where}${yet}`)
  } else if (model.thread !== undefined)
    say('This thread has not called a root. Press T to choose another thread.')
  else if (isOver) say('No root method was called.')
  else if (status.phase === 'starting') say('Attaching and instrumenting ...')
  else if (waiting) {
    say(`Waiting for the first call of ${status.roots.length === 1 ? 'the root' : 'one of the roots'}`)
    lines.push([])
    for (const root of status.roots) say(`  ${clean(root)}`, 'title')
  } else say('No call has been recorded yet.')
  if (status.message) {
    lines.push([])
    say(clean(status.message), 'warning')
  }
  return lines
}

/** Returns the number of all lines of the open page, including lines outside the screen. */
export function pageRows(scene: Scene): number {
  const { shown } = scene.model.pages
  return shown ? pageLines(scene, shown).length : 0
}

function pageLines(scene: Scene, page: PageName): Line[] {
  const { model } = scene
  switch (page) {
    case 'help':
      return helpLines(scene)
    case 'warnings':
      return warningLines(scene)
    case 'dump':
      return scene.dump === undefined ? [] : dumpLines(scene.dump, scene)
    case 'alive':
      return aliveLines(scene)
    case 'source':
      return model.sourceOf?.page(scene.columns).lines ?? []
    case 'slow':
      return slowPage(model.calls, model.snapshot.rootCalls, scene.columns, model.methodName)
  }
}

function helpLines(scene: Scene): Line[] {
  const { columns, status } = scene
  const lines = keyLines(BINDINGS, scene)
  lines.push([])
  const texts = [...VIEWS[status.mode].help, ...(status.scheme === 'adaptive' ? [UNSEEN_LEGEND] : [])]
  for (const text of texts) for (const line of wrap(text, columns - 4)) lines.push([run(`  ${line}`, 'dim')])
  return lines
}

/** Maximum number of contexts on the page of live objects. */
const MAX_ALIVE = 100

function aliveLines({ columns, model }: Scene): Line[] {
  const { merged } = model.snapshot
  if (merged.metrics.liveBytes === undefined)
    return [[run('  No live objects are tracked; record with --mode alloc --liveness.')]]
  const lines: Line[] = [[run(pad(survivorHeader, columns), 'header')]]
  for (const [numbers, name, context] of survivorLines(merged, model.methodName, MAX_ALIVE, columns)) {
    lines.push([run(`${numbers}   ${name}`)], [run(context, 'dim')])
  }
  return lines
}

/** Returns the detail line: a message, the hint of the session, or the selected method. */
function detailLine(scene: Scene): Line {
  const { columns, model, status, nameOf } = scene
  const { view } = model
  const message = messageLine(scene, model.pages, pageRows(scene), model.bodyRows)
  if (message !== null) return message
  if (view.count === 0) return []
  if (status.message) return say(status.message, 'warning', columns)
  const detail = view.detail(scene)
  if (detail !== undefined) return say(detail, 'dim', columns)
  if (isUnseen(scene)) return say(UNSEEN_SHORT, 'warning', columns)
  const { id: method } = view
  if (method === undefined) return []
  const position = ` ${count(view.index + 1)} of ${count(view.count)} `
  const name = nameOf(method)
  const room = columns - width(position) - 1
  const inFull = signature(name)
  const loader = name.loader === 'app' || name.loader === '' ? '' : `  [${clean(name.loader)}]`
  const whole = (text: string) => width(text) <= room
  const from = view.node >= 0 ? calledFrom(name) : ''
  const more = from === '' ? waiterTexts(scene, method, inFull) : [inFull + from]
  const shown = more.find(whole) ?? [inFull + loader, inFull].find(whole)
  const fitting = shown ?? shortName(name, room, glyphsOf(scene).ellipsis)
  return between([run(` ${fitting}`, 'dim')], [run(position, 'dim')], columns)
}

/** Returns whether samples show calls of the selected row's method that probes missed. */
function isUnseen({ model: { tree, view } }: Scene): boolean {
  if (view.node >= 0) return unseenMark(tree, view.node) !== ''
  return view.hot !== undefined && unseenMethods(tree).has(view.hot.method)
}

/** Returns "  called at line 42 (bci 17)", or an empty text if the call site is unknown. */
function calledFrom({ bci, line }: MethodName): string {
  if (bci === undefined) return ''
  return line === undefined ? `  called at bci ${bci}` : `  called at line ${line} (bci ${bci})`
}

/** Returns texts of different length for a row of hot locks, longest first. A text lists the waiting methods and their shares. */
function waiterTexts({ model, nameOf }: Scene, method: number, lockName: string): string[] {
  if (model.view.hot === undefined || !isWait(nameOf(method))) return []
  const [lock] = hotLocks(model.tree, nameOf, method)
  if (lock === undefined) return []
  const text = (waiters: number, cells: number): string => {
    const by = lock.by.slice(0, waiters)
    const names = by.map((it) => `${shortName(nameOf(it.method), cells)} ${percent(it.ns, lock.ns)} %`)
    return `${lockName} by ${names.join(', ')}${lock.by.length > waiters ? ', …' : ''}`
  }
  return [text(3, 40), text(2, 40), text(2, 20), text(2, 14), text(1, 30), text(1, 16)]
}

/** Returns the selected row as text, with full names and numbers. */
export function rowText(scene: Scene): string | undefined {
  const { model, nameOf } = scene
  const own = model.view.rowText(scene)
  if (own !== undefined) return own
  const { id, numbers } = model.view
  if (id === undefined || numbers === undefined) return undefined
  const words = wordsOf(scene)
  const { total, self, calls } = numbers
  const share = percent(total, rootTotal(model.tree))
  const costs = `${words.total} ${words.cost(total).trim()}, ${words.self} ${words.cost(self).trim()}`
  return `${signature(nameOf(id))}  ${costs}, ${share} % of total, ${words.calls} ${count(calls)}`
}

function bottomLine(scene: Scene): Line {
  const { filter, typing } = scene.model
  if (filter.typed !== undefined) return filterLine(scene)
  return typing === undefined ? keyLine(BINDINGS, scene) : searchLine(scene, typing)
}

function filterLine({ columns, model }: Scene): Line {
  const { least, typed } = model.filter
  const number = typed === '' ? `${least}` : (typed ?? '')
  const shown = least > 0 || typed !== '' ? `rows below ${number} % are hidden` : 'all rows are shown'
  return between(
    [run(` ${shown}`, 'key'), run('   type a number, %: next limit, Enter: done', 'dim')],
    [],
    columns,
  )
}
