// Facts about the recording: the lines above the tree.

import { append } from '../../base/arrays.ts'
import type { BareCalls } from '../../cct/bare-calls.ts'
import { type Tree, topSum } from '../../cct/tree.ts'
import { tellsWaits } from '../../cct/waits.ts'
import { METRICS } from '../../measures/columns.ts'
import { SECTIONS } from '../../measures/sections.ts'
import { busyMsOf, jvmText, topCalls } from '../jvms.ts'
import { overheadOf } from '../overhead.ts'
import { isSampledByJvm, type Profile } from '../profile.ts'
import { rangeText } from '../range.ts'
import { executions } from '../region-report.ts'
import { callCost, rootCallsText, threwText } from '../root-calls.ts'
import { rootStatesText } from '../sampled-rows.ts'
import { shortText } from '../short-methods.ts'
import { stackLines } from '../stack-facts.ts'
import { clean, count, percent, plural, shortCount, shortSpan, span } from '../text.ts'
import { valuesText } from '../values.ts'

type Fact = [label: string, text: string]

/** Label of the time in which threads waited for room in the event buffer. */
const STALLED = 'application threads stalled by jfluid'

/** Returns facts that help to judge the numbers. Each fact has a label of at most nine letters and one sentence. */
export function reportFacts(profile: Profile): Fact[] {
  const { merged, regions, shortMethods, stacks, values } = profile
  const facts = regions === undefined ? [...recorded(profile), ...measured(profile)] : ofRegions(profile)
  if (tellsWaits(merged)) facts.push(['waiting', waitingText(merged)])
  if (stacks !== undefined) append(facts, stackLines(stacks, profile))
  if (shortMethods !== undefined) facts.push(['short', shortText(shortMethods)])
  if (values !== undefined) facts.push(['values', valuesText(profile, values)])
  const states = rootStatesText(merged)
  if (states !== null)
    facts.push(['time', `inside ${profile.roots.length === 1 ? 'the root' : 'roots'}: ${states}`])
  return facts
}

/** Returns the lines at the end of the page: the corrections of the numbers, and the memory of jfluid in the target. */
export function reportDetails(profile: Profile): Fact[] {
  const { calibration, kept, mode, regions } = profile
  const facts: Fact[] = []
  if (regions !== undefined)
    facts.push(['probes', `${nanos(calibration.innerNs)} inside each execution, removed from its time (t_I)`])
  else if (METRICS[mode].isTime) facts.push(['probes', probesText(profile)])
  if (regions !== undefined || METRICS[mode].isTime) facts.push(['clock', clockText(calibration)])
  if (kept !== undefined) {
    const [heap, outside] = [kib(kept.heapBytes), kib(kept.outsideBytes)]
    facts.push([
      'memory',
      `jfluid used at most ${heap} KiB of the JVM's heap and ${outside} KiB outside of it`,
    ])
  }
  return facts
}

/** Describes the cost of probes that was subtracted from times. */
function probesText({ calibration, jvms }: Profile): string {
  const { innerNs, outerNs, innerSpreadNs, outerSpreadNs } = calibration
  const text = `${nanos(innerNs, innerSpreadNs)} inside each call (t_I) and ${nanos(outerNs, outerSpreadNs)} in its caller (t_O), removed from all times`
  return jvms === undefined ? text : `${text}; the largest values of all JVMs`
}

function nanos(ns: number, spread?: number): string {
  return spread === undefined ? `${ns.toFixed(1)} ns` : `${ns.toFixed(1)} ± ${spread.toFixed(1)} ns`
}

const kib = (bytes: number): string => count(Math.ceil(bytes / 1024))

function targetFact({ target }: Profile): Fact {
  return ['target', `pid ${target.pid}, JDK ${clean(target.jdk)}, ${clean(target.vm)}`]
}

function namesFact({ roots }: Profile, what: 'root' | 'region'): Fact {
  return [roots.length === 1 ? what : `${what}s`, roots.map(clean).join(', ')]
}

