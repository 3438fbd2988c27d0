// The page: its tabs, the selection in each tab, the search, and the synchronization of the tabs.

import { treeColumns } from './columns.js'
import { anywhereOf, childrenOf, data, decodeTree, element, fullName, longName } from './data.js'
import { Flame } from './flame.js'
import { changeText, costText, countText, growthText, percentText } from './format.js'
import { Outline } from './outline.js'
import { callersOf, partInPage, traceOf } from './traces.js'
import { weightsOf } from './weights.js'

/** @import { Tree } from './data.js' */
/** @import { Trace } from './traces.js' */

/** @typedef {{ method: number, sums: { [column: string]: number } }} Hot */

const detail = element('detail')
const search = /** @type {HTMLInputElement} */ (element('search'))
const found = element('found')
const TABS = ['flame', 'tree', 'hot', 'callers', 'probes']

/** @type {Tree | undefined} */
let tree
/** @type {Outline<number> | undefined} */
let treeRows
/** @type {Outline<Hot> | undefined} */
let hotRows
/** @type {Outline<Trace> | undefined} */
let traceRows
let traced = -1
let rootTotal = 0
let largestChange = 0
/** @type {number[]} */
let matching = []

const flame = new Flame({
  ...{ place: element('flame-place'), isComparison: data.isComparison, selected: describe },
  change(node) {
    if (tree === undefined || largestChange === 0) return 0
    const { self, self0 } = tree.columns
    const change = self[node] - self0[node]
    return Math.sign(change) * Math.sqrt(Math.abs(change) / largestChange)
  },
})

/** @param {number} node */
function describe(node) {
  if (tree === undefined || node < 0) {
    detail.textContent = ' '
    return
  }
  const { total, self, calls, total0, self0 } = tree.columns
  const numbers = data.isComparison
    ? `${costText(total0[node])} before, ${costText(total[node])} now (${changeText(total[node] - total0[node])}` +
      `${spaced(growthText(total0[node], total[node]))}); own ${changeText(self[node] - self0[node])}${spaced(growthText(self0[node], self[node]))}`
    : `${costText(total[node])} (${percentText(total[node], rootTotal)}), own ${costText(self[node])}, ${countText(calls[node])} ${data.words.calls}`
  detail.textContent = `${longName(tree.method[node])} — ${numbers}`
}

/** @param {string} text */
function spaced(text) {
  return text === '' ? '' : `, ${text}`
}

/** @param {string} name */
function showTab(name) {
  for (const tab of TABS) {
    element(`tab-${tab}`).setAttribute('aria-selected', String(tab === name))
    element(`panel-${tab}`).hidden = tab !== name
  }
  if (name === 'flame') flame.draw()
  if (name === 'tree') treeRows?.draw()
  if (name === 'hot') hotRows?.draw()
  if (name === 'callers') traceRows?.draw()
}

/**
 * Returns the nodes from the top node down to `node`.
 *
 * @param {number} node
 */
function pathTo(node) {
  const path = []
  for (let at = node; at >= 0 && tree !== undefined; at = tree.parent[at]) path.push(at)
  return path.reverse()
}

/**
 * Returns a note on missing callers. The callers of contexts that are too small for the page are unknown.
 *
 * @param {Tree} of
 * @param {Trace} trace
 */
function missingText({ head }, trace) {
  if (head.leftOut === 0) return ''
  const part = partInPage(head, trace)
  if (part === 1) return ''
  const here =
    part === undefined ? '' : `: ${percentText(part, 1)} of its ${data.words.calls} are in this page`
  return `. Its contexts that are too small for this page are not among them${here}.`
}

/** @param {number} called */
function showCallers(called) {
  if (tree === undefined || called < 0) return
  const method = anywhereOf(called)
  const of = tree
  const trace = traceOf(of, method)
  traced = method
  element('callers-of').textContent =
    trace === undefined
      ? `${fullName(method)} is not in this tree.`
      : `Callers of ${longName(method)}: below it who called it, and how much of it was for them${missingText(of, trace)}`
  if (trace === undefined) return
  traceRows = new Outline({
    ...{ place: element('callers-place'), label: 'back traces' },
    columns: treeColumns(
      (node, column) => node.sums[column],
      () => trace.sums.total,
    ),
    children: (node) => (node === undefined ? [trace] : callersOf(of, node)),
    hasChildren: (node) => node.hasCallers,
    name: (node) => fullName(node.method),
    heat: (node) => (trace.sums.total > 0 ? node.sums.total / trace.sums.total : 0),
    chosen: (node) => showCallers(node.method),
  })
  traceRows.openLargest(20, trace.sums.total * 0.05)
  mark()
}

