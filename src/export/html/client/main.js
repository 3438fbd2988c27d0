// The page: its tabs, the selection in each tab, the search, and the synchronization of the tabs.

import { deviationOf, sampledSums, treeColumns } from './columns.js'
import { anywhereOf, childrenOf, data, decodeTree, element, fullName, longName } from './data.js'
import { Flame } from './flame.js'
import { changeText, costText, countText, growthText, percentText } from './format.js'
import { linkText, positionText, readLink } from './link.js'
import { listsOf } from './lists.js'
import { Outline } from './outline.js'
import { callsOfRange, rangeOf, rangeText, treeOfRange } from './ranges.js'
import { Timeline } from './timeline.js'
import { callersOf, partInPage, traceOf } from './traces.js'
import { weightsOf } from './weights.js'

/** @import { Tree } from './data.js' */
/** @import { List, ListRow } from './lists.js' */
/** @import { PageTimeline } from '../page-data.ts' */
/** @import { Range } from './ranges.js' */
/** @import { Trace } from './traces.js' */

/** @typedef {{ method: number, sums: { [column: string]: number } }} Hot */

const detail = element('detail')
const search = /** @type {HTMLInputElement} */ (element('search'))
const found = element('found')
const link = element('link')
const linkField = /** @type {HTMLInputElement} */ (element('link-text'))
/** Id of the page in links. */
const PAGE_ID = document.body.dataset.page ?? ''
const TABS = [...document.querySelectorAll('[role="tab"]')].map(({ id }) => id.slice('tab-'.length))
/** Tabs that show the selected tree. */
const TREE_TABS = ['flame', 'tree', 'hot', 'callers']

/** @type {Tree | undefined} */
let tree
/** @type {Outline<number> | undefined} */
let treeRows
/** @type {Outline<Hot> | undefined} */
let hotRows
/** @type {Outline<Trace> | undefined} */
let traceRows
/** Index of the tree that is shown. */
let treeIndex = 0
/** The time range that is shown; undefined for the whole recording. @type {Range | undefined} */
let range
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
    : `${costText(total[node])} (${percentText(total[node], rootTotal)}), own ${costText(self[node])}, ${callsText(calls[node], deviationOf(tree, node))}`
  detail.textContent = `${longName(tree.method[node])} — ${numbers}`
}

/**
 * @param {number} calls
 * @param {string | undefined} deviation  deviation of a sampled row
 */
function callsText(calls, deviation) {
  return deviation === undefined ? `${countText(calls)} ${data.words.calls}` : `sampled, ${deviation}`
}

/** @param {string} text */
function spaced(text) {
  return text === '' ? '' : `, ${text}`
}

/** The list with the latest selection, per tab of lists. @type {Map<string, number>} */
const activeLists = new Map()
/** @type {Map<string, List[]>} */
const lists = new Map()
for (const tab of Object.keys(data.lists)) {
  const actions = /** @param {number} list */ (list) => ({
    chosen,
    selected: () => void activeLists.set(tab, list),
    linked: () => linkRow(tab),
  })
  if (TABS.includes(tab)) lists.set(tab, listsOf(tab, actions))
}
/** @param {string} name  the element `<name>-place` has the charts, `<name>-second` the text @param {PageTimeline} of */
function chartsIn(name, of) {
  return new Timeline(
    element(`${name}-place`),
    of,
    (text) => {
      element(`${name}-second`).textContent = text
    },
    data.ranges && ((from, to) => showRange(1000 * from, 1000 * to)),
  )
}
const timeline = data.timeline && chartsIn('timeline', data.timeline)
const latencyChart = data.timeline?.charts.find(({ unit }) => unit === 'cost')
const charts = timeline === undefined ? [] : [timeline]
if (data.timeline !== undefined && latencyChart !== undefined)
  charts.push(chartsIn('latency', { ...data.timeline, charts: [latencyChart] }))

/**
 * Shows a time range in all tabs, rounded to segments.
 *
 * @param {number} fromMs
 * @param {number} toMs
 * @returns {Promise<boolean>}  false if the page has no segment in this range
 */
async function showRange(fromMs, toMs) {
  const found = rangeOf(fromMs, toMs)
  if (found === undefined) return false
  await setRange(found)
  return true
}

