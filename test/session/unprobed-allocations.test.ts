// Stacks of allocation samples inside the roots.

import assert from 'node:assert/strict'
import { it } from 'vitest'
import { parseRoot } from '../../src/reveal/patterns.ts'
import { AllocationStacks } from '../../src/session/unprobed-allocations.ts'

const BYTES = { class: 'byte[]', loader: 'bootstrap' }
const NO_LINES = new Int32Array()

it('samples of further stacks after the first 10,000 are left out, and a warning has their number', () => {
  const stacks = new AllocationStacks([parseRoot('App.root')])
  const [root, called] = ['root', 'called'].map((method) =>
    stacks.idOf({ class: 'App', method, descriptor: '()V', loader: '' }),
  )
  const sample = (thread: number): void => {
    const path = Int32Array.of(root!, called!)
    stacks.sample({ id: thread, name: 'worker', virtual: false }, path, false, NO_LINES, 100, BYTES)
  }
  for (let thread = 1; thread <= 10_000; thread++) sample(thread)
  sample(10_000)
  assert.deepEqual(stacks.warnings, [])
  for (let thread = 10_001; thread <= 10_003; thread++) sample(thread)
  assert.equal(stacks.counted.size, 10_000)
  assert.deepEqual(stacks.warnings, [
    '3 of 10,004 samples of allocations are left out, since the samples have more than 10,000 different stacks: their bytes are not attributed',
  ])
  stacks.reset()
  assert.deepEqual(stacks.warnings, [])
})
