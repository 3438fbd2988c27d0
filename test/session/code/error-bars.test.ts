// Error bars of a target that calls its root once a millisecond, and always takes as long as it should: what is told is
// then known to the tick.

import { expect, it } from 'vitest'
import type { MeasuredCalibration } from '../../../src/cct/compensation.ts'
import { ErrorBars } from '../../../src/session/code/error-bars.ts'
import type { Installation, Workshop } from '../../../src/session/code/installation.ts'
import { Turns } from '../../../src/session/turns.ts'
import { LinkLost } from '../../../src/wire/link.ts'

const ROOT = 1
/** Calls of instrumented methods for each of the root. */
const EACH = 11
const CALIBRATION: MeasuredCalibration = {
  ...{ innerTicks: 3, outerTicks: 2 },
  spread: { innerTicks: 0, outerTicks: 0 },
}

interface Times {
  /** Of a call without probes. */
  readonly bare: number
  /** With them, once they are taken out. */
  readonly probed: number
}

function target({ bare, probed }: Times) {
  const begun = performance.now()
  let closedAt = Number.POSITIVE_INFINITY
  const log: string[] = []
  const seen: number[] = []
  /** At which command the link is lost, and who is told. */
  const lost = { on: '', told: () => {} }
  const does = <T>(name: string, answer: () => T): Promise<T> => {
    log.push(name)
    if (lost.on !== name) return Promise.resolve(answer())
    lost.told()
    return Promise.reject(new LinkLost('gone'))
  }
  const callsUntil = (at: number) => Math.floor(at - begun)
  const agent = {
    closeRoots: () =>
      does('closeRoots', () => {
        closedAt = performance.now()
      }),
    inside: () => does('inside', () => 0),
    takeOut: () => does('takeOut', () => ({})),
    bareTimes: () =>
      does('bareTimes', () => {
        seen.push(callsUntil(performance.now()))
        const calls = Math.max(0, callsUntil(performance.now()) - callsUntil(closedAt))
        return closedAt === Number.POSITIVE_INFINITY
          ? []
          : [{ method: ROOT, calls, ticks: calls * (bare + 3) }]
      }),
    putBack: () => does('putBack', () => ({ refused: [] })),
    openRoots: () => does('openRoots', () => {}),
  }
  const recorder = {
    rootSums: () => {
      const calls = callsUntil(Math.min(closedAt, performance.now()))
      const ticks = calls * (probed + 3 * EACH + 2 * (EACH - 1))
      return Promise.resolve([{ method: ROOT, calls, ticks, allCalls: calls * EACH, halves: 0 }])
    },
  }
  const workshop = {
    ...{ agent, recorder, turns: new Turns((error) => expect(error).toBeInstanceOf(LinkLost)) },
    instrumenter: { rootMethods: new Map([[7, [0]]]), instrumentedClasses: 1 },
  } as unknown as Workshop
  const installation = {
    ...{ settledAt: begun, noteSwap: () => {}, noteLate: () => {}, refreshClasses: () => Promise.resolve() },
  } as unknown as Installation
  const calls = () => callsUntil(performance.now())
  /** At the last look at bare times before so many calls. */
  const calledWhenSeen = (most: number) => seen.findLast((it) => it <= most) ?? 0
  return { bars: new ErrorBars(workshop, installation, CALIBRATION), log, lost, calls, calledWhenSeen }
}

/** Some calls are recorded before the recording ends. */
async function recorded({ bars, log, calls }: ReturnType<typeof target>): Promise<void> {
  bars.start()
  const from = calls()
  await expect.poll(() => bars.isOwed && calls() > from + 100, { interval: 10, timeout: 10_000 }).toBe(true)
  expect(log).toEqual([])
}

it('probes that cost nothing but what calibration says leave no error', async () => {
  const even = target({ bare: 1000, probed: 1000 })
  await recorded(even)
  await even.bars.finish()
  expect([even.bars.warning, even.bars.rounds]).toEqual([null, 1])
  expect(even.bars.errors.get(ROOT)).toEqual({ innerTicks: 0, outerTicks: 0, part: 0, onceTicks: 0 })
  expect(even.bars.roots).toMatchObject([{ bareTicks: 1000, instrumentedTicks: 1000, errorTicks: 0 }])
})

it('what a call takes longer with probes goes by probe; at the end they are not put back', async () => {
  const slower = target({ bare: 1000, probed: 1210 })
  await recorded(slower)
  await slower.bars.finish()
  const half = 210 / (2 * EACH - 1)
  expect(slower.bars.errors.get(ROOT)).toEqual({ innerTicks: half, outerTicks: half, part: 0, onceTicks: 0 })
  expect(slower.log).not.toContain('putBack')
  expect(slower.bars.isBare).toBe(false)
})

it('are known too if counting begins anew while roots are timed', async () => {
  const even = target({ bare: 1000, probed: 1100 })
  await recorded(even)
  const finished = even.bars.finish()
  await expect
    .poll(() => even.log.filter((it) => it === 'bareTimes').length, { interval: 10, timeout: 10_000 })
    .toBeGreaterThan(3)
  expect(even.bars.isBare).toBe(true)
  even.bars.reset()
  await finished
  expect([even.bars.warning, even.bars.rounds]).toEqual([null, 1])
  expect(even.bars.roots).toMatchObject([{ bareTicks: 1000, instrumentedTicks: 1100 }])
})

it('calls are left out of what is counted since it began anew, and not of what was counted before', async () => {
  const even = target({ bare: 1000, probed: 1100 })
  await recorded(even)
  const poll = { interval: 5, timeout: 20_000 }
  await expect.poll(() => even.log.filter((it) => it === 'bareTimes').length, poll).toBeGreaterThan(8)
  const before = even.calls()
  even.bars.reset()
  expect([even.bars.isBare, even.bars.leftOut]).toEqual([true, 0])
  await expect.poll(() => even.log.includes('openRoots') && !even.bars.isBare, poll).toBe(true)
  const since = even.calls() - before
  // What was looked at last was not long ago.
  const unseen = before - even.calledWhenSeen(before)
  expect(even.bars.leftOut).toBeGreaterThan(0)
  expect(even.bars.leftOut).toBeLessThanOrEqual(since + unseen)
  even.bars.hurry()
  await even.bars.finish()
})

it('a link that is lost while roots are timed is told, and nothing is waited for', async () => {
  const dying = target({ bare: 1000, probed: 1100 })
  dying.lost.on = 'takeOut'
  dying.lost.told = () => dying.bars.lost()
  await recorded(dying)
  await dying.bars.finish()
  expect(dying.bars.warning).toBe('no error bars: the JVM ended while they were timed')
  expect(dying.bars.errors.size).toBe(0)
})
