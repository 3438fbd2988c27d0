// Back traces of a method: a tree with the method at the top, its callers below, then the callers of each caller. Rows are created when
// their parent row is opened. Each row sums the method's costs in all contexts with this chain of callers: calls and self cost of every
// activation, and total cost of outermost activations only (as in src/cct/back-traces.ts).

/** @import { PageTree } from '../page-data.ts' */
/** @import { Tree } from './data.js' */

/**
 * @typedef {object} Trace
 * @property {number} method
 * @property {Int32Array} contexts  nodes of the traced method
 * @property {Int32Array} reached   per context: the ancestor that this row represents
 * @property {{ [column: string]: number }} sums
 * @property {boolean} hasCallers
 */

/**
 * @param {Tree} tree
 * @param {number} method
 * @returns {Trace | undefined} undefined if the method has no context
 */
export function traceOf(tree, method) {
  const found = []
  for (let node = 0; node < tree.count; node++) if (tree.anywhere[node] === method) found.push(node)
  if (found.length === 0) return undefined
  const contexts = Int32Array.from(found)
  return made(tree, method, contexts, contexts, isOutermost(tree, contexts))
}

/**
 * Returns the nodes in `contexts` that are not below another node in `contexts`. `contexts` must be in preorder.
 *
 * @param {Tree} tree
 * @param {Int32Array} contexts
 */
function isOutermost(tree, contexts) {
  const outermost = new Set()
  let end = 0
  for (const node of contexts) {
    if (node < end) continue
    outermost.add(node)
    end = node + tree.size[node]
  }
  return outermost
}

/** Outermost activations of each traced method, keyed by tree and method. @type {WeakMap<Tree, Map<number, Set<number>>>} */
const outermostOf = new WeakMap()

/**
 * @param {Tree} tree
 * @param {number} method
 * @param {Int32Array} contexts
 * @param {Int32Array} reached
 * @param {Set<number>} [outermost]  outermost activations of the traced method, computed once
 * @returns {Trace}
 */
function made(tree, method, contexts, reached, outermost) {
  const traced = tree.anywhere[contexts[0]]
  const known = outermostOf.get(tree) ?? new Map()
  outermostOf.set(tree, known)
  if (outermost !== undefined) known.set(traced, outermost)
  const counted = outermost ?? known.get(traced) ?? new Set()
  /** @type {{ [column: string]: number }} */
  const sums = {}
  for (const [name, values] of Object.entries(tree.columns)) {
    const isTotal = name.startsWith('total')
    let sum = 0
    for (const node of contexts) if (!isTotal || counted.has(node)) sum += values[node]
    sums[name] = sum
  }
  return { method, contexts, reached, sums, hasCallers: reached.some((node) => tree.parent[node] >= 0) }
}

/**
 * @param {Tree} tree
 * @param {Trace} trace
 * @returns {Trace[]}
 */
export function callersOf(tree, trace) {
  /** @type {Map<number, { contexts: number[], reached: number[] }>} */
  const byMethod = new Map()
  for (let i = 0; i < trace.contexts.length; i++) {
    const above = tree.parent[trace.reached[i]]
    if (above < 0) continue
    const group = byMethod.get(tree.anywhere[above]) ?? { contexts: [], reached: [] }
    group.contexts.push(trace.contexts[i])
    group.reached.push(above)
    byMethod.set(tree.anywhere[above], group)
  }
  return [...byMethod].map(([method, { contexts, reached }]) =>
    made(tree, method, Int32Array.from(contexts), Int32Array.from(reached)),
  )
}

/**
 * Returns the share of a traced method's calls that is in contexts on the page. The list of hot methods contains the number of all calls;
 * the result is undefined if the method is not in this list.
 *
 * @param {Pick<PageTree, 'hot' | 'hotColumns'>} head
 * @param {Pick<Trace, 'method' | 'sums'>} trace
 */
export function partInPage({ hot, hotColumns }, { method, sums }) {
  const row = hot.find(([it]) => it === method)
  if (row === undefined) return undefined
  let [here, all] = [0, 0]
  for (const name of ['calls', 'calls0']) {
    here += sums[name] ?? 0
    all += row[hotColumns.indexOf(name) + 1] * (name in sums ? 1 : 0)
  }
  return all > 0 ? here / all : 1
}
