// A profile on a page: facts, warnings, the pruned calling context tree, the hot methods. For a
// terminal, a pipe or a ticket; `jfluid report` prints it, and the live view when it is left.

import { append } from '../base/arrays.ts'
import { isAllocation } from '../cct/allocation.ts'
import { backTraces } from '../cct/back-traces.ts'
import type { BareCalls } from '../cct/bare-calls.ts'
import { COUNTED, FOLDED, foldAt, foldsOf, methodFolds } from '../cct/folds.ts'
import { costsOf } from '../cct/metric.ts'
import type { SlowTimes } from '../cct/slow-times.ts'
import { hotMethods } from '../cct/snapshot.ts'
import type { Tree } from '../cct/tree.ts'
import { tellsWaits } from '../cct/waits.ts'
import { METRICS } from '../measures/columns.ts'
import { SECTIONS } from '../measures/sections.ts'
import { type CostWords, wordsOf } from './cost-text.ts'
import { gapsText } from './gaps.ts'
import { hotLocks, namesOf } from './hot-locks.ts'
import { classPieces, factsJson, methodPieces, nodeHeads, nodePieces } from './json.ts'
import { jsonText } from './json-text.ts'
import { busyMsOf, jvmText, topCalls } from './jvms.ts'
import { type Paint, paintIf } from './paint.ts'
import { placeOf } from './places.ts'
import {
  allWarnings,
  column,
  isSampledByJvm,
  nameOf,
  type OverheadFacts,
  type Profile,
  rootTotal,
} from './profile.ts'
import { childrenByTotal, type Pruned, prune } from './prune.ts'
import { executions, regionLines } from './region-report.ts'
import { callCost, rootCallsText } from './root-calls.ts'
import {
  deviationText,
  hasSampledRows,
  rootStatesText,
  sampledRow,
  stateText,
  UNSEEN_LEGEND,
  UNSEEN_MARK,
  unseenMark,
  unseenMethods,
} from './sampled-rows.ts'
import { skippedWarnings } from './skipped.ts'
import { averageText, slowJsonPieces, slowLines } from './slow-calls.ts'
import { stackLines } from './stack-facts.ts'
import { survivorHeader, survivorLines, survivorsOf } from './survivors.ts'
import {
  clean,
  count,
  cut,
  narrowedText,
  nothingText,
  pad,
  percent,
  plural,
  right,
  shortCount,
  shortName,
  span,
  width as widthOf,
  wrap,
} from './text.ts'
import { tracePieces } from './trace-json.ts'
import { traceSection } from './trace-report.ts'

export interface ReportOptions {
  /** Cells in a line. */
  readonly width?: number
  readonly color?: boolean
  /** How many hot methods. */
  readonly top?: number
  /** Smallest share of its root that a node of the tree needs, in percent. */
  readonly minPercent?: number
  /** How many rows of the tree at most. */
  readonly maxRows?: number
  /** A tree per thread, too. */
  readonly threads?: boolean
  /** Methods whose callers are shown in place of the tree; ids as `methodsNamed` gives them. */
  readonly backTraces?: readonly TracedMethods[]
  /** Only this traced call, from 1 on. */
  readonly trace?: number
}

/** One or more methods that a user means. */
export interface TracedMethods {
  /** As the user wrote it. */
  readonly text: string
  readonly methods: readonly number[]
}

/** Columns of numbers and 16 cells of a name. */
const NARROWEST = 66

const DEFAULTS = {
  ...{ width: 80, color: false, top: 10, minPercent: 1, maxRows: 60, threads: false },
  backTraces: [] as readonly TracedMethods[],
}

/** What `width` and `color` should be for a stream: a pipe has 80 columns and no colour. */
export function terminalOptions(
  out: { isTTY?: boolean; columns?: number; getColorDepth?: (env?: object) => number },
  env: { readonly [name: string]: string | undefined } = process.env,
): { width: number; color: boolean } {
  const width = out.isTTY && out.columns ? Math.max(NARROWEST, Math.min(out.columns, 200)) : 80
  const forced = env.FORCE_COLOR
  if (forced !== undefined) return { width, color: forced !== '0' && forced !== 'false' }
  if (env.NO_COLOR) return { width, color: false }
  return { width, color: out.isTTY === true && (out.getColorDepth?.(env) ?? 1) > 1 }
}

