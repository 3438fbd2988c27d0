// @ts-check
// The table of the servers' bench: each figure of each run and its goal. Pure functions.

import { rootCallsInRows, SETTLED, worstPrediction } from './analysis.mjs'

/** JDKs up to this version discard all compiled code at the first redefinition, unless the JVM was started with an agent. */
const FLUSHES_UNTIL = 22
const MIB_KB = 1024
/** Number of sessions that the rows about ten sessions need. */
const SESSIONS = 10

/**
 * @typedef {object} Session
 * @property {string} root
 * @property {import('./analysis.mjs').SessionFigures} figures
 * @property {import('./analysis.mjs').ProfileFacts | null} profile  null if no profile was written
 * @property {import('./analysis.mjs').Counted | null} counted  root calls during the recording; null if unknown for this root
 *
 * @typedef {object} Run  one life of the server
 * @property {import('./analysis.mjs').Bare} bare
 * @property {readonly Session[]} sessions
 * @property {boolean} alive
 *
 * @typedef {object} Setting
 * @property {number} version  version of the JDK
 * @property {boolean} idleAgent  whether the JVM was started with the idle agent
 * @property {boolean} busy
 * @property {boolean} control  whether classes were redefined without jfluid: the figures of jfluid are missing
 *
 * @typedef {object} Judged
 * @property {string} text  `–` if there is no figure
 * @property {boolean | null} held  whether the goal is met; null if there is no figure
 *
 * @typedef {object} Figure
 * @property {string} name
 * @property {(setting: Setting) => string} goal
 * @property {(bare: import('./analysis.mjs').Bare) => string} [bare]
 * @property {(run: Run, setting: Setting) => Judged} judge
 * @property {(setting: Setting) => boolean} [applies]
 * @property {true} [ofJfluid]  whether there is no such figure without jfluid
 */

const NONE = '–'
const number = (/** @type {number} */ value) =>
  value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2)
