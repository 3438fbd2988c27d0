// Lists of the page: latency, slow calls, locks, traces, session cost. ../page-data.ts defines their rows.

import { data, element, fullName } from './data.js'
import { changeText, costText, countText, shareText, timeText } from './format.js'
import { Outline } from './outline.js'

/** @import { CellUnit, PageColumn, PageList, PlaceInTree } from '../page-data.ts' */

/**
 * A row of a list. `index` is its position in the list.
 *
 * @typedef {object} ListRow
 * @property {number} index
 * @property {number} method  -1 if the row is not a method
 * @property {string} name
 * @property {string} note
 * @property {readonly (number | string)[]} cells
 * @property {readonly (number | string)[]} whole  the cells for the whole recording
 * @property {PlaceInTree | undefined} place
 * @property {ListRow | undefined} above
 * @property {ListRow[]} below
 */

/** Minimum number of rows that a list opens by itself. */
const OPENED_ROWS = 30

/**
 * Formats a number in a unit of the page's lists and charts.
 *
 * @param {number} value
 * @param {CellUnit} unit
 */
export function unitText(value, unit) {
  switch (unit) {
    case 'cost':
      return costText(value)
    case 'change':
      return changeText(value)
    case 'ns':
      return timeText(value)
    case 'percent':
      return shareText(value)
    default:
      return countText(value)
  }
}

export class List {
  #outline
  /** @type {ListRow[]} */
  #rows
  #title
  /** Title for the whole recording. */
  #wholeTitle
  /** @type {(row: ListRow) => boolean} */
  #isShown = () => true
  /** Value with the longest bar. */
  #largest
  #bar

  /**
   * @param {HTMLElement} place
   * @param {PageList} list
   * @param {{ chosen: (row: ListRow) => void, selected: () => void, linked: () => void }} actions
   */
  constructor(place, list, actions) {
    this.#rows = rowsOf(list)
    this.#title = element(place.id.replace('list-', 'title-'))
    this.#wholeTitle = this.#title.textContent ?? ''
    const { bar } = list
    this.#bar = bar
    this.#largest = this.#longest()
    /** @type {Outline<ListRow>} */
    this.#outline = new Outline({
      ...{ place, label: list.title, head: list.head, isInOrder: true },
      columns: list.columns.map((column, index) => outlineColumn(column, index)),
      children: (row) =>
        row === undefined
          ? this.#rows.filter((it) => it.above === undefined && this.#isShown(it))
          : [...row.below],
      hasChildren: ({ below }) => below.length > 0,
      name: ({ name }) => name,
      note: ({ note }) => note,
      isChosen: ({ place: leads }) => leads !== undefined,
      heat: (row) =>
        bar === undefined || !(this.#largest > 0) ? 0 : Math.max(0, cellOf(row, bar)) / this.#largest,
      ...actions,
    })
    this.#outline.openFirst(OPENED_ROWS)
  }

  draw() {
    this.#outline.draw()
  }

  /**
   * Shows the rows of a part of the recording.
   *
   * @param {string | undefined} title  undefined for the whole recording
   * @param {(row: ListRow) => (number | string)[] | undefined} cellsOf  returns the cells of a row, or undefined for a row that is not shown
   */
  showPart(title, cellsOf) {
    this.#title.textContent = title ?? this.#wholeTitle
    for (const row of this.#rows) row.cells = (title === undefined ? undefined : cellsOf(row)) ?? row.whole
    this.#isShown = (row) => title === undefined || cellsOf(row) !== undefined
    this.#largest = this.#longest()
    this.#outline.rebuild()
  }

  #longest() {
    const bar = this.#bar
    return bar === undefined ? 0 : this.#rows.reduce((most, it) => Math.max(most, cellOf(it, bar)), 0)
  }

  /** @returns {ListRow | undefined} */
  get current() {
    return this.#outline.current
  }

  /** @param {string} words */
  mark(words) {
    this.#outline.mark(({ name }) => words !== '' && name.toLowerCase().includes(words))
  }

  /**
   * Selects a row.
   *
   * @param {number} index
   * @returns {boolean}  false if the list has no such row
   */
  show(index) {
    const row = this.#rows[index]
    if (row === undefined) return false
    const path = []
    for (let at = /** @type {ListRow | undefined} */ (row); at !== undefined; at = at.above) path.push(at)
    this.#outline.show(path.reverse())
    return true
  }
}

/**
 * @param {ListRow} row
 * @param {number} column
 */
function cellOf({ cells }, column) {
  const value = cells[column]
  return typeof value === 'number' ? value : Number.NEGATIVE_INFINITY
}

/**
 * @param {PageColumn} column
 * @param {number} index
 * @returns {import('./outline.js').Column<ListRow>}
 */
function outlineColumn([title, hint, unit], index) {
  return {
    ...{ title, hint },
    text: ({ cells }) => {
      const value = cells[index] ?? ''
      return typeof value === 'number' ? unitText(value, unit) : value
    },
    ...(unit !== 'text' && { value: (row) => cellOf(row, index) }),
  }
}

/** @param {PageList} list */
function rowsOf({ rows, places }) {
  /** @type {ListRow[]} */
  const made = []
  /** Latest row of each depth. @type {ListRow[]} */
  const open = []
  for (const [index, [depth, name, note, ...cells]] of rows.entries()) {
    const above = depth > 0 ? open[depth - 1] : undefined
    const method = typeof name === 'number' ? name : -1
    /** @type {ListRow} */
    const row = {
      ...{
        index,
        method,
        name: typeof name === 'number' ? fullName(name) : name,
        note,
        ...{ cells, whole: cells },
        above,
        below: [],
      },
      place: places?.[index] ?? undefined,
    }
    above?.below.push(row)
    open[depth] = row
    made.push(row)
  }
  return made
}

/**
 * Makes the lists of a tab.
 *
 * @param {string} tab
 * @param {(list: number) => { chosen: (row: ListRow) => void, selected: () => void, linked: () => void }} actions
 */
export function listsOf(tab, actions) {
  return (data.lists[tab] ?? []).map(
    (list, index) => new List(element(`list-${tab}-${index}`), list, actions(index)),
  )
}