/** The text report, in lines that end with a line feed. */
export function* reportPieces(profile: Profile, options: ReportOptions = {}): Generator<string> {
  const o = { ...DEFAULTS, ...options }
  const paint = paintIf(o.color)
  const traced = { width: o.width, top: o.top, paint }
  if (o.trace !== undefined) {
    yield* traceSection(profile, { ...traced, only: o.trace })
    return
  }
  yield* headerLines(profile, o.width, paint)
  if (profile.regions !== undefined) {
    yield* regionLines(profile, o.width, paint)
    return
  }
  if (profile.merged.count === 0) {
    yield `\nNothing was recorded: ${isWholeJvm(profile) ? 'no sample was taken' : isSampledByJvm(profile) ? 'no sample was inside the root' : nothingText('root', profile.instrumentation.gaps)}.\n`
    return
  }
  const threads = o.threads ? profile.threads.filter(({ tree }) => tree.count > 0) : []
  if (o.backTraces.length > 0) {
    const [each, every] = profile.jvms === undefined ? ['thread', 'all threads'] : ['JVM', 'all JVMs']
    yield* tracesSections(every, profile, profile.merged, o, paint)
    for (const { name, id, tree } of threads) {
      yield* tracesSections(`${each} ${clean(name)} (${id})`, profile, tree, o, paint)
    }
    return
  }
  const [one, all] = profile.jvms === undefined ? ['Thread', 'all threads'] : ['JVM', 'all JVMs']
  yield* treeSection(`Calling context tree, ${all}`, profile, profile.merged, o, paint)
  for (const { name, id, tree } of threads) {
    yield* treeSection(`${one} ${clean(name)} (${id})`, profile, tree, o, paint)
  }
  if (profile.slowCalls !== undefined) yield* slowSection(profile, profile.slowCalls, o, paint)
  if (profile.allocation?.liveness !== undefined) yield* survivorSection(profile, o, paint)
  if (METRICS[profile.mode].hasClasses) yield* hotSection(profile, o, paint, 'classes')
  if (SECTIONS[profile.mode].hasHotMethods) yield* hotSection(profile, o, paint, 'methods')
  if (profile.overhead !== undefined) yield* foldedSection(profile, profile.overhead, o, paint)
  if (tellsWaits(profile.merged)) yield* locksSection(profile, o, paint)
  yield* traceSection(profile, traced)
}

export function reportText(profile: Profile, options: ReportOptions = {}): string {
  return [...reportPieces(profile, options)].join('')
}

/**
 * The same page for programs: keys as in `export --format json`, but `methods` holds only the top
 * ones, and `merged` (and `threads`) only the nodes that the text report shows.
 */
export function* reportJsonPieces(profile: Profile, options: ReportOptions = {}): Generator<string> {
  const o = { ...DEFAULTS, ...options }
  const heads = nodeHeads(profile)
  const nodes = (tree: Tree, headsOf = heads): Iterable<string> => {
    const { kept } = prune(tree, o.minPercent / 100, o.maxRows)
    return nodePieces(tree, headsOf, (node) => kept[node] === 1)
  }
  const traced = o.backTraces.flatMap(({ methods }) => methods)
  function* traces(from: Tree): Generator<string> {
    if (traced.length === 0) return
    yield '],\n"backTraces":['
    // A row is of calls from all places.
    yield* nodes(backTraces(from, traced).tree, nodeHeads(profile, false))
  }
  yield '{"format":"jfluid-report","version":1,\n'
  yield factsJson(profile)
  if (profile.trace !== undefined) {
    yield ',\n"trace":'
    yield* tracePieces(profile, false)
  }
  yield ',\n"methods":['
  yield* methodPieces(profile, o.top)
  if (METRICS[profile.mode].hasClasses) {
    yield '],\n"classes":['
    yield* classPieces(profile, o.top)
  }
  yield '],\n'
  if (profile.slowCalls !== undefined) {
    yield* slowJsonPieces(profile.slowCalls, profile, nodes)
    yield ',\n'
  }
  if (o.threads) {
    yield '"threads":['
    let separator = '\n'
    for (const thread of profile.threads) {
      yield `${separator}{"id":${thread.id},"name":${jsonText(thread.name)},"roots":[`
      yield* nodes(thread.tree)
      yield* traces(thread.tree)
      yield ']}'
      separator = ',\n'
    }
    yield '],\n'
  }
  yield '"merged":['
  yield* nodes(profile.merged)
  yield* traces(profile.merged)
  yield ']}\n'
}

