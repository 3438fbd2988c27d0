// Texts about a row: its deviation if the row is sampled, its thread states, and calls of its method that probes missed.

import { SAMPLED, STATE_COLUMNS } from '../cct/merge-samples.ts'
import { methodsOf } from '../cct/snapshot.ts'
import { type Tree, topSum } from '../cct/tree.ts'
import { UNSEEN } from '../cct/unseen.ts'

/** Names of thread states, in the order of STATE_COLUMNS. */
const STATE_WORDS = ['CPU', 'lock', 'I/O', 'sleep', 'waiting'] as const
/** Minimum share of a state that is shown after a row's name. */
const MIN_SHARE = 0.2
/** If the parent row has the same state, the state is shown only if the two shares differ by at least this value. */
const SAME_SHARE = 0.15

export interface SampledRow {
  /** Number of samples in the row's subtree. */
  readonly samples: number
  /** Standard deviation of the total, in the unit of the tree. */
  readonly sd: number
}

/** Returns whether the tree may contain sampled rows. */
export function hasSampledRows({ metrics }: Tree): boolean {
  return metrics.known !== undefined
}

/** Returns the samples of a row, or undefined if the row is not sampled. */
export function sampledRow({ metrics }: Tree, node: number): SampledRow | undefined {
  const { known, samples, sdNs } = metrics
  if (known?.[node] !== SAMPLED) return undefined
  return { samples: samples?.[node] ?? 0, sd: sdNs?.[node] ?? 0 }
}

/** Formats the deviation as a share of the row's total: "± 12 %"; at most "±100 %". */
export function deviationText({ sd }: SampledRow, total: number): string {
  const percent = total <= 0 ? 100 : Math.min(100, Math.round((100 * sd) / total))
  return `±${String(percent).padStart(3)} %`
}

/**
 * Returns " [I/O 83 %]": the most frequent thread state of a row, other than CPU. Empty if the row is mostly on CPU, or if the parent row
 * shows a similar value.
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

/** Returns "62 % CPU, 20 % lock, 3 % not known" for the sum of all roots; null for a tree without samples. */
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

/** Mark after the name of a row: the probes of its method missed some calls. */
export const UNSEEN_MARK = ' !'

/** Explanation of UNSEEN_MARK, with advice. */
export const UNSEEN_LEGEND =
  '! samples show calls of this method that its probes did not record: these calls began before the method had probes, or another agent changed its class. The row has too few calls, and too little time unless it is sampled: this time is in its callers and their sampled rows. A recording that begins after these calls have ended is complete.'

/** Explanation of UNSEEN_MARK in one line of a terminal. */
export const UNSEEN_SHORT = '! samples show calls of it that its probes did not record (? explains)'

/** Returns UNSEEN_MARK if the row has missed calls, or an empty string. */
export function unseenMark({ metrics }: Tree, node: number): string {
  return (metrics[UNSEEN]?.[node] ?? 0) > 0 ? UNSEEN_MARK : ''
}

/** Returns the methods with missed calls in at least one row. */
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
    // A sampled row with missed calls already includes the samples of its subtree.
    node += known[node] === SAMPLED && unseen[node]! > 0 ? size[node]! : 1
  }
  return Math.min(1, sum / all)
}
