// The table of docs/jdks.md: its text, and its parts. It contains no knowledge about how the results are obtained (table.mjs).

/** Releases that jfluid supports as targets, as in `TESTED_JDKS` (src/base/jdk-releases.ts). Each has a row. */
export const TARGETS = [11, 17, 21, 25, 26, 27]

/** Columns with results. A test of `test/live/each-target.full.jvm.test.ts` belongs to the column with which its title begins. */
export const COLUMNS = ['attach', 'counts', 'states', 'detach with proof']

/** Result of a row that was not run. */
export const NOT_RUN = 'not run'
export const RESULTS = ['passed', 'failed', NOT_RUN]

const HEAD = ['JDK', 'version', ...COLUMNS, 'seconds']

/**
 * @typedef {object} Row
 * @property {number} jdk      feature version
 * @property {string} version  full version and vendor; empty if the JDK was not found
 * @property {readonly string[]} results  a result for each column
 * @property {number | null} seconds  duration of all tests of the row; null if none has run
 */

/**
 * Returns the lines from the date to the end of the table.
 *
 * @param {string} run  date and commit
 * @param {readonly Row[]} rows
 */
export function tableText(run, rows) {
  const cells = TARGETS.map((jdk) => {
    const row = rows.find((it) => it.jdk === jdk)
    const results = row?.results ?? COLUMNS.map(() => NOT_RUN)
    return [`${jdk}`, row?.version || '–', ...results, `${row?.seconds ?? '–'}`]
  })
  const line = (/** @type {readonly string[]} */ row) => `| ${row.join(' | ')} |`
  return [`Date of the runs: ${run}`, '', line(HEAD), line(HEAD.map(() => '---')), ...cells.map(line)].join(
    '\n',
  )
}

/**
 * Returns the text for the date and the commit of the runs.
 *
 * @param {string} date  year-month-day
 * @param {string | null} commit  the last commit that changed client or agent; null without a repository
 * @param {boolean} isChanged  whether sources differ from the commit
 */
export function runText(date, commit, isChanged) {
  if (commit === null) return `${date}, commit unknown`
  return `${date}, commit ${commit}${isChanged ? ' with changes' : ''}`
}

const TABLE = /^Date of the runs: (.+)\n\n((?:\|.*(?:\n|$))+)/m

/**
 * Returns date and commit, and the rows, of a document.
 *
 * @param {string} document
 */
export function readTable(document) {
  const [, run = '', table = ''] = TABLE.exec(document) ?? []
  const rows = table
    .trimEnd()
    .split('\n')
    .slice(2)
    .map((line) => {
      const cells = line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim())
      const [jdk, version] = cells
      const seconds = Number(cells.at(-1))
      return {
        jdk: Number(jdk),
        version: version === '–' ? '' : version,
        results: cells.slice(2, -1),
        seconds: Number.isNaN(seconds) ? null : seconds,
      }
    })
  return { run, rows }
}

/**
 * Returns the document with another table.
 *
 * @param {string} document
 * @param {string} text  of tableText
 */
export function withTable(document, text) {
  if (!TABLE.test(document)) throw new Error('the document has no table of JDKs')
  return document.replace(TABLE, () => `${text}\n`)
}

/**
 * Returns the rows of a run of the tests.
 *
 * @param {readonly {ancestorTitles: readonly string[], title: string, status: string, duration?: number}[]} tests  as in the JSON of
 *     vitest; durations in ms
 * @returns {Row[]}
 */
export function rowsOf(tests) {
  return TARGETS.flatMap((jdk) => {
    const own = tests.filter(({ ancestorTitles }) => ancestorTitles[0] === `tests on JDK ${jdk}`)
    const version = own[0]?.ancestorTitles[1]
    if (version === undefined) return []
    const ms = own.reduce((sum, { duration = 0 }) => sum + duration, 0)
    const results = COLUMNS.map((column) => resultOf(own, column))
    return [{ jdk, version, results, seconds: ms === 0 ? null : Math.round(ms / 1000) }]
  })
}

/**
 * @param {readonly {title: string, status: string}[]} tests
 * @param {string} column
 */
function resultOf(tests, column) {
  const states = tests.filter(({ title }) => title.startsWith(`${column}:`)).map(({ status }) => status)
  if (states.includes('failed')) return 'failed'
  return states.length > 0 && states.every((it) => it === 'passed') ? 'passed' : NOT_RUN
}
