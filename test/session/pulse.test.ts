import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Engine } from '../../src/session/engine.ts'
import { Pulse } from '../../src/session/pulse.ts'
import { LinkLost } from '../../src/wire/link.ts'

const TICK_MS = 500

/** An engine whose target answers at once. */
function fakeEngine(measureProbes: () => Promise<void>) {
  const nothing = () => {}
  return {
    ...{
      arming: null,
      inside: null,
      process: null,
      unprobed: null,
      values: null,
      options: {},
      hasTrees: false,
    },
    agent: {
      status: async () => ({
        ...{ clock: [0, 0, 0], loaders: [], survivors: null, openAllocations: null },
        unloaded: { classes: [], loaders: [] },
      }),
    },
    classes: { add: nothing },
    clock: { update: nothing },
    installation: { swaps: { latest: [] } },
    recorder: { stats: async () => ({ events: 0, collapsed: 0, treesFull: null, slowFromTicks: null }) },
    rootWatch: { look: async () => {} },
    targetState: { take: nothing },
    traceIds: { isDue: () => false },
    turns: { enqueue: async () => {} },
    warnings: new Set<string>(),
    openCode: async () => null,
    tellSlow: async () => {},
    measureProbes,
  }
}

const pulseOf = (engine: ReturnType<typeof fakeEngine>) => new Pulse(engine as unknown as Engine, null)

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('the cost of the probes is measured at the start and at nine ticks', async () => {
  const measure = vi.fn(async () => {})
  const engine = fakeEngine(measure)
  const pulse = pulseOf(engine)
  pulse.start()
  expect(measure).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(3 * TICK_MS)
  expect(measure).toHaveBeenCalledTimes(4)
  await vi.advanceTimersByTimeAsync(20 * TICK_MS)
  expect(measure).toHaveBeenCalledTimes(10)
  pulse.stop()
  expect([...engine.warnings]).toEqual([])
})

it('a measurement that fails is a warning while the session records, and is ignored if the link is lost', async () => {
  const problems = [new LinkLost('gone'), new Error('no memory')]
  const engine = fakeEngine(async () => {
    throw problems.shift() ?? new Error('too late')
  })
  const pulse = pulseOf(engine)
  pulse.start()
  await vi.advanceTimersByTimeAsync(0)
  expect([...engine.warnings]).toEqual([])
  await vi.advanceTimersByTimeAsync(TICK_MS)
  expect([...engine.warnings]).toEqual(['Error: no memory'])
  pulse.stop()
})

it('after the end of the recording nothing is measured, and no error of a measurement is reported', async () => {
  let fail = (_: Error) => {}
  const measure = vi.fn(
    () =>
      new Promise<void>((_, reject) => {
        fail = reject
      }),
  )
  const engine = fakeEngine(measure)
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const { status } = engine.agent
  engine.agent.status = () => answered.then(status)
  const pulse = pulseOf(engine)
  pulse.start()
  await vi.advanceTimersByTimeAsync(TICK_MS) // the tick waits for the status
  pulse.stop()
  answer()
  fail(new Error('the session has ended'))
  await vi.advanceTimersByTimeAsync(TICK_MS)
  expect(measure).toHaveBeenCalledTimes(1)
  expect([...engine.warnings]).toEqual([])
})
