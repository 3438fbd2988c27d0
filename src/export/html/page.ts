// Writes the page as one file that needs no network. Facts, warnings and methods without probes are HTML, so that they are visible without
// the script.
// Names and texts of a profile may contain any characters. They are escaped in HTML. The JSON contains no `<`, so that it cannot close its
// script element. The content security policy allows only this script and style (by hash), and no network request.

import { addTo } from '../../base/arrays.ts'
import type { SkippedMethod } from '../../profile/profile.ts'
import { clean, plural } from '../../profile/text.ts'
import type { Block } from './block.ts'
import type { PageData } from './page-data.ts'
import { pageScript, pageStyle } from './script.ts'

export interface Page {
  readonly title: string
  readonly facts: readonly (readonly [string, string])[]
  readonly warnings: readonly string[]
  readonly data: PageData
  /** One function per tree that generates its block when the block is written, so that only one block is in memory. */
  readonly blocks: readonly (() => Block)[]
  readonly probes: Probes
  /** Text for a browser without scripts. */
  readonly text: () => Iterable<string>
}

/** Facts about the instrumentation of one or two profiles. */
export interface Probes {
  readonly heads: readonly string[]
  /** Each row is a label, then one cell per head. */
  readonly rows: readonly (readonly string[])[]
  readonly skipped: readonly SkippedMethod[]
}

/** Number of bytes per base64 piece: a multiple of 3, so that no piece except the last has padding. */
const PIECE_BYTES = 48 * 1024
/** Maximum number of methods without probes that are listed per reason. */
const MAX_SKIPPED = 1000

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
  const policy = `default-src 'none'; script-src ${script.hash}; style-src ${style.hash}; base-uri 'none'; form-action 'none'`
  yield `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n`
  yield `<meta http-equiv="Content-Security-Policy" content="${policy}">\n`
  yield `<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="generator" content="jfluid">\n`
  yield `<title>${escaped(page.title)}</title>\n<style>${style.text}</style>\n</head>\n<body>\n`
  yield `<h1>${escaped(page.title)}</h1>\n<dl>\n`
  for (const [label, text] of page.facts) yield `<dt>${escaped(label)}</dt><dd>${escaped(text)}</dd>\n`
  for (const warning of page.warnings) yield `<dt>warning</dt><dd class="warning">${escaped(warning)}</dd>\n`
  yield '</dl>\n<noscript><p>The flame graph, the tree and the lists need JavaScript. What the text report says:</p><pre>'
  for (const piece of page.text()) yield piece.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`)
  yield '</pre></noscript>\n'
  yield controls(page.data)
  yield* probesPieces(page.probes)
  yield '<footer class="note">written by jfluid</footer>\n'
  for (let index = 0; index < page.blocks.length; index++) {
    yield `<script type="application/octet-stream" id="${page.data.trees[index]!.block}">`
    yield* base64Pieces(page.blocks[index]!().bytes)
    yield '</script>\n'
  }
  yield `<script type="application/json" id="data">${scriptJson(page.data)}</script>\n`
  yield `<script type="module">${script.text}</script>\n</body>\n</html>\n`
}

function* base64Pieces(bytes: Uint8Array): Generator<string> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    yield Buffer.from(bytes.subarray(at, at + PIECE_BYTES)).toString('base64')
  }
}

const TABS = [
  ['flame', 'Flame graph'],
  ['tree', 'Tree'],
  ['hot', 'Hot methods'],
  ['callers', 'Callers'],
  ['probes', 'Instrumentation'],
] as const

function controls({ trees, isComparison }: PageData): string {
  const tabs = TABS.map(
    ([name, title], index) =>
      `<button role="tab" id="tab-${name}" aria-controls="panel-${name}" aria-selected="${index === 0}">${title}</button>`,
  )
  const threads =
    trees.length > 1
      ? `<select id="threads" aria-label="thread">${trees.map(({ title }, index) => `<option value="${index}">${escaped(title)}</option>`).join('')}</select>`
      : ''
  const widths = isComparison
    ? '<select id="widths" aria-label="width of frames"><option value="larger">as wide as the larger of both</option><option value="now">as wide as it is now</option><option value="before">as wide as it was before</option></select> <span>less of its own <span class="legend"></span> more</span>'
    : ''
  return `<nav><span role="tablist">${tabs.join('\n')}</span>
${threads}
<input id="search" type="search" placeholder="search a class or method ( / )" aria-label="search">
<button id="theme" title="dark or light" aria-label="dark or light">◐</button> <span id="found" class="quiet" aria-live="polite"></span></nav>
<p id="left-out" class="note"></p>
<section id="panel-flame" role="tabpanel"><div class="tools"><button id="whole">show all</button><button id="callers-button">callers of this</button>${widths}
<span class="quiet">click or <kbd>Enter</kbd> zooms, <kbd>Esc</kbd> goes back, arrows move, <kbd>c</kbd> callers, <kbd>/</kbd> search, <kbd>n</kbd> next in the tree, <kbd>1</kbd>–<kbd>5</kbd> tabs</span></div>
<p id="detail" aria-live="polite"> </p><div id="flame-place"></div></section>
<section id="panel-tree" role="tabpanel" hidden><div id="tree-place"></div></section>
<section id="panel-hot" role="tabpanel" hidden><p id="hot-note" class="note"></p><div id="hot-place"></div></section>
<section id="panel-callers" role="tabpanel" hidden><p id="callers-of" class="note">Choose a method in another tab and press c.</p><div id="callers-place"></div></section>
`
}

function* probesPieces({ heads, rows, skipped }: Probes): Generator<string> {
  yield `<section id="panel-probes" role="tabpanel">\n<table><tr><th></th>${heads.map((it) => `<th class="number">${escaped(it)}</th>`).join('')}</tr>\n`
  for (const [label, ...cells] of rows) {
    yield `<tr><td>${escaped(label ?? '')}</td>${cells.map((it) => `<td class="number">${escaped(it)}</td>`).join('')}</tr>\n`
  }
  yield '</table>\n'
  const byReason = new Map<string, string[]>()
  for (const { method, reason } of skipped) addTo(byReason, reason, method)
  yield `<p>${skipped.length === 0 ? 'Every method that was reached has probes.' : `${plural(skipped.length, 'method')} that were reached have no probes; their time counts for their callers:`}</p>\n`
  for (const [reason, methods] of [...byReason].sort(([, a], [, b]) => b.length - a.length)) {
    yield `<details><summary>${escaped(reason)}: ${plural(methods.length, 'method')}</summary><ul>\n`
    for (const method of methods.slice(0, MAX_SKIPPED)) yield `<li>${escaped(method)}</li>\n`
    if (methods.length > MAX_SKIPPED)
      yield `<li>and ${plural(methods.length - MAX_SKIPPED, 'more method')}</li>\n`
    yield '</ul></details>\n'
  }
  yield '</section>\n'
}