const kib = (bytes: number): string => count(Math.ceil(bytes / 1024))

/** Whether the thread has called a root itself; one that only runs tasks has its path without calls. */
function callsRoot(tree: Tree): boolean {
  const calls = column(tree, 'calls')
  for (let i = 0; i < tree.count; i += tree.size[i]!) if (calls[i]! > 0) return true
  return false
}

function waitingText(tree: Tree): string {
  const sum = (name: string): number => {
    const values = column(tree, name)
    let all = 0
    for (let i = 0; i < tree.count; i += tree.size[i]!) all += values[i]!
    return Math.max(0, all) / 1e6
  }
  const [blocked, waited, all] = ['totalBlockedNs', 'totalWaitedNs', 'totalNs'].map(sum) as [
    number,
    number,
    number,
  ]
  return (
    `blocked on monitors ${span(blocked)} (${percent(blocked, all)} %), waiting ${span(waited)} ` +
    `(${percent(waited, all)} %) of ${span(all)} inside`
  )
}

/** Nothing is instrumented: all of the JVM's threads are looked at. */
function isWholeJvm({ mode, roots }: Profile): boolean {
  return METRICS[mode].isSampled && roots.length === 0
}

function jvmSamplingFacts(profile: Profile, threads: number): [string, string][] {
  const { target, events, durationMs, startedAt, instrumentation, roots, sampling } = profile
  const { outside } = sampling ?? {}
  const all = events.count + (outside ?? 0)
  const inside =
    outside === undefined ? '' : `, ${percent(events.count, Math.max(1, all))} % of all ${count(all)}`
  const rate = durationMs > 0 ? `, ${shortCount((events.count * 1000) / durationMs)} a second` : ''
  return [
    ['target', `pid ${target.pid}, JDK ${clean(target.jdk)}, ${clean(target.vm)}`],
    ...(roots.length === 0
      ? []
      : [[roots.length === 1 ? 'root' : 'roots', roots.map(clean).join(', ')] satisfies [string, string]]),
    ['recorded', `${span(durationMs)} from ${clean(startedAt)}; nothing is instrumented`],
    ['samples', `${count(events.count)} in ${plural(threads, 'thread')}${rate}${inside}`],
    ['methods', `${count(instrumentation.calledMethods)} seen`],
  ]
}

/** "3.8 % in the last second (budget 5 %, above it in 2 of 40); 3 methods only counted, 12 folded". */
function budgetText({ budget, windows, aboveBudget, counted, folded }: OverheadFacts): string {
  const last = windows.at(-1)
  const now = last === undefined ? 'not known' : `${partText(last.part)} % in the last second`
  const most = windows.reduce((all, { part }) => Math.max(all, part), 0)
  const above = aboveBudget === 0 ? '' : `, above it in ${aboveBudget} of ${plural(windows.length, 'second')}`
  return `${now}, ${partText(most)} % at most (budget ${partText(budget)} %${above}); ${narrowedText(counted.length, folded.length)}`
}

/** Two digits that count. */
function partText(part: number): string {
  const value = part * 100
  return value >= 10 ? value.toFixed(0) : `${Number(value.toPrecision(2))}`
}

function* headerLines(profile: Profile, cells: number, paint: Paint): Generator<string> {
  const title = `jfluid profile of ${clean(profile.target.mainClass)}`
  yield `${paint('bold', cut(title, cells))}\n`
  const lines = (label: string, text: string, style: 'dim' | 'warning'): string =>
    `${paint(style, pad(label, 10))}${wrap(text, cells - 10).join(`\n${' '.repeat(10)}`)}\n`
  for (const [label, text] of reportFacts(profile)) yield lines(label, text, 'dim')
  for (const warning of reportWarnings(profile)) yield lines('warning', clean(warning), 'warning')
}

