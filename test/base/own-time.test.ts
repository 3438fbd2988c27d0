import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { afterOwnTime } from '../../src/base/own-time.ts'

/** Simulates a stop of this process with all its timers. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

it('a timer that excludes stopped time calls its function once, after the set time', async () => {
  const begun = performance.now()
  let calls = 0
  const ms = await new Promise<number>((resolve) => {
    afterOwnTime(50, () => {
      calls++
      resolve(performance.now() - begun)
    })
  })
  expect(ms).toBeGreaterThan(40)
  await sleep(50)
  expect(calls).toBe(1)
})

it('time in which this process was stopped is not counted by a timer', async () => {
  let isLate = false
  const end = afterOwnTime(500, () => {
    isLate = true
  })
  standStill(1000)
  // Data received during the stop are processed now, and the wait continues.
  for (let turns = 0; turns < 3; turns++) await turn()
  expect(isLate).toBe(false)
  end()
})

it('a cancelled timer does not call its function', async () => {
  let isLate = false
  afterOwnTime(20, () => {
    isLate = true
  })()
  await sleep(60)
  expect(isLate).toBe(false)
})
