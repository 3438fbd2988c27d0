// Rows that open and close: a tree, back traces, or a flat list. Only visible rows are in the document.

/**
 * @template N
 * @typedef {object} Column
 * @property {string} title
 * @property {string} hint
 * @property {(node: N) => string} text
 * @property {(node: N) => number} [value]  sort key, largest first; rows are not sorted by a column without it
 */

/**
 * @template N
 * @typedef {object} OutlineOptions
 * @property {HTMLElement} place
 * @property {string} label  label for screen readers
 * @property {Column<N>[]} columns
 * @property {string} [head]  header of the column of names; default: method
 * @property {boolean} [isInOrder]  whether rows keep the order of `children` until a column is selected; default: sorted by the first column
 * @property {(node: N | undefined) => N[]} children  returns the rows below a node, or the top rows for undefined
 * @property {(node: N) => boolean} hasChildren
 * @property {(node: N) => string} name
 * @property {(node: N) => string} [note]  text after the name
 * @property {(node: N) => number} [heat]  heat from 0 to 1
 * @property {(node: N) => void} [selected]
 * @property {(node: N) => void} [chosen]  called for Enter or a double click on a row without children
 * @property {(node: N) => boolean} [isChosen]  whether `chosen` is called for the row also if it has children
 * @property {() => void} linked  called when the user asks for a link to the selected row
 */

const ROW = 22
/** Maximum number of rows on paper. */
const PRINTED = 200

/** @template N */
export class Outline {
  /** @type {OutlineOptions<N>} */
  #o
  /** @type {{ node: N, depth: number }[]} */
  #rows = []
  /** @type {Set<N>} */
  #open = new Set()
  #at = 0
  /** Index of the column by which rows are sorted; -1 for the order of `children`. */
  #sort = 0
  #isReversed = false
  /** @type {(node: N) => boolean} */
  #isMatch = () => false
  /** @type {Map<N, N[]>} Children are created once, so that the objects of back traces stay identical */
  #made = new Map()
  #scroller = document.createElement('div')
  #window = document.createElement('div')
  #spacer = document.createElement('div')
  #head = document.createElement('div')

  /** @param {OutlineOptions<N>} options */
  constructor(options) {
    this.#o = options
    const { place, label, isInOrder } = options
    if (isInOrder) this.#sort = -1
    place.replaceChildren(this.#head, this.#scroller)
    this.#head.className = 'head'
    this.#scroller.className = 'rows'
    this.#scroller.tabIndex = 0
    this.#scroller.setAttribute('role', 'tree')
    this.#scroller.setAttribute('aria-label', label)
    this.#spacer.append(this.#window)
    this.#window.className = 'window'
    this.#scroller.append(this.#spacer)
    this.#scroller.addEventListener('scroll', () => this.draw())
    this.#scroller.addEventListener('keydown', (event) => this.#key(event))
    this.#scroller.addEventListener('click', (event) => this.#click(event))
    this.#drawHead()
    this.#build()
  }

  /** @returns {N | undefined} */
  get current() {
    return this.#rows[this.#at]?.node
  }

  /** Rows from the top row down to the selected row. */
  get path() {
    const path = []
    let depth = Number.POSITIVE_INFINITY
    for (let at = this.#at; at >= 0 && depth > 0; at--) {
      const row = this.#rows[at]
      if (row === undefined || row.depth >= depth) continue
      path.push(row.node)
      depth = row.depth
    }
    return path.reverse()
  }

  /** @param {(node: N) => boolean} isMatch */
  mark(isMatch) {
    this.#isMatch = isMatch
    this.draw()
  }

  /** Rebuilds all rows, and keeps the open rows open. */
  rebuild() {
    this.#made.clear()
    this.#build()
    this.draw()
  }

  /** @param {readonly N[]} path  nodes from the top down: the last node is selected, and its ancestors are opened */
  show(path) {
    for (const node of path.slice(0, -1)) this.#open.add(node)
    this.#build()
    const last = path[path.length - 1]
    this.#select(
      Math.max(
        0,
        this.#rows.findIndex(({ node }) => node === last),
      ),
    )
  }

  /**
   * Selects the row that is found from the top down, and opens its ancestors.
   *
   * @param {readonly ((node: N) => boolean)[]} steps  one condition per level
   * @returns {boolean}  false if there is no such row
   */
  showWhere(steps) {
    const path = []
    let nodes = this.#children(undefined)
    for (const isWanted of steps) {
      const found = nodes.find(isWanted)
      if (found === undefined) return false
      path.push(found)
      nodes = this.#o.hasChildren(found) ? this.#children(found) : []
    }
    this.show(path)
    return true
  }

