// The list of candidates for --root: the second half of `jfluid why`.

import { append } from '../base/arrays.ts'
import { clean, cut, percent, plural, right, shortSpan, width, wrap } from '../profile/text.ts'
import type { RootCandidate } from '../session/roots/root-candidates.ts'
import { ENOUGH_SAMPLES, type FoundRoots } from '../session/roots/root-search.ts'
import { attachCommandOf } from '../session/why/text.ts'

/** Maximum number of methods that may never return, in the printed text. */
const MAX_STAYING_METHODS = 3

/** @param columns  width of the terminal: rows are cut to this width, and prose is wrapped */
export function rootLines(
  { candidates }: Pick<FoundRoots, 'candidates'>,
  top: number,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const { roots: all, stays, samples } = candidates
  const lines: string[] = []
  if (all.length === 0)
    lines.push('No call of an application method began while sampling: use a longer --duration.')
  else {
    lines.push(HEAD)
    for (const it of all.slice(0, top)) lines.push(row(it, columns))
    if (all.length > top) lines.push(`  and ${all.length - top} more (--top shows more)`)
    if (samples < ENOUGH_SAMPLES)
      lines.push(
        'Few samples, so shares are inaccurate: put load on the program, or use a longer --duration.',
      )
  }
  if (stays.length > 0) {
    const names = stays
      .slice(0, MAX_STAYING_METHODS)
      .map((it) => `${clean(it.root)} (${percent(it.share, 1)} %)`)
    const stay = `never seen to return, so perhaps not suitable as a root: ${names.join(', ')}`
    append(lines, wrap(stay, columns))
  }
  return lines
}

/** Describes the cost of the thread dumps. */
export function costOf({ sampling }: Pick<FoundRoots, 'sampling'>): string[] {
  const { by, dumps = 0, stoppedNs = 0 } = sampling
  if (by !== 'stacks') return []
  const each = shortSpan(stoppedNs / Math.max(1, dumps))
  return [
    `sampled by wall-clock time, without idle threads; ${plural(dumps, 'thread dump')} stopped the JVM for ${each} each`,
  ]
}

/** Maximum number of thread names beside a root. */
const MAX_THREAD_NAMES = 2
const HEAD = ' share %    seen  depth  threads  method'

/** Formats a row with as many thread names as fit. */
function row({ root, share, seen, depth, threads }: RootCandidate, columns: number): string {
  const numbers = `${right(percent(share, 1), 8)}${right(`${seen}`, 8)}${right(`${depth}`, 7)}${right(`${threads.length}`, 9)}`
  const names = threads.slice(0, MAX_THREAD_NAMES).map((it) => cut(clean(it), 24))
  for (let shown = names.length; shown > 0; shown--) {
    const rest = threads.length > shown ? ', …' : ''
    const text = `${numbers}  ${clean(root)}  (${names.slice(0, shown).join(', ')}${rest})`
    if (width(text) <= columns) return text
  }
  return `${numbers}  ${cut(clean(root), Math.max(16, columns - width(numbers) - 2))}`
}

/** Returns the candidates for the JSON output. */
export function rootsJson({ pid, candidates }: FoundRoots, top: number): object {
  const of = ({ root, share, samples, seen, threads, depth }: RootCandidate): object => ({
    root,
    share,
    samples,
    seen,
    depth,
    threads,
    command: attachCommandOf(pid, root),
  })
  return { roots: candidates.roots.slice(0, top).map(of), stays: candidates.stays.slice(0, top).map(of) }
}