/** What a reader needs to judge the numbers: labels of at most ten letters, and a sentence each. */
export function reportFacts(profile: Profile): [string, string][] {
  const { target, jvms, instrumentation, calibration, events, kept } = profile
  const { longestPauseMs } = instrumentation
  const roots = profile.roots.map(clean)
  const rootCalls = topCalls(profile.merged)
  const threads = profile.threads.filter((thread) => thread.tree.count > 0).length
  const isFollowed = profile.followedTasks !== undefined
  const part = jvms === undefined ? 'thread' : 'JVM'
  const callers = isFollowed ? profile.threads.filter(({ tree }) => callsRoot(tree)).length : threads
  const section = SECTIONS[profile.mode]
  const { isSampled, isTime } = METRICS[profile.mode]
  const busyMs = jvms === undefined ? profile.durationMs * Math.max(1, threads) : busyMsOf(jvms)
  // Rows may begin later than the recording. Of all calls those that ended are known.
  const began = profile.stacks?.rowsFromMs ?? 0
  const ended = began > 0 ? (profile.rootCalls?.count ?? 0) : 0
  const { timedOneOf, rootCalls: counted } = profile.stacks ?? { timedOneOf: 1, rootCalls: 0 }
  const allCalls = Math.max(rootCalls, ended, timedOneOf > 1 ? counted : 0)
  // Scheme adaptive never waits: what is measured is how long threads take to go on in another chunk of the buffer.
  const waited = profile.scheme === 'adaptive' ? 'handing them over took' : 'threads waited'
  const ofRoots: [string, string][] = [
    ...(jvms === undefined
      ? [
          ['target', `pid ${target.pid}, JDK ${clean(target.jdk)}, ${clean(target.vm)}`] satisfies [
            string,
            string,
          ],
        ]
      : jvms.map((it, i): [string, string] => [
          `JVM ${i + 1}`,
          jvmText(it, topCalls(profile.threads[i]!.tree)),
        ])),
    [roots.length === 1 ? 'root' : 'roots', roots.join(', ')],
    [
      'recorded',
      `${span(profile.durationMs)} from ${clean(profile.startedAt)}, scheme ${profile.scheme.toUpperCase()}`,
    ],
    [
      isSampled ? 'seen' : 'calls',
      `${count(allCalls)}${isSampled ? ' calls' : ''} of ${roots.length === 1 ? 'the root' : 'roots'}` +
        `${allCalls > rootCalls ? `, of which rows have ${count(rootCalls)},` : ''} in ${plural(callers, part)}` +
        (profile.followedTasks === undefined
          ? ''
          : `; ${plural(profile.followedTasks, 'task')} followed, ${plural(threads, part)} in all`),
    ],
    [
      'methods',
      `${count(instrumentation.instrumentedMethods)} instrumented, ${count(instrumentation.calledMethods)} called, ` +
        `${plural(instrumentation.redefinitions, 'redefinition')} (${span(instrumentation.hotSwapMs)}` +
        (longestPauseMs === undefined ? ')' : `, longest pause ${span(longestPauseMs)})`),
    ],
    [
      'overhead',
      `${shortCount(events.count)} events, ${waited} ${span(events.waitMs)} (${percent(events.waitMs, busyMs)} %)`,
    ],
  ]
  if (profile.rootCalls !== undefined && profile.rootCalls.count > 0)
    ofRoots.push(['took', rootCallsText(profile.rootCalls)])
  else if (profile.rootCalls !== undefined && rootCalls > 0)
    ofRoots.push(['took', 'no call has returned: times are those until the end'])
  if (profile.overhead !== undefined) ofRoots.push(['budget', budgetText(profile.overhead)])
  const ofRegions = profile.regions === undefined ? ofRoots : regionHeader(profile, ofRoots)
  const facts = isSampledByJvm(profile) ? jvmSamplingFacts(profile, threads) : ofRegions
  if (profile.regions !== undefined) {
    // It has said so.
  } else if (isTime) {
    const { innerNs, outerNs, innerSpreadNs, outerSpreadNs } = calibration
    const sure = (ns: number, spread: number | undefined): string =>
      spread === undefined ? `${ns.toFixed(1)} ns` : `${ns.toFixed(1)} ± ${spread.toFixed(1)} ns`
    const each = jvms === undefined ? '' : 'of each JVM what its probes cost, at most '
    const text = `${each}t_I ${sure(innerNs, innerSpreadNs)} a call, t_O ${sure(outerNs, outerSpreadNs)} a call made (clock: ${clockText(calibration)})`
    facts.push(['removed', text])
    if (profile.bareCalls !== undefined) facts.push(['bare', bareText(profile.bareCalls)])
  } else {
    append(facts, section.facts(profile))
  }
  if (tellsWaits(profile.merged)) facts.push(['waiting', waitingText(profile.merged)])
  if (profile.stacks !== undefined) append(facts, stackLines(profile.stacks, profile))
  const states = rootStatesText(profile.merged)
  if (states !== null) facts.push(['time', states])
  if (kept !== undefined) {
    facts.push([
      'memory',
      `${kib(kept.heapBytes)} KiB of the target's heap at most, ${kib(kept.outsideBytes)} KiB outside of it`,
    ])
  }
  return facts
}

