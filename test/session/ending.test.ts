// The order of the steps of a detach.

import assert from 'node:assert/strict'
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
