// The data of the page: decoding of trees, and names. What lies where is drawn in ../page-data.ts.

/** @import { PageData, PageTree } from '../page-data.ts' */

/**
 * A tree as the page has it: nodes in preorder, as in src/cct/tree.ts. In a comparison, costs and calls are per root call, and
 * the columns with a 0 are those of before.
 *
 * @typedef {object} Tree
 * @property {PageTree} head
 * @property {number} count
 * @property {Int32Array} method
 * @property {Int32Array} anywhere  the method wherever it is called; the same where call sites are not told
 * @property {Int32Array} size
 * @property {Int32Array} parent
 * @property {Int32Array} depth
 * @property {Int32Array | undefined} leftOut  contexts right below that are not in the page, with all below them
 * @property {{ [name: string]: Float64Array }} columns
 */

/** @param {string} id */
export function element(id) {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no ${id}`)
  return found
}

/** @type {PageData} */
export const data = JSON.parse(element('data').textContent ?? '')

/**
 * Deflated bytes behind each other: the columns in 64-bit floats, then methods, sizes and what is left out in 32-bit integers.
 *
 * @param {PageTree} head
 * @returns {Promise<Tree>}
 */
export async function decodeTree(head) {
  const text = atob(element(head.block).textContent ?? '')
  const packed = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i)
  const inflated = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  const buffer = await new Response(inflated).arrayBuffer()
  const { count } = head
  let at = 0
  /** @type {{ [name: string]: Float64Array }} */
  const columns = {}
  for (const name of head.columns) {
    columns[name] = new Float64Array(buffer, at, count)
    at += 8 * count
  }
  const integers = () => {
    const found = new Int32Array(buffer, at, count)
    at += 4 * count
    return found
  }
  const [method, size] = [integers(), integers()]
  const leftOut = head.leftOut > 0 ? integers() : undefined
  const parent = new Int32Array(count)
  const depth = new Int32Array(count)
  /** @type {number[]} */
  const open = []
  for (let i = 0; i < count; i++) {
    while (open.length > 0 && i >= open[open.length - 1] + size[open[open.length - 1]]) open.pop()
    parent[i] = open.length > 0 ? open[open.length - 1] : -1
    depth[i] = open.length
    open.push(i)
  }
  const anywhere = data.names.some((it) => it.length > 3) ? method.map(anywhereOf) : method
  return { head, count, method, anywhere, size, parent, depth, leftOut, columns }
}

/** @param {number} method */
export function anywhereOf(method) {
  return data.names[method]?.[3] ?? method
}

/**
 * Nodes right below, -1 for the tops.
 *
 * @param {Tree} tree
 * @param {number} node
 */
export function childrenOf(tree, node) {
  const found = []
  const end = node < 0 ? tree.count : node + tree.size[node]
  for (let child = node + 1; child < end; child += tree.size[child]) found.push(child)
  return found
}

/** @param {number} method  `com.acme.Foo.bar`, with the place it is called from where that is told */
export function fullName(method) {
  const [owner, member] = data.names[method] ?? [-1, `#${method}`]
  return owner < 0 ? member : `${data.classes[owner]}.${member}`
}

/** @param {number} method  with parameters */
export function longName(method) {
  return fullName(method) + (data.names[method]?.[2] ?? '')
}

/** @param {number} method  what a frame is coloured by */
export function packageOf(method) {
  const [owner] = data.names[method] ?? [-1]
  const name = data.classes[owner] ?? ''
  return name.slice(0, Math.max(0, name.lastIndexOf('.')))
}

/**
 * Without the package where that is too long, and then from the end.
 *
 * @param {number} method
 * @param {(text: string) => boolean} fits
 */
export function fittingName(method, fits) {
  const full = fullName(method)
  if (fits(full)) return full
  const [owner, member] = data.names[method] ?? [-1, full]
  const name = data.classes[owner] ?? ''
  const simple = owner < 0 ? member : `${name.slice(name.lastIndexOf('.') + 1)}.${member}`
  if (fits(simple)) return simple
  if (fits(member)) return member
  let length = member.length
  while (length > 2 && !fits(`${member.slice(0, length)}…`)) length = Math.floor(length * 0.8)
  return length > 2 ? `${member.slice(0, length)}…` : ''
}
