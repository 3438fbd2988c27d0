import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { afterOwnTime } from '../../src/base/own-time.ts'

/** As if this process were stopped, and with it all of its timers. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

it('calls back when the time is over, once', async () => {
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

it('what passed while this process was stopped is nobody’s delay', async () => {
  let isLate = false
  const end = afterOwnTime(500, () => {
    isLate = true
  })
  standStill(1000)
  // Whatever came in meanwhile is heard now, and the waiting goes on.
  for (let turns = 0; turns < 3; turns++) await turn()
  expect(isLate).toBe(false)
  end()
})

it('is over when it is ended', async () => {
  let isLate = false
  afterOwnTime(20, () => {
    isLate = true
  })()
  await sleep(60)
  expect(isLate).toBe(false)
})