/** @param {Range | undefined} wanted  undefined for the whole recording */
async function setRange(wanted) {
  range = wanted
  element('range').hidden = wanted === undefined
  element('range-text').textContent = wanted === undefined ? '' : `${rangeText(wanted)}${wholeText()}`
  for (const it of charts) it.showRange((wanted?.fromMs ?? 0) / 1000, (wanted?.toMs ?? 0) / 1000)
  showLatency(wanted)
  for (const [index, list] of (lists.get('slow') ?? []).entries()) {
    const { title, columns } = data.lists.slow[index]
    if (columns[ENDED_AT][0] !== 'ended at') continue
    list.showPart(
      wanted && `${title}. Below: those of the kept calls that ended in the range`,
      ({ cells, whole }) => {
        const endMs = Number(whole[ENDED_AT]) / 1e6
        return wanted !== undefined && endMs >= wanted.fromMs && endMs < wanted.toMs ? [...cells] : undefined
      },
    )
  }
  await showTree(0)
}

/** Index of the column with the end of a call, in lists of slow calls. */
const ENDED_AT = 1

/** Returns a sentence with the parts of the page that show the whole recording, also if a range is selected. */
function wholeText() {
  const names = Object.keys(data.lists)
    .filter((it) => TABS.includes(it) && !['latency', 'slow'].includes(it))
    .map((it) => element(`tab-${it}`).textContent)
  if (data.trees.length > 1) names.push('the other entries of the list beside the tabs')
  return names.length === 0 ? '' : ` Of the whole recording: ${names.join(', ')}.`
}

/** @param {Range | undefined} wanted */
function showLatency(wanted) {
  const [percentiles, distribution] = lists.get('latency') ?? []
  if (percentiles === undefined || data.isComparison) return
  const calls = callsOfRange(wanted ?? { fromMs: 0, toMs: 0, segments: [], rows: [] })
  percentiles.showPart(
    wanted &&
      `Latency of ${countText(calls.count)} root ${calls.count === 1 ? 'call' : 'calls'} in the range`,
    ({ name }) => {
      if (name === 'minimum') return [calls.min]
      if (name === 'maximum') return [calls.max]
      return [name === 'mean' ? calls.mean : calls.percentile(Number(name.slice(1)))]
    },
  )
  let below = 0
  const bars = calls.bars.map((count) => {
    below += count
    return [count, (100 * count) / calls.count, (100 * below) / calls.count]
  })
  distribution?.showPart(wanted && 'Distribution in the range', ({ index }) => bars[index] ?? [0, 0, 100])
}

/** Shows what a row of a list refers to: a place in a tree, or the callers of a method. @param {ListRow} row */
async function chosen({ place, method }) {
  if (place !== undefined) {
    await showTree(place.tree)
    showTab('tree')
    treeRows?.show(pathTo(place.node))
  } else if (method >= 0) {
    showCallers(method)
    showTab('callers')
  }
}

/** @param {string} name */
function showTab(name) {
  for (const tab of TABS) {
    element(`tab-${tab}`).setAttribute('aria-selected', String(tab === name))
    element(`panel-${tab}`).hidden = tab !== name
  }
  link.hidden = true
  drawTab(name)
}

/** @param {string} name */
function drawTab(name) {
  if (name === 'flame') flame.draw()
  if (name === 'tree') treeRows?.draw()
  if (name === 'hot') hotRows?.draw()
  if (name === 'callers') traceRows?.draw()
  for (const list of lists.get(name) ?? []) list.draw()
}

function shownTab() {
  return TABS.find((it) => element(`tab-${it}`).getAttribute('aria-selected') === 'true') ?? TABS[0]
}

/**
 * Returns the position of the selected row of a tab, as in a link. Empty if no row is selected.
 *
 * @param {string} tab
 * @returns {readonly number[]}
 */
function positionIn(tab) {
  switch (tab) {
    case 'flame':
      return flame.selected < 0 ? [] : [flame.selected]
    case 'tree':
      return treeRows?.path.slice(-1) ?? []
    case 'hot':
      return hotRows?.path.map(({ method }) => method) ?? []
    case 'callers':
      return traceRows?.path.map(({ method }) => method) ?? []
    case 'timeline':
      return timeline === undefined ? [] : [timeline.second]
    default: {
      const list = activeLists.get(tab) ?? 0
      const row = lists.get(tab)?.[list]?.current
      return row === undefined ? [] : list === 0 ? [row.index] : [row.index, list]
    }
  }
}

/**
 * Selects the row at a position in a tab.
 *
 * @param {string} tab
 * @param {readonly number[]} at
 * @returns {boolean}  false if there is no such row
 */
