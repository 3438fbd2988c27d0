import { beforeEach, describe, expect, it } from 'vitest'
import { UNSEEN_SHORT } from '../../src/profile/sampled-rows.ts'
import { LiveView } from '../../src/tui/app.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

describe('stacks in the status line of the live view', () => {
  let source: FakeSource
  beforeEach(() => {
    const methods = new Methods()
    source = new FakeSource(methods, treeOf('Shop.order 3x 2000000ns', methods))
  })

  async function shown(stacks: NonNullable<FakeSource['facts']['stacks']>, columns: number) {
    source.facts = { scheme: 'adaptive', instrumentedMethods: 12, calledMethods: 9, stacks }
    const screen = new FakeScreen(columns, 24)
    await new LiveView(source, screen).refresh()
    expect(screen.widest).toBeLessThanOrEqual(columns)
    return screen
  }

  it('the status line shows the number of stacks taken, the cost of stacks and probes, and the longest stall', async () => {
    const screen = await shown({ samples: 12_345, costPercent: 1.26, longestStallMs: 48.4 }, 80)
    expect(screen.text).toMatch(
      /^ scheme ADAPTIVE {2}12\/9 methods {2}12\.3k samples {2}overhead 1\.3 % {2}stall 48 ms$/m,
    )
    expect(screen.styled('warning')).not.toContain('ms')
  })

  it('the status line warns of a long stall', async () => {
    const stalls = async (longestStallMs: number) =>
      (await shown({ samples: 1, costPercent: 0, longestStallMs }, 80)).styled('warning')
    expect(await stalls(149)).not.toContain('149 ms')
    expect(await stalls(150)).toContain('150 ms')
  })

  it('rows with calls missed by probes are marked in the tree and among hot methods, and the help explains the mark', async () => {
    const { tree } = source
    const one = new Float64Array(tree.count).fill(1)
    const zeros = new Float64Array(tree.count)
    source.tree = { ...tree, metrics: { ...tree.metrics, known: zeros, samples: one, unseen: one } }
    source.facts = { scheme: 'adaptive', stacks: { samples: 812, longestStallMs: 3 } }
    const screen = new FakeScreen(80, 24)
    await new LiveView(source, screen).refresh()
    for (const key of ['t', 'm']) {
      screen.press(key)
      expect(screen.text).toMatch(/Shop\.order !$/m)
      expect(screen.styled('warning')).toContain(UNSEEN_SHORT)
      expect(screen.widest).toBeLessThanOrEqual(80)
    }
    screen.press('?')
    for (let i = 0; i < 4; i++) screen.press('pagedown')
    expect(screen.text).toContain('! samples show calls of this method')
  })

  it('on a wide screen, the status line shows more data about stacks, and no cost if the cost is unknown', async () => {
    const screen = await shown({ samples: 812, longestStallMs: 3 }, 120)
    expect(screen.text).toMatch(
      /^ scheme ADAPTIVE {2}12 instrumented, 9 called {2}812 samples {2}longest stall 3 ms /m,
    )
    expect(screen.text).not.toContain('cost')
  })
})
