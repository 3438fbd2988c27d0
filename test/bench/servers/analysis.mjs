// @ts-check
// Figures of one life of a server, from the output of its load and from outside observations. Pure functions: no files, no clock.

/**
 * @typedef {object} Request
 * @property {number} due  scheduled start of the request, epoch ms
 * @property {number} latency  ms from the scheduled start to the answer
 * @property {number} status  0 if it failed or was not answered
 * @property {{narrow: number, high: number}} calls  number of calls that the request makes of each root
 *
 * @typedef {{begin: number, end: number}} Window  epoch ms
 *
 * @typedef {object} Sent  counters of Kafka's load, read ten times a second
 * @property {number} at  epoch ms
 * @property {number} produced  requests that the producer has sent since its start
 * @property {number} read  requests that the consumer has sent since its start
 */

const SECOND = 1000
/** A second is back to normal if its p50 is at most this number of times the p50 of bare runs. */
export const SETTLED = 1.25
/** On a JVM that compiles its code again, ratios are measured after this time. */
export const LATER_S = 10

/**
 * @param {string} csv
 * @returns {Request[]} the complete lines; a line that is cut off at the end is left out
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
 * Returns the value that a share `part` of the values does not exceed; NaN without values.
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
 * Returns the latencies of requests that were due in a window.
 *
 * @param {readonly Request[]} requests
 * @param {Window} window
 */
export function latenciesIn(requests, { begin, end }) {
  return requests.filter(({ due }) => due >= begin && due < end).map(({ latency }) => latency)
}

/**
 * Returns the longest latency of all requests that were pending in a window, including requests that were due before the window.
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
 * Returns the p50 of each whole second of a window; null for a second without a request.
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
 * Returns the first second after which no p50 exceeds the limit. Null if the last p50 exceeds the limit.
 * @param {readonly (number | null)[]} p50s
 * @param {number} limit
 */
export function settledFrom(p50s, limit) {
  const last = p50s.findLastIndex((p50) => p50 !== null && p50 > limit)
  return last === p50s.length - 1 && last >= 0 ? null : last + 1
}

/**
 * Returns answers per second, for the answers in a window.
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
 * @typedef {object} Bare  figures of the runs without jfluid; each is the median of the runs
 * @property {number} worstMs
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} perSecond  answers
 * @property {number} unsettled  share of seconds whose p50 exceeds 1.25 times p50Ms: the noise of the row `settled`
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
 * Returns the stops of the whole JVM according to its own counters.
 *
 * @param {readonly import('./watch.mjs').Counters[]} counters
 * @param {Window} window
 * @returns {{count: number, ms: number, longestMs: number}} `longestMs`: longest stop in one interval of the counters; two close pauses are
 * added
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
 * Returns the processor time of one process in a window, as a share of one core, and its maximum resident memory.
 *
 * @param {readonly import('./watch.mjs').Processes[]} processes
 * @param {Window} window
 * @param {'target' | 'load' | 'client'} which
 * @returns {{share: number, rssMb: number} | null} null if the process was seen less than twice
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
 * Returns the processor use of all other programs on this machine, in cores. Above some tenths, the figures show a loaded machine.
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
 * Number of root calls in a window, according to the load that made them.
 *
 * @typedef {object} Counted
 * @property {number} least  calls that began and ended in the window
 * @property {number} most  least, plus the calls that were running at the begin or end of the window
 */

