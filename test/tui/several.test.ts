// The view of several JVMs: sums by method name, and a row per JVM instead of a row per thread.

import { expect, it } from 'vitest'
import type { Snapshot } from '../../src/cct/tree.ts'
import { LiveView } from '../../src/tui/app.ts'
import type { Keeper } from '../../src/tui/keeper.ts'
import type { LiveSource } from '../../src/tui/live-source.ts'
import { severalSource } from '../../src/tui/several-source.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

const KEEPER: Keeper = {
  formats: [],
  nameFor: () => 'p',
  exists: () => false,
  write: async () => 'saved',
}

function jvm(notation: string): FakeSource {
  const methods = new Methods()
  return new FakeSource(methods, treeOf(notation, methods))
}

function pair(): { one: FakeSource; two: FakeSource; source: LiveSource } {
  const one = jvm('main 1x 1000000ns ( work 2x 2000000ns )')
  const two = jvm('main 3x 3000000ns ( rest 4x 4000000ns work 5x 5000000ns )')
  two.facts = { jdk: '25', elapsedMs: 20_000, waitPercent: 1.34 }
  const sources = [one, two].map((source, i) => ({ pid: 11 + i, name: 'shop.Main', source }))
  return { one, two, source: severalSource(sources, ['JVM 13: no'], KEEPER) }
}

const calls = ({ merged }: Snapshot, { methodName }: LiveSource): string[] =>
  [...merged.method].map((id, i) => `${methodName(id).method} ${merged.metrics.calls![i]}`)

const settled = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve))

it('the view of several JVMs has a tree with the sums of all JVMs, and a tree of each JVM', async () => {
  const { source } = pair()
  const picture = await source.snapshot(true)
  expect(calls(picture, source)).toEqual(['main 4', 'work 7', 'rest 4'])
  expect(picture.threads.map(({ id, name, tree }) => [id, name, [...tree.metrics.calls!]])).toEqual([
    [11, 'shop.Main', [1, 2]],
    [12, 'shop.Main', [3, 4, 5]],
  ])
  expect([picture.events, (await source.snapshot(false)).threads]).toEqual([200, []])
  expect(source.status()).toMatchObject({
    ...{ jvms: 2, jdk: '17.0.15, 25', mainClass: 'com.acme.demo.OrderServer', elapsedMs: 20_000 },
    ...{ events: 10_000_000, instrumentedMethods: 2624, phase: 'recording', warnings: ['JVM 13: no'] },
  })
  expect(source.status().waitPercent).toBeCloseTo(0.84)
})

it('an ended JVM keeps its tree until a reset', async () => {
  const { one, two, source } = pair()
  one.failure = new Error('the recorder failed')
  await expect(source.snapshot(false)).rejects.toThrow('the recorder failed') // a snapshot was expected
  one.failure = undefined
  await source.snapshot(false)
  one.end('the JVM ended')
  one.failure = new Error('it is gone')
  await settled()
  expect(calls(await source.snapshot(false), source)).toEqual(['main 4', 'work 7', 'rest 4'])
  expect(source.status()).toMatchObject({
    phase: 'recording',
    warnings: ['JVM 13: no', 'JVM 11: the JVM ended'],
  })
  source.reset()
  expect([one.resets, two.resets]).toEqual([1, 1])
  expect(calls(await source.snapshot(false), source)).toEqual(['main 3', 'rest 4', 'work 5'])
  expect(source.status()).toMatchObject({ jvms: 1, jdk: '25' })
  let over = ''
  void source.ended.then((reason) => {
    over = reason
  })
  await settled()
  expect(over).toBe('')
  two.end('the JVM ended')
  await settled()
  expect(over).toBe('all sessions have ended')
})

it('the view of several JVMs is in the phase "waiting for root" only if all JVMs are in this phase', () => {
  const { one, two, source } = pair()
  one.facts = { phase: 'waiting for root', message: 'not called' }
  expect(source.status()).toMatchObject({ phase: 'recording' })
  expect(source.status().message).toBeUndefined()
  two.facts = one.facts
  expect(source.status()).toMatchObject({ phase: 'waiting for root', message: 'JVM 11: not called' })
})

it('in the view of several JVMs, a JVM is chosen in the same way as a thread', async () => {
  const { source } = pair()
  const screen = new FakeScreen(100, 24, true)
  const view = new LiveView(source, screen)
  await view.refresh()
  expect(screen.text).toMatch(/^ jfluid {2}2 JVMs {2}com\.acme\.demo\.OrderServer/)
  expect(screen.text).toMatch(/all JVMs$/m)
  screen.press('T')
  for (let i = 0; i < 5; i++) await settled()
  expect(screen.text).toMatch(/calls .* id {2}JVM$/m)
  expect(screen.text).toMatch(/100\.0 +15 .* all JVMs$/m)
  expect(screen.text).toMatch(/80\.0 +12 .* 12 {2}shop\.Main$/m)
  screen.press('down')
  screen.press('enter')
  for (let i = 0; i < 5; i++) await settled()
  expect(screen.text).toMatch(/JVM 12 shop\.Main$/m)
  expect(screen.text).toContain('rest')
})
