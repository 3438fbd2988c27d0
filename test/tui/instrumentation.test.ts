import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import type { InstrumentationFacts } from '../../src/profile/code-facts.ts'
import { LiveView } from '../../src/tui/app.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

const ORDERS = `com.acme.Orders.process 120x 9000000ns (
  com.acme.Pricing.priceOf 360x 140000000ns ( com.acme.Cache.get 4x 36000000ns )
  com.acme.Log.debug 4000x 3000ns )`

let methods: Methods
let source: FakeSource
let screen: FakeScreen
let view: LiveView
let facts: InstrumentationFacts

async function open(columns = 80, rows = 24, unicode = true): Promise<void> {
  methods = new Methods()
  source = new FakeSource(methods, treeOf(ORDERS, methods))
  const idle =
    methods.names.push({ class: 'com.acme.Idle', method: 'never', descriptor: '()V', loader: 'app' }) - 1
  facts = {
    ...{ firstMethod: 1, methods: idle },
    nameOf: (method) => methods.names[method]!,
    methodOf: (id) => id,
    firstCallMs: (method) => ({ process: -2, priceOf: 1_234, get: 61_000 })[methods.names[method]!.method],
    stateOf: (method) => (methods.names[method]!.method === 'debug' ? 'left out' : 'probes'),
    skipped: new Map([
      ['com.acme.Native.read()V', 'native'],
      ['com.acme.Native.write()V', 'native'],
      ['java.lang.Math.max(II)I', 'intrinsic: the compiler may replace it'],
    ]),
    swaps: [
      { atMs: -3, classes: 12, methods: 40, ms: 21.5, pauseMs: 9.25 },
      { atMs: 1_500, classes: 1, methods: 2, ms: 3, pauseMs: null },
      { atMs: 62_000, classes: 3, methods: 0, ms: 1, pauseMs: 0.5 },
    ],
    swapsBefore: 0,
  }
  Object.assign(source, { instrumentation: () => facts })
  screen = new FakeScreen(columns, rows, unicode)
  view = new LiveView(source, screen)
  await view.refresh()
  screen.press('i')
}

const body = (): string[] =>
  screen.text
    .split('\n')
    .slice(2, -2)
    .filter((line) => line !== '')

beforeEach(() => open())

describe('the page of instrumentation', () => {
  it('the page of instrumentation shows redefinitions, methods with probes, and skipped methods with reasons on a terminal of 80x24', () => {
    assert.deepEqual(body(), [
      '      ▾number     when  code change',
      '            3           ▾ redefinitions: 25.500 ms, longest stop 9.250 ms',
      '     1.000 ms     1:02      3 classes, stop 0.500 ms',
      '     3.000 ms    1.5 s      1 class, 2 methods',
      '    21.500 ms   before      12 classes, 40 methods, stop 9.250 ms',
      '            3           ▸ methods with probes, called',
      '            1           ▸ methods with probes, not called',
      '            1           ▸ methods that you excluded (X), and their callees',
      '            3           ▾ skipped methods, 2 reasons',
      '            2             ▸ native',
      '            1             ▸ intrinsic: the compiler may replace it',
    ])
  })

  it('groups of methods are opened and closed by Enter and arrow keys', () => {
    screen.press('enter')
    assert.equal(body()[1], '            3           ▸ redefinitions: 25.500 ms, longest stop 9.250 ms')
    assert.equal(body().length, 8)
    screen.press('end up right')
    assert.deepEqual(body().slice(-4), [
      '            2             ▾ native',
      '                              com.acme.Native.read()V',
      '                              com.acme.Native.write()V',
      '            1             ▸ intrinsic: the compiler may replace it',
    ])
    screen.press('down left left')
    assert.match(screen.styled('selected'), /▸ native$/)
    screen.press('left')
    assert.match(screen.styled('selected'), /skipped methods, 2 reasons/)
  })

  it('methods can be sorted by calls, first call or name, in ascending or descending order', () => {
    screen.press('down down down down enter')
    const called = () =>
      body()
        .slice(6, 9)
        .map((line) => line.trim().replaceAll(/\s+(com\.acme\.)?/g, ' '))
    const process = '120 before Orders.process(int)'
    const price = '360 1.2 s Pricing.priceOf(int)'
    const get = '4 1:01 Cache.get(int)'
    assert.deepEqual(called(), [price, process, get])
    screen.press('O')
    assert.deepEqual(called(), [get, process, price])
    screen.press('o')
    assert.deepEqual(called(), [process, price, get])
    screen.press('O')
    assert.deepEqual(called(), [get, price, process])
    screen.press('o')
    assert.deepEqual(called(), [get, process, price])
    screen.mouse('click', 20, 2)
    assert.deepEqual(called(), [process, price, get])
  })

  it('the status line shows the first call of the selected method', () => {
    const below = () => screen.text.split('\n').at(-2)!
    screen.press('down')
    assert.equal(below(), ' 3 classes, stop 0.500 ms, 1:02 after counting began')
    screen.press('down down down enter down')
    assert.equal(below(), ' com.acme.Pricing.priceOf(int), first called 1.2 s after counting began')
    screen.press('down')
    assert.equal(below(), ' com.acme.Orders.process(int), first called before counting began')
  })

  it('if no method was skipped, the page of instrumentation shows a message', async () => {
    facts = { ...facts, skipped: new Map() }
    await view.refresh()
    assert.equal(body().at(-1), '            0             skipped methods')
    screen.press('end enter right')
    assert.match(screen.styled('selected'), /0 +skipped methods/)
  })

  it('a search finds methods in open groups, and the found method stays selected while the session continues', async () => {
    screen.press('/ , space s t o p enter')
    assert.match(screen.styled('selected'), /stop 0\.500 ms/)
    assert.match(screen.text, /2 found/)
    facts = { ...facts, swaps: [...facts.swaps, { atMs: 70_000, classes: 9, methods: 9, ms: 9, pauseMs: 9 }] }
    await view.refresh()
    assert.match(screen.styled('selected'), /stop 0\.500 ms/)
  })

  it('the page of instrumentation in ASCII fits a terminal of 120x40', async () => {
    for (const [columns, rows] of [
      [80, 24],
      [120, 40],
    ] as const) {
      await open(columns, rows, false)
      const skipped = new Map([
        ['x'.repeat(400), 'y'.repeat(400)],
        ['\x1b[2J', '\x07'],
      ])
      facts = { ...facts, skipped, swapsBefore: 1234 }
      await view.refresh()
      for (const keys of ['end', 'enter', 'down', 'home']) {
        screen.press(keys)
        assert.ok(screen.widest <= columns, `${columns}: ${screen.widest}\n${screen.text}`)
        assert.match(screen.text, /^[\n -~]*$/)
      }
      assert.match(screen.text, /1,237 {11}- redefinitions, the latest 3 below: 25\.500 ms/)
    }
  })

  it('the page of instrumentation is empty if no code was changed', async () => {
    Object.assign(source, { instrumentation: undefined })
    await view.refresh()
    assert.match(screen.text, /no method has probes/)
  })
})
