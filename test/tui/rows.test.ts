import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Tree } from '../../src/cct/tree.ts'
import {
  Expansion,
  hotRows,
  hottestPath,
  nodeAt,
  type Path,
  pathOf,
  type Sort,
  TreeRows,
} from '../../src/tui/rows.ts'
import { matcher, NodeMatches } from '../../src/tui/search.ts'
import { chain, Methods, randomTree, seeded, treeOf } from '../profile/trees.ts'

const methods = new Methods()
const nameText = (id: number): string => methods.names[id]?.method ?? `m${id}`
const byTotal: Sort = { column: 'total', reversed: false }

const tree = treeOf(
  `main 1x 1ns (
     load 2x 10ns ( parse 8x 40ns ( lex 80x 30ns ) check 2x 5ns )
     save 1x 20ns ( parse 1x 2ns )
     log 9x -3ns )`,
  methods,
)
const path = (...names: string[]): Path => names.map((name) => methods.id(name))

/** Returns rows as "> name", indented by depth; ">" is closed, "v" is open. */
function shown(rows: TreeRows, first = 0, most = 1000): string[] {
  return rows.window(first, most).map(({ node, depth, open, leaf }) => {
    const sign = leaf ? '' : open ? 'v ' : '> '
    return '  '.repeat(depth) + sign + nameText(rows.tree.method[node]!)
  })
}

function rowsOf(of: Tree, expansion: Expansion, sort = byTotal): TreeRows {
  return new TreeRows(of, expansion, sort, nameText)
}

describe('visible rows of a tree', () => {
  it('if no row is open, the only visible rows are the roots', () => {
    assert.deepEqual(shown(rowsOf(tree, new Expansion())), ['> main'])
  })

  it('the rows below an open row are the children of that row, in order', () => {
    const expansion = new Expansion()
    expansion.set(path('main'), true)
    expansion.set(path('main', 'load'), true)
    const rows = rowsOf(tree, expansion)
    // totals: load 10 + 40 + 30 + 5 = 85, save 20 + 2 = 22, log -3
    assert.deepEqual(shown(rows), ['v main', '  v load', '    > parse', '    check', '  > save', '  log'])
    assert.equal(rows.count, 6)
  })

  it('all rows are shown when every row is open, and the rows below the roots are hidden when every row is closed', () => {
    const expansion = new Expansion()
    expansion.setBelow(path('main'), true)
    expansion.set(path('main', 'load', 'parse'), false)
    const all = ['v main', '  v load', '    > parse', '    check', '  v save', '    parse', '  log']
    assert.deepEqual(shown(rowsOf(tree, expansion)), all)
    expansion.set(path('main'), false)
    assert.deepEqual(shown(rowsOf(tree, expansion)), ['> main'])
    expansion.set(path('main'), true)
    assert.deepEqual(shown(rowsOf(tree, expansion)), all)
  })

  it('rows can be sorted by any column, in ascending or descending order', () => {
    const children = (sort: Sort): string[] => {
      const rows = rowsOf(tree, new Expansion(), sort)
      return rows.children(0).map((node) => nameText(tree.method[node]!))
    }
    assert.deepEqual(children(byTotal), ['load', 'save', 'log'])
    assert.deepEqual(children({ column: 'total', reversed: true }), ['log', 'save', 'load'])
    assert.deepEqual(children({ column: 'self', reversed: false }), ['save', 'load', 'log'])
    assert.deepEqual(children({ column: 'calls', reversed: false }), ['log', 'load', 'save'])
    assert.deepEqual(children({ column: 'perCall', reversed: false }), ['load', 'save', 'log'])
    assert.deepEqual(children({ column: 'name', reversed: false }), ['load', 'log', 'save'])
  })

  it('the visible part of the rows equals the same range of all rows (random trees, open rows and ranges)', () => {
    const seed = Number(process.env.JFLUID_SEED ?? 7)
    const random = seeded(seed)
    for (let round = 0; round < 60; round++) {
      const some = randomTree(1 + Math.floor(random() * 400), 12, random)
      const expansion = new Expansion()
      const every = rowsOf(some, new Expansion())
      for (let n = Math.floor(random() * 40); n > 0; n--) {
        const at = pathOf(every.tree, Math.floor(random() * some.count))
        if (random() < 0.3) expansion.setBelow(at, random() < 0.7)
        else expansion.set(at, random() < 0.7)
      }
      const rows = rowsOf(some, expansion)
      const all = rows.window(0, Number.POSITIVE_INFINITY)
      const why = `JFLUID_SEED=${seed}, round ${round}`
      assert.equal(all.length, rows.count, why)
      const first = Math.floor(random() * rows.count)
      assert.deepEqual(rows.window(first, 7), all.slice(first, first + 7), why)
      for (const [index, { node, open }] of all.entries()) {
        assert.deepEqual(rows.find(node), { index, node }, why)
        assert.equal(nodeAt(rows.tree, pathOf(rows.tree, node)), node, why)
        if (some.size[node]! > 1) assert.equal(rows.rowsOf(node) > 1, open, why)
      }
    }
  })

  it('a row is found in a later snapshot by its path; if the row no longer exists, its nearest existing caller is found', () => {
    const later = treeOf('start 1x 1ns main 1x 1ns ( save 3x 500ns load 2x 10ns )', methods)
    const rows = rowsOf(later, new Expansion())
    assert.equal(nodeAt(rows.tree, path('main', 'load')), 3)
    assert.equal(nodeAt(rows.tree, path('main', 'load', 'parse')), 3)
    assert.equal(nodeAt(rows.tree, path('gone')), -1)
  })

  it('a closed row hides the rows below it', () => {
    const expansion = new Expansion()
    expansion.set(path('main'), true)
    const rows = rowsOf(tree, expansion)
    const lex = nodeAt(rows.tree, path('main', 'load', 'parse', 'lex'))
    assert.deepEqual(rows.find(lex), { index: 1, node: nodeAt(rows.tree, path('main', 'load')) })
    expansion.reveal(path('main', 'load', 'parse', 'lex'))
    assert.deepEqual(rowsOf(tree, expansion).find(lex), { index: 3, node: lex })
  })

  it('the rows of a recursion 100,000 deep are found without recursion', () => {
    const deep = chain(100_000)
    const expansion = new Expansion()
    expansion.setBelow([1], true)
    const rows = rowsOf(deep, expansion)
    assert.equal(rows.count, 100_000)
    assert.equal(rows.window(99_990, 40).length, 10)
    assert.deepEqual(rows.find(99_999), { index: 99_999, node: 99_999 })
    const opened = new Expansion()
    opened.reveal(pathOf(rows.tree, 99_999))
    assert.equal(rowsOf(deep, opened).count, 100_000)
  })

  it('the rows of 200,000 open nodes are found without a walk over all nodes', () => {
    const wide = randomTree(200_000, 300, seeded(3))
    const expansion = new Expansion()
    expansion.setBelow([1], true)
    let compared = 0
    const counting = new TreeRows(wide, expansion, { column: 'name', reversed: false }, (id) => {
      compared++
      return `m${id}`
    })
    assert.equal(counting.count, 200_000)
    counting.window(0, 40)
    assert.ok(compared < 20_000, `${compared} names looked at for 40 rows`)
  })
})

