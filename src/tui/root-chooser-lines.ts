// Draws the lines of the root chooser. Pure: the same scene gives the same lines.

import { clean, count, cut, pad, percent, plural, right, signature, tail, width } from './format.ts'
import {
  between,
  type FrameScene,
  glyphsOf,
  identityLine,
  keyLine,
  keyLines,
  messageLine,
  run,
  say,
  screenLines,
  searchLine,
  warningLines,
} from './frame-lines.ts'
import { bodyRows, type Scene } from './lines.ts'
import type { NameField } from './name-field.ts'
import type { Pages } from './pages.ts'
import { CHOOSER_BINDINGS, type ChooserPage, type CoverPage, type RootChoice } from './root-choice.ts'
import type { Line, Run } from './screen.ts'

export interface ChooserScene extends Scene {
  readonly choice: RootChoice
  readonly page: ChooserPage
  readonly selected: number
  readonly first: number
  readonly field: NameField
  readonly asked: string | undefined
  readonly pages: Pages<CoverPage>
}

/** Number of candidates that stay visible below a long answer. */
const MIN_CANDIDATES = 5

export function chooserLines(scene: ChooserScene): Line[] {
  return screenLines(scene, scene.pages, {
    status: () => [identityLine(scene, 'choose a root'), lookedAt(scene), ...answerAbove(scene)],
    head: () => headOf(scene),
    rows: () => bodyOf(scene),
    page: (name) => pageOf(scene, name),
    bottom: () => [detailLine(scene), bottomLine(scene)],
  })
}

/** Returns the answer above the candidates. If the answer has too many lines, the last line names the key that shows all lines. */
export function answerAbove(scene: ChooserScene): Line[] {
  if (scene.page !== 'candidates' || scene.pages.shown !== undefined) return []
  const lines = answerPage(scene)
  const room = Math.max(1, bodyRows(scene.rows) - MIN_CANDIDATES)
  if (lines.length <= room) return lines
  const hidden = lines.length - room + 1
  return [
    ...lines.slice(0, room - 1),
    [run(` ${glyphsOf(scene).ellipsis} ${plural(hidden, 'more line')}: a`, 'dim')],
  ]
}

function answerPage(scene: FrameScene & Pick<ChooserScene, 'choice'>): Line[] {
  const { ellipsis } = glyphsOf(scene)
  return scene.choice
    .answer(scene.columns - 2)
    .map((line): Line => [run(` ${line.replaceAll('…', ellipsis)}`)])
}

/** Returns the number of rows that fit below the answer. */
export function roomBelow(scene: ChooserScene): number {
  return bodyRows(scene.rows) - answerAbove(scene).length
}

const TITLES: Readonly<Record<ChooserPage, string>> = {
  candidates: 'candidates',
  tree: 'sampled tree',
  name: 'by name',
}

function lookedAt({ columns, choice, page }: ChooserScene): Line {
  const { events: samples, threads } = choice.snapshot
  const samplesNow = choice.samplesNow()
  const views = Object.entries(TITLES).map(
    ([name, title]): Run => (name === page ? run(` ${title} `, 'title') : run(` ${title} `, 'dim')),
  )
  const more = samplesNow > samples ? `, now ${count(samplesNow)}` : ` of ${count(threads.length)} threads`
  const looked = [run(` whole JVM  ${count(samples)} samples${more}`, 'dim')]
  return between(looked, views, columns)
}

export function pageOf(scene: FrameScene & Pick<ChooserScene, 'choice'>, page: CoverPage): Line[] {
  if (page === 'warnings') return warningLines(scene)
  if (page === 'answer') {
    const lines = answerPage(scene)
    return lines.length > 0 ? lines : [[run('  No thread worked during the samples.')]]
  }
  return [
    ...keyLines(CHOOSER_BINDINGS, scene),
    [],
    [run('  share %: of all samples. seen: observed starts of calls. depth: frames below the', 'dim')],
    [run('  method. * in the tree marks a candidate. Only new calls of a root are profiled, so', 'dim')],
    [run('  a method that was in every sample of its thread may never return and is unsuitable.', 'dim')],
  ]
}

