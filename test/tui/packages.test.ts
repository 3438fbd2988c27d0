// Rows of packages, and rows that are left out.

import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { costsOf } from '../../src/cct/metric.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { LiveView } from '../../src/tui/app.ts'
import { withoutSmall } from '../../src/tui/filter.ts'
import { Packages } from '../../src/tui/packages.ts'
import { Methods, randomTree, seeded, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

const methods = new Methods()
const packages = (levels?: number) => new Packages((id) => methods.names[id]!, levels)

function show(tree: Tree, names: Packages): string {
  let text = ''
  const ends: number[] = []
  for (let node = 0; node < tree.count; node++) {
    while (ends.at(-1) === node) {
      text += ' )'
      ends.pop()
    }
    const { calls, selfNs, totalNs } = tree.metrics
    const { class: name, method } = names.name(tree.method[node]!)
    text += `${text.endsWith('( ') || text === '' ? '' : '  '}${name}.${method} ${calls![node]}x ${selfNs![node]}/${totalNs![node]}`
    if (tree.size[node]! > 1) {
      text += ' ( '
      ends.push(node + tree.size[node]!)
    }
  }
  return text + ' )'.repeat(ends.length)
}

describe('a tree of packages', () => {
  it('if methods of one package call each other, the tree has a single node for these calls of the package', () => {
    const names = packages()
    const tree = treeOf(
      'a.A.f 1x 1ns ( a.B.g 2x 2ns ( b.C.h 4x 4ns ) b.C.h 8x 8ns ( b.C.k 1x 1ns ) )',
      methods,
    )
    assert.equal(show(names.fold(tree), names), 'a.* 1x 3/16 ( b.* 12x 13/13 )')
  })

  it('a package has a separate node below each calling package, even if the package calls itself through another package', () => {
    const names = packages()
    const tree = treeOf(
      'a.A.f 1x 1ns ( b.B.g 2x 2ns ( a.A.f 4x 4ns ) c.C.h 8x 8ns ( b.B.g 1x 16ns ) )',
      methods,
    )
    assert.equal(
      show(names.fold(tree), names),
      'a.* 1x 1/31 ( b.* 2x 2/6 ( a.* 4x 4/4 )  c.* 8x 8/24 ( b.* 1x 16/16 ) )',
    )
  })

  it('package names are cut to the given number of parts, and a mark shows that a name was cut', () => {
    const names = packages(2)
    const tree = treeOf(
      'com.acme.A.f 1x 1ns ( com.acme.shop.B.g 1x 2ns ( com.other.C.h 1x 4ns ( top.D.k 1x 8ns ) ) )',
      methods,
    )
    assert.equal(
      show(names.fold(tree), names),
      'com.acme.** 1x 3/15 ( com.other.** 1x 4/12 ( top.* 1x 8/8 ) )',
    )
  })

  it('rows of waits and of allocated classes stay separate, and the default package has a name', () => {
    const named = [
      { class: 'Main', method: 'main', descriptor: '()V', loader: 'app' },
      { class: 'com.acme.Lock', method: '(blocked on)', descriptor: '', loader: 'app' },
      { class: 'com.acme.Row', method: 'new', descriptor: '', loader: 'app' },
    ]
    const names = new Packages((id) => named[id]!)
    assert.deepEqual(
      [0, 1, 2].map((id) => names.name(names.of(id))).map((it) => `${it.class} ${it.method}`),
      ['<no package> *', 'com.acme.Lock (blocked on)', 'com.acme.* new'],
    )
  })

  it('a tree of packages has the same costs as the tree of methods, and each row is the sum of its self time and children', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const tree = randomTree(500, 9, seeded(seed))
      // Three packages of three methods each.
      const names = new Packages((id) => ({
        class: `p${id % 3}.C`,
        method: `m${id}`,
        descriptor: '()V',
        loader: '',
      }))
      const folded = names.fold(tree)
      const { self, total } = costsOf(folded)
      const sums = Array.from(self)
      for (let node = folded.count - 1; node >= 0; node--) {
        assert.equal(sums[node], total[node], `seed ${seed}`)
        const above = folded.parent[node]!
        if (above >= 0) sums[above]! += sums[node]!
        if (above >= 0) assert.notEqual(folded.method[above], folded.method[node])
      }
      assert.equal(sums[0], tree.metrics.totalNs![0])
    }
  })

  it("if the cost is the number of calls, all calls of methods of a package are the package's self cost", () => {
    const { metrics, ...rest } = treeOf('a.A.f 1x 0ns ( a.B.g 2x 0ns ( b.C.h 4x 0ns ) )', methods)
    const names = packages()
    const folded = names.fold({
      ...rest,
      metrics: { calls: metrics.calls!, totalCalls: Float64Array.of(7, 6, 4) },
    })
    assert.deepEqual(
      [[...folded.metrics.calls!], [...folded.metrics.totalCalls!]],
      [
        [3, 4],
        [7, 4],
      ],
    )
  })
})

