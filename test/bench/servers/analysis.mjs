// @ts-check
// Figures of one life of a server, from what its load wrote and what was seen from outside. Pure: no files, no clock.

/**
 * @typedef {object} Request
 * @property {number} due  when it was to start, epoch ms
 * @property {number} latency  ms from then until its answer
 * @property {number} status  0 if it failed or was not answered
 * @property {{narrow: number, high: number}} calls  that it makes of each root
 *
 * @typedef {{begin: number, end: number}} Window  epoch ms
 *
 * @typedef {object} Sent  of Kafka's load, ten a second
 * @property {number} at  epoch ms
 * @property {number} produced  requests that the producer has sent since its start
 * @property {number} read  those of the consumer
 */

const SECOND = 1000
/** A second's p50 that is at most that many times bare's is back. */
export const SETTLED = 1.25
/** On a JVM that compiles its code again, ratios count from here. */
export const LATER_S = 10

/**
 * @param {string} csv
 * @returns {Request[]} the whole lines; one that is cut off at the end is left out
 */
export function parseLoad(csv) {
  return numbers(csv, [3, 5]).map(([due, latency, status, narrow = 0, high = 0]) => ({
    ...{ due, latency, status, calls: { narrow, high } },
  }))
}

/**
 * @param {string} csv
 * @returns {Sent[]}
 */
export function parseSent(csv) {
  return numbers(csv, [3]).map(([at, produced, read]) => ({ at, produced, read }))
}

/**
 * @param {string} csv
 * @param {readonly number[]} columns
 */
function numbers(csv, columns) {
  const whole = csv.slice(0, csv.lastIndexOf('\n') + 1)
  return whole
    .split('\n')
    .map((line) => line.split(',').map(Number))
    .filter((row) => columns.includes(row.length) && row.every(Number.isFinite))
}

/**
 * The value that a share `part` of the values does not exceed; NaN without any.
 *
 * @param {readonly number[]} values
 * @param {number} part
 */
export function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted.length === 0 ? Number.NaN : sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)]
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
}

/**
 * Latencies of what was due in a window.
 *
 * @param {readonly Request[]} requests
 * @param {Window} window
 */
export function latenciesIn(requests, { begin, end }) {
  return requests.filter(({ due }) => due >= begin && due < end).map(({ latency }) => latency)
}

/**
 * The longest of all requests that were on their way in a window, so those too that were due before it.
 *
 * @param {readonly Request[]} requests
 * @param {Window} window
 */
export function worstIn(requests, { begin, end }) {
  return requests
    .filter(({ due, latency }) => due < end && due + latency > begin)
    .reduce((worst, { latency }) => Math.max(worst, latency), 0)
}

/**
 * p50 of each whole second of a window; null for one without a request.
 *
 * @param {readonly Request[]} requests
 * @param {Window} window
 */
export function p50BySecond(requests, { begin, end }) {
  return Array.from({ length: Math.floor((end - begin) / SECOND) }, (_, second) => {
    const from = begin + second * SECOND
    const latencies = latenciesIn(requests, { begin: from, end: from + SECOND })
    return latencies.length === 0 ? null : quantile(latencies, 0.5)
  })
}

/**
 * The second from which on no p50 exceeds the limit. Null if the last one does.
 * @param {readonly (number | null)[]} p50s
 * @param {number} limit
 */
export function settledFrom(p50s, limit) {
  const last = p50s.findLastIndex((p50) => p50 !== null && p50 > limit)
  return last === p50s.length - 1 && last >= 0 ? null : last + 1
}

/**
 * Answers a second, of what was answered in a window.
 *
 * @param {readonly Request[]} requests
 * @param {Window} window
 */
export function throughput(requests, { begin, end }) {
  const answered = requests.filter(({ due, latency, status }) => {
    const at = due + latency
    return status !== 0 && at >= begin && at < end
  })
  return (answered.length * SECOND) / (end - begin)
}

/**
 * @typedef {object} Bare  of the runs with nothing attached; each figure is the median of theirs
 * @property {number} worstMs
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} perSecond  answers
 * @property {number} unsettled  share of all their seconds whose p50 exceeds 1.25 times p50Ms: the noise of that row
 * @property {readonly {worstMs: number, p50Ms: number, p99Ms: number, perSecond: number, othersCores: number}[]} runs
 */

/**
 * @param {readonly Request[]} requests
 * @param {readonly Window[]} windows
 * @param {readonly import('./watch.mjs').Processes[]} processes
 * @returns {Bare}
 */
