import { expect, it } from 'vitest'
import { isBusy, listed, readProcessors } from '../../src/attach/processors.ts'

it.each([
  ['0', 1],
  ['0-3', 4],
  ['0-3,8,10-11', 7],
  ['', 0],
])('the list %j names %i processors', (ranges, count) => {
  expect(listed(ranges)).toBe(count)
})

it('a process that computes uses a processor', async () => {
  const looked = readProcessors(process.pid, 200)
  const until = performance.now() + 150
  while (performance.now() < until); // the time is the point
  const processors = await looked
  expect(processors?.used).toBeGreaterThan(0.05)
  expect(processors?.most).toBeGreaterThan(0)
})

it.each([
  [{ used: 1.5, most: 2, idle: 0.5 }, true],
  [{ used: 1.2, most: 2, idle: 0.8 }, false],
  [{ used: 0.4, most: 2, idle: 0.1 }, true], // others have the rest
  [{ used: 0.9, most: 1, idle: 60 }, true], // a container with one of many
])('a process of %j has no processors to spare: %s', (processors, expected) => {
  expect(isBusy({ ...processors, ours: 0 })).toBe(expected)
})

it('nothing is known of a process that has gone', async () => {
  expect(await readProcessors(2 ** 30, 1)).toBeUndefined()
})