function headOf(scene: ChooserScene): Line {
  const { columns, model, page } = scene
  if (page === 'tree') return model.view.head(scene)
  if (page === 'name') {
    const found = count(scene.field.fitting.length)
    const typed = tail(clean(scene.field.text), columns - 20, glyphsOf(scene).ellipsis)
    return between(
      [run(' root: ', 'key'), run(typed + glyphsOf(scene).cursor)],
      [run(`${found} matches `, 'dim')],
      columns,
    )
  }
  return [run(pad(' share %   seen  depth  threads  method', columns), 'header')]
}

function bodyOf(scene: ChooserScene): Line[] {
  const { model, page } = scene
  if (page === 'tree') return model.view.body(marking(scene))
  return page === 'name' ? nameRows(scene) : candidateRows(scene)
}

/** Returns a scene that marks the names of candidates with a star. */
function marking(scene: ChooserScene): Scene {
  const { choice, nameOf } = scene
  const roots = new Set(choice.rows.filter((it) => it.returns).map((it) => it.root))
  return {
    ...scene,
    nameOf: (id) => {
      const name = nameOf(id)
      return roots.has(choice.rootOf(name) ?? '') ? { ...name, method: `${name.method} *` } : name
    },
  }
}

function candidateRows(scene: ChooserScene): Line[] {
  const { choice, columns, selected, first } = scene
  const rows = choice.rows.slice(first, first + roomBelow(scene))
  return rows.map((row, i) => {
    const { root, share, seen, depth, threads, returns } = row
    const numbers = `${right(percent(share, 1), 8)}${right(count(seen, 6), 7)}${right(count(depth, 6), 7)}${right(count(threads.length, 7), 9)}  `
    const room = columns - width(numbers)
    const doubt = returns ? '' : '  in every sample'
    const name = shortRoot(clean(root), room - width(doubt), glyphsOf(scene).ellipsis)
    if (first + i === selected) return [run(pad(numbers + name + doubt, columns), 'selected')]
    return [run(numbers, returns ? 'plain' : 'dim'), run(name, returns ? 'plain' : 'dim'), run(doubt, 'dim')]
  })
}

function nameRows({ columns, field, first, rows }: ChooserScene): Line[] {
  const names = field.fitting.slice(first, first + bodyRows(rows))
  return names.map((name, i) => [
    run(
      pad(`   ${cut(clean(name), columns - 3)}`, columns),
      first + i === field.selected ? 'selected' : 'plain',
    ),
  ])
}

/** Cuts the start of a long name, since the end of a name is more specific. */
function shortRoot(text: string, room: number, ellipsis: string): string {
  if (width(text) <= room) return text
  return ellipsis + text.slice(Math.max(0, text.length - room + width(ellipsis)))
}

function detailLine(scene: ChooserScene): Line {
  const { asked, choice, columns, model, page, pages, selected, nameOf } = scene
  if (asked !== undefined) {
    return say(`Attach with root ${asked}? Enter: yes, Esc: no`, 'warning', columns)
  }
  const shown = pages.shown
  const lines = shown ? pageOf(scene, shown).length : 0
  const message = messageLine(scene, pages, lines, bodyRows(scene.rows))
  if (message !== null) return message
  if (page === 'name') {
    const known = 'loaded classes and their frequent methods; you can type any other method'
    return [run(` ${cut(known, columns - 1)}`, 'dim')]
  }
  if (page === 'tree') {
    const { method } = model.view
    return method === undefined ? [] : [run(` ${cut(signature(nameOf(method)), columns - 1)}`, 'dim')]
  }
  const row = choice.rows[selected]
  if (row === undefined) return []
  return [run(` ${cut(`threads: ${clean(row.threads.join(', '))}`, columns - 1)}`, 'dim')]
}

function bottomLine(scene: ChooserScene): Line {
  const { typing } = scene.model
  if (scene.page === 'name' && scene.pages.shown === undefined) return typingKeys()
  return typing === undefined ? keyLine(CHOOSER_BINDINGS, scene) : searchLine(scene, typing)
}

function typingKeys(): Line {
  const keys = { Enter: 'attach', Tab: 'complete', 'Up Down': 'choose', 'Ctrl-U': 'clear', Esc: 'back' }
  return Object.entries(keys).flatMap(([key, does]) => [run(` ${key}`, 'key'), run(` ${does} `, 'dim')])
}
