// Text sent to the terminal's clipboard, and the notice about it.

import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { LiveView } from '../../src/tui/app.ts'
import { clipboardSequence, linesForClipboard } from '../../src/tui/clipboard.ts'
import { chain, Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

describe('the escape sequence that sets the clipboard', () => {
  it('the clipboard sequence is OSC 52 with the text in base64', () => {
    assert.equal(clipboardSequence('Größe', false), '\x1b]52;c;R3LDtsOfZQ==\x07')
  })

  it('inside tmux the clipboard sequence is sent to tmux and, with doubled escape characters, to the outer terminal', () => {
    assert.equal(
      clipboardSequence('a', true),
      '\x1b]52;c;YQ==\x07' + '\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\',
    )
  })
})

describe('copied text of many lines', () => {
  it('copied lines are sent unchanged if they fit into one clipboard sequence; otherwise the lines in the middle are omitted', () => {
    assert.equal(linesForClipboard(['a', 'b', 'c']), 'a\nb\nc')
    const many = Array.from({ length: 100_000 }, (_, i) => `frame ${i}`)
    const text = linesForClipboard(many)
    assert.ok(clipboardSequence(text, false).length < 75_000)
    const lines = text.split('\n')
    assert.deepEqual([lines[0], lines.at(-1)], ['frame 0', 'frame 99999'])
    const left = lines.filter((line) => line.startsWith('frame')).length
    assert.ok(left > 1000)
    assert.equal(
      lines.find((line) => !line.startsWith('frame')),
      `... ${100_000 - left} more ...`,
    )
  })

  it('a copied line that is too long is truncated', () => {
    assert.ok(clipboardSequence(linesForClipboard(['x'.repeat(100_000)]), false).length < 75_000)
    assert.ok(clipboardSequence(linesForClipboard(['語'.repeat(100_000)]), false).length < 75_000)
  })
})

describe('copying from the live view', () => {
  const methods = new Methods()
  let source: FakeSource
  let screen: FakeScreen
  let view: LiveView

  beforeEach(async () => {
    const notation = 'Orders.process 10x 5000000ns ( Cart.sum 20x 3000000ns ( Cache.get 40x 2000000ns ) )'
    source = new FakeSource(methods, treeOf(notation, methods))
    screen = new FakeScreen(80, 24)
    view = new LiveView(source, screen)
    await view.refresh()
  })

  const said = () => screen.text.split('\n').at(-2)

  it('the complete selected row is copied, and a message reports the copy', () => {
    screen.press('down y')
    const row = 'com.acme.Cart.sum(int)  total 5.000ms, self 3.000ms, 50.0 % of total, calls 20'
    assert.deepEqual(screen.copied, [row])
    assert.match(said()!, /^ sent to the terminal's clipboard: "com\.acme\.Cart\.sum\(int\) {2}total 5/)
  })

  it('the path to the selected row can be copied in any view, root first', () => {
    const way = 'com.acme.Orders.process\ncom.acme.Cart.sum\ncom.acme.Cache.get'
    screen.press('end Y')
    assert.match(said()!, /the terminal's clipboard: path, 3 lines, from com\.acme\.Orders\.process$/)
    screen.press('f end Y')
    screen.press('c end Y')
    screen.press('m end Y')
    assert.deepEqual(screen.copied, [way, way, way, 'com.acme.Cache.get'])
  })

  it('a message is shown if there is no row to copy', async () => {
    source.tree = treeOf('', methods)
    await view.refresh()
    screen.press('y')
    assert.match(said()!, /no row is selected/)
    screen.press('Y')
    assert.deepEqual(screen.copied, [])
  })

  it('a copied path of a recursion 100,000 deep contains both ends of the path', async () => {
    source.tree = chain(100_000)
    await view.refresh()
    screen.press('* end Y')
    assert.match(said()!, /100,000 lines, from /)
    assert.match(screen.copied[0]!, /\n\.\.\. \d+ more \.\.\.\n/)
  })
})