export function bareFigures(requests, windows, processes) {
  const runs = windows.map((window) => {
    const latencies = latenciesIn(requests, window)
    return {
      worstMs: worstIn(requests, window),
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      perSecond: throughput(requests, window),
      othersCores: othersIn(processes, window),
    }
  })
  const p50Ms = median(runs.map((run) => run.p50Ms))
  const seconds = windows.flatMap((window) => p50BySecond(requests, window)).filter((p50) => p50 !== null)
  return {
    worstMs: median(runs.map((run) => run.worstMs)),
    p50Ms,
    p99Ms: median(runs.map((run) => run.p99Ms)),
    perSecond: median(runs.map((run) => run.perSecond)),
    unsettled: seconds.filter((p50) => p50 > SETTLED * p50Ms).length / seconds.length,
    runs,
  }
}

/**
 * Stops of the whole JVM, by its own counters.
 *
 * @param {readonly import('./watch.mjs').Counters[]} counters
 * @param {Window} window
 * @returns {{count: number, ms: number, longestMs: number}} `longestMs`: in one interval of the counters, so of two close pauses their sum
 */
export function safepointsIn(counters, { begin, end }) {
  const within = counters.filter(({ at }) => at >= begin && at <= end)
  const [first, last] = [within.at(0), within.at(-1)]
  if (first === undefined || last === undefined) return { count: 0, ms: 0, longestMs: 0 }
  const growth = within.slice(1).map((it, index) => it.safepointMs - within[index].safepointMs)
  return {
    count: last.safepoints - first.safepoints,
    ms: last.safepointMs - first.safepointMs,
    longestMs: Math.max(0, ...growth),
  }
}

/**
 * Processor time of one process in a window, as a share of one core, and its largest resident size.
 *
 * @param {readonly import('./watch.mjs').Processes[]} processes
 * @param {Window} window
 * @param {'target' | 'load' | 'client'} which
 * @returns {{share: number, rssMb: number} | null} null if it was seen less than twice
 */
export function usageIn(processes, { begin, end }, which) {
  const seen = processes.flatMap((it) => {
    const usage = it[which]
    return it.at >= begin && it.at <= end && usage !== null ? [{ at: it.at, ...usage }] : []
  })
  const [first, last] = [seen.at(0), seen.at(-1)]
  if (first === undefined || last === undefined || first === last) return null
  return {
    share: (last.cpuMs - first.cpuMs) / (last.at - first.at),
    rssMb: Math.max(...seen.map(({ rssMb }) => rssMb)),
  }
}

/**
 * What all others on this machine used, in cores: above some tenths, the figures are those of a loaded machine.
 *
 * @param {readonly import('./watch.mjs').Processes[]} processes
 * @param {Window} window
 */
export function othersIn(processes, window) {
  const within = processes.filter(({ at }) => at >= window.begin && at <= window.end)
  const [first, last] = [within.at(0), within.at(-1)]
  if (first === undefined || last === undefined || first === last) return 0
  const all = (last.machineMs - first.machineMs) / (last.at - first.at)
  const ours = ['target', 'load', 'client'].map(
    (which) => usageIn(processes, window, /** @type {'target' | 'load' | 'client'} */ (which))?.share ?? 0,
  )
  return Math.max(0, all - ours.reduce((sum, share) => sum + share, 0))
}

/**
 * Root calls in a window by those who made them.
 *
 * @typedef {object} Counted
 * @property {number} least  that began and ended in the window
 * @property {number} most  with those that were on their way at its ends
 */

/**
 * Of HTTP: calls by answered requests.
 *
 * @param {'narrow' | 'high'} root
 * @param {readonly Request[]} requests
 * @param {Window} window
 * @returns {Counted}
 */
export function requestsTo(root, requests, { begin, end }) {
  const answered = requests.filter(
    ({ due, latency, status }) => status !== 0 && due < end && due + latency > begin,
  )
  const inside = answered.filter(({ due, latency }) => due >= begin && due + latency <= end)
  const made = (/** @type {readonly Request[]} */ those) =>
    those.reduce((sum, { calls }) => sum + calls[root], 0)
  return { least: made(inside), most: made(answered) }
}

/**
 * Of Kafka: requests that the producer has sent (narrow), or producer and consumer (high), a few of which are for metadata. They
 * are read ten times a second.
 *
 * @param {'narrow' | 'high'} root
 * @param {readonly Sent[]} sent
 * @param {Window} window
 * @returns {Counted | null} null if the window is not covered
 */