function showHot() {
  if (tree === undefined) return
  const { hot, hotColumns } = tree.head
  const all = hot.map(([method, ...numbers]) => ({
    method,
    sums: Object.fromEntries(hotColumns.map((name, index) => [name, numbers[index]])),
  }))
  const words = wanted()
  const shown =
    words === '' ? all : all.filter(({ method }) => fullName(method).toLowerCase().includes(words))
  const columns = treeColumns(
    /** @param {Hot} row @param {string} column */ (row, column) => row.sums[column],
    () => rootTotal,
  )
  // The default order is by the methods' self cost.
  const first = data.isComparison ? 'own change' : data.words.self
  hotRows = new Outline({
    ...{ place: element('hot-place'), label: 'hot methods' },
    columns: [
      ...columns.filter(({ title }) => title === first),
      ...columns.filter(({ title }) => title !== first),
    ],
    children: (node) => (node === undefined ? [...shown] : []),
    hasChildren: () => false,
    name: ({ method }) => longName(method),
    heat: ({ sums }) => (data.isComparison || !(rootTotal > 0) ? 0 : Math.max(0, sums.self) / rootTotal),
    selected: ({ method }) => {
      traced = method
    },
    chosen: ({ method }) => {
      showCallers(method)
      showTab('callers')
    },
  })
  hotRows.draw()
  const { hotLeftOut } = tree.head
  const rest = hotLeftOut > 0 ? ` ${countText(hotLeftOut)} methods that take less are not in this page.` : ''
  element('hot-note').textContent =
    (words === '' ? '' : `${countText(shown.length)} of ${countText(all.length)} methods match. `) +
    `Enter or a double click: who calls it.${rest}`
}

/** Number of trees requested so far. A tree is not shown if another tree was requested during its decoding. */
let asked = 0

/** @param {number} index */
async function showTree(index) {
  const head = data.trees[index]
  if (head === undefined) return
  const mine = ++asked
  const decoded = await decodeTree(head)
  if (mine !== asked) return
  tree = decoded
  const { total, total0, self, self0 } = decoded.columns
  rootTotal = 0
  largestChange = 0
  for (let i = 0; i < decoded.count; i += decoded.size[i]) {
    rootTotal += data.isComparison ? Math.max(total[i], total0[i]) : total[i]
  }
  if (data.isComparison) {
    for (let i = 0; i < decoded.count; i++)
      largestChange = Math.max(largestChange, Math.abs(self[i] - self0[i]))
  }
  element('left-out').textContent =
    head.leftOut > 0
      ? `The ${countText(decoded.count)} largest contexts are in this page; ${countText(head.leftOut)} smaller ones are not. Costs of what is shown are whole.`
      : ''
  flame.show(decoded, weightsOf(decoded, widths()))
  treeRows = new Outline({
    ...{ place: element('tree-place'), label: 'calling context tree' },
    columns: treeColumns(
      /** @param {number} node @param {string} column */ (node, column) => decoded.columns[column][node],
      () => rootTotal,
    ),
    children: (node) => childrenOf(decoded, node ?? -1),
    hasChildren: (node) => decoded.size[node] > 1,
    name: (node) => fullName(decoded.method[node]),
    note: (node) => {
      const left = decoded.leftOut?.[node] ?? 0
      return left > 0 ? `and ${countText(left)} smaller ${left === 1 ? 'context' : 'contexts'} below` : ''
    },
    heat: (node) => (rootTotal > 0 ? total[node] / rootTotal : 0),
    selected: describe,
    chosen: (node) => {
      showCallers(decoded.method[node])
      showTab('callers')
    },
  })
  treeRows.openLargest(30, rootTotal * 0.02)
  showHot()
  traced = -1
  const largest = head.hot[0]
  if (largest !== undefined) showCallers(largest[0])
  find()
}

function widths() {
  const choice = document.getElementById('widths')
  return choice instanceof HTMLSelectElement ? choice.value : 'now'
}

