// The order of the steps of a detach.

import assert from 'node:assert/strict'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { it } from 'vitest'
import { SessionEnd } from '../../src/session/ending.ts'
import type { Engine } from '../../src/session/engine.ts'
import type { Pulse } from '../../src/session/pulse.ts'
import type { Span } from '../../src/session/span.ts'

it('the code is restored while the recorder of allocations stops, and the detach waits for the remaining samples', async () => {
  const steps: string[] = []
  let stopped = (): void => {}
  const step = (name: string) => async () => void steps.push(name)
  const engine = {
    process: null,
    pid: process.pid,
    options: { mode: 'alloc', roots: [] },
    warnings: new Set<string>(),
    door: { elsewhere: undefined, leave: () => {} },
    dumps: { end: () => {} },
    turns: { close: () => {}, idle: async () => {} },
    installation: { settle: () => {} },
    recorder: {
      finish: async () => {
        steps.push('events are read')
        return true
      },
    },
    agent: {
      detach: async () => {
        steps.push('code is restored')
        return {}
      },
      close: () => stopped(), // the recorder answers only after the restoration
    },
    unprobed: {
      end: async () => {
        steps.push('recorder stops')
        await new Promise<void>((resolve) => {
          stopped = resolve
        })
        steps.push('samples are read')
      },
    },
  }
  const pulse = { stop: () => {}, readStatus: step('status') }
  const span = { end: () => {}, endTicks: 0 }
  const end = new SessionEnd(engine as unknown as Engine, pulse as unknown as Pulse, span as unknown as Span)
  const recorded = end.recorded.then(step('recorded'))
  await end.detach(false)
  await recorded
  assert.deepEqual(steps, [
    'recorder stops',
    'status',
    'code is restored',
    'events are read',
    'samples are read',
    'recorded',
  ])
})

it('the code is compared after its restoration, and the remaining events are read after the comparison', async () => {
  const steps: string[] = []
  const report = { restoredClasses: 1, refusedClasses: 0, keptNames: [], ms: 1, released: true }
  const engine = {
    process: null,
    pid: process.pid,
    options: { mode: 'exact', roots: [], untilExit: true },
    warnings: new Set<string>(),
    door: { elsewhere: undefined, leave: () => {}, dir: '' },
    dumps: { end: () => {} },
    turns: { close: () => {}, idle: async () => {} },
    installation: { settle: () => {} },
    memory: { answers: 0 },
    seesProbes: null,
    revealer: { methods: [] },
    instrumenter: { classesBefore: () => [{ id: 1, name: 'Foo', bytes: null, probed: new Set() }] },
    openCode: async () => {
      steps.push('comparison begins')
      await turnOfTheLoop()
      steps.push('comparison ends')
      return null
    },
    recorder: {
      finish: async () => {
        steps.push('events are read')
        return true
      },
    },
    agent: {
      restore: async () => {
        steps.push('code is restored')
        return report
      },
      detach: async () => {
        steps.push('agent detaches')
        return report
      },
      close: () => {},
      closed: Promise.resolve('closed'),
    },
  }
  const pulse = { stop: () => {}, readStatus: async () => {} }
  const span = { end: () => {}, endTicks: 0 }
  const end = new SessionEnd(engine as unknown as Engine, pulse as unknown as Pulse, span as unknown as Span)
  const recorded = end.recorded.then(() => steps.push('snapshots may be taken'))
  await end.detach()
  await recorded
  assert.deepEqual(steps.slice(0, 3), ['code is restored', 'comparison begins', 'comparison ends'])
  assert.deepEqual(steps.slice(3).sort(), ['agent detaches', 'events are read', 'snapshots may be taken'])
})