function showPosition(tab, at) {
  const [first, second = 0] = at
  switch (tab) {
    case 'flame':
    case 'tree':
      if (tree === undefined || first >= tree.count) return false
      if (tab === 'flame') flame.zoom(first)
      else treeRows?.show(pathTo(first))
      return true
    case 'hot':
      return hotRows?.showWhere([isMethod(first)]) ?? false
    case 'callers':
      if (data.names[first] === undefined) return false
      showCallers(first)
      return traceRows?.showWhere(at.map(isMethod)) ?? false
    case 'timeline':
      return timeline?.show(first) ?? false
    default:
      return lists.get(tab)?.[second]?.show(first) ?? false
  }
}

/**
 * @param {number} method
 * @returns {(row: { method: number }) => boolean}
 */
function isMethod(method) {
  return (row) => row.method === method
}

/**
 * Makes a link to the selected row of a tab, and copies it if the browser permits.
 *
 * @param {string} tab
 */
async function linkRow(tab) {
  const tree = TREE_TABS.includes(tab) ? treeIndex : 0
  const fragment = linkText({
    ...{ tab, tree, at: positionIn(tab), page: PAGE_ID },
    range: range && [range.fromMs, range.toMs],
  })
  history.replaceState(null, '', fragment)
  // The path of a file is different on the machine of a colleague.
  const file = decodeURIComponent(location.pathname.slice(location.pathname.lastIndexOf('/') + 1))
  linkField.value = location.protocol === 'file:' ? file + fragment : location.href
  link.hidden = false
  linkField.select()
  element('link-note').textContent = await copyNote(linkField.value)
}

/** @param {string} text */
async function copyNote(text) {
  // Without a secure context there is no clipboard.
  if (navigator.clipboard === undefined) return COPY_BY_HAND
  return await navigator.clipboard.writeText(text).then(
    () => 'copied',
    () => COPY_BY_HAND,
  )
}
const COPY_BY_HAND = 'copy it with Ctrl+C'

/** Shows the row of the link in the address bar. A note names the parts of the link that are not in this page. */
async function followLink() {
  if (location.hash === '') return
  const { tab, tree: index, at, range: span, page, unknown } = readLink(location.hash)
  const missing = [...unknown]
  const isOfOther = page !== '' && page !== PAGE_ID
  if (span === undefined) {
    if (range !== undefined && !isOfOther) await setRange(undefined)
  } else if (!isOfOther && !(await showRange(span[0], span[1])))
    missing.push(`range=${span.map((ms) => ms / 1000).join('-')}`)
  if (tab !== '' && !TABS.includes(tab)) missing.push(`tab=${tab}`)
  else if (tab !== '') {
    if (index >= data.trees.length) missing.push(`tree=${index}`)
    else if (!isOfOther && TREE_TABS.includes(tab) && index !== treeIndex) await showTree(index)
    // A search filters the rows of hot methods.
    if (wanted() !== '') clearSearch()
    showTab(tab)
    if (at.length > 0 && !isOfOther && !showPosition(tab, at)) missing.push(positionText(at))
  }
  const problem = element('link-problem')
  problem.hidden = !isOfOther && missing.length === 0
  problem.textContent = isOfOther
    ? 'This link is of another page. Open the file that the link names, or ask for the file.'
    : `This page does not have these parts of the link: ${missing.join(', ')}`
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
      /** @param {Trace} node @param {string} column */ (node, column) => node.sums[column],
      () => trace.sums.total,
      sampledSums(of),
    ),
    children: (node) => (node === undefined ? [trace] : callersOf(of, node)),
    hasChildren: (node) => node.hasCallers,
    name: (node) => fullName(node.method),
    heat: (node) => (trace.sums.total > 0 ? node.sums.total / trace.sums.total : 0),
    chosen: (node) => showCallers(node.method),
    linked: () => linkRow('callers'),
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
    sampledSums(tree),
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
    linked: () => linkRow('hot'),
  })
  hotRows.draw()
  const { hotLeftOut } = tree.head
  const rest = hotLeftOut > 0 ? ` ${countText(hotLeftOut)} methods that take less are not in this page.` : ''
  element('hot-note').textContent =
    (words === '' ? '' : `${countText(shown.length)} of ${countText(all.length)} methods match. `) +
    `Enter or a double click: who calls it.${rest}`
}

/** List of the trees; absent if the page has one tree. */
const choice = document.getElementById('shown')
/** Number of trees requested so far. A tree is not shown if another tree was requested during its decoding. */
let asked = 0