/**
 * Returns the root calls of HTTP load: calls made by answered requests.
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
 * Returns the root calls of Kafka load: requests sent by the producer (narrow), or by producer and consumer (high). A few of these requests
 * are for metadata. The counters are read ten times a second.
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
 * @property {number} p99Ms  during the recording
 * @property {number} p99LaterMs  after the first 10 s
 * @property {readonly (number | null)[]} p50BySecond  since Enter
 * @property {number | null} settledFromS
 * @property {number} perSecondLater  answers per second, after the first 10 s
 * @property {number} metaspaceKb  increase by the session
 * @property {number} metaspaceBeforeKb
 * @property {number | null} detachMs  from the end of the recording to the end of the client, including the time to write the profile
 * @property {number | null} clientShare  processor time of the client as a share of a core, from Enter to its end
 * @property {number | null} clientRssMb
 * @property {number} othersCores
 * @property {{count: number, ms: number, longestMs: number}} safepoints
 * @property {number} failed  requests without an answer, or with a status of 400 or above
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
 * The parts of `jfluid export --format json` that are used here (docs/profile-json.md).
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
 * @property {Window} recorded  time in which calls are added to rows
 * @property {number} rowsFromMs  begin of this time, since the begin of the recording
 * @property {number} rootCalls  root calls in rows of the merged tree
 * @property {number} darkCalls  root calls that were deliberately left out of the rows
 * @property {readonly Pause[]} pauses
 * @property {number | null} ownTimed  see `ownTimed` below
 * @property {number} warmupMs
 * @property {number} instrumentedMethods
 * @property {number} calledMethods
 * @property {number} redefinitions
 * @property {number} redefinedClasses
 * @property {number} longestPauseMs
 * @property {number} waitMs  time that threads waited for the client
 * @property {number | null} restoredMs  time until the target had its original code
 * @property {number | null} refusedClasses
 *
 * @typedef {object} Pause  pause of one redefinition
 * @property {number} predictedMs  prediction that was shown before the redefinition
 * @property {number} measuredMs  time for which the target was stopped
 *
 * @typedef {object} Row  of a tree
 * @property {string} class
 * @property {number} calls
 * @property {number} selfNs
 * @property {'timed' | 'sampled'} [known]
 * @property {readonly Row[]} children
 */

/**
 * The file has no key for dark calls: there are none.
 *
 * @param {ProfileJson} json
 * @param {string} own  prefix of the names of the application's classes
 * @returns {ProfileFacts}
 */
export function profileFacts(json, own) {
  const { startedAt, durationMs, warmupMs, events, instrumentation, merged, detach, stacks } = json
  const begin = Date.parse(startedAt)
  return {
    // Rows may begin later than the recording. Earlier root calls are in no row.
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
 * Returns the share of root calls that are in rows: 1 if the number is between the counted bounds, otherwise relative to the nearer bound.
 *
 * @param {object} calls
 * @param {number} calls.inRows
 * @param {number} calls.dark
 * @param {Counted | null} calls.counted
 * @returns {number | null} null if root calls were not counted, or if no call should be in a row
 */
export function rootCallsInRows({ inRows, dark, counted }) {
  if (counted === null || counted.least <= dark) return null
  const [least, most] = [counted.least - dark, counted.most - dark]
  if (inRows < least) return inRows / least
  return inRows > most ? inRows / most : 1
}

/**
 * Returns predicted / measured for the pause with the largest relative error.
 *
 * @param {readonly Pause[]} pauses
 * @returns {number | null} null without pauses
 */
export function worstPrediction(pauses) {
  const off = (/** @type {Pause} */ { predictedMs, measuredMs }) =>
    Math.abs(Math.log(predictedMs / measuredMs))
  const [worst] = [...pauses].sort((a, b) => off(b) - off(a))
  return worst === undefined ? null : worst.predictedMs / worst.measuredMs
}

/** Generated proxies. If the proxied type is not public, its proxy is in a package of the application. */
const GENERATED = /\$\$|\$Proxy\d/

/**
 * Returns a share of the time of rows that have a frame of the application at or above them, below their root: the part in which the
 * innermost such frame is timed and has calls. Rows have shares of samples, so this is the part of the samples since the rows exist.
 *
 * @param {readonly Row[]} roots
 * @param {string} own  prefix of the names of the application's classes
 * @returns {number | null} null if there are no such rows
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
