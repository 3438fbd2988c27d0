// Text for the source of a row (timed, counted, or sampled), for calls that its probes missed, and for its thread states.

import { SAMPLED, STATE_COLUMNS } from '../cct/picture.ts'
import { methodsOf } from '../cct/snapshot.ts'
import { type Tree, topSum } from '../cct/tree.ts'
import { UNSEEN } from '../cct/unseen.ts'

/** In the order of STATE_COLUMNS. */
const STATE_WORDS = ['CPU', 'lock', 'I/O', 'sleep', 'waiting'] as const
/** Minimum share of a state that is shown after a row's name. */
const MIN_SHARE = 0.2
/** Minimum difference to the parent row's share for a state to be shown. */
const SAME_SHARE = 0.15

export interface SampledRow {
  /** Number of samples in the row's subtree. */
  readonly samples: number
  /** Standard deviation of the total, in the unit of the tree. */
  readonly sd: number
}

/** Returns whether the tree has rows without counted calls. */
export function hasSampledRows({ metrics }: Tree): boolean {
  return metrics.known !== undefined
}

/** Returns undefined for a timed row. */
export function sampledRow({ metrics }: Tree, node: number): SampledRow | undefined {
  const { known, samples, sdNs } = metrics
  if (known?.[node] !== SAMPLED) return undefined
  return { samples: samples?.[node] ?? 0, sd: sdNs?.[node] ?? 0 }
}

/** "± 12 %" of a row's total; "±100 %" at most. */
export function deviationText({ sd }: SampledRow, total: number): string {
  const percent = total <= 0 ? 100 : Math.min(100, Math.round((100 * sd) / total))
  return `±${String(percent).padStart(3)} %`
}

/**
 * " [I/O 83 %]": the most frequent thread state of a row, other than CPU. Empty if the row is mostly on CPU, or if the parent row shows a
 * similar value.
 */
export function stateText(tree: Tree, node: number): string {
  const own = mostlyDoing(tree, node)
  const above = mostlyDoing(tree, tree.parent[node]!)
  if (own === undefined) return ''
  if (own.state === above?.state && Math.abs(own.share - above.share) < SAME_SHARE) return ''
  return ` [${STATE_WORDS[own.state]} ${Math.round(100 * own.share)} %]`
}

function mostlyDoing(
  tree: Tree,
  node: number,
): { readonly state: number; readonly share: number } | undefined {
  const total = tree.metrics.totalNs?.[node] ?? 0
  if (!hasSampledRows(tree) || total <= 0) return undefined
  let most = 1
  for (let state = 2; state < STATE_COLUMNS.length; state++)
    if (stateNs(tree, state, node) > stateNs(tree, most, node)) most = state
  const share = stateNs(tree, most, node) / total
  return share < MIN_SHARE ? undefined : { state: most, share }
}

function stateNs({ metrics }: Tree, state: number, node: number): number {
  return metrics[STATE_COLUMNS[state]!]?.[node] ?? 0
}

/** "62 % CPU, 20 % lock, 3 % not known", for all roots together; null for a tree without samples. */
export function rootStatesText(tree: Tree): string | null {
  if (!hasSampledRows(tree)) return null
  const total = topSum(tree, 'totalNs')
  const sums = STATE_COLUMNS.map((name) => topSum(tree, name))
  if (total <= 0) return null
  const parts = sums.map((ns, state) => [ns, STATE_WORDS[state]] as const)
  const unknown = total - sums.reduce((sum, it) => sum + it, 0)
  return [...parts, [unknown, 'not known'] as const]
    .filter(([ns]) => ns >= total / 200)
    .sort((a, b) => b[0] - a[0])
    .map(([ns, word]) => `${Math.round((100 * ns) / total)} % ${word}`)
    .join(', ')
}

/** Mark after the name of a row with calls that its probes missed. */
export const UNSEEN_MARK = ' !'

/** Explanation of the mark, with advice. */
export const UNSEEN_LEGEND =
  '! samples show calls of this method that its probes did not record: these calls began before the method had probes, or another agent changed its class. The row has too few calls, and too little time unless it is sampled: this time is in its callers and their sampled rows. A recording that begins after these calls have ended is complete.'

/** Short form of the explanation, for one line of a terminal. */
export const UNSEEN_SHORT = '! samples show calls of it that its probes did not record (? explains)'

/** Returns the mark of a row, or an empty string. */
export function unseenMark({ metrics }: Tree, node: number): string {
  return (metrics[UNSEEN]?.[node] ?? 0) > 0 ? UNSEEN_MARK : ''
}

/** Returns the methods with the mark in at least one row. */
export function unseenMethods(tree: Tree): ReadonlySet<number> {
  const found = new Set<number>()
  if (tree.metrics[UNSEEN] === undefined) return found
  const method = methodsOf(tree)
  for (let node = 0; node < tree.count; node++) if (unseenMark(tree, node) !== '') found.add(method[node]!)
  return found
}

/** Returns the share of samples with calls that probes missed, 0 to 1; null without samples or without the column. */
export function unseenPart({ count, metrics, size }: Tree): number | null {
  const { known, samples } = metrics
  const unseen = metrics[UNSEEN]
  if (known === undefined || samples === undefined || unseen === undefined) return null
  let all = 0
  for (let node = 0; node < count; node++) if (known[node] !== SAMPLED) all += samples[node]!
  if (all === 0) return null
  let sum = 0
  for (let node = 0; node < count; ) {
    sum += unseen[node]!
    // Samples below a sampled row with missed calls are already included in that row.
    node += known[node] === SAMPLED && unseen[node]! > 0 ? size[node]! : 1
  }
  return Math.min(1, sum / all)
}