describe('hiding rows with less than a percentage of the cost', () => {
  it('rows with less than a percentage of the cost are hidden together with their callees; other rows keep their numbers', () => {
    const tree = treeOf(
      'main 1x 10ns ( a 1x 80ns ( b 1x 4ns ) c 1x 5ns ( d 1x 1ns ) ) other 1x 2ns ( e 1x 1ns )',
      methods,
    )
    const { total } = costsOf(tree)
    const { tree: shown, hidden } = withoutSmall(tree, 6, (top) => total[top]!)
    const names = [...shown.method].map((id) => methods.names[id]!.method)
    assert.deepEqual(names, ['main', 'a', 'c', 'other', 'e'])
    assert.deepEqual([...shown.metrics.totalNs!], [100, 84, 6, 3, 1])
    assert.deepEqual([...shown.parent], [-1, 0, 0, -1, 3])
    assert.deepEqual([...shown.size], [3, 1, 1, 2, 1])
    assert.equal(hidden, 2)
    assert.equal(withoutSmall(tree, 0, () => 0).tree, tree)
    assert.deepEqual([...withoutSmall(tree, 6, () => 103).tree.metrics.totalNs!], [100, 84])
  })
})

const SHOP = `com.acme.shop.Orders.process 100x 10010000ns (
  com.acme.shop.Cart.sum 100x 20000000ns ( com.acme.db.Rows.read 1000x 60000000ns )
  com.acme.db.Rows.write 100x 9000000ns ( java.util.Log.log 100x 900000ns )
  java.util.Log.log 200x 90000ns )`

let source: FakeSource
let screen: FakeScreen
let view: LiveView

const body = () => screen.text.split('\n').slice(2, -2).join('\n').trimEnd()
const line = (of: number) => screen.text.split('\n').at(of)!

describe('the live view of packages', () => {
  beforeEach(async () => {
    source = new FakeSource(methods, treeOf(SHOP, methods))
    screen = new FakeScreen(80, 24)
    view = new LiveView(source, screen)
    await view.refresh()
  })

  it('the key P groups the tree, hot methods, callers and flame graph by package; pressing P again shows methods', () => {
    screen.press('P')
    assert.match(line(-2), /rows are packages; calls inside a package are merged; totals are unchanged/)
    assert.equal(
      body(),
      `   ▾total     self  % root    calls per call  package
  100.0ms  30.01ms   100.0      100  1.000ms  ▾ com.acme.shop.*
  69.90ms  69.00ms    69.9    1,100  63.55µs    ▾ com.acme.db.*
  900.0µs  900.0µs     0.9      100  9.000µs        java.util.*
  90.00µs  90.00µs     0.1      200    450ns      java.util.*`,
    )
    screen.press('m')
    assert.match(body(), /com\.acme\.db\.\*\n.*com\.acme\.shop\.\*\n.* 300 .*java\.util\.\*$/)
    screen.press('end c')
    assert.match(
      body(),
      /package, with callers below\n.*▾ java\.util\.\*\n.*▾ com\.acme\.db\.\*\n.*com\.acme\.shop\.\*\n/,
    )
    screen.press('f')
    assert.match(body(), /\n▏com\.acme\.shop\.\*\n▏com\.acme\.db\.\* /)
    screen.press('P t')
    assert.match(body(), /com\.acme\.\*\*\n.*java\.util\.\*\*$/)
    screen.press('P')
    assert.match(body(), / method\n.*com\.acme\.shop\.Orders\.process/)
  })

  it('the selection and the open rows of the method view are kept while packages are shown', () => {
    screen.press('down right')
    const before = screen.styled('selected')
    screen.press('P down P P')
    assert.equal(screen.styled('selected'), before)
  })

  it('each press of the key % sets the next limit below which rows are hidden, and shows the limit', () => {
    screen.press('*')
    assert.match(body(), /log/i)
    screen.press('%')
    assert.match(body(), / method, 1 below 0\.1 % hidden\n/)
    assert.match(line(-1), /^ rows below 0\.1 % are hidden {3}type a number, %: next limit, Enter: done/)
    screen.press('%')
    assert.match(body(), / method, 2 below 1 % hidden\n/)
    assert.doesNotMatch(body(), /Log/)
    assert.match(body(), / 100\.0ms /)
    screen.press('% %')
    assert.match(line(-1), /^ all rows are shown/)
    assert.match(body(), /Log/)
  })

  it('rows with less than the typed percentage of the cost are hidden', () => {
    screen.press('% 1 5')
    assert.match(body(), / method, 3 below 15 % hidden\n/)
    screen.press('enter 6')
    assert.match(body(), /▾method, 3 below 15 % hidden\n/, 'after Enter, numbers sort again')
    screen.press('% 2 . . 3')
    assert.match(line(-2), /"2\.\." is not a number from 0 to 100/)
    screen.press('backspace backspace backspace 9 9 9')
    assert.match(line(-2), /"999" is not a number from 0 to 100/)
    assert.equal(view.model.filter.least, 99)
    screen.press('m')
    assert.match(body(), /▾self/, 'another key ends the typing and does what it does')
    assert.match(body(), /, 5 below 99 % hidden\n\n {2}All rows are hidden: each is below 99 %/)
  })

  it('if a command would show a row that is hidden in the tree, all rows are shown again', async () => {
    // Most time of Log.log is below write: 0.9 % of all time.
    screen.press('m end % 5 enter t')
    assert.match(body(), / method, 2 below 5 % hidden\n/)
    view.model.revealInTree(4)
    await view.refresh()
    assert.match(body(), / method\n/)
    assert.match(screen.styled('selected'), /java\.util\.Log\.log/)
    assert.match(line(-2), /all rows are shown again/)
  })

  it('a search reports that hidden rows are not searched', () => {
    screen.press('% % enter /')
    for (const letter of 'log') screen.press(letter)
    screen.press('enter')
    assert.match(line(-2), /no method here matches "log" \(or the match is hidden\)/)
  })
})
