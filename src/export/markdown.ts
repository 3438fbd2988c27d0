// Writes a summary in Markdown, short enough for a ticket or a prompt to a language model: facts about the recording, warnings, and the
// most expensive methods. Names are in code spans, so that they are not interpreted as markup.

import { isAllocation } from '../cct/allocation.ts'
import { costsOf, metricOf } from '../cct/metric.ts'
import { type HotMethod, hotMethods } from '../cct/snapshot.ts'
import type { Tree } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { wordsOf } from '../profile/cost-text.ts'
import { gapsText } from '../profile/gaps.ts'
import { topCalls } from '../profile/jvms.ts'
import { allWarnings, column, nameOf, type Profile, rootTotal } from '../profile/profile.ts'
import { linesText, rateOf } from '../profile/region-report.ts'
import { perSecond, time } from '../profile/region-text.ts'
import { skippedWarnings } from '../profile/skipped.ts'
import { clean, count, fullName, percent, placeText, plural, span } from '../profile/text.ts'
import type { ExportFormat } from './format.ts'

const HOT_METHODS = 10
const CLASSES = 4
const PATH_STEPS = 10
const WARNINGS = 4
const REGIONS = 20
const ROOTS = 5
const THREADS = 5
/** Maximum length of a name or warning, in characters. */
const MAX_CHARACTERS = 160

export const markdown: ExportFormat = {
  name: 'markdown',
  extension: '.md',
  description: 'a summary of under 60 lines, for a ticket or a language model',
  saysRegions: true,
  *pieces(profile, options) {
    yield* facts(profile)
    yield* warnings(profile)
    if (profile.regions !== undefined) {
      yield* regions(profile)
      return
    }
    if (profile.merged.count === 0) {
      yield '\nNothing was recorded.\n'
      return
    }
    yield* hottestPath(profile)
    yield* hot(profile, 'methods')
    if (METRICS[profile.mode].hasClasses) yield* hot(profile, 'classes')
    if (options.threads === true) yield* threads(profile)
  },
}