/** Sentences that change how far to trust it. */
export function reportWarnings(profile: Profile): string[] {
  const warnings = [...allWarnings(profile)]
  const { bareCalls } = profile
  if (bareCalls !== undefined) append(warnings, bareWarnings(bareCalls))
  if (profile.truncated === true && profile.warnings.length === 0) {
    warnings.unshift('truncated: the session ended before it was asked to')
  }
  const { skipped, gaps, healed } = profile.instrumentation
  append(warnings, skippedWarnings(skipped))
  if (gaps > 0) warnings.push(gapsText(profile))
  if (healed > 0) warnings.push(`${plural(healed, 'stack frame')} without an exit closed by force`)
  return warnings
}

/** Charged/bare from which on, and below which, a reader must know. */
const OVERSTATED = 1.3
const UNDERSTATED = 1 / OVERSTATED

function bareText({ calls, bareNs, chargedNs, low, high }: BareCalls): string {
  return `${plural(calls, 'root call')} at the end, without probes below the root, took ${callCost(bareNs, 'ns')} (median), calls before that were charged ${callCost(chargedNs, 'ns')}: charged/bare ${timesText(chargedNs / bareNs)} (${timesText(low)} to ${timesText(high)})`
}

const timesText = (times: number): string => times.toFixed(times < 10 ? 2 : 0)

function bareWarnings(bareCalls: BareCalls): string[] {
  const { low, high } = bareCalls
  if (low > OVERSTATED) return [overstatedText(bareCalls)]
  if (high < UNDERSTATED) return [understatedText(bareCalls)]
  return high - low > OVERSTATED - UNDERSTATED ? [uncertainText(bareCalls)] : []
}

function uncertainText({ low, high }: BareCalls): string {
  return `times are uncertain: root calls are charged ${timesText(low)} to ${timesText(high)} times what they take without probes below the root, as much more is taken out for probes of methods that are short and called often (--scheme adaptive gives truer times)`
}

function overstatedText({ chargedNs, bareNs }: BareCalls): string {
  return `times are overstated: root calls are charged ${timesText(chargedNs / bareNs)} times what they take without probes below the root, probably because of methods that are short and called often (--scheme adaptive gives truer times)`
}

function understatedText({ chargedNs, bareNs }: BareCalls): string {
  return `times are understated: root calls are charged ${timesText(chargedNs / bareNs)} times what they take without probes below the root, probably because more is taken out for probes of methods that are short and called often than they cost (--scheme adaptive gives truer times)`
}

/** Which clock, and what it was measured to be. */
function clockText({ clock, clockMHz, readNs }: Profile['calibration']): string {
  const read = readNs === undefined || readNs === 0 ? '' : `, ${readNs.toFixed(1)} ns a reading`
  const rate = clockMHz === undefined ? '' : `, ${count(Math.round(clockMHz))} MHz`
  return clock + rate + read
}

/** The same for regions. */
function regionHeader(profile: Profile, ofRoots: readonly [string, string][]): [string, string][] {
  const { instrumentation, calibration, events, durationMs } = profile
  const { innerNs, outerNs } = calibration
  const of = (label: string) => ofRoots.filter(([it]) => it === label)
  return [
    ...of('target'),
    [profile.roots.length === 1 ? 'region' : 'regions', profile.roots.map(clean).join(', ')],
    ['recorded', `${span(durationMs)} from ${clean(profile.startedAt)}`],
    [
      'executed',
      `${count(executions(profile))} times; ${plural(instrumentation.instrumentedMethods, 'method')}`,
    ],
    [
      'overhead',
      `${(innerNs + outerNs).toFixed(0)} ns an execution (clock: ${clockText(calibration)}); threads waited ${span(events.waitMs)} in all`,
    ],
    ['removed', `t_I ${innerNs.toFixed(1)} ns an execution`],
  ]
}