export function requestsSent(root, sent, { begin, end }) {
  const total = (/** @type {Sent} */ it) => it.produced + (root === 'high' ? it.read : 0)
  const between = (/** @type {Sent | undefined} */ from, /** @type {Sent | undefined} */ to) =>
    from === undefined || to === undefined ? null : total(to) - total(from)
  const least = between(
    sent.find(({ at }) => at >= begin),
    sent.findLast(({ at }) => at <= end),
  )
  const most = between(
    sent.findLast(({ at }) => at <= begin),
    sent.find(({ at }) => at >= end),
  )
  return least === null || most === null ? null : { least, most }
}

/**
 * @typedef {object} SessionFigures
 * @property {number | null} firstCallMs  from Enter to the first root call on the screen; null if there was none
 * @property {number} worstMs
 * @property {number} p99Ms  while it recorded
 * @property {number} p99LaterMs  from 10 s on
 * @property {readonly (number | null)[]} p50BySecond  from Enter on
 * @property {number | null} settledFromS
 * @property {number} perSecondLater  answers, from 10 s on
 * @property {number} metaspaceKb  more than before
 * @property {number} metaspaceBeforeKb
 * @property {number | null} detachMs  from the end of recording to the end of the client, so with what it writes
 * @property {number | null} clientShare  of a core, from Enter to its end
 * @property {number | null} clientRssMb
 * @property {number} othersCores
 * @property {{count: number, ms: number, longestMs: number}} safepoints
 * @property {number} failed  requests without an answer, or with one of 400 and above
 * @property {number | string} code
 */

/**
 * @param {readonly Request[]} requests
 * @param {import('./life.mjs').SessionMarks} session
 * @param {Bare} bare
 * @param {Pick<import('./life.mjs').Life, 'counters' | 'processes'>} seen
 * @returns {SessionFigures}
 */
export function sessionFigures(requests, session, bare, { counters, processes }) {
  const { begin, exit, window, before, after } = session
  const end = session.ending ?? exit
  const later = { begin: begin + LATER_S * SECOND, end }
  const p50s = p50BySecond(requests, { begin, end })
  const client = usageIn(processes, { begin, end: exit }, 'client')
  return {
    firstCallMs: session.firstCall === null ? null : session.firstCall - begin,
    worstMs: worstIn(requests, window),
    p99Ms: quantile(latenciesIn(requests, { begin, end }), 0.99),
    p99LaterMs: quantile(latenciesIn(requests, later), 0.99),
    p50BySecond: p50s,
    settledFromS: settledFrom(p50s, SETTLED * bare.p50Ms),
    perSecondLater: throughput(requests, later),
    metaspaceKb: after.metaspaceKb - before.metaspaceKb,
    metaspaceBeforeKb: before.metaspaceKb,
    detachMs: session.ending === null ? null : exit - session.ending,
    clientShare: client?.share ?? null,
    clientRssMb: client?.rssMb ?? null,
    othersCores: othersIn(processes, window),
    safepoints: safepointsIn(counters, window),
    failed: requests.filter(
      ({ due, status }) => due >= begin && due < window.end && (status === 0 || status >= 400),
    ).length,
    code: session.code,
  }
}

/**
 * What is read of `jfluid export --format json` (docs/profile-json.md).
 *
 * @typedef {object} ProfileJson
 * @property {string} startedAt
 * @property {number} durationMs
 * @property {number} warmupMs
 * @property {{waitMs: number}} events
 * @property {Record<'instrumentedMethods' | 'calledMethods' | 'redefinitions' | 'redefinedClasses' | 'longestPauseMs', number>} instrumentation
 * @property {readonly Row[]} merged
 * @property {{ms: number, refusedClasses: number}} [detach]
 * @property {{rowsFromMs: number, pauses: readonly {predictedMs: number | null, measuredMs: number | null}[]}} [stacks]
 *
 * @typedef {object} ProfileFacts
 * @property {Window} recorded  from when on calls are in rows
 * @property {number} rowsFromMs  when that was, since recording began
 * @property {number} rootCalls  in rows of the merged tree
 * @property {number} darkCalls  of the root, left out of the rows on purpose
 * @property {readonly Pause[]} pauses
 * @property {number | null} ownTimed  of the time with a frame of the application below the root, the part whose innermost one is in a timed row
 * @property {number} warmupMs
 * @property {number} instrumentedMethods
 * @property {number} calledMethods
 * @property {number} redefinitions
 * @property {number} redefinedClasses
 * @property {number} longestPauseMs
 * @property {number} waitMs  that threads waited for the client
 * @property {number | null} restoredMs  until the target had its own code back
 * @property {number | null} refusedClasses
 *
 * @typedef {object} Pause  of one redefinition
 * @property {number} predictedMs  as it was told before anything was armed
 * @property {number} measuredMs  how long the target stood still
 *
 * @typedef {object} Row  of a tree
 * @property {string} class
 * @property {number} calls
 * @property {number} selfNs
 * @property {'timed' | 'sampled'} [known]
 * @property {readonly Row[]} children
 */

