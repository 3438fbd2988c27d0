// Writes the page as one file that needs no network. Facts and warnings are HTML, so that they are visible without the script.
// Names and texts of a profile may contain any characters. They are escaped in HTML. The JSON contains no `<`, so that it cannot close its
// script element. The content security policy allows only this script and style (by hash), and no network request.

import { createHash } from 'node:crypto'
import { clean } from '../../profile/text.ts'
import type { Block } from './block.ts'
import type { PageData, PageTree } from './page-data.ts'
import { pageScript, pageStyle } from './script.ts'
import { panelsOf, tabsOf } from './tabs.ts'

export interface Page {
  readonly title: string
  readonly facts: readonly (readonly [string, string])[]
  readonly warnings: readonly string[]
  readonly data: PageData
  /** One function per tree that generates its block when the block is written, so that only one block is in memory. */
  readonly blocks: readonly (() => Block)[]
  /** Generates the block of `data.ranges`. */
  readonly ranges?: (() => Uint8Array) | undefined
  /** Facts about the cost of the session, shown in the tab of the cost. */
  readonly costFacts: readonly (readonly [string, string])[]
  /** Text for a browser without scripts. */
  readonly text: () => Iterable<string>
}

/** Number of bytes per base64 piece: a multiple of 3, so that no piece except the last has padding. */
const PIECE_BYTES = 48 * 1024
/** Number of hexadecimal digits of the page's id in links. */
const ID_DIGITS = 8

export function escaped(text: string): string {
  return clean(text).replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)
}