/** @param {number} index */
async function showTree(index) {
  const head = data.trees[index]
  if (head === undefined) return
  const mine = ++asked
  const shown = index === 0 ? range : undefined
  const decoded = shown === undefined ? await decodeTree(head) : await treeOfRange(shown)
  if (mine !== asked) return
  tree = decoded
  treeIndex = index
  if (choice instanceof HTMLSelectElement) choice.value = String(index)
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
    decoded.head.leftOut > 0
      ? `The ${countText(decoded.count)} largest contexts are in this page; ${countText(decoded.head.leftOut)} smaller ones are not. Costs of what is shown are whole.`
      : ''
  flame.show(decoded, weightsOf(decoded, widths()))
  const notes = new Map(decoded.head.notes)
  treeRows = new Outline({
    ...{ place: element('tree-place'), label: 'calling context tree' },
    columns: treeColumns(
      /** @param {number} node @param {string} column */ (node, column) => decoded.columns[column][node],
      () => rootTotal,
      (node) => deviationOf(decoded, node),
    ),
    children: (node) => childrenOf(decoded, node ?? -1),
    hasChildren: (node) => decoded.size[node] > 1,
    name: (node) => fullName(decoded.method[node]),
    note: (node) => {
      const left = decoded.leftOut?.[node] ?? 0
      const rest =
        left > 0 ? `and ${countText(left)} smaller ${left === 1 ? 'context' : 'contexts'} below` : ''
      return [notes.get(node) ?? '', rest].filter((it) => it !== '').join(', ')
    },
    heat: (node) => (rootTotal > 0 ? total[node] / rootTotal : 0),
    selected: describe,
    chosen: (node) => {
      showCallers(decoded.method[node])
      showTab('callers')
    },
    linked: () => linkRow('tree'),
  })
  treeRows.openLargest(30, rootTotal * 0.02)
  showHot()
  traced = -1
  const largest = decoded.head.hot[0]
  if (largest !== undefined) showCallers(largest[0])
  find()
}

function widths() {
  const wide = document.getElementById('widths')
  return wide instanceof HTMLSelectElement ? wide.value : 'now'
}

function wanted() {
  return search.value.trim().toLowerCase()
}

function clearSearch() {
  search.value = ''
  find()
  showHot()
}

function mark() {
  const words = wanted()
  const isMatch = /** @param {number} method */ (method) =>
    words !== '' && fullName(method).toLowerCase().includes(words)
  treeRows?.mark((node) => tree !== undefined && isMatch(tree.method[node]))
  for (const list of [...lists.values()].flat()) list.mark(words)
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
    if (shownTab() !== 'hot' && shownTab() !== 'flame') showTab('tree')
    findNext()
  } else if (event.key === 'Escape') {
    clearSearch()
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
if (choice instanceof HTMLSelectElement) {
  choice.addEventListener('change', () => {
    showTree(Number(choice.value)).catch((error) => {
      detail.textContent = `These calls cannot be shown: ${error instanceof Error ? error.message : error}`
    })
  })
}
element('range-end').addEventListener('click', () => setRange(undefined))
element('link-button').addEventListener('click', () => linkRow('flame'))
document.getElementById('second-link')?.addEventListener('click', () => linkRow('timeline'))
window.addEventListener('hashchange', () => followLink())
document.addEventListener('keydown', (event) => {
  if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key === '/') {
    event.preventDefault()
    search.focus()
  } else if (event.key === 'n') findNext()
  else if (event.key === 'c') {
    if (shownTab() === 'flame' && tree !== undefined && flame.selected >= 0)
      showCallers(tree.method[flame.selected])
    else if (shownTab() === 'tree' && tree !== undefined && treeRows?.current !== undefined) {
      showCallers(tree.method[treeRows.current])
    } else if (traced >= 0) showCallers(traced)
    showTab('callers')
  } else if (event.key === 'l') linkRow(shownTab())
  else if (event.key === 'Escape' && ['timeline', 'latency'].includes(shownTab())) setRange(undefined)
  else if (/^\d$/.test(event.key)) {
    const tab = TABS[(Number(event.key) + 9) % 10]
    if (tab !== undefined) showTab(tab)
  }
})
window.addEventListener('beforeprint', () => {
  document.body.classList.add('printing')
  for (const tab of TABS) element(`panel-${tab}`).hidden = false
  for (const tab of TABS) drawTab(tab)
})
window.addEventListener('afterprint', () => {
  document.body.classList.remove('printing')
  showTab(shownTab())
})

setTheme(window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')
showTab(TABS[0])
await showTree(0)
await followLink()
document.body.dataset.ready = 'true'
// Tests read the drawn frames here, since the contents of a canvas cannot be queried.
Object.assign(window, { jfluidFrames: () => flame.frames() })
