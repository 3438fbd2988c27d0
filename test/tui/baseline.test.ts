// Key b: changes per root call since the key was pressed.

import assert from 'node:assert/strict'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Tree } from '../../src/cct/tree.ts'
import { LiveView } from '../../src/tui/app.ts'
import { callersOf, methodsAlone } from '../../src/tui/baseline.ts'
import { slowCallsOf, TIMED } from '../profile/root-calls.ts'
import { chain, Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

// Before: 10 calls of 2 ms each, of which 1 ms in work, 0.5 ms in old. After: 10 more calls of 4 ms each, of which 2.6 ms in work, 1 ms in
// fresh.
const BEFORE = 'main 10x 5000000ns ( work 20x 10000000ns  old 10x 5000000ns )'
const AFTER = 'main 20x 9000000ns ( work 60x 36000000ns  old 10x 5000000ns  fresh 10x 10000000ns )'

let methods: Methods
let source: FakeSource
let screen: FakeScreen
let view: LiveView

async function open(columns = 80, unicode = true): Promise<void> {
  methods = new Methods()
  source = new FakeSource(methods, treeOf(BEFORE, methods))
  screen = new FakeScreen(columns, 24, unicode)
  view = new LiveView(source, screen)
  await view.refresh()
}

async function show(notation: string): Promise<void> {
  source.tree = treeOf(notation, methods)
  await view.refresh()
}

/** Returns rows: change of total, change of self, change in % of the earlier root call, change of calls, name. */
function rows(): string[] {
  return screen.text
    .split('\n')
    .slice(3, -2)
    .filter((line) => line !== '')
    .map((line) => line.trim().replaceAll(/\s+/g, ' ').replaceAll('com.acme.App.', ''))
}

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await turnOfTheLoop()
}

beforeEach(() => open())

