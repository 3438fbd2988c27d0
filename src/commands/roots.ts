// jfluid roots: finds out where the tasks of a JVM begin. Prints candidates for --root.

import { NoSuchProcess } from '../attach/admission.ts'
import { append } from '../base/arrays.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Flags } from '../options/table.ts'
import { DEFAULT_SAMPLING } from '../options/what-to-profile.ts'
import { jsonText } from '../profile/json-text.ts'
import { clean, cut, percent, plural, right, shortSpan, width, wrap } from '../profile/text.ts'
import type { RootCandidate } from '../session/roots/root-candidates.ts'
import { ENOUGH_SAMPLES, type FoundRoots, searchRoots } from '../session/roots/root-search.ts'
import { createProgress } from '../tui/progress.ts'
import { EndedBySignal } from './outcome.ts'
import { signalStatus, stopSignal } from './signals.ts'
import { targetOf } from './target.ts'

/** Maximum number of methods that may never return, in the printed text. */
const MAX_STAYING_METHODS = 3

export async function roots(
  pidText: string | undefined,
  flags: Flags<'roots'>,
  print: (text: string) => void,
): Promise<void> {
  const duration = flags.duration === undefined ? DEFAULT_SAMPLING : { durationMs: flags.duration }
  const pid = await targetOf(pidText)
  const progress = createProgress(process.stderr)
  const stop = stopSignal()
  try {
    const found = await searchRoots(pid, {
      ...duration,
      sampler: flags.sampler,
      onCost: (text) => progress.note(text),
      onPhase: (phase) => progress.phase(phase),
      onProgress: (text) => progress.update(text),
      stop: stop.fired,
    })
    if (found === null) {
      progress.done(`interrupted before sampling began; JVM ${pid} is unchanged`)
      process.exitCode = signalStatus(await stop.fired)
      return
    }
    progress.close()
    const columns = process.stdout.isTTY === true ? process.stdout.columns || undefined : undefined
    print(
      flags.json === true ? `${jsonText(asJson(found, flags.top), 2)}\n` : text(found, flags.top, columns),
    )
    for (const warning of found.warnings) progress.note(`warning: ${warning}`)
    if (found.hasEnded) throw new NoSuchProcess(pid, 'has ended')
    if (stop.signal !== null && stop.signal !== 'SIGINT') throw new EndedBySignal(stop.signal, null)
  } finally {
    stop.dispose()
    progress.close()
  }
}

export function attachCommandOf(pid: number, root: string): string {
  return `jfluid attach ${pid} --root ${shellWord(root)}`
}

/** @param columns  width of the terminal: rows are cut to this width, and prose is wrapped */
export function text(
  { pid, target, sampling, durationMs, candidates, snapshot }: FoundRoots,
  top: number,
  columns = Number.POSITIVE_INFINITY,
): string {
  const { roots: all, stays, samples } = candidates
  const seconds = `${(durationMs / 1000).toFixed(1)} s`
  const who = `${pid}  ${clean(target.mainClass)}: ${plural(samples, 'sample')} of ${plural(snapshot.threads.length, 'thread')} in ${seconds}`
  const lines = [...wrap(who, columns), ...costOf({ sampling }).flatMap((it) => wrap(it, columns)), '']
  if (all.length === 0) append(lines, nothing(samples))
  else {
    lines.push(HEAD)
    for (const it of all.slice(0, top)) lines.push(row(it, columns))
    if (all.length > top) lines.push(`  and ${all.length - top} more (--top shows more)`)
    if (samples < ENOUGH_SAMPLES)
      lines.push(
        '',
        'Few samples, so shares are inaccurate: put load on the program, or use a longer --duration.',
      )
    lines.push('', clean(attachCommandOf(pid, all[0]!.root)))
  }
  if (stays.length > 0) {
    const names = stays
      .slice(0, MAX_STAYING_METHODS)
      .map((it) => `${clean(it.root)} (${percent(it.share, 1)} %)`)
    const stay = `never seen to return, so perhaps not suitable as a root: ${names.join(', ')}`
    append(lines, ['', ...wrap(stay, columns)])
    if (all.length === 0) lines.push(clean(attachCommandOf(pid, stays[0]!.root)))
  }
  return `${lines.join('\n')}\n`
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

function nothing(samples: number): string[] {
  if (samples === 0) {
    return ['No thread was executing a task: put load on the program, or use a longer --duration.']
  }
  return ['No call of an application method began while sampling: use a longer --duration.']
}

export function asJson({ pid, target, sampling, durationMs, candidates }: FoundRoots, top: number): object {
  const of = ({ root, share, samples, seen, threads, depth }: RootCandidate): object => ({
    ...{ root, share, samples, seen, depth, threads },
    command: attachCommandOf(pid, root),
  })
  return {
    pid,
    mainClass: target.mainClass,
    sampler: sampling.by,
    ...(sampling.dumps !== undefined && { dumps: sampling.dumps, stoppedNs: sampling.stoppedNs }),
    durationMs: Math.round(durationMs),
    samples: candidates.samples,
    roots: candidates.roots.slice(0, top).map(of),
    stays: candidates.stays.slice(0, top).map(of),
  }
}