const fromText = ({ durationMs, startedAt }: Profile): string =>
  `${span(durationMs)} from ${clean(startedAt)}`

function recorded(profile: Profile): Fact[] {
  return isSampledByJvm(profile) ? ofSamples(profile) : ofRoots(profile)
}

/** Returns the nonempty trees of threads, or of JVMs in a profile of several JVMs. */
function treesOf({ threads }: Profile): Tree[] {
  return threads.map(({ tree }) => tree).filter(({ count: nodes }) => nodes > 0)
}

function ofSamples(profile: Profile): Fact[] {
  const { events, durationMs, instrumentation, roots, sampling } = profile
  const { outside } = sampling ?? {}
  const all = events.count + (outside ?? 0)
  const inside =
    outside === undefined
      ? ''
      : `, ${percent(events.count, Math.max(1, all))} % of all ${plural(all, 'sample')}`
  const rate = durationMs > 0 ? `, ${shortCount((events.count * 1000) / durationMs)} per second` : ''
  return [
    targetFact(profile),
    ...(roots.length === 0 ? [] : [namesFact(profile, 'root')]),
    ['recorded', `${fromText(profile)}; nothing is instrumented`],
    [
      'samples',
      `${plural(events.count, 'sample')} in ${plural(treesOf(profile).length, 'thread')}${rate}${inside}`,
    ],
    ['methods', `${count(instrumentation.calledMethods)} in the sampled stacks`],
  ]
}

function ofRoots(profile: Profile): Fact[] {
  const { events, jvms, range, rootCalls, scheme, threads } = profile
  const facts: Fact[] = jvms
    ? jvms.map((it, i) => [`JVM ${i + 1}`, jvmText(it, topCalls(threads[i]!.tree))])
    : [targetFact(profile)]
  const busyMs = jvms ? busyMsOf(jvms) : profile.durationMs * Math.max(1, treesOf(profile).length)
  const waited = `${span(events.waitMs)} (${percent(events.waitMs, busyMs)} %)`
  facts.push(namesFact(profile, 'root'), ['recorded', `${fromText(profile)}, scheme ${scheme}`])
  if (range !== undefined) facts.push(['range', rangeText(range)])
  facts.push(
    callsFact(profile),
    ['methods', methodsText(profile)],
    [
      'overhead',
      scheme === 'adaptive'
        ? adaptiveCostText(profile)
        : `${STALLED}: ${waited}; ${shortCount(events.count)} events`,
    ],
  )
  if (rootCalls !== undefined && rootCalls.count > 0) facts.push(['latency', rootCallsText(rootCalls)])
  else if (rootCalls !== undefined && topCalls(profile.merged) > 0)
    facts.push(['latency', 'no root call has returned: times end with the recording'])
  const threw = rootCalls === undefined ? null : threwText(rootCalls)
  if (threw !== null) facts.push(['threw', threw])
  return facts
}

/** Scheme adaptive never stalls a thread. It measures how long threads take to continue in another chunk of the buffer. */
function adaptiveCostText(profile: Profile): string {
  const { events, stacks } = profile
  const { part, probesMs } = overheadOf(profile)
  const ofProbes = `probes ${probesMs === null ? 'an unknown time' : `about ${span(probesMs)}`} (${shortCount(events.count)} events)`
  // A range, and the sum of several JVMs, have no facts about stacks.
  const all = stacks === undefined || part === null ? '' : `${(100 * part).toFixed(1)} % of a processor: `
  const ofStacks = stacks === undefined ? '' : `stacks ${span(stacks.costMs)}, `
  return `${all}${ofStacks}${ofProbes}; application threads spent ${span(events.waitMs)} on switching event buffers`
}