/**
 * No key of the file tells dark calls: there are none of them.
 *
 * @param {ProfileJson} json
 * @param {string} own  what names of the application's classes begin with
 * @returns {ProfileFacts}
 */
export function profileFacts(json, own) {
  const { startedAt, durationMs, warmupMs, events, instrumentation, merged, detach, stacks } = json
  const begin = Date.parse(startedAt)
  return {
    // Rows may begin later than the recording: then root calls before are in none.
    recorded: { begin: begin + (stacks?.rowsFromMs ?? 0), end: begin + durationMs },
    rowsFromMs: stacks?.rowsFromMs ?? 0,
    rootCalls: merged.reduce((sum, { calls }) => sum + calls, 0),
    darkCalls: 0,
    pauses: (stacks?.pauses ?? []).flatMap(({ predictedMs, measuredMs }) =>
      predictedMs === null || measuredMs === null ? [] : [{ predictedMs, measuredMs }],
    ),
    ownTimed: ownTimed(merged, own),
    warmupMs,
    instrumentedMethods: instrumentation.instrumentedMethods,
    calledMethods: instrumentation.calledMethods,
    redefinitions: instrumentation.redefinitions,
    redefinedClasses: instrumentation.redefinedClasses,
    longestPauseMs: instrumentation.longestPauseMs,
    waitMs: events.waitMs,
    restoredMs: detach?.ms ?? null,
    refusedClasses: detach?.refusedClasses ?? null,
  }
}

/**
 * The share of root calls that are in rows: 1 if it is within what was counted, else by the nearer bound.
 *
 * @param {object} calls
 * @param {number} calls.inRows
 * @param {number} calls.dark
 * @param {Counted | null} calls.counted
 * @returns {number | null} null where they were not counted, or none should be in a row
 */
export function rootCallsInRows({ inRows, dark, counted }) {
  if (counted === null || counted.least <= dark) return null
  const [least, most] = [counted.least - dark, counted.most - dark]
  if (inRows < least) return inRows / least
  return inRows > most ? inRows / most : 1
}

/**
 * Predicted / measured, of the pause that is furthest off.
 *
 * @param {readonly Pause[]} pauses
 * @returns {number | null} null without any
 */
export function worstPrediction(pauses) {
  const off = (/** @type {Pause} */ { predictedMs, measuredMs }) =>
    Math.abs(Math.log(predictedMs / measuredMs))
  const [worst] = [...pauses].sort((a, b) => off(b) - off(a))
  return worst === undefined ? null : worst.predictedMs / worst.measuredMs
}

/** Proxies, which lie in a package of the application where what they stand for is not public. */
const GENERATED = /\$\$|\$Proxy\d/

/**
 * Of the time of rows with a frame of the application at or above them, below their root: the part whose innermost one is timed, and has
 * calls. Rows have shares of samples, so that is the part of the samples since rows are what they are.
 *
 * @param {readonly Row[]} roots
 * @param {string} own  what names of the application's classes begin with
 * @returns {number | null} null without any
 */
export function ownTimed(roots, own) {
  let whole = 0
  let timed = 0
  const left = roots.flatMap(({ children }) =>
    children.map((row) => ({ row, isTimed: /** @type {boolean | null} */ (null) })),
  )
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { row } = next
    const isOwn = row.class.startsWith(own) && !GENERATED.test(row.class)
    const isTimed = isOwn ? row.known === 'timed' && row.calls > 0 : next.isTimed
    if (isTimed !== null) {
      const self = Math.max(0, row.selfNs)
      whole += self
      if (isTimed) timed += self
    }
    for (const child of row.children) left.push({ row: child, isTimed })
  }
  return whole === 0 ? null : timed / whole
}
