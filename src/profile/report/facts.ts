// Facts about the recording: the lines above the tree.

import { append } from '../../base/arrays.ts'
import type { BareCalls } from '../../cct/bare-calls.ts'
import { type Tree, topSum } from '../../cct/tree.ts'
import { tellsWaits } from '../../cct/waits.ts'
import { METRICS } from '../../measures/columns.ts'
import { SECTIONS } from '../../measures/sections.ts'
import { busyMsOf, jvmText, topCalls } from '../jvms.ts'
import { isSampledByJvm, type Profile } from '../profile.ts'
import { executions } from '../region-report.ts'
import { callCost, rootCallsText } from '../root-calls.ts'
import { rootStatesText } from '../sampled-rows.ts'
import { stackLines } from '../stack-facts.ts'
import { clean, count, percent, plural, shortCount, span } from '../text.ts'

type Fact = [label: string, text: string]

/** Returns facts for judging the numbers: labels of at most ten letters, with one sentence each. */
export function reportFacts(profile: Profile): Fact[] {
  const { kept, merged, regions, stacks } = profile
  const facts = regions === undefined ? [...recorded(profile), ...measured(profile)] : ofRegions(profile)
  if (tellsWaits(merged)) facts.push(['waiting', waitingText(merged)])
  if (stacks !== undefined) append(facts, stackLines(stacks, profile))
  const states = rootStatesText(merged)
  if (states !== null) facts.push(['time', states])
  if (kept !== undefined) {
    const [heap, outside] = [kib(kept.heapBytes), kib(kept.outsideBytes)]
    facts.push(['memory', `${heap} KiB of the target's heap at most, ${outside} KiB outside of it`])
  }
  return facts
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

/** Returns the trees of threads. With several JVMs, each JVM has one tree. */
function treesOf({ threads }: Profile): Tree[] {
  return threads.map(({ tree }) => tree).filter(({ count: nodes }) => nodes > 0)
}

function ofSamples(profile: Profile): Fact[] {
  const { events, durationMs, instrumentation, roots, sampling } = profile
  const { outside } = sampling ?? {}
  const all = events.count + (outside ?? 0)
  const inside =
    outside === undefined ? '' : `, ${percent(events.count, Math.max(1, all))} % of all ${count(all)}`
  const rate = durationMs > 0 ? `, ${shortCount((events.count * 1000) / durationMs)} a second` : ''
  return [
    targetFact(profile),
    ...(roots.length === 0 ? [] : [namesFact(profile, 'root')]),
    ['recorded', `${fromText(profile)}; nothing is instrumented`],
    ['samples', `${count(events.count)} in ${plural(treesOf(profile).length, 'thread')}${rate}${inside}`],
    ['methods', `${count(instrumentation.calledMethods)} seen`],
  ]
}

function ofRoots(profile: Profile): Fact[] {
  const { events, jvms, rootCalls, scheme, threads } = profile
  const facts: Fact[] = jvms
    ? jvms.map((it, i) => [`JVM ${i + 1}`, jvmText(it, topCalls(threads[i]!.tree))])
    : [targetFact(profile)]
  const busyMs = jvms ? busyMsOf(jvms) : profile.durationMs * Math.max(1, treesOf(profile).length)
  // In scheme adaptive, threads never wait for the client. The time is that of switching to another chunk of the buffer.
  const waited = scheme === 'adaptive' ? 'handing them over took' : 'threads waited'
  facts.push(
    namesFact(profile, 'root'),
    ['recorded', `${fromText(profile)}, scheme ${scheme.toUpperCase()}`],
    callsFact(profile),
    ['methods', methodsText(profile)],
    [
      'overhead',
      `${shortCount(events.count)} events, ${waited} ${span(events.waitMs)} (${percent(events.waitMs, busyMs)} %)`,
    ],
  )
  if (rootCalls !== undefined && rootCalls.count > 0) facts.push(['took', rootCallsText(rootCalls)])
  else if (rootCalls !== undefined && topCalls(profile.merged) > 0)
    facts.push(['took', 'no call has returned: times are those until the end'])
  return facts
}

function callsFact(profile: Profile): Fact {
  const { followedTasks, jvms, merged, mode, rootCalls, roots, stacks } = profile
  const trees = treesOf(profile)
  const part = jvms === undefined ? 'thread' : 'JVM'
  // A thread that only runs submitted tasks has the submitter's path, but without calls.
  const callers =
    followedTasks === undefined ? trees.length : trees.filter((tree) => topCalls(tree) > 0).length
  const inRows = topCalls(merged)
  // Rows may begin later than the recording. The number of finished calls covers the whole recording.
  const ended = (stacks?.rowsFromMs ?? 0) > 0 ? (rootCalls?.count ?? 0) : 0
  const counted = stacks !== undefined && stacks.timedOneOf > 1 ? stacks.rootCalls : 0
  const all = Math.max(inRows, ended, counted)
  const { isSampled } = METRICS[mode]
  const root = roots.length === 1 ? 'the root' : 'roots'
  const rows = all > inRows ? `, of which rows have ${count(inRows)},` : ''
  const followed =
    followedTasks === undefined
      ? ''
      : `; ${plural(followedTasks, 'task')} followed, ${plural(trees.length, part)} in all`
  const text = `${count(all)}${isSampled ? ' calls' : ''} of ${root}${rows} in ${plural(callers, part)}${followed}`
  return [isSampled ? 'seen' : 'calls', text]
}

function methodsText({ instrumentation }: Profile): string {
  const { instrumentedMethods, calledMethods, redefinitions, hotSwapMs, longestPauseMs } = instrumentation
  const longest = longestPauseMs === undefined ? '' : `, longest pause ${span(longestPauseMs)}`
  return `${count(instrumentedMethods)} instrumented, ${count(calledMethods)} called, ${plural(redefinitions, 'redefinition')} (${span(hotSwapMs)}${longest})`
}

/** Describes the numbers in the rows, and the corrections applied. */
function measured(profile: Profile): Fact[] {
  const { bareCalls, calibration, jvms, mode } = profile
  if (!METRICS[mode].isTime) return SECTIONS[mode].facts(profile)
  const { innerNs, outerNs, innerSpreadNs, outerSpreadNs } = calibration
  const sure = (ns: number, spread: number | undefined): string =>
    spread === undefined ? `${ns.toFixed(1)} ns` : `${ns.toFixed(1)} ± ${spread.toFixed(1)} ns`
  const each = jvms === undefined ? '' : 'of each JVM what its probes cost, at most '
  const text = `${each}t_I ${sure(innerNs, innerSpreadNs)} a call, t_O ${sure(outerNs, outerSpreadNs)} a call made (clock: ${clockText(calibration)})`
  return [
    ['removed', text],
    ...(bareCalls === undefined ? [] : [['bare', bareText(bareCalls)] satisfies Fact]),
  ]
}

function bareText({ calls, bareNs, chargedNs, low, high }: BareCalls): string {
  return `${plural(calls, 'root call')} at the end, without probes below the root, took ${callCost(bareNs, 'ns')} (median), calls before that were charged ${callCost(chargedNs, 'ns')}: charged/bare ${timesText(chargedNs / bareNs)} (${timesText(low)} to ${timesText(high)})`
}

export const timesText = (times: number): string => times.toFixed(times < 10 ? 2 : 0)

/** Names the clock and its measured properties. */
function clockText({ clock, clockMHz, readNs }: Profile['calibration']): string {
  const read = readNs === undefined || readNs === 0 ? '' : `, ${readNs.toFixed(1)} ns a reading`
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
    ['executed', `${count(executions(profile))} times; ${methods}`],
    [
      'overhead',
      `${(innerNs + outerNs).toFixed(0)} ns an execution (clock: ${clockText(calibration)}); threads waited ${span(events.waitMs)} in all`,
    ],
    ['removed', `t_I ${innerNs.toFixed(1)} ns an execution`],
  ]
}

function waitingText(tree: Tree): string {
  const msIn = (name: string): number => Math.max(0, topSum(tree, name)) / 1e6
  const [blocked, waited, all] = [msIn('totalBlockedNs'), msIn('totalWaitedNs'), msIn('totalNs')]
  return (
    `blocked on monitors ${span(blocked)} (${percent(blocked, all)} %), waiting ${span(waited)} ` +
    `(${percent(waited, all)} %) of ${span(all)} inside`
  )
}