const ms = (/** @type {number} */ value) => `${number(value)} ms`
const mib = (/** @type {number} */ kb) => `${(kb / MIB_KB).toFixed(1)} MiB`
const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(1)} %`
const times = (/** @type {number} */ ratio) => `${ratio.toFixed(2)} ×`

/** Returns the first session of a life, which the table shows. Only the rows about many sessions use later sessions. */
const first = (/** @type {Run} */ run) => run.sessions[0].figures
const flushes = (/** @type {Setting} */ { version, idleAgent }) => version <= FLUSHES_UNTIL && !idleAgent

/**
 * @param {number | null} value
 * @param {(value: number) => string} show
 * @param {number} limit
 * @param {'≤' | '≥'} [order]
 * @returns {Judged}
 */
function judged(value, show, limit, order = '≤') {
  if (value === null || Number.isNaN(value)) return { text: NONE, held: null }
  return { text: show(value), held: order === '≤' ? value <= limit : value >= limit }
}

function worstGoal(/** @type {Setting} */ setting) {
  if (flushes(setting)) return 400
  return setting.version <= FLUSHES_UNTIL ? 200 : 150
}

const settleGoal = (/** @type {Setting} */ setting) => (flushes(setting) ? 10 : 2)

/** @type {readonly Figure[]} */
export const FIGURES = [
  {
    name: 'Enter → first root call on the screen',
    ofJfluid: true,
    goal: () => '≤ 1 s',
    judge(run) {
      const { firstCallMs } = first(run)
      return firstCallMs === null ? { text: 'none', held: false } : judged(firstCallMs, ms, 1000)
    },
  },
  {
    name: 'worst request, attach to 2 s after detach',
    goal: (setting) =>
      setting.busy ? "≤ bare's worst + 300 ms" : `≤ the larger of ${worstGoal(setting)} ms and 1.5 × bare`,
    bare: (bare) => ms(bare.worstMs),
    judge: (run, setting) =>
      judged(
        first(run).worstMs,
        ms,
        setting.busy ? run.bare.worstMs + 300 : Math.max(worstGoal(setting), 1.5 * run.bare.worstMs),
      ),
  },
  {
    name: 'p99 / bare p99',
    goal: (setting) => (flushes(setting) ? '(told)' : '≤ 2'),
    bare: (bare) => ms(bare.p99Ms),
    judge(run, setting) {
      const it = judged(first(run).p99Ms / run.bare.p99Ms, times, 2)
      return flushes(setting) ? { ...it, held: null } : it
    },
    applies: ({ busy }) => !busy,
  },
  {
    name: 'p99 from 10 s on / bare p99',
    goal: () => '≤ 2',
    judge: (run) => judged(first(run).p99LaterMs / run.bare.p99Ms, times, 2),
    applies: ({ busy }) => !busy,
  },
  {
    name: `p50 of each second ≤ ${SETTLED} × bare, from Enter on`,
    goal: (setting) => `from ${settleGoal(setting)} s on`,
    bare: (bare) => `${ms(bare.p50Ms)}; above it in ${percent(bare.unsettled)} of seconds`,
    judge(run, setting) {
      const { settledFromS } = first(run)
      if (settledFromS === null) return { text: 'never', held: false }
      return judged(settledFromS, (second) => `from ${second} s`, settleGoal(setting))
    },
    applies: ({ busy }) => !busy,
  },
  {
    name: 'p50 of the first 12 seconds, ms',
    goal: () => '(told)',
    judge(run) {
      const seconds = first(run).p50BySecond.slice(0, 12)
      return { text: seconds.map((p50) => (p50 === null ? NONE : p50.toFixed(0))).join(' '), held: null }
    },
    applies: ({ busy }) => !busy,
  },
  {
    name: 'throughput from 10 s on / bare',
    goal: () => '≥ 95 %',
    bare: (bare) => `${number(bare.perSecond)}/s`,
    judge: (run) => judged(first(run).perSecondLater / run.bare.perSecond, percent, 0.95, '≥'),
    applies: ({ busy }) => busy,
  },
  {
    name: 'pause predicted / measured, furthest off',
    ofJfluid: true,
    goal: () => '0.7–1.4',
    judge({ sessions: [{ profile }] }) {
      const ratio = worstPrediction(profile?.pauses ?? [])
      return ratio === null
        ? { text: NONE, held: null }
        : { text: number(ratio), held: ratio >= 0.7 && ratio <= 1.4 }
    },
  },
  {
    name: 'root calls in rows / counted by those who made them',
    ofJfluid: true,
    goal: () => '≥ 95 %, no more than 105 %',
    judge({ sessions: [{ profile, counted }] }) {
      if (profile === null) return { text: 'no profile', held: false }
      if (profile.rootCalls === 0) return { text: 'no call', held: false }
      const share = rootCallsInRows({ inRows: profile.rootCalls, dark: profile.darkCalls, counted })
      const of = counted === null ? '' : `${profile.rootCalls} of ${counted.least} to ${counted.most}`
      const it = judged(share, (value) => `${percent(value)} (${of})`, 0.95, '≥')
      return share !== null && share > 1.05 ? { ...it, held: false } : it
    },
  },
  {
    name: 'samples of the application in timed rows, from 15 s on',
    ofJfluid: true,
    goal: () => '≥ 80 %',
    // Rows that appear later do not contain the samples before.
    judge({ sessions: [{ profile }] }) {
      const share = profile !== null && profile.rowsFromMs <= 15_000 ? profile.ownTimed : 0
      return judged(share, percent, 0.8, '≥')
    },
  },
  {
    name: 'metaspace of a session',
    goal: () => '≤ 8 MiB',
    bare: () => NONE,
    judge(run) {
      const { metaspaceKb, metaspaceBeforeKb } = first(run)
      const it = judged(metaspaceKb, mib, 8 * MIB_KB)
      return { ...it, text: `+ ${it.text}, of ${mib(metaspaceBeforeKb)}` }
    },
  },
  {
    name: 'metaspace of ten sessions with ten roots; of ten more with the same',
    ofJfluid: true,
    goal: () => '≤ 24 MiB; ≤ 2 MiB',
    judge({ sessions }) {
      if (sessions.length < SESSIONS) return { text: NONE, held: null }
      const ten = grown(sessions, 0, SESSIONS)
      const again = sessions.length < 2 * SESSIONS ? null : grown(sessions, SESSIONS, 2 * SESSIONS)
      const text = `${mib(ten)}; ${again === null ? NONE : mib(again)}`
      return { text, held: ten <= 24 * MIB_KB && (again === null || again <= 2 * MIB_KB) }
    },
  },
  {
    name: 'detach: end of recording → end of client',
    ofJfluid: true,
    goal: () => '≤ 0.3 s',
    judge: ({ sessions: [{ figures, profile }] }) => {
      const it = judged(figures.detachMs, ms, 300)
      const own = profile?.restoredMs ?? null
      return own === null ? it : { ...it, text: `${it.text} (own code back after ${number(own)})` }
    },
  },
  {
    name: 'client, share of a core',
    ofJfluid: true,
    goal: ({ busy }) => `≤ ${busy ? 5 : 15} %`,
    judge: (run, { busy }) => judged(first(run).clientShare, percent, busy ? 0.05 : 0.15),
  },
  {
    name: 'client, largest RSS',
    ofJfluid: true,
    goal: () => '≤ 200 MB',
    judge: (run) => judged(first(run).clientRssMb, (it) => `${it} MB`, 200),
  },
  {
    name: 'safepoints: number, together, longest',
    goal: () => '(told)',
    judge(run) {
      const { count, ms: all, longestMs } = first(run).safepoints
      return { text: `${count}, ${ms(all)}, ${ms(longestMs)}`, held: null }
    },
  },
  {
    name: 'requests without an answer, or with an error',
    goal: () => '0',
    judge: (run) => judged(first(run).failed, String, 0),
  },
  {
    name: 'exit code of each session',
    goal: () => '0',
    judge: ({ sessions }) => ({
      text: sessions.map(({ figures }) => figures.code).join(', '),
      held: sessions.every(({ figures }) => figures.code === 0),
    }),
  },
  {
    name: 'server alive at the end',
    goal: () => 'yes',
    judge: ({ alive }) => ({ text: alive ? 'yes' : 'no', held: alive }),
  },
  {
    name: 'cores that others on the machine used',
    goal: () => '(told)',
    bare: ({ runs }) => number(Math.max(...runs.map(({ othersCores }) => othersCores))),
    judge: (run) => ({ text: number(first(run).othersCores), held: null }),
  },
]

const figuresFor = (/** @type {Setting} */ setting) =>
  FIGURES.filter(({ applies, ofJfluid }) => (applies?.(setting) ?? true) && !(ofJfluid && setting.control))

/**
 * @param {readonly Session[]} sessions
 * @param {number} from
 * @param {number} to
 */
function grown(sessions, from, to) {
  const last = sessions[to - 1].figures
  return last.metaspaceBeforeKb + last.metaspaceKb - sessions[from].figures.metaspaceBeforeKb
}

/**
 * Returns one cell of server × JDK × root in Markdown. A goal is met if every run meets it.
 *
 * @param {string} title
 * @param {readonly Run[]} runs
 * @param {Setting} setting
 */
export function cellTable(title, runs, setting) {
  const numbered = runs.map((_, index) => `run ${index + 1}`)
  const rows = figuresFor(setting).map((figure) => {
    const judgements = runs.map((run) => figure.judge(run, setting))
    const bare = figure.bare === undefined ? '' : runs.map((run) => figure.bare?.(run.bare)).join('; ')
    const texts = judgements.map(({ text, held }) => (held === false ? `**${text}**` : text))
    return [figure.name, figure.goal(setting), bare, ...texts, verdict(judgements)]
  })
  return [`### ${title}`, '', table([['figure', 'goal', 'bare', ...numbered, 'holds'], ...rows])].join('\n')
}

