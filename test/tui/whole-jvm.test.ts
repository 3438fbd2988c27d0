import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { LiveStatus } from '../../src/tui/app.ts'
import { LiveView } from '../../src/tui/app.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

async function shown(columns: number, notation: string, facts: Partial<LiveStatus>): Promise<FakeScreen> {
  const methods = new Methods()
  const timed = treeOf(notation, methods)
  const { calls, selfNs, totalNs } = timed.metrics
  const metrics = { calls: calls!, selfSamples: selfNs!, totalSamples: totalNs! }
  const source = new FakeSource(methods, { ...timed, metrics })
  source.facts = { mode: 'sample', ...facts }
  const screen = new FakeScreen(columns, 24, true)
  await new LiveView(source, screen).refresh()
  return screen
}

const SAMPLES = 'Main.main 1x 10ns ( Shop.order 3x 20ns ) Pool.run 2x 70ns'
const WHOLE_JVM = { isSampledByJvm: true, roots: [], events: 1234, eventsPerSecond: 98.7, calledMethods: 57 }

describe('samples of the whole JVM', () => {
  it('the view shows the number of samples, and the share of each row in all samples', async () => {
    const screen = await shown(80, SAMPLES, WHOLE_JVM)
    const [, status, heads, ...rows] = screen.text.split('\n')
    assert.equal(status!.trimEnd(), ' whole JVM  1,234 samples  99 per second  57 methods')
    assert.equal(heads!.trimEnd(), ' ▾samples self smp   % all     seen smp/seen  method')
    assert.equal(rows[0]!.trimEnd(), '       70       70    70.0        2       35    com.acme.Pool.run')
    assert.equal(rows[1]!.trimEnd(), '       30       10    30.0        1       30  ▸ com.acme.Main.main')
    assert.ok(screen.widest <= 80)
  })

  it.each([80, 99, 100, 200])('the view of samples fits a screen of %d columns', async (columns) => {
    assert.ok((await shown(columns, SAMPLES, WHOLE_JVM)).widest <= columns)
  })

  it('if samples are taken inside a root, the view names the sampler and shows the share of each row in the root', async () => {
    const screen = await shown(80, SAMPLES, { ...WHOLE_JVM, roots: ['com.acme.Pool.run'] })
    assert.match(screen.text, /^ sampled by the JVM {2}1,234 samples/m)
    assert.match(screen.text, /% root/)
    assert.match(screen.text, /^ {7}70 {7}70 {3}100\.0 /m)
  })

  it('in a session of samples, the key r makes the selected method the root, and shares refer to this root', async () => {
    const screen = await shown(80, SAMPLES, WHOLE_JVM)
    screen.press('down enter down r')
    const [, status, heads, ...rows] = screen.text.split('\n')
    assert.equal(
      status!.trimEnd(),
      ' whole JVM  1,234 samples  99 per second                   below c.a.Shop.order',
    )
    assert.match(heads!, /% root/)
    assert.equal(rows[0]!.trimEnd(), '       20       20   100.0        3    6.667    com.acme.Shop.order')
    screen.press('escape')
    assert.match(screen.text, /% all/)
  })

  it('a sampled profile has no timeline, and the key for the timeline shows the reason', async () => {
    const screen = await shown(80, SAMPLES, WHOLE_JVM)
    screen.press('L')
    assert.match(screen.text, /No timeline: it shows root calls per second/)
    assert.match(screen.text, /samples\n {2}of the JVM contain neither/)
  })

  it('a sampled profile has no baseline, since a baseline is per root call, and the key for the baseline shows the reason', async () => {
    const screen = await shown(80, SAMPLES, WHOLE_JVM)
    screen.press('b')
    assert.match(screen.text, /\n no root, so no root calls to compare/)
    assert.match(screen.text, /▾samples self smp/)
  })

  it('samples below a root have no baseline, since calls of the root are not counted', async () => {
    const screen = await shown(80, SAMPLES, { ...WHOLE_JVM, roots: ['com.acme.Pool.run'] })
    screen.press('b')
    assert.match(screen.text, /\n samples do not count calls; jfluid compare compares two/)
    assert.match(screen.text, /▾samples self smp/)
  })

  it('the view shows a message if there are no samples', async () => {
    const screen = await shown(80, '', { ...WHOLE_JVM, events: 0 })
    assert.match(screen.text, /No sample shows a thread running Java code yet/)
    const inside = await shown(80, '', { ...WHOLE_JVM, roots: ['com.acme.Pool.run'], events: 0 })
    assert.match(inside.text, /No sample shows a thread inside com\.acme\.Pool\.run yet/)
  })
})