/** Cells before the name. */
const NUMBER_CELLS = 50

const treeHeader = ({ total, self, perCall, calls }: CostWords, share: string): string =>
  `${right(total, 9)}${right(self, 10)}  ${share} ${right(calls, 10)}${right(perCall, 10)}  `
const hotHeader = ({ total, self, perCall, calls }: CostWords): string =>
  `${right(self, 9)}${right(total, 10)}  % self ${right(calls, 10)}${right(perCall, 10)}  `

const classHeader = `${right('bytes', 9)}${right('', 10)}  % self    objects${right('B each', 10)}  class`

/** Who calls the methods that were asked for; nothing of those that a thread has not called. */
function* tracesSections(
  where: string,
  profile: Profile,
  from: Tree,
  o: typeof DEFAULTS,
  paint: Paint,
): Generator<string> {
  for (const { text, methods } of o.backTraces) {
    const { tree, isCut, levels } = backTraces(from, methods)
    if (tree.count === 0) continue
    const cut = isCut ? `, ${plural(levels, 'level')}` : ''
    yield* treeSection(`Back traces of ${clean(text)}, ${where}${cut}`, profile, tree, o, paint, {
      share: '% of it',
      name: 'method, below it its callers',
    })
  }
}

function* slowSection(
  profile: Profile,
  slow: SlowTimes,
  o: typeof DEFAULTS,
  paint: Paint,
): Generator<string> {
  const [title, ...lines] = slowLines(slow, profile, o.width)
  yield `\n${paint('bold', cut(title ?? '', o.width))}\n`
  for (const line of lines) yield `${line}\n`
  const { tree } = slow
  if (tree === undefined || tree.count === 0) return
  yield* treeSection(`Calling context tree of ${averageText(slow, profile.merged)}`, profile, tree, o, paint)
}

function* treeSection(
  title: string,
  profile: Profile,
  tree: Tree,
  o: typeof DEFAULTS,
  paint: Paint,
  words = { share: isWholeJvm(profile) ? '% all ' : '% root', name: 'method' },
): Generator<string> {
  const least = o.minPercent / 100
  const pruned = prune(tree, least, o.maxRows)
  const hidden = tree.count - pruned.keptCount
  const rest = hidden > 0 ? `, ${plural(hidden, 'smaller node')} left out` : ''
  yield `\n${paint('bold', cut(title, o.width))}${paint('dim', rest)}\n`
  yield `${paint('dim', `${treeHeader(wordsOf(METRICS[profile.mode]), words.share)}${words.name}`)}\n`
  yield* treeRows(profile, tree, pruned, o.width, paint)
}

function* treeRows(
  profile: Profile,
  tree: Tree,
  pruned: Pruned,
  cells: number,
  paint: Paint,
): Generator<string> {
  const calls = column(tree, 'calls')
  const { self, total } = costsOf(tree)
  const words = wordsOf(METRICS[profile.mode])
  const folds = foldsOf(tree)
  const names = namesOf(profile.methodNames)
  const nameCells = Math.max(16, cells - NUMBER_CELLS)
  let isMarked = false
  // One frame a level: its nodes to show, how far we are, and the total of the root above: of all, where there is none.
  const whole = isWholeJvm(profile) ? rootTotal(tree) : -1
  const frames = [{ nodes: keptChildren(tree, -1, pruned), at: 0, rootCost: whole }]
  while (frames.length > 0) {
    const frame = frames[frames.length - 1]!
    const node = frame.nodes[frame.at++]
    if (node === undefined) {
      frames.pop()
      continue
    }
    const rootCost = frame.rootCost < 0 ? Math.max(0, total[node]!) : frame.rootCost
    const share = percent(total[node]!, rootCost)
    const fold = folds && foldAt(folds, node)
    const row = sampledRow(tree, node)
    const numbers = [
      right(words.cost(total[node]!), 9),
      right(words.cost(self[node]!), 10),
      right(share, 8),
      right(row ? 'sampled' : callsText(calls[node]! + (fold?.counted ?? 0), fold?.extra), 11),
      right(row ? deviationText(row, total[node]!) : words.each(total[node]!, calls[node]!), 10),
    ].join('')
    const unseen = unseenMark(tree, node)
    isMarked ||= unseen !== ''
    const mark = stateText(tree, node) + unseen + (MARKS[fold?.state ?? 0] ?? '')
    const indent = indentation(frames.length - 1, Math.floor(nameCells / 2))
    const called = nameOf(profile.methodNames, tree.method[node]!)
    const place = placeOf(tree, node, names)
    const name = shortName(called, nameCells - widthOf(indent) - mark.length - place.length) + mark
    const hot = total[node]! >= rootCost / 2 || self[node]! >= rootCost / 10
    yield `${hot ? paint('heat', numbers) : numbers}  ${paint('dim', indent)}${name}${paint('dim', place)}\n`
    const below = keptChildren(tree, node, pruned)
    if (below.length > 0) frames.push({ nodes: below, at: 0, rootCost })
  }
  if (isMarked) yield* unseenLines(cells, paint)
}