/** Returns a code span for any text. Vertical bars are escaped, since a bar would end a table cell. */
export function codeSpan(text: string): string {
  const safe = shortened(clean(text)).replaceAll('|', '\\|')
  // An empty code span is not possible: two adjacent backticks open a span.
  if (safe === '') return '` `'
  const longest = [...safe.matchAll(/`+/g)].reduce((most, [run]) => Math.max(most, run.length), 0)
  if (longest === 0) return `\`${safe}\``
  const fence = '`'.repeat(longest + 1)
  return `${fence} ${safe} ${fence}`
}

function shortened(text: string): string {
  return text.length <= MAX_CHARACTERS
    ? text
    : `${text.slice(0, MAX_CHARACTERS / 2)}…${text.slice(-MAX_CHARACTERS / 2)}`
}

function* facts(profile: Profile): Generator<string> {
  const { target, roots, mode, durationMs, startedAt, instrumentation, merged } = profile
  const named = roots.slice(0, ROOTS).map(codeSpan)
  if (roots.length > ROOTS) named.push(`and ${roots.length - ROOTS} more`)
  const what = profile.regions === undefined ? 'root' : 'region'
  yield `# Profile of ${codeSpan(target.mainClass)}\n\n`
  yield `- target: pid ${target.pid}, JDK ${codeSpan(target.jdk)}, ${codeSpan(target.vm)}\n`
  yield `- ${roots.length === 1 ? what : `${what}s`}: ${named.length === 0 ? 'none, the whole JVM was sampled' : named.join(', ')}\n`
  yield `- recorded: ${span(durationMs)} from ${codeSpan(startedAt)}, mode ${mode}\n`
  if (profile.regions !== undefined) return
  const words = wordsOf(METRICS[mode])
  const callers = profile.threads.filter(({ tree }) => tree.count > 0).length
  yield `- ${words.total}: ${words.cost(rootTotal(merged), 20).trim()} in ${plural(callers, 'thread')}`
  yield `, ${count(topCalls(merged), 20)} ${words.calls} of roots\n`
  if (instrumentation.instrumentedMethods > 0) {
    yield `- methods: ${count(instrumentation.instrumentedMethods)} instrumented, ${count(instrumentation.calledMethods)} called\n`
  }
}

function* warnings(profile: Profile): Generator<string> {
  const { skipped, gaps, healed } = profile.instrumentation
  const all = [
    ...(profile.truncated === true ? ['truncated: the session ended early'] : []),
    ...allWarnings(profile),
    ...skippedWarnings(skipped),
    ...(gaps > 0 ? [gapsText(profile)] : []),
    ...(healed > 0
      ? [`${plural(healed, 'call')} without an exit event: closed when their caller returned`]
      : []),
  ]
  if (all.length === 0) return
  yield '\n## Warnings\n\n'
  for (const warning of all.slice(0, WARNINGS)) yield `- ${codeSpan(warning)}\n`
  if (all.length > WARNINGS) yield `- and ${all.length - WARNINGS} more\n`
}

/** Yields the hottest path: from the most expensive root, always to the most expensive callee. */
function* hottestPath(profile: Profile): Generator<string> {
  const { merged } = profile
  const { self, total } = costsOf(merged)
  const words = wordsOf(METRICS[profile.mode])
  const path = hottest(merged, total)
  const [top] = path
  if (top === undefined) return
  const whole = Math.max(0, rootTotal(merged))
  yield `\n## Hottest path\n\n| ${words.total} | % of all | ${words.self} | ${words.calls} | method |\n| --: | --: | --: | --: | --- |\n`
  const calls = column(merged, 'calls')
  for (const node of path.slice(0, PATH_STEPS)) {
    const cells = [
      words.cost(total[node]!).trim(),
      percent(total[node]!, whole),
      words.cost(self[node]!).trim(),
      count(calls[node]!),
    ]
    yield `| ${cells.join(' | ')} | ${methodSpan(profile, merged.method[node]!)} |\n`
  }
  if (path.length > PATH_STEPS)
    yield `\nand ${plural(path.length - PATH_STEPS, 'call')} further down the path.\n`
}

/** Returns the hottest path. It ends at a context with more self cost than the total cost of its most expensive callee. */
function hottest(tree: Tree, total: Float64Array): number[] {
  const path: number[] = []
  let [from, to] = [0, tree.count]
  const { self } = costsOf(tree)
  const isBytes = metricOf(tree).hasClasses
  while (from < to) {
    let best = from
    for (let child = from; child < to; child += tree.size[child]!)
      if (total[child]! > total[best]!) best = child
    const above = path.at(-1)
    // The class rows below a method contain the method's own allocations.
    if (above !== undefined && !isBytes && self[above]! > total[best]!) break
    path.push(best)
    ;[from, to] = [best + 1, best + tree.size[best]!]
  }
  return path
}

function methodSpan(profile: Profile, id: number): string {
  const name = nameOf(profile.methodNames, id)
  return codeSpan(fullName(name) + placeText(name))
}

function* hot(profile: Profile, of: 'methods' | 'classes'): Generator<string> {
  const { merged } = profile
  const words = wordsOf(METRICS[profile.mode])
  const whole = rootTotal(merged)
  const isClasses = of === 'classes'
  const all = hotMethods(merged).filter(
    ({ method }) => isAllocation(nameOf(profile.methodNames, method)) === isClasses,
  )
  if (all.length === 0) return
  const title = isClasses ? 'Allocated classes, by bytes' : `Hot methods, by ${words.by}`
  yield `\n## ${title}\n\n`
  yield isClasses
    ? '| bytes | % | objects | class |\n| --: | --: | --: | --- |\n'
    : `| ${words.self} | % | ${words.total} | ${words.calls} | method |\n| --: | --: | --: | --: | --- |\n`
  const numbers = ({ self, total, calls, objects }: HotMethod): string[] =>
    isClasses
      ? [words.cost(self).trim(), percent(self, whole), count(objects ?? 0)]
      : [words.cost(self).trim(), percent(self, whole), words.cost(total).trim(), count(calls)]
  for (const it of all.slice(0, isClasses ? CLASSES : HOT_METHODS)) {
    yield `| ${numbers(it).join(' | ')} | ${codeSpan(fullName(nameOf(profile.methodNames, it.method)))} |\n`
  }
}

function* threads(profile: Profile): Generator<string> {
  const words = wordsOf(METRICS[profile.mode])
  const whole = rootTotal(profile.merged)
  const all = profile.threads
    .filter(({ tree }) => tree.count > 0)
    .map(({ name, tree }) => ({ name, total: rootTotal(tree), calls: topCalls(tree) }))
    .sort((a, b) => b.total - a.total)
  yield `\n## Threads\n\n| ${words.total} | % | ${words.calls} of roots | thread |\n| --: | --: | --: | --- |\n`
  for (const { name, total, calls } of all.slice(0, THREADS)) {
    yield `| ${words.cost(total).trim()} | ${percent(total, whole)} | ${count(calls)} | ${codeSpan(name)} |\n`
  }
  if (all.length > THREADS) yield `\nand ${plural(all.length - THREADS, 'thread')} more.\n`
}

function* regions(profile: Profile): Generator<string> {
  const all = profile.regions ?? []
  if (all.length === 0) {
    yield '\nNothing was recorded.\n'
    return
  }
  yield '\n## Gross time of regions\n\n| count | rate/s | mean | p50 | p99 | max | region |\n| --: | --: | --: | --: | --: | --: | --- |\n'
  for (const region of all.slice(0, REGIONS)) {
    const { percentilesNs: p, meanNs, maxNs } = region
    const times = [meanNs, p['50'], p['99'], maxNs].map((ns) => (region.count === 0 ? '-' : time(ns)))
    const cells = [count(region.count), perSecond(rateOf(region, profile.durationMs)), ...times]
    const name = fullName(nameOf(profile.methodNames, region.method)) + linesText(region)
    yield `| ${cells.join(' | ')} | ${codeSpan(name)} |\n`
  }
  if (all.length > REGIONS) yield `\nand ${plural(all.length - REGIONS, 'region')} more.\n`
}