describe('the hottest path', () => {
  it("the hottest path follows the largest child while the cost of the child is at least a tenth of its parent's cost", () => {
    assert.deepEqual(hottestPath(tree, 10), path('main', 'load', 'parse', 'lex'))
    assert.deepEqual(hottestPath(tree, 2), path('main', 'load'))
    assert.deepEqual(hottestPath(treeOf('a 1x 100ns ( b 1x 5ns )', methods), 9), path('a'))
    assert.deepEqual(hottestPath(treeOf('', methods), 9), [])
  })
})

describe('rows of hot methods', () => {
  it('rows of hot methods sum the tree per method, and can be sorted by any column', () => {
    const names = (sort: Sort): string[] =>
      hotRows(tree, sort, nameText).methods.map((hot) => nameText(hot.method))
    // self: parse 40 + 2, lex 30, save 20, load 10, check 5, main 1, log -3
    assert.deepEqual(names({ column: 'self', reversed: false }), [
      'parse',
      'lex',
      'save',
      'load',
      'check',
      'main',
      'log',
    ])
    assert.equal(names({ column: 'total', reversed: false })[0], 'main')
    assert.equal(names({ column: 'calls', reversed: false })[0], 'lex')
    assert.equal(names({ column: 'name', reversed: false })[0], 'check')
  })
})

describe('search in the rows of a tree', () => {
  const rows = rowsOf(tree, new Expansion())
  const found = (text: string): NodeMatches => new NodeMatches(rows, matcher(text, nameText))
  const nameAt = (node: number): string => pathOf(rows.tree, node).map(nameText).join('/')

  it('a search visits all matches in display order, including closed rows, and continues at the top after the last match', () => {
    const matches = found('PARSE')
    assert.equal(matches.count, 2)
    const first = matches.next(-1)
    const second = matches.next(first)
    assert.deepEqual([nameAt(first), nameAt(second)], ['main/load/parse', 'main/save/parse'])
    assert.equal(matches.next(second), first)
    assert.equal(matches.previous(first), second)
    assert.equal(matches.previous(second), first)
  })

  it('a search without matches finds nothing', () => {
    assert.equal(found('none').next(0), -1)
    assert.equal(found('').previous(0), -1)
  })

  it('a forward and a backward search visit the same nodes (random trees)', () => {
    const random = seeded(11)
    for (let round = 0; round < 20; round++) {
      const some = rowsOf(randomTree(300, 10, random), new Expansion())
      const matches = new NodeMatches(some, (id) => id % 3 === 0)
      const seen: number[] = []
      let node = matches.next(-1)
      for (let n = 0; n < matches.count; n++) {
        seen.push(node)
        node = matches.next(node)
      }
      assert.equal(new Set(seen).size, matches.count)
      assert.equal(node, seen[0])
      for (let n = matches.count - 1; n >= 0; n--) {
        node = matches.previous(node)
        assert.equal(node, seen[n])
      }
    }
  })
})
