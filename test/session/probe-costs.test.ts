import { expect, it } from 'vitest'
import type { Calibration, MeasuredCalibration } from '../../src/base/compensation.ts'
import { ProbeCosts } from '../../src/session/probe-costs.ts'

/** Ticks of one clock read. */
const READ = 27
const toNs = (ticks: number) => ticks / 2.5

/** @param found  t_I and t_O of each measurement, ticks */
async function measured(
  found: readonly (readonly [number, number, number?])[],
  before: MeasuredCalibration | null = null,
) {
  const told: Calibration[] = []
  const left = [...found]
  const agent = {
    async calibrate() {
      const [innerTicks, outerTicks, spread = 2] = left.shift()!
      return { innerTicks, outerTicks, readTicks: READ, spread: { innerTicks: spread, outerTicks: spread } }
    },
  }
  const costs = new ProbeCosts(agent, { probesCost: (it) => told.push(it) }, before, toNs)
  for (const _ of found) await costs.measure()
  return { costs, told }
}

it('before the first measurement the probes cost nothing', () => {
  const costs = new ProbeCosts(
    { calibrate: () => expect.fail() },
    { probesCost: () => expect.fail() },
    null,
    toNs,
  )
  expect(costs.calibration).toMatchObject({ innerTicks: 0, outerTicks: 0 })
})

it('a first measurement of code that is not compiled is only an upper bound of the cost', async () => {
  const { costs, told } = await measured([[1700, 2000]])
  expect(costs.calibration).toEqual({
    ...{ innerTicks: 0, outerTicks: 0, readTicks: READ },
    spread: { innerTicks: 1700, outerTicks: 2000 },
  })
  expect(told).toEqual([])
})

it('a first measurement of compiled code is used', async () => {
  const { costs, told } = await measured([[30, 36]])
  expect(costs.calibration).toMatchObject({ innerTicks: 30, outerTicks: 36 })
  expect(told).toHaveLength(1)
})

it('of the later measurements the best is used, and the recorder gets each better one', async () => {
  const { costs, told } = await measured([
    [1700, 2000],
    [120, 130],
    [30, 100],
    [35, 100],
    [40, 50],
    [30, 61],
  ])
  expect(costs.calibration).toMatchObject({ innerTicks: 40, outerTicks: 50 })
  expect(told).toMatchObject([{ innerTicks: 120 }, { innerTicks: 30, outerTicks: 100 }, { innerTicks: 40 }])
})

it('a low cost of a few blocks does not win against a usual cost that is lower', async () => {
  const { costs } = await measured([
    [1700, 2000],
    [28, 30, 40], // compiled at the end of the measurement
    [31, 34, 3],
    [29, 32, 9],
  ])
  expect(costs.calibration).toMatchObject({
    innerTicks: 31,
    outerTicks: 34,
    spread: { innerTicks: 3, outerTicks: 3 },
  })
})

it('a later measurement replaces a cost that was measured before the recording only if it is better', async () => {
  const before = { innerTicks: 31, outerTicks: 32, readTicks: READ, spread: { innerTicks: 2, outerTicks: 2 } }
  expect((await measured([], before)).costs.calibration).toBe(before)
  expect((await measured([[32, 32]], before)).costs.calibration).toEqual(before)
  const { costs, told } = await measured([[30, 32]], before)
  expect(costs.calibration).toMatchObject({ innerTicks: 30, outerTicks: 32 })
  expect(told).toHaveLength(1)
})

it('the cost of a clock read is the lowest of all measurements', async () => {
  const reads = [90, 26, 40]
  const agent = {
    async calibrate() {
      const spread = { innerTicks: 1, outerTicks: 1 }
      return { innerTicks: 40 + reads.length, outerTicks: 40, readTicks: reads.shift()!, spread }
    },
  }
  const costs = new ProbeCosts(agent, { probesCost: () => {} }, null, toNs)
  for (let i = 0; i < 3; i++) await costs.measure()
  expect(costs.calibration).toMatchObject({ innerTicks: 41, readTicks: 26 })
})
