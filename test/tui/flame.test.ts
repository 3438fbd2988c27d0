// The flame graph: positions of boxes, drawing, and navigation.

import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { LiveView } from '../../src/tui/app.ts'
import { Flame } from '../../src/tui/flame.ts'
import { build, chain, Methods, randomTree, seeded, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

// 100 ns: a 60, b 20, c 10, and 10 self; d has 30 of a, and e 20.
const SMALL = 'main 1x 10ns ( c 1x 10ns a 1x 10ns ( e 1x 20ns d 1x 30ns ) b 1x 20ns )'

const methods = new Methods()

/** Returns the boxes of a line in the format "main 0-100  a 0-60"; "+3" is three merged boxes. */
function show(flame: Flame, level: number): string {
  const name = (node: number) => methods.names[flame.tree.method[node]!]!.method
  return flame
    .level(level)
    .map(({ node, from, to, contexts }) => `${contexts > 1 ? `+${contexts}` : name(node)} ${from}-${to}`)
    .join('  ')
}

describe('boxes of a flame graph', () => {
  it("the width of a box is the cost of its method; the widest box is first, and the caller's self time is empty space", () => {
    const flame = new Flame(treeOf(SMALL, methods), -1, 100)
    assert.equal(show(flame, 0), 'main 0-100')
    assert.equal(show(flame, 1), 'a 0-60  b 60-80  c 80-90')
    assert.equal(show(flame, 2), 'd 0-30  e 30-50')
    assert.equal(show(flame, 3), '')
    assert.equal(flame.depth(10), 3)
  })

  it('the widths of boxes below a zoomed box are fractions of the zoomed box', () => {
    const tree = treeOf(SMALL, methods)
    const flame = new Flame(tree, [...tree.method].indexOf(methods.id('a')), 60)
    assert.equal(show(flame, 0), 'a 0-60')
    assert.equal(show(flame, 1), 'd 0-30  e 30-50')
  })

  it('boxes narrower than a cell are merged', () => {
    const tree = treeOf('main 1x 0ns ( a 1x 94ns b 1x 2ns c 1x 2ns d 1x 2ns )', methods)
    assert.equal(show(new Flame(tree, -1, 20), 1), 'a 0-19  +3 19-20')
    const even = build(
      [-1, ...Array(1000).fill(0)],
      Array.from({ length: 1001 }, (_, i) => i + 1),
      Array(1001).fill(1),
      [0, ...Array(1000).fill(7)],
    )
    assert.deepEqual(
      new Flame(even, -1, 80).level(1).map(({ from, to, contexts }) => [from, to, contexts]),
      [[0, 80, 1000]],
    )
  })

  it('boxes share the whole width of a caller with negative self cost, and boxes with zero cost have no width', () => {
    const tree = treeOf('main 1x -20ns ( a 1x 80ns b 1x 40ns c 1x -5ns )', methods)
    assert.equal(show(new Flame(tree, -1, 120), 1), 'a 0-80  b 80-120')
    assert.equal(show(new Flame(treeOf('main 1x -20ns', methods), -1, 120), 0), '')
  })

  it('boxes of several roots are side by side', () => {
    assert.equal(show(new Flame(treeOf('a 1x 10ns b 1x 30ns', methods), -1, 80), 0), 'b 0-60  a 60-80')
  })

  it("boxes lie side by side within their caller's box, and the width of each box is its cost", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const tree = randomTree(2000, 12, seeded(seed))
      const flame = new Flame(tree, -1, 150)
      const total = tree.metrics.totalNs!
      let above = flame.level(0)
      for (let level = 1; flame.level(level).length > 0; level++) {
        let end = 0
        for (const box of flame.level(level)) {
          const { node, from, to, contexts } = box
          const caller = above.find((each) => each.node === tree.parent[node])
          assert.ok(
            caller && from >= caller.from && to <= caller.to && from >= end && to > from,
            `seed ${seed}`,
          )
          end = to
          const exact = (150 * total[node]!) / total[0]!
          if (contexts === 1)
            assert.ok(Math.abs(to - from - exact) <= 1, `seed ${seed}: ${to - from} for ${exact}`)
          assert.deepEqual(
            flame.find(node),
            contexts === 1
              ? { level, index: flame.level(level).indexOf(box) }
              : flame.find(tree.parent[node]!),
          )
        }
        above = flame.level(level)
      }
    }
  })

  it('in a tree of 100,000 levels, boxes are laid out only for the visible levels', () => {
    const flame = new Flame(chain(100_000), -1, 80)
    assert.equal(flame.depth(50), 50)
    // A chain with 1 ns self time each: at level n a box has (100,000 - n) / 100,000 of the width, and half a cell is still drawn.
    assert.deepEqual(flame.find(99_999), { level: 99_375, index: 0 })
  })
})

const SHOP = `OrderService.process 120x 9000000ns (
  com.acme.shop.pricing.PriceCalculator.priceOf 360x 140000000ns ( Cache.get 1234567x 36000000ns )
  com.acme.db.JdbcOrderRepository.save 120x 81000000ns ( com.acme.db.ConnectionPool.borrow 120x 20000000ns )
  Log.debug 4000x 2900000ns  Log.trace 4000x 2900000ns )`

let source: FakeSource
let screen: FakeScreen
let view: LiveView

async function open(columns = 80, rows = 24, unicode = true, notation = SHOP): Promise<void> {
  source = new FakeSource(methods, treeOf(notation, methods))
  screen = new FakeScreen(columns, rows, unicode)
  view = new LiveView(source, screen)
  await view.refresh()
  screen.press('f')
}

const body = () => screen.text.split('\n').slice(2, -2).join('\n').trimEnd()
const detail = () => screen.text.split('\n').at(-2)!
/** Returns the name from the model, since the box on the screen may be too narrow for it. */
const selected = () => methods.names[view.model.view.method!]!.method

