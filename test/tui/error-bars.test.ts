import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import type { Tree } from '../../src/cct/tree.ts'
import { LiveView } from '../../src/tui/app.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

let source: FakeSource
let screen: FakeScreen
let view: LiveView

function withErrors(tree: Tree, self: readonly number[], total: readonly number[]): Tree {
  const errors = { selfErrorNs: Float64Array.from(self), errorNs: Float64Array.from(total) }
  return { ...tree, metrics: { ...tree.metrics, ...errors } }
}

async function open(self: readonly number[], total: readonly number[], unicode = true): Promise<void> {
  const methods = new Methods()
  const tree = treeOf('Shop.order 3x 2000000ns ( Shop.price 9x 10400000ns )', methods)
  source = new FakeSource(methods, withErrors(tree, self, total))
  screen = new FakeScreen(80, 24, unicode)
  view = new LiveView(source, screen)
  await view.refresh()
}

const detail = (): string => screen.text.split('\n').at(-2)!

describe('error bars in the live view', () => {
  beforeEach(() => open([100_000, 700_000], [800_000, 700_000]))

  it('are those of the selected row, and of all roots in the header', () => {
    assert.equal(detail(), ' 12.400 ±0.80 ms, self 2.000 ±0.10  com.acme.Shop.order(int)             1 of 2')
    assert.match(screen.text, /wait 0\.3 % {2}±6\.5 %$/m)
    screen.press('down')
    assert.match(detail(), /^ 10\.400 ±0\.70 ms, self 10\.400 ±0\.70 {2}com\.acme\.Shop\.price/)
    screen.press('m')
    assert.match(detail(), /^ 10\.400 ±0\.70 ms, self 10\.400 ±0\.70 {2}com\.acme\.Shop\.price/)
    assert.ok(screen.widest <= 80)
  })

  it('go and come with a key', () => {
    screen.press('E')
    assert.doesNotMatch(screen.text, /±/)
    screen.press('E')
    assert.match(detail(), /±0\.80/)
  })

  it('are not promised for callers, which nothing measures', () => {
    screen.press('down c')
    assert.doesNotMatch(detail(), /±/)
  })

  it('are told to be missing until they are measured', async () => {
    await open([-1, -1], [-1, -1])
    assert.match(detail(), /^ ± not measured yet/)
    assert.doesNotMatch(screen.text, /±.* %/)
    source.facts = { isBare: true }
    await view.refresh()
    assert.match(screen.text, /timing roots 12\.3 s$/m)
  })

  it('without UTF-8 use ASCII alone', async () => {
    await open([100_000, 700_000], [800_000, 700_000], false)
    assert.match(detail(), /^ 12\.400 \+-0\.80 ms/)
    assert.match(screen.text, /^[\n -~]*$/)
  })

  it('without the option, the key says what gives them', async () => {
    source.tree = treeOf('Shop.order 3x 2000000ns', source.methods)
    await view.refresh()
    screen.press('E')
    assert.match(detail(), /times say how sure they are with --error-bars/)
  })
})