/** Returns JSON that is safe inside a script element. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}

/** Generates the pieces of the file. `page.data.trees` must match the blocks. */
export function* pagePieces(page: Page): Generator<string> {
  const [script, style] = [pageScript(), pageStyle()]
  const json = scriptJson(page.data)
  const policy = `default-src 'none'; script-src ${script.hash}; style-src ${style.hash}; base-uri 'none'; form-action 'none'`
  yield `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n`
  yield `<meta http-equiv="Content-Security-Policy" content="${policy}">\n`
  yield `<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="generator" content="jfluid">\n`
  yield `<title>${escaped(page.title)}</title>\n<style>${style.text}</style>\n</head>\n<body data-page="${idOf(json)}">\n`
  yield `<h1>${escaped(page.title)}</h1>\n`
  yield factList(page.facts, page.warnings)
  yield '<noscript><p>The tabs of this page need JavaScript. What the text report says:</p><pre>'
  for (const piece of page.text()) yield piece.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`)
  yield '</pre></noscript>\n'
  yield controls(page.data)
  for (const name of panelsOf(page.data)) yield panel(name, page)
  yield '<footer class="note">written by jfluid</footer>\n'
  for (let index = 0; index < page.blocks.length; index++) {
    yield `<script type="application/octet-stream" id="${page.data.trees[index]!.block}">`
    yield* base64Pieces(page.blocks[index]!().bytes)
    yield '</script>\n'
  }
  if (page.ranges !== undefined) {
    yield '<script type="application/octet-stream" id="block-ranges">'
    yield* base64Pieces(page.ranges())
    yield '</script>\n'
  }
  yield `<script type="application/json" id="data">${json}</script>\n`
  yield `<script type="module">${script.text}</script>\n</body>\n</html>\n`
}

/** Returns an id of the page's data. Links contain it, since positions of rows differ between pages. */
function idOf(json: string): string {
  return createHash('sha256').update(json).digest('hex').slice(0, ID_DIGITS)
}

function factList(facts: Page['facts'], warnings: readonly string[]): string {
  const lines = [
    ...facts.map(([label, text]) => `<dt>${escaped(label)}</dt><dd>${escaped(text)}</dd>\n`),
    ...warnings.map((it) => `<dt>warning</dt><dd class="warning">${escaped(it)}</dd>\n`),
  ]
  return lines.length === 0 ? '' : `<dl>\n${lines.join('')}</dl>\n`
}

function* base64Pieces(bytes: Uint8Array): Generator<string> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    yield Buffer.from(bytes.subarray(at, at + PIECE_BYTES)).toString('base64')
  }
}

function controls(data: PageData): string {
  const tabs = tabsOf(data).map(
    ({ name, title }, index) =>
      `<button role="tab" id="tab-${name}" aria-controls="panel-${name}" aria-selected="${index === 0}">${title}</button>`,
  )
  return `<nav><span role="tablist">${tabs.join('\n')}</span>
${choiceOfTrees(data)}
<input id="search" type="search" placeholder="search a class or method ( / )" aria-label="search">
<button id="theme" title="dark or light" aria-label="dark or light">◐</button> <span id="found" class="quiet" aria-live="polite"></span></nav>
<p id="link" class="note" hidden><label>link to this row <input id="link-text" readonly></label> <span id="link-note" aria-live="polite"></span></p>
<p id="link-problem" class="warning" role="status" hidden></p>
<p id="range" class="note" hidden><span id="range-text" role="status"></span> <button id="range-end">whole recording</button></p>
<p id="left-out" class="note"></p>
`
}

function choiceOfTrees({ trees }: PageData): string {
  if (trees.length < 2) return ''
  const options = (isWanted: (tree: PageTree) => boolean): string =>
    trees
      .map((tree, index) =>
        isWanted(tree) ? `<option value="${index}">${escaped(tree.title)}</option>` : '',
      )
      .join('')
  const slow = options(({ isSlow }) => isSlow === true)
  const group = slow === '' ? '' : `<optgroup label="slow calls">${slow}</optgroup>`
  return `<select id="shown" aria-label="calls that are shown">${options(({ isSlow }) => isSlow !== true)}${group}</select>`
}

const WIDTHS =
  '<select id="widths" aria-label="width of frames"><option value="larger">as wide as the larger of both</option><option value="now">as wide as it is now</option><option value="before">as wide as it was before</option></select> <span>less of its own <span class="legend"></span> more</span>'

const LATENCY_CHART = '<p id="latency-second" class="note"> </p><div id="latency-place"></div>\n'
const RANGE_KEYS =
  '; a drag, or <kbd>Space</kbd> at the start and at the end, selects a range, <kbd>Esc</kbd> the whole recording'

/** Returns the content of a panel that shows a tree or the timeline. Returns undefined for a panel of lists. */
function viewOf(tab: string, data: PageData): string | undefined {
  switch (tab) {
    case 'flame':
      return `<div class="tools"><button id="whole">show all</button><button id="callers-button">callers of this</button><button id="link-button">link</button>${data.isComparison ? WIDTHS : ''}
<span class="quiet">click or <kbd>Enter</kbd> zooms, <kbd>Esc</kbd> goes back, arrows move, <kbd>c</kbd> callers, <kbd>l</kbd> link to the row, <kbd>/</kbd> search, <kbd>n</kbd> next in the tree, <kbd>1</kbd>–<kbd>9</kbd>, <kbd>0</kbd> tabs</span></div>
<p id="detail" aria-live="polite"> </p><div id="flame-place"></div>`
    case 'tree':
      return '<div id="tree-place"></div>'
    case 'hot':
      return '<p id="hot-note" class="note"></p><div id="hot-place"></div>'
    case 'callers':
      return '<p id="callers-of" class="note">Choose a method in another tab and press c.</p><div id="callers-place"></div>'
    case 'timeline':
      return `<div class="tools"><button id="second-link">link</button><span class="quiet">the arrow keys or a click select a second${data.ranges === undefined ? '' : RANGE_KEYS}</span></div><p id="timeline-second" aria-live="polite"> </p><div id="timeline-place"></div>`
    default:
      return undefined
  }
}

function panel(tab: string, { data, costFacts }: Page): string {
  const lists = (data.lists[tab] ?? []).map(
    ({ title, notes }, index) =>
      `<h2 id="title-${tab}-${index}">${escaped(title)}</h2>\n${notes.map((it) => `<p class="note">${escaped(it)}</p>\n`).join('')}<div id="list-${tab}-${index}" class="list"></div>\n`,
  )
  const facts = tab === 'cost' ? factList(costFacts, []) : ''
  const hasChart = tab === 'latency' && data.timeline?.charts.some(({ unit }) => unit === 'cost')
  const chart = hasChart ? LATENCY_CHART : ''
  return `<section id="panel-${tab}" role="tabpanel" aria-labelledby="tab-${tab}" hidden>${viewOf(tab, data) ?? chart + facts + lists.join('')}</section>\n`
}
