// Decodes the page's trees, and returns names of methods. ../page-data.ts defines the layout.

/** @import { PageData, PageTree } from '../page-data.ts' */

/**
 * Tree of the page: nodes in preorder, as in src/cct/tree.ts. In a comparison, costs and calls are per root call. A column with a name that
 * ends with 0 contains the earlier values.
 *
 * @typedef {object} Tree
 * @property {PageTree} head
 * @property {number} count
 * @property {Int32Array} method
 * @property {Int32Array} anywhere  the method without its call site; equal to `method` if call sites are unknown
 * @property {Int32Array} size
 * @property {Int32Array} parent
 * @property {Int32Array} depth
 * @property {Int32Array | undefined} leftOut  per node: number of omitted contexts in subtrees of omitted children
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
 * Decodes a block: the columns as 64-bit floats, then methods, sizes and omitted contexts as 32-bit integers.
 *
 * @param {PageTree} head
 * @returns {Promise<Tree>}
 */
export async function decodeTree(head) {
  const buffer = await inflated(head.block)
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
  return treeFrom(head, columns, method, size, head.leftOut > 0 ? integers() : undefined)
}

/**
 * Returns the bytes of a block.
 *
 * @param {string} block  id of an element
 */
export async function inflated(block) {
  const text = atob(element(block).textContent ?? '')
  const packed = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i)
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  return await new Response(stream).arrayBuffer()
}

/**
 * @param {PageTree} head
 * @param {{ [name: string]: Float64Array }} columns
 * @param {Int32Array} method
 * @param {Int32Array} size
 * @param {Int32Array | undefined} leftOut
 * @returns {Tree}
 */
export function treeFrom(head, columns, method, size, leftOut) {
  const { count } = head
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
 * Returns the children of a node, or the top nodes for -1.
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

/**
 * Returns `com.acme.Foo.bar`, with its call site if known.
 *
 * @param {number} method
 */
export function fullName(method) {
  const [owner, member] = data.names[method] ?? [-1, `#${method}`]
  return owner < 0 ? member : `${data.classes[owner]}.${member}`
}

/**
 * Returns the full name with parameters.
 *
 * @param {number} method
 */
export function longName(method) {
  return fullName(method) + (data.names[method]?.[2] ?? '')
}

/**
 * Returns the package of a method, which determines the colour of the method's frames.
 *
 * @param {number} method
 */
export function packageOf(method) {
  const [owner] = data.names[method] ?? [-1]
  const name = data.classes[owner] ?? ''
  return name.slice(0, Math.max(0, name.lastIndexOf('.')))
}

/**
 * Returns the longest form of a name that fits: the full name, the name without the package, or a truncated name.
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