describe('changes since the baseline, which the key b sets', () => {
  it('changes since the baseline fit a terminal of 80x24', async () => {
    screen.press('b')
    await show(AFTER)
    screen.press('escape')
    expect(
      screen.text
        .split('\n')
        .filter((it) => it !== '')
        .join('\n'),
    ).toMatchInlineSnapshot(`
      " jfluid  pid 4711  com.acme.demo.OrderServer                   recording 12.3 s
       scheme B  1,312 instrumented, 240 called  1.23M events/s  stalled 0.3 %
         Δtotal    Δself Δ% root   Δcalls   before  context, per root call
       +2.000ms -100.0µs    +100        0  2.000ms  ▾ com.acme.App.main
       +1.600ms +1.600ms   +80.0    +2.00  1.000ms      com.acme.App.work
       +1.000ms +1.000ms   +50.0    +1.00      0        com.acme.App.fresh
       -500.0µs -500.0µs   -25.0    -1.00  500.0µs      com.acme.App.old
       com.acme.App.main: 10 root calls now, 10 before; b ends it
       q quit  ? help  Enter open  / find  m hot  t tree  c callers  f flame  o sort"
    `)
  })

  it('changes are per root call, largest first; the change of a row is the sum of the changes of its self time and children', async () => {
    screen.press('b')
    assert.match(screen.text, /changes from now on, per root call; b again ends the comparison/)
    await show(AFTER)
    screen.press('escape')
    // per call, in ms: main 0.4 - 0.5; work 2.6 - 1, and 4 - 2 calls; fresh 1 - 0; old 0 - 0.5
    assert.deepEqual(rows(), [
      '+2.000ms -100.0µs +100 0 2.000ms ▾ main',
      '+1.600ms +1.600ms +80.0 +2.00 1.000ms work',
      '+1.000ms +1.000ms +50.0 +1.00 0 fresh',
      '-500.0µs -500.0µs -25.0 -1.00 500.0µs old',
    ])
    assert.match(screen.text, /main: 10 root calls now, 10 before; b ends it$/m)
  })

  it('the view of hot methods shows the change of each method', async () => {
    screen.press('b')
    await show(AFTER)
    screen.press('m')
    assert.deepEqual(rows(), [
      '+2.000ms -100.0µs +100 0 2.000ms main',
      '+1.600ms +1.600ms +80.0 +2.00 1.000ms work',
      '+1.000ms +1.000ms +50.0 +1.00 0 fresh',
      '-500.0µs -500.0µs -25.0 -1.00 500.0µs old',
    ])
    screen.press('o')
    assert.equal(rows()[0], '+1.600ms +1.600ms +80.0 +2.00 1.000ms work')
    screen.press('t')
    assert.match(screen.text, /▾ com\.acme\.App\.main/)
  })

  it('a copied row contains the signed change and the earlier value', async () => {
    screen.press('b')
    await show(AFTER)
    screen.press('m G y')
    assert.deepEqual(screen.copied, [
      'com.acme.App.old(int)  total -500.0µs, self -500.0µs, calls -1.00 per root call; total before 500.0µs',
    ])
  })

  it('the fifth column sorts by the earlier value', async () => {
    screen.press('b')
    await show(AFTER)
    screen.press('m 5')
    assert.deepEqual(
      rows().map((row) => row.split(' ').slice(4).join(' ')),
      ['2.000ms main', '1.000ms work', '500.0µs old', '0 fresh'],
    )
  })

  it("a callee's change is shown even if its caller's change is small", async () => {
    await show('main 10x 0ns ( work 20x 10000000ns  old 10x 10000000ns )')
    screen.press('b')
    await show('main 20x 0ns ( work 60x 30000000ns  old 10x 10000000ns )')
    screen.press('t % 5 enter')
    assert.deepEqual(
      rows().map((row) => row.split(' ').at(-1)),
      ['main', 'work', 'old'],
    )
  })

  it('the view of callers shows how much each caller contributes to the change of a method', async () => {
    await show('main 10x 5000000ns ( work 20x 10000000ns  other 10x 0ns ( work 10x 1000000ns ) )')
    screen.press('b')
    // 10 more root calls: 40 calls of work from main take 26 ms instead of 10, and 10 calls from other take the same time as before.
    await show('main 20x 5000000ns ( work 60x 36000000ns  other 20x 0ns ( work 20x 2000000ns ) )')
    screen.press('/ w o r k enter escape c')
    assert.match(screen.text, / callers, per root call$/m)
    assert.deepEqual(rows(), [
      '+1.600ms +1.600ms +100 +2.00 1.100ms ▾ work',
      '+1.600ms +1.600ms +100 +2.00 1.000ms main',
      '0 0 0 0 100.0µs ▸ other',
    ])
    screen.press('b')
    assert.match(screen.text, /method, with callers below/)
    screen.press('b')
    assert.match(screen.text, /No root call has started since the baseline/)
  })

  it('changes are shown at once when the callers of another method are shown', async () => {
    screen.press('b')
    await show(AFTER)
    screen.press('/ w o r k enter escape c')
    assert.match(rows()[0]!, / work$/)
    screen.press('down c')
    assert.deepEqual(rows(), ['+2.000ms -100.0µs +100 0 2.000ms main'])
  })

  it('the view of callers compares equally many levels before and after the baseline, and shows the number of levels', async () => {
    source.tree = chain(100_000)
    await view.refresh()
    screen.press('c b z')
    source.tree = chain(200_000)
    await view.refresh()
    // The limit of 2^21 steps permits 20 levels of 100,000 contexts, or 10 levels of 200,000 contexts. Each level has 100,000 more contexts
    // than the level before.
    assert.match(screen.text, / callers, 10 levels, per root call$/m)
    assert.ok(screen.widest <= 80)
    screen.press('*')
    assert.deepEqual(
      rows().map((row) => row.split(' ')[3]),
      Array.from({ length: 11 }, () => '+100,000'),
    )
  })

  it('callers in the data before the baseline are computed only once', async () => {
    const [before, now, later] = [BEFORE, AFTER, BEFORE].map((it) => treeOf(it, methods)) as [
      Tree,
      Tree,
      Tree,
    ]
    for (const shape of [callersOf(1), methodsAlone()])
      assert.equal(shape(before, now).before, shape(before, later).before)
    screen.press('P b')
    const seen: Tree[] = []
    const shape = (one: Tree, other: Tree) => {
      seen.push(one)
      return { before: one, after: other }
    }
    view.model.changes(shape)
    await show(AFTER)
    view.model.changes(shape)
    assert.equal(seen.length, 2)
    assert.equal(seen[0], seen[1], 'packages of it')
  })

  it('a message is shown if all rows with a change are hidden', async () => {
    screen.press('/ w o r k enter escape c b')
    await show('main 20x 10000000ns ( work 40x 20000000ns  old 20x 10000000ns )')
    screen.press('% 5 enter')
    for (const key of ['c', 't', 'm']) {
      screen.press(key)
      assert.match(
        screen.text,
        /^ {2}All rows are hidden: each is below 5 %\. Press % to change the limit\.$/m,
        key,
      )
    }
  })

  it('the width of a flame graph box is the current time per root call, and the colour shows the change', async () => {
    screen.press('f b')
    assert.match(screen.text, /No root call has started since the baseline \(10 before it\)\./)
    await show('main 20x 10000000ns ( work 60x 36000000ns  old 20x 6000000ns )')
    screen.press('escape')
    // A call takes 3.2 ms: 2.6 ms in work, which took 1 ms before, and 0.1 ms in old, which took 0.5 ms.
    const [, , head, ...lines] = screen.text.split('\n')
    assert.equal(head, ' flame graph per root call: + (orange) more than baseline, - (blue) less')
    assert.match(lines[0]!, /^▏com\.acme\.App\.main/)
    assert.match(lines[1]!, /^▏\+com\.acme\.App\.work +▏-o▏$/)
    assert.equal(screen.styled('flame-hot'), '▏+com.acme.App.work')
    assert.equal(screen.styled('flame-less'), '▏-o')
    screen.press('down')
    assert.match(
      screen.text,
      /com\.acme\.App\.work {2}\+1\.600ms total, \+1\.600ms self per root call; before 1\.000ms$/m,
    )
    screen.press('y enter')
    assert.match(screen.copied[0]!, /App\.work {2}total \+1\.600ms/)
    assert.match(screen.text, / zoomed: com\.acme\.App\.work, 81\.3 % of total/)
    screen.press('b')
    assert.match(screen.text, /zoomed|flame graph of time/)
  })

  it('changes of less than one sample per root call are shown', async () => {
    source.facts = { mode: 'sample' }
    const sampled = (notation: string) => {
      const { metrics, ...tree } = treeOf(notation, methods)
      const { calls, selfNs, totalNs } = metrics
      return { ...tree, metrics: { calls: calls!, selfSamples: selfNs!, totalSamples: totalNs! } }
    }
    source.tree = sampled('main 10x 2ns ( work 5x 3ns )')
    await view.refresh()
    screen.press('b')
    source.tree = sampled('main 20x 4ns ( work 10x 18ns )')
    await view.refresh()
    // Before: 0.5 ms per call, of which 0.3 ms in work. Later: 1.7 ms per call, of which 1.5 ms in work.
    assert.deepEqual(rows(), ['+1.20 0 +240 0 0.50 ▾ main', '+1.20 +1.20 +240 0 0.30 work'])
  })

  it('pressing b again removes the baseline, and the numbers again cover the whole recording', async () => {
    screen.press('b')
    await show(AFTER)
    screen.press('b')
    assert.match(screen.text, /baseline removed: numbers are totals of the recording again/)
    assert.match(screen.text, /^ +60\.0\d*ms .*main$/m)
  })

  it('after a reset, the values since the reset are compared with the baseline', async () => {
    screen.press('b z')
    // 5 calls of 4 ms
    await show('main 5x 2000000ns ( work 20x 18000000ns )')
    assert.deepEqual(rows(), [
      '+2.000ms -100.0µs +100 0 2.000ms ▾ main',
      '+2.600ms +2.600ms +130 +2.00 1.000ms work',
      '-500.0µs -500.0µs -25.0 -1.00 500.0µs old',
    ])
  })

  it('a message is shown if the root was not called since the baseline, or if there were no data before the baseline', async () => {
    screen.press('b escape')
    await view.refresh()
    assert.match(screen.text, /No root call has started since the baseline \(10 before it\)\./)
    await open()
    await show('')
    screen.press('b')
    assert.match(screen.text, /no call is recorded yet, so there is no baseline/)
  })

  it('the baseline is removed when another thread is shown', async () => {
    source.threads = [{ id: 21, name: 'worker-1', tree: source.tree }]
    screen.press('b T')
    await settled()
    screen.press('down enter')
    await settled()
    assert.doesNotMatch(screen.text, /Δ/)
  })

  it('for slow calls, the change is the difference between slow calls and all calls', async () => {
    const slow = treeOf('main 1x 500000ns ( work 2x 21000000ns )', methods)
    source.more = { ...TIMED, slow: slowCallsOf(slow) }
    await view.refresh()
    screen.press('S down enter')
    await settled()
    screen.press('b')
    // all calls: 2 ms per call, of which 1 ms in work
    assert.deepEqual(rows(), [
      '+19.50ms 0 +975 0 2.000ms ▾ main',
      '+20.00ms +20.00ms +1000 0 1.000ms work',
      '-500.0µs -500.0µs -25.0 -1.00 500.0µs old',
    ])
    assert.match(screen.text, /slow calls minus all calls, per root call/)
  })

  it('changes are shown with ASCII signs if the terminal has no UTF-8', async () => {
    await open(80, false)
    screen.press('b')
    await show(AFTER)
    assert.match(screen.text, /^ *dtotal /m)
    assert.ok([...screen.text].every((it) => it < '\x7f'))
  })
})
