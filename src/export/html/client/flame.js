// Flame graph, drawn as an icicle: the root on top, callees below each method, with a width proportional to cost. It is drawn on a canvas,
// in time proportional to the visible frames.

import { childrenOf, data, fittingName, fullName, packageOf } from './data.js'

/** @import { Tree } from './data.js' */

/**
 * @typedef {object} FlameOptions
 * @property {HTMLElement} place
 * @property {(node: number) => void} selected  called when the selection changes; -1 if no node is selected
 * @property {(node: number) => number} change  in a comparison: change of a node's cost, -1 to 1
 * @property {boolean} isComparison
 */

const FRAME = 19
/** Minimum width of a frame that is drawn separately, in pixels. */
const MIN_FRAME_WIDTH = 0.7

/** Background colours that are readable with black text and distinguishable for colour-blind readers (after Okabe and Ito). */
const PALETTE = ['#e69f00', '#56b4e9', '#f0e442', '#8fd0bd', '#e0a3c4', '#f3b98b', '#b9d7f2', '#d9d28a']

export class Flame {
  #o
  /** @type {Tree | undefined} */
  #tree
  /** @type {Float64Array} */
  #weight = new Float64Array(0)
  #zoom = -1
  #selected = -1
  /** @type {Uint8Array | undefined} */
  #matches
  /** Drawn frames, to find the frame at the mouse position. @type {{ x: number, y: number, width: number, node: number }[]} */
  #drawn = []
  #canvas = document.createElement('canvas')
  #scroller = document.createElement('div')
  #spacer = document.createElement('div')
  /** @type {boolean | undefined} */
  #isByPackage
  /** @type {Map<number, string>} */
  #colors = new Map()