function* unseenLines(cells: number, paint: Paint): Generator<string> {
  for (const line of wrap(UNSEEN_LEGEND, cells)) yield `${paint('dim', line)}\n`
}

/** Behind the name of a method that is not timed at the moment. */
const MARKS: Readonly<Record<number, string>> = { [FOLDED]: ' (folded)', [COUNTED]: ' (counted)' }

/** With those that were not counted, if there are any. */
function callsText(calls: number, extra = 0): string {
  return Math.round(extra) === 0 ? count(calls, 10) : `~${count(Math.round(calls + extra), 9)}`
}

function keptChildren(tree: Tree, node: number, pruned: Pruned): number[] {
  return childrenByTotal(tree, node).filter((child) => pruned.kept[child] === 1)
}

/** Two cells a level; where that would crowd out the name, the depth as a number instead. */
function indentation(depth: number, most: number): string {
  if (2 * depth <= most) return '  '.repeat(depth)
  const label = `[${depth}] `
  return ' '.repeat(Math.max(0, most - label.length)) + label
}

function* hotSection(
  profile: Profile,
  o: typeof DEFAULTS,
  paint: Paint,
  of: 'methods' | 'classes',
): Generator<string> {
  const tree = profile.merged
  const whole = rootTotal(tree)
  const words = wordsOf(METRICS[profile.mode])
  const isClasses = of === 'classes'
  const hot = hotMethods(tree).filter(
    ({ method }) => isAllocation(nameOf(profile.methodNames, method)) === isClasses,
  )
  const shown = hot.slice(0, o.top)
  if (shown.length === 0) return
  const title = isClasses ? 'Allocated classes, by bytes' : `Hot methods, by ${words.by}`
  yield `\n${paint('bold', title)}${paint('dim', `, ${shown.length} of ${hot.length}`)}\n`
  yield `${paint('dim', isClasses ? classHeader : `${hotHeader(words)}method`)}\n`
  const nameCells = Math.max(16, o.width - NUMBER_CELLS)
  const folds = methodFolds(tree)
  const isSampled = hasSampledRows(tree)
  const unseen = unseenMethods(tree)
  for (const { method, calls, self, total } of shown) {
    const fold = folds.get(method)
    const mark = (unseen.has(method) ? UNSEEN_MARK : '') + (MARKS[fold?.state ?? 0] ?? '')
    const numbers = [
      right(words.cost(self), 9),
      right(isClasses ? '' : words.cost(total), 10),
      right(percent(self, whole), 8),
      right(isSampled && calls === 0 ? 'sampled' : callsText(calls + (fold?.counted ?? 0), fold?.extra), 11),
      right(words.each(total, calls), 10),
    ].join('')
    const name = shortName(nameOf(profile.methodNames, method), nameCells - mark.length) + mark
    yield `${self >= whole / 10 ? paint('heat', numbers) : numbers}  ${name}\n`
  }
}

