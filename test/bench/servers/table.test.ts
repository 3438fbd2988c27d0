import { describe, expect, it } from 'vitest'
import { type Bare, profileFacts, type SessionFigures } from './analysis.mjs'
import { cellTable, type Run, type Setting, summaryTable } from './table.mjs'

const setting: Setting = { version: 25, idleAgent: false, busy: false, control: false }
const bare: Bare = { worstMs: 40, p50Ms: 5, p99Ms: 10, perSecond: 20, unsettled: 0, runs: [] }
const good: SessionFigures = {
  ...{ firstCallMs: 800, worstMs: 120, p99Ms: 15, p99LaterMs: 12, p50BySecond: [], settledFromS: 1 },
  ...{ perSecondLater: 20, metaspaceKb: 2048, metaspaceBeforeKb: 80_000, detachMs: 200, clientShare: 0.1 },
  ...{
    clientRssMb: 120,
    othersCores: 0,
    safepoints: { count: 3, ms: 100, longestMs: 50 },
    failed: 0,
    code: 0,
  },
}
const profile = profileFacts(
  {
    ...{ startedAt: '1970-01-01T00:00:00.000Z', durationMs: 60_000, warmupMs: 0, events: { waitMs: 0 } },
    instrumentation: {
      ...{
        instrumentedMethods: 1,
        calledMethods: 1,
        redefinitions: 1,
        redefinedClasses: 1,
        longestPauseMs: 50,
      },
    },
    merged: [{ class: 'a.B', calls: 480, selfNs: 1, children: [] }],
  },
  'a.',
)

function run(more: Partial<SessionFigures> = {}, sessions = 1): Run {
  const session = (index: number) => ({
    ...{ root: 'A.b', profile, counted: { least: 480, most: 482 } },
    figures: { ...good, ...more, metaspaceBeforeKb: 80_000 + index * 2048 },
  })
  return { bare, alive: true, sessions: Array.from({ length: sessions }, (_, index) => session(index)) }
}

const rowOf = (table: string, name: string) =>
  table
    .split('\n')
    .find((line) => line.startsWith(`| ${name}`))
    ?.split(' | ')

const holds = (name: string, runs: readonly Run[], where: Setting = setting) =>
  rowOf(cellTable('x', runs, where), name)
    ?.at(-1)
    ?.replace(' |', '')

describe('the result table of a benchmark cell (one server, JDK and root)', () => {
  it('a row of the result table is marked as passed only if every run passes', () => {
    expect(holds('worst request', [run(), run()])).toBe('yes')
    expect(holds('worst request', [run(), run({ worstMs: 151 })])).toBe('no')
  })

  it('a latency limit of a benchmark cell is raised if the run without jfluid exceeds the limit', () => {
    const noisy: Run = { ...run({ worstMs: 290 }), bare: { ...bare, worstMs: 200 } }
    expect(holds('worst request', [noisy])).toBe('yes')
  })

  it('the limits of a benchmark cell are raised if the first redefinition discards compiled code', () => {
    const old = { ...setting, version: 17 }
    const runs = [run({ worstMs: 390, settledFromS: 9 })]
    expect(holds('worst request', runs, old)).toBe('yes')
    expect(holds('p50 of each second', runs, old)).toBe('yes')
    expect(holds('worst request', runs, { ...old, idleAgent: true })).toBe('no')
    expect(holds('p50 of each second', runs, { ...old, idleAgent: true })).toBe('no')
  })

  it('a row of the result table fails if its figure is missing because no root call was seen or the latency never settled', () => {
    expect(holds('Enter', [run({ firstCallMs: null })])).toBe('no')
    expect(holds('p50 of each second', [run({ settledFromS: null })])).toBe('no')
  })

  it('a figure that no profile contains is printed as – in the result table', () => {
    expect(rowOf(cellTable('x', [run()], setting), 'pause predicted')?.at(-2)).toBe('–')
    expect(holds('pause predicted', [run()])).toBe('–')
  })

  it('metaspace growth is summed over the first ten sessions, and over the next ten sessions', () => {
    const name = 'metaspace of ten sessions'
    expect(holds(name, [run()])).toBe('–')
    expect(rowOf(cellTable('x', [run({}, 10)], setting), name)?.at(-2)).toBe('20.0 MiB; –')
    expect(holds(name, [run({}, 10)])).toBe('yes')
    expect(holds(name, [run({}, 20)])).toBe('no')
  })

  it('the result table of a busy service reports throughput instead of p99', () => {
    const busy = { ...setting, busy: true }
    const runs = [run({ perSecondLater: 18, worstMs: 339, clientShare: 0.04 })]
    expect(holds('throughput', runs, busy)).toBe('no')
    expect(holds('worst request', runs, busy)).toBe('yes')
    expect(holds('p99', runs, busy)).toBeUndefined()
  })

  it('the result table of a control without jfluid has the rows about requests, and no rows about jfluid', () => {
    const control = { ...setting, control: true }
    const runs = [
      {
        ...run({ firstCallMs: null, settledFromS: 9 }),
        sessions: [{ ...run().sessions[0]!, profile: null }],
      },
    ]
    const table = cellTable('x', runs, control)
    expect(rowOf(table, 'Enter')).toBeUndefined()
    expect(rowOf(table, 'root calls')).toBeUndefined()
    expect(rowOf(table, 'p50 of each second')).toBeDefined()
  })

  it('the summary lists the failed rows of each benchmark cell', () => {
    const cells = [
      { title: 'one', runs: [run()], setting },
      { title: 'two', runs: [run({ code: 74 })], setting },
    ]
    expect(summaryTable(cells).split('\n').slice(2)).toEqual([
      '| one | none |',
      '| two | exit code of each session |',
    ])
  })

  it('the summary of a control run has no rows about jfluid', () => {
    const runs = [run({ firstCallMs: 5_000, worstMs: 5_000 })]
    const control = { ...setting, control: true }
    expect(summaryTable([{ title: 'one', runs, setting }])).toContain('Enter')
    expect(summaryTable([{ title: 'one', runs, setting: control }])).toContain('| one | worst request')
    expect(summaryTable([{ title: 'one', runs, setting: control }])).not.toContain('Enter')
  })
})