describe('the view of a flame graph', () => {
  beforeEach(() => open())

  it('the flame graph fits a terminal of 80x24', () => {
    assert.equal(
      body(),
      ` flame graph of time; Enter: zoom in, Esc: zoom out
▏com.acme.OrderService.process
▏com.acme.shop.pricing.PriceCalculator.priceOf  ▏JdbcOrderRepository.save   ░░▏
▏Cache.get▏                                     ▏borro▏`,
    )
  })

  it('the flame graph uses only ASCII if the terminal has no UTF-8', async () => {
    await open(80, 24, false)
    assert.equal(body().replace(/[ -~\n]/g, ''), '')
    assert.match(body(), /\n\|com\.acme\.OrderService\.process\n\|/)
  })

  it('the status line shows the cost of the selected box', () => {
    assert.equal(screen.styled('selected'), '▏com.acme.OrderService.process')
    assert.equal(detail(), ' com.acme.OrderService.process  100.0 %  total 291.8ms  self 9.000ms  calls 120')
  })

  it('arrow keys select the widest callee, the box to the left or right, and the caller', () => {
    screen.press('down')
    assert.match(selected(), /priceOf/)
    screen.press('right')
    assert.match(selected(), /save/)
    screen.press('down')
    assert.match(selected(), /borrow/)
    screen.press('left')
    assert.match(selected(), /get/)
    screen.press('left')
    assert.match(selected(), /get/, 'there is nothing further left')
    screen.press('up up up')
    assert.match(selected(), /process/)
    screen.press('end')
    assert.match(selected(), /get/)
    screen.press('home')
    assert.match(selected(), /process/)
  })

  it('Enter zooms into the selected box, and Esc zooms out', () => {
    screen.press('down right enter')
    assert.match(
      body(),
      /^ zoomed: com\.acme\.db\.JdbcOrderRepository\.save, 34\.6 % of total; Esc: zoom out\n▏com\.acme\.db\.JdbcOrderRepository\.save\n▏borrow +▏$/,
    )
    assert.match(selected(), /save/)
    screen.press('escape')
    assert.match(body(), /^ flame graph.*\n▏com\.acme\.OrderService\.process\n/)
    assert.match(selected(), /save/, 'what was selected still is')
    screen.press('backspace')
    assert.match(body(), /^ flame graph/)
  })

  it('in the next snapshot, the box with the same path is still zoomed, and the box with the same path is still selected', async () => {
    screen.press('down right enter down')
    assert.match(selected(), /borrow/)
    source.tree = treeOf(SHOP.replace('Cache.get', 'Other.first 1x 5ns Cache.get'), methods)
    await view.refresh()
    assert.match(selected(), /borrow/)
    assert.match(body(), /^ zoomed: com\.acme\.db\.JdbcOrderRepository\.save/)
  })

  it('a search in the flame graph highlights the matching boxes and shows their share of the time', () => {
    screen.press('/')
    for (const letter of 'acme.db') screen.press(letter)
    assert.match(screen.styled('flame-match'), /save\|▏borr/, 'while it is typed')
    screen.press('enter')
    assert.match(selected(), /save/)
    assert.match(screen.text, /"acme\.db": 2 found/)
    screen.press('n')
    assert.match(selected(), /borrow/)
    screen.press('escape')
    assert.equal(screen.styled('flame-match'), '')
  })

  it('a search zooms if the box of a match is too narrow to be drawn', () => {
    screen.press('/')
    for (const letter of 'log') screen.press(letter)
    screen.press('enter')
    assert.equal(selected(), 'debug')
    assert.match(body(), /^ zoomed: com\.acme\.Log\.debug, 1\.0 % of total/)
  })

  it('a click selects a box, and a second click zooms into the box', () => {
    screen.mouse('click', 60, 4)
    assert.match(selected(), /save/)
    screen.mouse('click', 79, 4)
    assert.match(selected(), /save/, 'what a caller spends itself is no box')
    screen.mouse('click', 60, 4)
    assert.match(body(), /^ zoomed: .*save/)
  })

  it('a deep flame graph scrolls, but not beyond the top and bottom of the tree', async () => {
    await open(80, 24)
    source.tree = chain(1000)
    await view.refresh()
    assert.equal(body().split('\n').length, 20)
    for (let page = 0; page < 10; page++) screen.press('pagedown')
    assert.equal(selected(), 'main')
    const at = view.model.view.index
    assert.ok(at > 150 && at < 200, `${at}`)
    screen.press('end')
    assert.equal(view.model.view.index, 993, 'what is below has less than half a cell')
    for (let i = 0; i < 100; i++) screen.mouse('wheel-up', 5, 5)
    assert.equal(view.model.view.first, 994 - 19 - 300)
    screen.press('home')
    assert.equal(view.model.view.first, 0)
  })

  it('keys that hide rows show a hint in the flame graph', () => {
    screen.press('%')
    assert.match(detail(), /this view has no row filter: small boxes are merged/)
    assert.equal(view.model.filter.least, 0)
  })

  it('an empty flame graph shows a message', async () => {
    await open(80, 24, true, '')
    assert.match(body(), /No call has been recorded yet/)
    screen.press('enter down right end escape')
    await open(80, 24, true, 'main 1x -5ns')
    assert.match(body(), /No cost has been recorded yet/)
    screen.press('enter down right end escape')
  })

  it("the key c shows the callers of the selected box's method", () => {
    screen.press('down right c')
    assert.match(body(), /▾ c\.a\.d\.JdbcOrderRepository\.save|▾ com\.acme\.db\.JdbcOrderRepository\.save/)
  })
})