  /**
   * Opens rows with the largest values first.
   *
   * @param {number} rows  no further row is opened when there are at least this many rows
   * @param {number} least  minimum value of a row that is opened
   */
  openLargest(rows, least) {
    const value = this.#o.columns[0].value ?? (() => 0)
    while (this.#rows.length < rows) {
      const [largest] = this.#closed().sort((a, b) => value(b.node) - value(a.node))
      if (largest === undefined || value(largest.node) < least) break
      this.#open.add(largest.node)
      this.#build()
    }
    this.draw()
  }

  /**
   * Opens rows in their order, rows without parents first.
   *
   * @param {number} rows  no further row is opened when there are at least this many rows
   */
  openFirst(rows) {
    while (this.#rows.length < rows) {
      const [first] = this.#closed().sort((a, b) => a.depth - b.depth)
      if (first === undefined) break
      this.#open.add(first.node)
      this.#build()
    }
    this.draw()
  }

  #closed() {
    return this.#rows.filter(({ node }) => !this.#open.has(node) && this.#o.hasChildren(node))
  }

  /** @param {N | undefined} node */
  #children(node) {
    const key = /** @type {N} */ (node)
    let found = this.#made.get(key)
    if (found === undefined) {
      found = this.#sorted(this.#o.children(node))
      this.#made.set(key, found)
    }
    return found
  }

  /** @param {N[]} nodes */
  #sorted(nodes) {
    const value = this.#o.columns[this.#sort]?.value
    if (value === undefined) return nodes
    const sign = this.#isReversed ? -1 : 1
    return nodes.sort((a, b) => sign * compared(value(b), value(a)))
  }

  #build() {
    const rows = []
    const stack = [{ nodes: this.#children(undefined), at: 0 }]
    while (stack.length > 0) {
      const top = stack[stack.length - 1]
      if (top.at === top.nodes.length) {
        stack.pop()
        continue
      }
      const node = top.nodes[top.at++]
      rows.push({ node, depth: stack.length - 1 })
      if (this.#open.has(node)) stack.push({ nodes: this.#children(node), at: 0 })
    }
    const before = this.current
    this.#rows = rows
    const now = before === undefined ? 0 : rows.findIndex(({ node }) => node === before)
    this.#at = Math.max(0, now)
    this.#spacer.style.height = `${rows.length * ROW}px`
  }

  #drawHead() {
    const heads = this.#o.columns.map(({ title, hint, value }, index) => {
      if (value === undefined) {
        const text = document.createElement('span')
        text.className = 'number quiet'
        text.textContent = title
        return text
      }
      const button = document.createElement('button')
      button.className = 'number'
      button.title = `${hint}; click to sort`
      button.textContent = title + (index === this.#sort ? (this.#isReversed ? ' ▴' : ' ▾') : '')
      button.addEventListener('click', () => {
        this.#isReversed = index === this.#sort && !this.#isReversed
        this.#sort = index
        this.#drawHead()
        for (const nodes of this.#made.values()) this.#sorted(nodes)
        this.#build()
        this.draw()
      })
      return button
    })
    const name = document.createElement('span')
    name.className = 'name'
    name.textContent = this.#o.head ?? 'method'
    // biome-ignore lint/plugin/no-spread: the columns of a table
    this.#head.replaceChildren(...heads, name)
    this.#head.hidden = this.#head.textContent === ''
  }

  draw() {
    const isPrinting = document.body.classList.contains('printing')
    const from = isPrinting ? 0 : Math.max(0, Math.floor(this.#scroller.scrollTop / ROW) - 4)
    const shown = isPrinting ? PRINTED : Math.ceil((this.#scroller.clientHeight || 600) / ROW) + 8
    const rows = this.#rows.slice(from, from + shown).map((row, index) => this.#row(row, from + index))
    // On paper, the rows have their natural height.
    this.#spacer.style.height = isPrinting ? 'auto' : `${this.#rows.length * ROW}px`
    this.#window.style.transform = `translateY(${from * ROW}px)`
    // biome-ignore lint/plugin/no-spread: the visible rows, at most 200 on paper
    this.#window.replaceChildren(...rows)
    this.#scroller.setAttribute('aria-activedescendant', `${this.#o.place.id}-${this.#at}`)
  }

  /**
   * @param {{ node: N, depth: number }} row
   * @param {number} index
   */
  #row({ node, depth }, index) {
    const { columns, hasChildren, name, note, heat, place } = this.#o
    const line = document.createElement('div')
    line.className = 'row'
    line.id = `${place.id}-${index}`
    line.dataset.index = String(index)
    line.setAttribute('role', 'treeitem')
    line.setAttribute('aria-level', String(depth + 1))
    line.setAttribute('aria-selected', String(index === this.#at))
    if (index === this.#at) line.classList.add('selected')
    if (this.#isMatch(node)) line.classList.add('match')
    for (const { text } of columns) {
      const cell = document.createElement('span')
      cell.className = 'number'
      cell.textContent = text(node)
      line.append(cell)
    }
    const text = document.createElement('span')
    text.className = 'name'
    const isOpen = this.#open.has(node)
    const mark = document.createElement('span')
    mark.className = 'mark'
    mark.textContent = hasChildren(node) ? (isOpen ? '▾' : '▸') : ''
    if (hasChildren(node)) line.setAttribute('aria-expanded', String(isOpen))
    text.style.paddingLeft = `${Math.min(depth, 40) * 14}px`
    const label = document.createElement('span')
    label.textContent = name(node)
    label.title = name(node)
    text.append(mark, depth > 40 ? `[${depth}] ` : '', label)
    const behind = note?.(node) ?? ''
    if (behind !== '') {
      const quiet = document.createElement('span')
      quiet.className = 'quiet'
      quiet.textContent = ` ${behind}`
      quiet.title = behind
      text.append(quiet)
    }
    line.append(text, linkButton())
    const part = heat?.(node) ?? 0
    if (part > 0) line.style.setProperty('--heat-part', `${Math.min(100, part * 100).toFixed(1)}%`)
    return line
  }

  /** @param {number} index */
  #select(index) {
    this.#at = Math.max(0, Math.min(this.#rows.length - 1, index))
    const top = this.#at * ROW
    const { scrollTop, clientHeight } = this.#scroller
    if (top < scrollTop) this.#scroller.scrollTop = top
    else if (top + ROW > scrollTop + clientHeight) this.#scroller.scrollTop = top + ROW - clientHeight
    this.draw()
    const { current } = this
    if (current !== undefined) this.#o.selected?.(current)
  }

  /** @param {boolean} isOpen */
  #setOpen(isOpen) {
    const { current } = this
    if (current === undefined || !this.#o.hasChildren(current) || this.#open.has(current) === isOpen)
      return false
    if (isOpen) this.#open.add(current)
    else this.#open.delete(current)
    this.#build()
    this.draw()
    return true
  }

  /** Whether Enter and a double click open and close the row. @param {N} node */
  #opens(node) {
    return this.#o.hasChildren(node) && this.#o.isChosen?.(node) !== true
  }

  #choose() {
    const { current } = this
    if (current !== undefined) this.#o.chosen?.(current)
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const { target } = event
    const line = target instanceof Element ? target.closest('.row') : null
    if (!(line instanceof HTMLElement) || !(target instanceof Element)) return
    this.#select(Number(line.dataset.index))
    const { current } = this
    if (current === undefined) return
    // A double click is the second click of a series. The event `dblclick` is not sent if the first click has replaced the row.
    const isSecond = event.detail === 2
    if (target.matches('.link')) this.#o.linked()
    else if (this.#opens(current) || target.matches('.mark')) {
      if (isSecond || target.matches('.mark')) this.#setOpen(!this.#open.has(current))
    } else if (isSecond && !target.matches('.mark')) this.#choose()
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / ROW) - 1)
    const depth = this.#rows[this.#at]?.depth ?? 0
    /** @type {{ [key: string]: () => void }} */
    const keys = {
      ArrowDown: () => this.#select(this.#at + 1),
      ArrowUp: () => this.#select(this.#at - 1),
      PageDown: () => this.#select(this.#at + page),
      PageUp: () => this.#select(this.#at - page),
      Home: () => this.#select(0),
      End: () => this.#select(this.#rows.length - 1),
      ArrowRight: () => {
        if (!this.#setOpen(true) && (this.#rows[this.#at + 1]?.depth ?? 0) > depth) this.#select(this.#at + 1)
      },
      ArrowLeft: () => {
        if (this.#setOpen(false)) return
        let above = this.#at
        while (above > 0 && this.#rows[above].depth >= depth) above--
        if (depth > 0) this.#select(above)
      },
      Enter: () => {
        const { current } = this
        if (current === undefined) return
        if (!this.#opens(current)) this.#choose()
        else if (!this.#setOpen(true)) this.#setOpen(false)
      },
    }
    const does = keys[event.key]
    if (does === undefined) return
    event.preventDefault()
    does()
  }
}

/**
 * Compares two sort keys, of which both may be infinite.
 *
 * @param {number} a
 * @param {number} b
 */
function compared(a, b) {
  return a === b ? 0 : a - b
}

function linkButton() {
  const button = document.createElement('button')
  button.className = 'link'
  button.textContent = 'link'
  button.title = 'link to this row, for a colleague who has this file ( l )'
  button.tabIndex = -1
  return button
}
