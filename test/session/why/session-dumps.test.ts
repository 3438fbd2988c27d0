import { expect, it, vi } from 'vitest'
import { type JvmThreads, SessionDumps } from '../../../src/session/why/jvm-threads.ts'

const OF_JVM: Omit<JvmThreads, 'stoppedMs'> = {
  ...{ pid: process.pid, mainClass: 'shop.Main', jdk: '25', virtual: null, deadlocks: [], groups: [] },
}

/** Returns dumps that end when the test ends them. */
function dumpsOf() {
  const running: { end: (stoppedMs: number) => void; fail: (error: Error) => void }[] = []
  const dumps = new SessionDumps(
    (_, signal) =>
      new Promise<JvmThreads>((resolve, reject) => {
        running.push({ end: (stoppedMs) => resolve({ ...OF_JVM, stoppedMs }), fail: reject })
        signal?.addEventListener('abort', () => reject(signal.reason))
      }),
  )
  const take = () => dumps.take(process.pid, true)
  const begins = (count: number) => vi.waitFor(() => expect(running).toHaveLength(count), { interval: 1 })
  return { dumps, take, running, begins }
}

it('a dump counts for the cause of a stall while it runs, and after its end only until its end', async () => {
  const { dumps, take, running, begins } = dumpsOf()
  const before = performance.now()
  const taken = take()
  await begins(1)
  const later = performance.now() + 1_000
  await vi.waitFor(() => expect(performance.now() - before).toBeGreaterThan(5), { interval: 1 })
  expect(dumps.msWithin(later, later + 50), 'the dump runs').toBe(50)
  expect(dumps.msWithin(before - 50, before)).toBe(0)
  running[0]!.end(3)
  await taken
  expect(dumps.msWithin(later, later + 50), 'the dump has ended').toBe(0)
  expect(dumps.msWithin(before, later)).toBeGreaterThan(0)
  expect(dumps.msWithin(before, later), 'not more than the JVM was stopped').toBeLessThanOrEqual(3)
})

it('the dumps of a session do not overlap', async () => {
  const { dumps, take, running, begins } = dumpsOf()
  const both = [take(), take()]
  await begins(1)
  await new Promise(setImmediate)
  expect(running).toHaveLength(1)
  running[0]!.end(3)
  await begins(2)
  running[1]!.end(4)
  await Promise.all(both)
  expect(dumps.warnings).toEqual([
    '2 thread dumps of the live view stopped the JVM for 7.0 ms in total: the recorded times contain these stops',
  ])
})

it('a dump that fails counts, since the JVM may have stopped for it', async () => {
  const { dumps, take, running, begins } = dumpsOf()
  const taken = take()
  await begins(1)
  running[0]!.fail(new Error('no answer'))
  await expect(taken).rejects.toThrow('no answer')
  expect(dumps.warnings).toEqual([
    '1 thread dump of the live view stopped the JVM: the recorded times contain these stops',
  ])
})

it('a reset keeps the count of a dump that still runs', async () => {
  const { dumps, take, running, begins } = dumpsOf()
  const taken = take()
  await begins(1)
  dumps.reset()
  running[0]!.end(3)
  await taken
  expect(dumps.warnings).toHaveLength(1)
  dumps.reset()
  expect(dumps.warnings).toEqual([])
})

it('the end of the session aborts the dump that runs, and takes no further dumps', async () => {
  const { dumps, take, running, begins } = dumpsOf()
  const taken = take()
  const next = take()
  await begins(1)
  dumps.end()
  for (const it of [taken, next])
    await expect(it).rejects.toThrow('the session ended before the thread dump was complete')
  expect(running).toHaveLength(1)
})