/**
 * Returns a table with one row per cell and the missed goals.
 *
 * @param {readonly {title: string, runs: readonly Run[], setting: Setting}[]} cells
 */
export function summaryTable(cells) {
  const rows = cells.map(({ title, runs, setting }) => {
    const missed = figuresFor(setting).filter((figure) =>
      runs.some((run) => figure.judge(run, setting).held === false),
    )
    return [title, missed.length === 0 ? 'none' : missed.map(({ name }) => name).join('; ')]
  })
  return table([['cell', 'missed'], ...rows])
}

/**
 * Returns a table of the bare runs, which shows the noise.
 *
 * @param {string} title
 * @param {readonly import('./analysis.mjs').Bare[]} bares
 */
export function bareTable(title, bares) {
  const rows = bares.flatMap((bare, life) =>
    bare.runs.map((run, index) => [
      ...[`${life + 1}.${index + 1}`, ms(run.p50Ms), ms(run.p99Ms), ms(run.worstMs)],
      ...[`${number(run.perSecond)}/s`, percent(bare.unsettled), number(run.othersCores)],
    ]),
  )
  const noise = `seconds of the life with p50 > ${SETTLED} × the median`
  const head = ['life.run', 'p50', 'p99', 'worst', 'answers', noise, 'cores of others']
  return [`### ${title}, bare`, '', table([head, ...rows])].join('\n')
}

/** @param {readonly Judged[]} judgements */
function verdict(judgements) {
  if (judgements.some(({ held }) => held === false)) return 'no'
  return judgements.some(({ held }) => held === null) ? NONE : 'yes'
}

/** @param {readonly (readonly string[])[]} rows */
function table([head, ...rows]) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
