// Decides whether a soak of `record --repeat` was flat: from figures of the target and of the client that were taken each minute.

/** Figures of the first looks are not compared: the client's caches fill, and the server's pools grow. */
const SETTLED_PART = 0.25

const LIMITS = {
  /** Metaspace of all sessions together. */
  metaspaceMib: 24,
  /** The same without a collection, with the agent and the classes that the server itself loads. */
  mostMetaspaceMib: 32,
  /** Live objects of the target, after a full collection. */
  heapMib: 8,
  /** Without connections and threads of the server's pool for requests. */
  files: 2,
  threads: 3,
  clientFiles: 2,
  clientThreads: 2,
  clientRssMib: 40,
}

/**
 * @typedef {object} Look
 * @property {number} minute
 * @property {number} heapMib       used heap, without a collection
 * @property {number} metaspaceMib  used metaspace
 * @property {number} files
 * @property {number} threads
 * @property {number} clientRssMib
 * @property {number} clientFiles
 * @property {number} clientThreads
 * @typedef {{liveMib: number, ours: Record<string, number>, metaspaceMib: number}} Live  after a full collection
 */

/** Returns the median of one figure. */
function median(looks, key) {
  const values = looks.map((it) => it[key]).sort((a, b) => a - b)
  return values[Math.floor(values.length / 2)] ?? 0
}

/**
 * Compares the last quarter of the looks with the quarter after the first.
 *
 * @param {readonly Look[]} looks
 * @param {readonly Live[]} lives  before the first session, after the first sessions, in the middle, at the end
 * @returns {{rows: [figure: string, from: number, to: number, limit: number][], problems: string[]}}
 */
export function flatness(looks, lives) {
  const quarter = Math.max(1, Math.floor(looks.length * SETTLED_PART))
  const settled = looks.slice(Math.min(quarter, looks.length - 1)).slice(0, quarter)
  const last = looks.slice(-quarter)
  const [before, first] = lives
  const end = lives.at(-1)
  const rows = [
    ['metaspace after a collection, MiB', before.metaspaceMib, end.metaspaceMib, LIMITS.metaspaceMib],
    [
      'metaspace, maximum, MiB',
      before.metaspaceMib,
      Math.max(...looks.map((it) => it.metaspaceMib)),
      LIMITS.mostMetaspaceMib,
    ],
    ['live objects, MiB', first.liveMib, end.liveMib, LIMITS.heapMib],
    ...[
      ['files', 'files'],
      ['threads', 'threads'],
      ['client: resident, MiB', 'clientRssMib'],
      ['client: files', 'clientFiles'],
      ['client: threads', 'clientThreads'],
    ].map(([name, key]) => [name, median(settled, key), median(last, key), LIMITS[key]]),
  ]
  const problems = rows
    .filter(([, from, to, limit]) => to - from > limit)
    .map(([name, from, to, limit]) => `${name}: from ${from} to ${to}, more than ${limit}`)
  // A figure that could not be read is NaN, and no comparison with it is true.
  for (const [name, from, to] of rows)
    if (!Number.isFinite(from) || !Number.isFinite(to)) problems.push(`${name}: a figure is missing`)
  for (const [name, count] of Object.entries(end.ours)) {
    const was = first.ours[name] ?? 0
    if (count > was) problems.push(`live objects of ${name}: from ${was} to ${count}`)
  }
  return { rows, problems }
}

/** Returns the table of the figures as Markdown. */
export function flatTable(rows) {
  const text = (value) => String(Math.round(value * 10) / 10)
  const lines = rows.map(([name, from, to, limit]) => `| ${name} | ${text(from)} | ${text(to)} | ${limit} |`)
  return ['| figure | from | to | may grow by |', '| --- | --- | --- | --- |', ...lines].join('\n')
}

/** Returns the live objects after a collection, and those of jfluid by class, from the output of GC.class_histogram. */
export function liveOf(histogram) {
  const ours = {}
  for (const [, count, name] of histogram.matchAll(/^\s*\d+:\s+(\d+)\s+\d+\s+(\S*jfluid\S*)/gim)) {
    const plain = name.replace(/(\$\$Lambda).*/, '$1')
    ours[plain] = (ours[plain] ?? 0) + Number(count)
  }
  const bytes = Number(/^Total\s+\d+\s+(\d+)/m.exec(histogram)?.[1])
  return { liveMib: bytes / 2 ** 20, ours }
}

/** Returns the used metaspace in MiB, from the output of VM.metaspace basic scale=KB. */
export function metaspaceMibOf(report) {
  return Number([...report.matchAll(/([\d.]+) KB used\.$/gm)].at(-1)?.[1]) / 1024
}

/** Returns the used heap in MiB, from the output of GC.heap_info. */
export function heapMibOf(info) {
  const [heap] = info.split(/^ *Metaspace/m)
  return Number(/\bused (\d+)K/.exec(heap)?.[1]) / 1024
}
