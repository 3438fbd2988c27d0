// The view of a method's callers.

import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { LiveView } from '../../src/tui/app.ts'
import { chain, Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

// Cache.get is called 300 times: 200 through priceOf, 100 through save, 60 of these below retry.
const CALLS = `Orders.process 10x 9000000ns (
  Price.priceOf 20x 4000000ns ( Cache.get 200x 2000000ns )
  Repository.save 10x 1000000ns ( Cache.get 40x 1500000ns )
  Retry.run 5x 0ns ( Repository.save 5x 500000ns ( Cache.get 60x 500000ns ) ) )`

let methods: Methods
let source: FakeSource
let screen: FakeScreen
let view: LiveView

async function open(notation = CALLS, columns = 80, rows = 24): Promise<void> {
  methods = new Methods()
  source = new FakeSource(methods, treeOf(notation, methods))
  screen = new FakeScreen(columns, rows)
  view = new LiveView(source, screen)
  await view.refresh()
}

const body = () => screen.text.split('\n').slice(2, -2).join('\n').trimEnd()

function search(text: string): void {
  screen.press('/')
  for (const letter of text) screen.press(letter)
  screen.press('enter')
}

beforeEach(() => open())

describe('callers of a method', () => {
  it("callers are listed below the method, hottest first, each caller with its part of the method's cost", () => {
    search('cache')
    screen.press('c')
    assert.equal(
      body(),
      `   ▾total     self % total    calls per call  method, with callers below
  4.000ms  4.000ms   100.0      300  13.33µs  ▾ com.acme.Cache.get
  2.000ms  2.000ms    50.0      200  10.00µs    ▾ com.acme.Price.priceOf
  2.000ms  2.000ms    50.0      200  10.00µs        com.acme.Orders.process
  2.000ms  2.000ms    50.0      100  20.00µs    ▸ com.acme.Repository.save`,
    )
    screen.press('end enter')
    assert.match(body(), /500\.0µs {2}500\.0µs {4}12\.5 {7}60 {2}8\.333µs {6}▸ com\.acme\.Retry\.run/)
  })

  it("a caller's row covers calls from all lines of the caller, and Enter goes to the most expensive line", async () => {
    await open('Orders.process 10x 1000000ns ( seven 10x 2000000ns nine 20x 4000000ns )')
    for (const [name, line] of [
      ['seven', 7],
      ['nine', 9],
    ] as const) {
      methods.names[methods.id(name)] = { ...methods.names[2]!, method: 'work', bci: line, line }
    }
    source.tree = { ...source.tree, methodOf: Int32Array.of(0, 1, 2, 2) }
    await view.refresh()
    assert.match(body(), /App\.work:7[\s\S]*App\.work:9|App\.work:9[\s\S]*App\.work:7/)
    search('work')
    screen.press('c')
    assert.match(body(), / 30 .*com\.acme\.App\.work\n.*com\.acme\.Orders\.process$/)
    screen.press('m')
    assert.match(body(), / 30 .*com\.acme\.App\.work\n/)
    screen.press('enter')
    assert.match(screen.styled('selected'), /com\.acme\.App\.work:9$/)
  })

  it('callers can be shown for a hot method, and for a row of the view of callers', () => {
    screen.press('m down down c')
    assert.match(body(), /\n .* {2}▾ com\.acme\.Cache\.get\n/)
    screen.press('down c')
    assert.match(
      body(),
      /\n .* 100\.0 {7}20 .* {2}▾ com\.acme\.Price\.priceOf\n.* {4}com\.acme\.Orders\.process$/,
    )
  })

  it('the view of callers stays visible, and its open rows stay open, while the recording continues', async () => {
    search('cache')
    screen.press('c end')
    const before = screen.styled('selected')
    source.tree = treeOf(CALLS.replace('Cache.get 200x', 'Cache.get 900x'), methods)
    await view.refresh()
    assert.match(body(), /1,000 .*Cache\.get/)
    assert.equal(screen.styled('selected'), before)
    screen.press('t c')
    assert.match(body(), /Cache\.get/, 'the same method again')
  })

  it('the view of callers shows a message if the method was not called', async () => {
    search('cache')
    screen.press('c')
    source.tree = treeOf('Orders.process 10x 9000000ns', methods)
    await view.refresh()
    assert.match(body(), /com\.acme\.Cache\.get has not been called here\./)
    await open('')
    screen.press('c')
    assert.match(body(), /Waiting for|No call has been recorded|No root/)
  })

  it('the list of callers of a deep recursion is truncated, and the number of shown levels is displayed', async () => {
    await open()
    source.tree = chain(100_000)
    await view.refresh()
    screen.press('c')
    assert.match(screen.text, /method, with callers, 2\d levels\n/)
  })

  it('callers can be searched, and sorted by any column', () => {
    search('cache')
    screen.press('c 6')
    assert.match(body(), /priceOf\n.*process\n.*Repository\.save/)
    search('retry')
    assert.match(screen.styled('selected'), /com\.acme\.Retry\.run/)
  })
})
