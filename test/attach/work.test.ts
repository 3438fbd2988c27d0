import { expect, it } from 'vitest'
import { afterWork, hasWorked, LISTENER, type Look, lookAt } from '../../src/attach/work.ts'

const waits = (ran: string): Look => ({ ran, isRunnable: false })
const RUNNABLE: Look = { ran: '1 1 1', isRunnable: true }

it('a thread works if it has run since the last look, or is ready to run', () => {
  expect(hasWorked(waits('1 1 1'), waits('2 1 2'))).toBe(true)
  expect(hasWorked(waits('1 1 1'), RUNNABLE)).toBe(true)
  expect(hasWorked(waits('1 1 1'), waits('1 1 1'))).toBe(false)
})

it('a thread that does not exist, or was seen only once while it waited, has not worked', () => {
  expect(hasWorked(waits('1 1 1'), undefined)).toBe(false)
  expect(hasWorked(undefined, waits('1 1 1'))).toBe(false)
  expect(lookAt(process.pid, LISTENER)).toBeUndefined()
})

/** Returns the arguments of `late` for a thread that looks like this, one look after the other. */
async function lateAfter(looks: readonly (Look | undefined)[], mostMs?: number): Promise<unknown[]> {
  let at = 0
  return await new Promise((resolve) => {
    afterWork(
      40,
      () => looks[Math.min(at++, looks.length - 1)],
      (...given) => resolve(given),
      mostMs,
    )
  })
}

it('a request to a JVM that does not work on it ends after its time limit', async () => {
  expect(await lateAfter([undefined])).toEqual([40, false])
  expect(await lateAfter([waits('1'), waits('1')])).toEqual([40, false])
})

it('a request to a JVM that works on it continues until the JVM has not worked for the time limit', async () => {
  expect(await lateAfter([waits('1'), waits('1'), waits('2'), waits('2'), waits('2')])).toEqual([80, false])
})

it('a request to a JVM that works on it forever ends after the longest time', async () => {
  expect(await lateAfter([RUNNABLE], 100)).toEqual([100, true])
})