function* foldedSection(
  profile: Profile,
  { counted, folded }: OverheadFacts,
  o: typeof DEFAULTS,
  paint: Paint,
): Generator<string> {
  const sums = methodFolds(profile.merged)
  if (counted.length > 0) {
    const shown = counted.toSorted((a, b) => b.callsPerSecond - a.callsPerSecond).slice(0, o.top)
    yield `\n${paint('bold', 'Only counted')}${paint('dim', `, ${shown.length} of ${counted.length}: their time is their callers' since`)}\n`
    yield `${paint('dim', `${right('calls/s', 10)}${right('counted', 14)}  method`)}\n`
    for (const { method, callsPerSecond } of shown) {
      const calls = count(sums.get(method)?.counted ?? 0, 13)
      const name = shortName(nameOf(profile.methodNames, method), Math.max(16, o.width - 26))
      yield `${right(count(Math.round(callsPerSecond), 9), 10)}${right(calls, 14)}  ${name}\n`
    }
  }
  if (folded.length === 0) return
  const shown = folded.toSorted((a, b) => b.callsPerSecond - a.callsPerSecond).slice(0, o.top)
  yield `\n${paint('bold', 'Folded into their callers')}${paint('dim', `, ${shown.length} of ${folded.length}: their time is their callers' since`)}\n`
  yield `${paint('dim', `${right('calls/s', 10)}${right('not counted', 14)}  method`)}\n`
  for (const { method, callsPerSecond } of shown) {
    const extra = Math.round(sums.get(method)?.extra ?? 0)
    const name = shortName(nameOf(profile.methodNames, method), Math.max(16, o.width - 26))
    yield `${right(count(Math.round(callsPerSecond), 9), 10)}${right(`~${count(extra, 12)}`, 14)}  ${name}\n`
  }
}

function* survivorSection(profile: Profile, o: typeof DEFAULTS, paint: Paint): Generator<string> {
  const { merged } = profile
  const names = namesOf(profile.methodNames)
  const contexts = survivorsOf(merged, names, 'context').length
  const collections = plural(profile.allocation?.liveness?.collections ?? 0, 'collection')
  const title = 'Still alive at the end, by context'
  const shown = `, ${Math.min(o.top, contexts)} of ${contexts}`
  yield `\n${paint('bold', title)}${paint('dim', contexts === 0 ? ': nothing' : `${shown}; ${collections} so far`)}\n`
  if (contexts === 0) return
  yield `${paint('dim', survivorHeader)}\n`
  for (const [numbers, name, context] of survivorLines(merged, names, o.top, o.width)) {
    yield `${numbers}   ${name}\n${paint('dim', context)}\n`
  }
}

/** Of a waiting method, shown under what it waits for. */
const WAITERS = 3
/** Cells before a name in the list of locks. */
const LOCK_CELLS = 40

function* locksSection(profile: Profile, o: typeof DEFAULTS, paint: Paint): Generator<string> {
  const names = namesOf(profile.methodNames)
  const locks = hotLocks(profile.merged, names)
  if (locks.length === 0) {
    yield `\n${paint('bold', 'Hot locks')}${paint('dim', ': no thread was blocked or waited')}\n`
    return
  }
  const all = locks.reduce((sum, { ns }) => sum + ns, 0)
  const shown = locks.slice(0, o.top)
  const { cost, each } = wordsOf(METRICS.locks)
  const nameCells = Math.max(16, o.width - LOCK_CELLS)
  const row = (ns: number, whole: number, times: number): string =>
    right(cost(ns), 9) +
    right(percent(ns, whole), 8) +
    right(count(times, 10), 11) +
    right(each(ns, times), 10)
  yield `\n${paint('bold', 'Hot locks and waits, by time')}${paint('dim', `, ${shown.length} of ${locks.length}`)}\n`
  yield `${paint('dim', `${right('wait ms', 9)}  % wait      times${right('ms/wait', 10)}  for what, and by whom`)}\n`
  for (const { method, ns, times, by } of shown) {
    const numbers = row(ns, all, times)
    yield `${ns >= all / 10 ? paint('heat', numbers) : numbers}  ${shortName(names(method), nameCells)}\n`
    for (const waiter of by.slice(0, WAITERS)) {
      const name = shortName(names(waiter.method), nameCells - 2)
      yield `${paint('dim', row(waiter.ns, ns, waiter.times))}    ${name}\n`
    }
  }
}
