import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import type { Tree } from '../../src/cct/tree.ts'
import { LiveView } from '../../src/tui/app.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

let source: FakeSource
let screen: FakeScreen
let view: LiveView

function withFolds(tree: Tree): Tree {
  const columns = {
    extrapolatedCalls: Float64Array.of(0, 3_000_000, 0),
    countedCalls: Float64Array.of(0, 0, 70_000),
    folded: Float64Array.of(0, 1, 2),
  }
  return { ...tree, metrics: { ...tree.metrics, ...columns } }
}

describe('a budget in the live view', () => {
  beforeEach(async () => {
    const methods = new Methods()
    const tree = treeOf('Shop.order 3x 2000000ns ( Shop.price 9x 10400000ns Shop.tax 9x 200000ns )', methods)
    source = new FakeSource(methods, withFolds(tree))
    source.facts = { overhead: { part: 0.0291, budget: 0.05, counted: 2, folded: 1 } }
    screen = new FakeScreen(80, 24)
    view = new LiveView(source, screen)
    await view.refresh()
  })

  it('is beside the overhead of the latest second', async () => {
    assert.match(screen.text, /wait 0\.3 % {2}ovh 2\.9\/5 %, 2c 1f *$/m)
    source.facts = { overhead: { part: 0.029, budget: 0.05, counted: 2, folded: 0 } }
    await view.refresh()
    assert.match(screen.text, /wait 0\.3 % {2}ovh 2\.9\/5 %, 2 counted *$/m)
    source.facts = { overhead: { part: 0.31, budget: 0.05, counted: 0, folded: 0 } }
    await view.refresh()
    assert.match(screen.text, /ovh 31\/5 % *$/m)
    assert.ok(screen.widest <= 80)
  })

  it('marks what is only counted, with all its calls', () => {
    assert.match(screen.text, / 70,009 .* com\.acme\.Shop\.tax \(counted\)$/m)
  })

  it('has all calls of packages, too', async () => {
    const names = new Methods()
    const tree = treeOf(
      'com.shop.Shop.order 3x 2000000ns ( com.price.Price.of 9x 10400000ns com.tax.Tax.of 9x 200000ns )',
      names,
    )
    const other = new FakeScreen(80, 24)
    await new LiveView(new FakeSource(names, withFolds(tree)), other).refresh()
    other.press('P')
    assert.match(other.text, / ~3\.00M .* com\.price\.\*$/m)
    assert.match(other.text, / 70,009 .* com\.tax\.\*$/m)
    other.press('m')
    assert.match(other.text, / ~3\.00M .* com\.price\.\*$/m)
  })

  it('marks what is folded, in the tree and among the hot methods', () => {
    assert.match(screen.text, / ~3\.00M .* com\.acme\.Shop\.price \(folded\)$/m)
    assert.doesNotMatch(screen.text, /Shop\.order \(folded\)/)
    screen.press('m')
    assert.match(screen.text, /~3\S+ .*Shop\.price \(folded\)/)
    assert.ok(screen.widest <= 80)
  })
})