function callsFact(profile: Profile): Fact {
  const { followedTasks, jvms, merged, mode, rootCalls, roots, stacks } = profile
  const trees = treesOf(profile)
  const part = jvms === undefined ? 'thread' : 'JVM'
  // The tree of a thread that only runs submitted tasks contains the path of the submitter, but no root calls.
  const callers =
    followedTasks === undefined ? trees.length : trees.filter((tree) => topCalls(tree) > 0).length
  const inRows = topCalls(merged)
  // Rows may cover only the later part of the recording. The number of finished calls covers the whole recording.
  const ended = (stacks?.rowsFromMs ?? 0) > 0 ? (rootCalls?.count ?? 0) : 0
  const counted = stacks !== undefined && stacks.timedOneOf > 1 ? stacks.rootCalls : 0
  const all = Math.max(inRows, ended, counted)
  const { isSampled } = METRICS[mode]
  const root = roots.length === 1 ? 'the root' : 'roots'
  const rows = all > inRows ? ` (${count(inRows)} of them in rows)` : ''
  const followed =
    followedTasks === undefined
      ? ''
      : `; ${plural(followedTasks, 'task')} followed, into ${plural(trees.length, part)} in total`
  const where = profile.range === undefined ? ` in ${plural(callers, part)}` : ''
  const text = `${plural(all, 'call')} of ${root}${rows}${where}${followed}`
  return [isSampled ? 'seen' : 'calls', text]
}

function methodsText({ instrumentation }: Profile): string {
  const { instrumentedMethods, calledMethods, redefinitions, hotSwapMs, longestPauseMs } = instrumentation
  const longest = longestPauseMs === undefined ? '' : `, max pause ${span(longestPauseMs)}`
  return `${count(instrumentedMethods)} instrumented, ${count(calledMethods)} called; ${plural(redefinitions, 'redefinition')} took ${span(hotSwapMs)}${longest}`
}

/** Describes the numbers in the rows, and the corrections applied. */
function measured(profile: Profile): Fact[] {
  const { bareCalls, mode } = profile
  if (!METRICS[mode].isTime) return SECTIONS[mode].facts(profile)
  return bareCalls === undefined ? [] : [['accuracy', bareText(bareCalls)]]
}

function bareText({ calls, bareNs, chargedNs, low, high }: BareCalls): string {
  return `reported time of a root call ${callCost(chargedNs, 'ns')}, time without probes below the root ${callCost(bareNs, 'ns')} (medians, ${plural(calls, 'call')}): charged/bare ${timesText(chargedNs / bareNs)} (${timesText(low)} to ${timesText(high)})`
}

export const timesText = (times: number): string => times.toFixed(times < 10 ? 2 : 0)

/** Names the clock and its measured properties. */
function clockText({ clock, clockMHz, readNs }: Profile['calibration']): string {
  const read = readNs === undefined || readNs === 0 ? '' : `, ${readNs.toFixed(1)} ns per reading`
  const rate = clockMHz === undefined ? '' : `, ${count(Math.round(clockMHz))} MHz`
  return clock + rate + read
}

function ofRegions(profile: Profile): Fact[] {
  const { instrumentation, calibration, events } = profile
  const { innerNs, outerNs } = calibration
  const methods = plural(instrumentation.instrumentedMethods, 'method')
  return [
    targetFact(profile),
    namesFact(profile, 'region'),
    ['recorded', fromText(profile)],
    ['executed', `${plural(executions(profile), 'time')}; ${methods} instrumented`],
    ['overhead', `${(innerNs + outerNs).toFixed(0)} ns per execution; ${STALLED}: ${span(events.waitMs)}`],
  ]
}

function waitingText(tree: Tree): string {
  const nsIn = (name: string): number => Math.max(0, topSum(tree, name))
  const [blocked, waited, all] = [nsIn('totalBlockedNs'), nsIn('totalWaitedNs'), nsIn('totalNs')]
  return (
    `${shortSpan(blocked)} blocked on monitors (${percent(blocked, all)} %), ${shortSpan(waited)} waiting ` +
    `(${percent(waited, all)} %), of ${shortSpan(all)} inside the root`
  )
}
