import { expect, it } from 'vitest'
import { readRunTimes, runTimesBetween } from '../../src/attach/run-delay.ts'

const times = (ranMs: number, delayedMs: number) => ({ ranMs, delayedMs })

it('the run time between two readings is summed over the threads of both readings', () => {
  const before = new Map([
    ['1', times(10, 5)],
    ['2', times(100, 0)],
  ])
  const after = new Map([
    ['1', times(14, 6)],
    ['3', times(70, 70)],
  ])
  expect(runTimesBetween(before, after)).toEqual({ ranMs: 4, delayedMs: 1 })
})

it('a process that does not exist has no run times', () => {
  expect(readRunTimes(2 ** 22 - 1).size).toBe(0)
})