  /** @param {FlameOptions} options */
  constructor(options) {
    this.#o = options
    this.#scroller.className = 'flame'
    this.#scroller.tabIndex = 0
    this.#scroller.setAttribute('role', 'application')
    this.#scroller.setAttribute('aria-label', 'flame graph; the line below tells the selected frame')
    this.#spacer.append(this.#canvas)
    this.#scroller.append(this.#spacer)
    options.place.replaceChildren(this.#scroller)
    this.#scroller.addEventListener('scroll', () => this.draw())
    this.#scroller.addEventListener('keydown', (event) => this.#key(event))
    this.#canvas.addEventListener('mousemove', (event) => {
      const node = this.#nodeAt(event)
      this.#canvas.style.cursor = node < 0 ? 'default' : 'pointer'
      options.selected(node < 0 ? this.#selected : node)
    })
    this.#canvas.addEventListener('mouseleave', () => options.selected(this.#selected))
    this.#canvas.addEventListener('click', (event) => {
      const node = this.#nodeAt(event)
      if (node < 0) return
      this.#selected = node
      this.zoom(node)
      this.#scroller.focus({ preventScroll: true })
    })
    new ResizeObserver(() => this.draw()).observe(this.#scroller)
  }

  get selected() {
    return this.#selected
  }

  get zoomed() {
    return this.#zoom
  }

  /**
   * @param {Tree} tree
   * @param {Float64Array} weight  width per node; a child is never wider than its parent
   */
  show(tree, weight) {
    if (tree !== this.#tree) {
      this.#zoom = -1
      this.#selected = tree.count > 0 ? 0 : -1
      this.#matches = undefined
    }
    this.#tree = tree
    this.#weight = weight
    this.zoom(this.#zoom)
  }

  /** @param {Uint8Array | undefined} matches  1 per matching node */
  highlight(matches) {
    this.#matches = matches
    this.draw()
  }

  /** @param {number} node  -1 for all nodes */
  zoom(node) {
    const tree = this.#tree
    if (tree === undefined) return
    this.#zoom = node
    if (node >= 0) this.#selected = node
    let deepest = 0
    const [from, end] = node < 0 ? [0, tree.count] : [node, node + tree.size[node]]
    const scale = this.#width / this.#whole
    for (let i = from; i < end; i++) {
      if (this.#weight[i] * scale >= MIN_FRAME_WIDTH && tree.depth[i] > deepest) deepest = tree.depth[i]
    }
    this.#spacer.style.height = `${(deepest + 1) * FRAME}px`
    this.#o.selected(this.#selected)
    this.draw()
  }

  get #width() {
    return Math.max(100, this.#scroller.clientWidth)
  }

  get #whole() {
    const tree = this.#tree
    if (tree === undefined) return 1
    if (this.#zoom >= 0) return Math.max(this.#weight[this.#zoom], Number.MIN_VALUE)
    let all = 0
    for (let i = 0; i < tree.count; i += tree.size[i]) all += Math.max(0, this.#weight[i])
    return Math.max(all, Number.MIN_VALUE)
  }

  draw() {
    const tree = this.#tree
    const context = this.#canvas.getContext('2d')
    if (tree === undefined || context === null) return
    const ratio = window.devicePixelRatio || 1
    const [width, height] = [this.#width, Math.max(FRAME, this.#scroller.clientHeight)]
    this.#canvas.width = Math.round(width * ratio)
    this.#canvas.height = Math.round(height * ratio)
    this.#canvas.style.width = `${width}px`
    this.#canvas.style.height = `${height}px`
    context.setTransform(ratio, 0, 0, ratio, 0, -this.#scroller.scrollTop * ratio)
    context.font = '12px system-ui, sans-serif'
    context.textBaseline = 'middle'
    this.#drawn = []
    const top = this.#scroller.scrollTop
    const first = Math.floor(top / FRAME) - 1
    const last = Math.ceil((top + height) / FRAME)
    const scale = width / this.#whole
    /** @type {{ node: number, x: number }[]} */
    const stack = []
    if (this.#zoom >= 0) {
      for (let above = tree.parent[this.#zoom]; above >= 0; above = tree.parent[above]) {
        this.#frame(context, above, 0, width, first, last, true)
      }
      stack.push({ node: this.#zoom, x: 0 })
    } else this.#pushChildren(-1, 0, scale, stack, context, first, last)
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { node, x } = next
      this.#frame(context, node, x, this.#weight[node] * scale, first, last, false)
      if (tree.depth[node] < last) this.#pushChildren(node, x, scale, stack, context, first, last)
    }
  }

  /**
   * @param {number} parent
   * @param {number} x
   * @param {number} scale
   * @param {{ node: number, x: number }[]} stack
   * @param {CanvasRenderingContext2D} context
   * @param {number} first
   * @param {number} last
   */
  #pushChildren(parent, x, scale, stack, context, first, last) {
    const tree = /** @type {Tree} */ (this.#tree)
    const end = parent < 0 ? tree.count : parent + tree.size[parent]
    const depth = parent < 0 ? 0 : tree.depth[parent] + 1
    let [at, slivers] = [x, 0]
    for (let child = parent + 1; child < end; child += tree.size[child]) {
      const width = Math.max(0, this.#weight[child]) * scale
      if (width >= MIN_FRAME_WIDTH) {
        stack.push({ node: child, x: at })
        at += width
      } else slivers += width
    }
    if (slivers < MIN_FRAME_WIDTH || depth < first || depth > last) return
    context.fillStyle = '#9a9a9a'
    context.fillRect(at, depth * FRAME, slivers, FRAME - 1)
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} node
   * @param {number} x
   * @param {number} width
   * @param {number} first
   * @param {number} last
   * @param {boolean} isAbove  whether the frame is above the zoomed frame
   */
  #frame(context, node, x, width, first, last, isAbove) {
    const tree = /** @type {Tree} */ (this.#tree)
    const depth = tree.depth[node]
    if (depth < first || depth > last || width < MIN_FRAME_WIDTH) return
    const y = depth * FRAME
    const isDim = this.#matches !== undefined && this.#matches[node] === 0
    context.globalAlpha = isAbove || isDim ? 0.35 : 1
    context.fillStyle = this.#colorOf(node)
    context.fillRect(x, y, Math.max(MIN_FRAME_WIDTH, width - 0.6), FRAME - 1)
    context.globalAlpha = 1
    if (node === this.#selected) {
      context.strokeStyle = getComputedStyle(document.body).color
      context.lineWidth = 2
      context.strokeRect(x + 1, y + 1, Math.max(1, width - 2.6), FRAME - 3)
    }
    this.#drawn.push({ x, y, width, node })
    if (width < 24) return
    const room = width - 6
    const method = tree.method[node]
    // A letter is about six pixels wide. A text with less than three pixels per letter is rejected without a measurement.
    const text = fittingName(method, (it) => it.length * 3 < room && context.measureText(it).width <= room)
    if (text === '') return
    const isDark = document.documentElement.dataset.theme === 'dark'
    context.fillStyle = (isAbove || isDim) && isDark ? '#ddd' : '#111'
    context.fillText(text, x + 3, y + FRAME / 2)
  }

  /** @param {number} node */
  #colorOf(node) {
    const tree = /** @type {Tree} */ (this.#tree)
    if (this.#o.isComparison) return changeColor(this.#o.change(node))
    const method = tree.method[node]
    let color = this.#colors.get(method)
    if (color === undefined) {
      let hash = 7
      for (const letter of this.#kindOf(method)) hash = (Math.imul(hash, 31) + letter.charCodeAt(0)) | 0
      color = PALETTE[Math.abs(hash) % PALETTE.length]
      this.#colors.set(method, color)
    }
    return color
  }

  /**
   * Returns the text that determines the colour of a method: the package, or the class if there are few packages.
   *
   * @param {number} method
   */
  #kindOf(method) {
    this.#isByPackage ??= new Set(data.names.map((_, it) => packageOf(it))).size > 4
    return this.#isByPackage ? packageOf(method) : (data.classes[data.names[method]?.[0] ?? -1] ?? '')
  }

  /** @param {MouseEvent} event */
  #nodeAt(event) {
    const box = this.#canvas.getBoundingClientRect()
    const [x, y] = [event.clientX - box.left, event.clientY - box.top + this.#scroller.scrollTop]
    const found = this.#drawn.find((it) => x >= it.x && x < it.x + it.width && y >= it.y && y < it.y + FRAME)
    return found?.node ?? -1
  }

  /** @param {number} node */
  #select(node) {
    const tree = this.#tree
    if (tree === undefined || node < 0 || node >= tree.count) return
    this.#selected = node
    const top = tree.depth[node] * FRAME
    const { scrollTop, clientHeight } = this.#scroller
    if (top < scrollTop) this.#scroller.scrollTop = top
    else if (top + FRAME > scrollTop + clientHeight) this.#scroller.scrollTop = top + FRAME - clientHeight
    this.#o.selected(node)
    this.draw()
  }

  /** @param {number} step  1 for the next visible sibling, -1 for the previous */
  #sibling(step) {
    const tree = this.#tree
    if (tree === undefined || this.#selected < 0 || this.#selected === this.#zoom) return
    const scale = this.#width / this.#whole
    const all = childrenOf(tree, tree.parent[this.#selected])
    const seen = all.filter((it) => it === this.#selected || this.#weight[it] * scale >= MIN_FRAME_WIDTH)
    this.#select(seen[seen.indexOf(this.#selected) + step] ?? -1)
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const tree = this.#tree
    if (tree === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    const out = () => this.zoom(this.#zoom < 0 ? -1 : tree.parent[this.#zoom])
    /** @type {{ [key: string]: () => void }} */
    const keys = {
      ArrowDown: () => {
        const below = childrenOf(tree, this.#selected)
        this.#select(
          below.reduce((best, it) => (best < 0 || this.#weight[it] > this.#weight[best] ? it : best), -1),
        )
      },
      ArrowUp: () => this.#select(tree.parent[this.#selected] ?? -1),
      ArrowRight: () => this.#sibling(1),
      ArrowLeft: () => this.#sibling(-1),
      Enter: () => this.zoom(this.#selected),
      Escape: out,
      Backspace: out,
      Home: () => this.zoom(-1),
    }
    const does = keys[event.key]
    if (does === undefined) return
    event.preventDefault()
    does()
  }

  /** Returns the name and the centre of each drawn frame, relative to the canvas. For tests. */
  frames() {
    const tree = this.#tree
    if (tree === undefined) return []
    return this.#drawn.map(({ x, y, width, node }) => ({
      name: fullName(tree.method[node]),
      x: x + width / 2,
      y: y + FRAME / 2 - this.#scroller.scrollTop,
      width,
    }))
  }
}

/** @param {number} change  -1 to 1: decreases are blue, increases are orange */
export function changeColor(change) {
  const part = Math.min(1, Math.abs(change))
  const to = change > 0 ? [230, 120, 0] : [40, 130, 220]
  const [r, g, b] = to.map((value) => Math.round(225 + (value - 225) * part))
  return `rgb(${r},${g},${b})`
}
