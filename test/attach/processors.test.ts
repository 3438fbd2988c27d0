import { afterEach, expect, it, vi } from 'vitest'
import {
  endMeasurement,
  idleMs,
  isBusy,
  listed,
  measureEarly,
  readProcessors,
  takeEarly,
} from '../../src/attach/processors.ts'

afterEach(() => {
  vi.useRealTimers()
})

it.each([
  ['0', [0]],
  ['0-3', [0, 1, 2, 3]],
  ['0-1,8,10-11', [0, 1, 8, 10, 11]],
  ['', []],
])('the processor list %j is parsed as the processors %j', (ranges, numbers) => {
  expect([...listed(ranges)]).toEqual(numbers)
})

// proc(5): user, nice, system, idle, iowait; hundredths of a second.
const STAT = `cpu  100 0 50 1700 30 0 9 0 0 0
cpu0 60 0 20 500 10 0 5 0 0 0
cpu1 30 0 20 500 10 0 3 0 0 0
cpu10 10 0 10 700 10 0 1 0 0 0
intr 12345`

it.each([
  ['the processors that a container may use', STAT, [1, 10], 12_200],
  ['all processors if the permitted processors have no numbers in /proc/stat', STAT, [5], 17_300],
  ['all processors if a container may use all', STAT, [], 17_300],
])('the idle time in /proc/stat is summed over %s', (_, stat, numbers, ms) => {
  expect(idleMs(stat, new Set(numbers))).toBe(ms)
})

it('the idle time is unknown if /proc/stat lists no processors', () => {
  expect(idleMs('', new Set([0]))).toBeNaN()
})

it('processor use of a computing process is measured', async () => {
  const looked = readProcessors(process.pid, 200)
  const until = performance.now() + 150
  while (performance.now() < until); // spends processor time
  const processors = await looked
  expect(processors?.used).toBeGreaterThan(0.05)
  expect(processors?.most).toBeGreaterThan(0)
})

it('a measurement begins before it is taken, if a command has begun it', async () => {
  const [begun, spent] = [performance.now(), process.cpuUsage()]
  measureEarly(`${process.pid}`)
  while (process.cpuUsage(spent).user < 100_000); // spends processor time
  const { used } = (await endMeasurement(takeEarly(process.pid)!, 50))!
  expect(used * (performance.now() - begun)).toBeGreaterThan(75)
})

it('an early measurement is taken once, for its process only', () => {
  measureEarly(`${process.pid}`)
  expect(takeEarly(process.pid)?.pid).toBe(process.pid)
  expect(takeEarly(process.pid)).toBeUndefined()
  measureEarly(`${process.pid}`)
  expect(takeEarly(process.ppid)).toBeUndefined()
  expect(takeEarly(process.pid)).toBeUndefined()
})

it('an early measurement is not taken after a second', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  measureEarly(`${process.pid}`)
  vi.advanceTimersByTime(1_000)
  expect(takeEarly(process.pid)).toBeUndefined()
})

it.each([undefined, 'Main', 'container:shop', 'host:4711', `${2 ** 30}`])(
  'nothing is measured early for %s',
  (name) => {
    measureEarly(`${process.pid}`)
    measureEarly(name)
    expect(takeEarly(process.pid)).toBeUndefined()
    expect(takeEarly(2 ** 30)).toBeUndefined()
  },
)

it.each([
  [{ used: 1.5, most: 2, idle: 0.5 }, true],
  [{ used: 1.2, most: 2, idle: 0.8 }, false],
  [{ used: 0.4, most: 2, idle: 0.1 }, true], // other processes use the rest
  [{ used: 0.9, most: 1, idle: 60 }, true], // a container limited to one of many processors
])('a process with processor use %j has no idle processors left: %s', (processors, expected) => {
  expect(isBusy({ ...processors, ours: 0 })).toBe(expected)
})

it('processor use of an ended process is unknown', async () => {
  expect(await readProcessors(2 ** 30, 1)).toBeUndefined()
})