function wanted() {
  return search.value.trim().toLowerCase()
}

function mark() {
  const words = wanted()
  const isMatch = /** @param {number} method */ (method) =>
    words !== '' && fullName(method).toLowerCase().includes(words)
  treeRows?.mark((node) => tree !== undefined && isMatch(tree.method[node]))
  traceRows?.mark((node) => isMatch(node.method))
}

/** Highlights names that contain the search words, in all views. */
function find() {
  if (tree === undefined) return
  const words = wanted()
  matching = []
  if (words === '') {
    flame.highlight(undefined)
    found.textContent = ''
  } else {
    /** @type {Map<number, boolean>} */
    const known = new Map()
    const matches = new Uint8Array(tree.count)
    let [part, end] = [0, 0]
    for (let node = 0; node < tree.count; node++) {
      const method = tree.method[node]
      const isMatch = known.get(method) ?? fullName(method).toLowerCase().includes(words)
      known.set(method, isMatch)
      if (!isMatch) continue
      matches[node] = 1
      matching.push(node)
      if (node < end) continue
      part += tree.columns.total[node]
      end = node + tree.size[node]
    }
    flame.highlight(matches)
    const now = data.isComparison ? '' : `, ${percentText(part, rootTotal)} of the total with what they call`
    found.textContent = `${countText(matching.length)} ${matching.length === 1 ? 'context' : 'contexts'}${now}`
  }
  mark()
}

/** Selects the next matching context, and opens the tree there. */
function findNext() {
  if (matching.length === 0 || treeRows === undefined) return
  const at = treeRows.current ?? -1
  const next = matching.find((node) => node > at) ?? matching[0]
  treeRows.show(pathTo(next))
}

/** @param {string} theme */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme
  flame.draw()
}

for (const tab of TABS) element(`tab-${tab}`).addEventListener('click', () => showTab(tab))
search.addEventListener('input', () => {
  find()
  showHot()
})
search.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') {
    if (element('panel-hot').hidden && element('panel-flame').hidden) showTab('tree')
    findNext()
  } else if (event.key === 'Escape') {
    search.value = ''
    find()
    showHot()
    search.blur()
  }
})
element('callers-button').addEventListener('click', () => {
  const node = flame.selected
  if (tree !== undefined && node >= 0) showCallers(tree.method[node])
  showTab('callers')
})
element('whole').addEventListener('click', () => flame.zoom(-1))
element('theme').addEventListener('click', () => {
  setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark')
})
document.getElementById('widths')?.addEventListener('change', () => {
  if (tree !== undefined) flame.show(tree, weightsOf(tree, widths()))
})
const threads = document.getElementById('threads')
if (threads instanceof HTMLSelectElement) {
  threads.addEventListener('change', () => {
    showTree(Number(threads.value)).catch((error) => {
      detail.textContent = `This thread cannot be shown: ${error instanceof Error ? error.message : error}`
    })
  })
}
document.addEventListener('keydown', (event) => {
  if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key === '/') {
    event.preventDefault()
    search.focus()
  } else if (event.key === 'n') findNext()
  else if (event.key === 'c') {
    if (!element('panel-flame').hidden && tree !== undefined && flame.selected >= 0)
      showCallers(tree.method[flame.selected])
    else if (!element('panel-tree').hidden && tree !== undefined && treeRows?.current !== undefined) {
      showCallers(tree.method[treeRows.current])
    } else if (traced >= 0) showCallers(traced)
    showTab('callers')
  } else if (event.key >= '1' && event.key <= String(TABS.length)) showTab(TABS[Number(event.key) - 1])
})
window.addEventListener('beforeprint', () => {
  document.body.classList.add('printing')
  for (const tab of TABS) element(`panel-${tab}`).hidden = false
  flame.draw()
  for (const rows of [treeRows, hotRows, traceRows]) rows?.draw()
})
window.addEventListener('afterprint', () => {
  document.body.classList.remove('printing')
  const tab = TABS.find((it) => element(`tab-${it}`).getAttribute('aria-selected') === 'true')
  showTab(tab ?? 'flame')
})

setTheme(window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')
showTab('flame')
await showTree(0)
document.body.dataset.ready = 'true'
// Tests read the drawn frames here, since the contents of a canvas cannot be queried.
Object.assign(window, { jfluidFrames: () => flame.frames() })
