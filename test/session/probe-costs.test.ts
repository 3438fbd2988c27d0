import { expect, it } from 'vitest'
import type { Calibration, MeasuredCalibration } from '../../src/base/compensation.ts'
import { ProbeCosts } from '../../src/session/probe-costs.ts'

/** @param found  t_I and t_O of each measurement, ticks */
async function measured(
  found: readonly (readonly [number, number])[],
  before: MeasuredCalibration | null = null,
) {
  const told: Calibration[] = []
  const left = [...found]
  const agent = {
    async calibrate() {
      const [innerTicks, outerTicks] = left.shift()!
      return { innerTicks, outerTicks, readTicks: innerTicks - 1, spread: { innerTicks: 2, outerTicks: 3 } }
    },
  }
  const costs = new ProbeCosts(agent, { probesCost: (it) => told.push(it) }, before)
  for (const _ of found) await costs.measure()
  return { costs, told }
}

it('before the first measurement the probes cost nothing', () => {
  const costs = new ProbeCosts({ calibrate: () => expect.fail() }, { probesCost: () => expect.fail() }, null)
  expect(costs.calibration).toMatchObject({ innerTicks: 0, outerTicks: 0 })
})

it('the first measurement, of interpreted code, is only an upper bound of the cost', async () => {
  const { costs, told } = await measured([[1700, 2000]])
  expect(costs.calibration).toEqual({
    ...{ innerTicks: 0, outerTicks: 0, readTicks: 1699 },
    spread: { innerTicks: 1700, outerTicks: 2000 },
  })
  expect(told).toEqual([])
})

it('of the later measurements the one with the lowest cost of a call is used, and the recorder gets each new one', async () => {
  const { costs, told } = await measured([
    [20, 20], // not used, even if it is the lowest
    [120, 130],
    [30, 100],
    [35, 100],
    [40, 50],
    [30, 61],
  ])
  expect(costs.calibration).toMatchObject({
    innerTicks: 40,
    outerTicks: 50,
    spread: { innerTicks: 2, outerTicks: 3 },
  })
  expect(told).toMatchObject([{ innerTicks: 120 }, { innerTicks: 30, outerTicks: 100 }, { innerTicks: 40 }])
})

it('a cost that was measured before the recording is used from the start', async () => {
  const before = { innerTicks: 11, outerTicks: 12, readTicks: 10, spread: { innerTicks: 1, outerTicks: 1 } }
  const { costs } = await measured([], before)
  expect(costs.calibration).toBe(before)
})

it('a later measurement replaces a cost that was measured before the recording only if it is lower', async () => {
  const before = { innerTicks: 11, outerTicks: 12, readTicks: 10, spread: { innerTicks: 1, outerTicks: 1 } }
  expect((await measured([[12, 12]], before)).costs.calibration).toBe(before)
  const { costs, told } = await measured([[10, 12]], before)
  expect(costs.calibration).toMatchObject({ innerTicks: 10, outerTicks: 12 })
  expect(told).toHaveLength(1)
})
