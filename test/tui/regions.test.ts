// The view of regions, on a screen that keeps its contents.

import { describe, expect, it } from 'vitest'
import type { RegionTimes } from '../../src/profile/profile.ts'
import { REGION_BINDINGS } from '../../src/tui/keys.ts'
import { type RegionSource, RegionView } from '../../src/tui/region-app.ts'
import { REGION } from '../profile/region.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

class FakeRegions extends FakeSource implements RegionSource {
  readonly overheadNs = 57.4
  all: readonly RegionTimes[]

  constructor(count: number) {
    const methods = new Methods()
    const ids = Array.from({ length: count }, (_, i) => methods.id(`App.part${i + 1}`))
    super(methods, treeOf('', methods))
    this.all = ids.map((method) => ({ ...REGION, method }))
  }

  async regions(): Promise<RegionTimes[]> {
    if (this.failure) throw this.failure
    return [...this.all]
  }
}

async function shown(count = 2, columns = 80, rows = 24, unicode = true) {
  const screen = new FakeScreen(columns, rows, unicode)
  const source = new FakeRegions(count)
  const view = new RegionView(source, screen)
  const left = view.run()
  await view.refresh()
  return { screen, source, view, left }
}

describe('the view of regions', () => {
  it.each([
    [80, 24],
    [200, 60],
  ])('the view of regions uses the whole space of a terminal of %i × %i', async (columns, rows) => {
    const { screen } = await shown(9, columns, rows)
    expect([screen.lines.length, screen.widest <= columns]).toEqual([rows, true])
    expect(screen.text).toContain('57 ns probe cost each')
    expect(screen.text).toContain('com.acme.App.part1(int):3-4')
    expect(screen.text).toMatch(/p99\.9 +50\.0 µs/)
    expect(screen.text).toMatch(/4\.00 µs +6\.00 µs|5\.00 µs +\d+\.\d+ µs +2 +50\.0 % █/)
    expect(screen.text).toMatch(/rate +█ +max 6\.00\/s/)
    expect(screen.text).toContain('latest  1.00 µs  5.00 µs  5.00 µs  50.0 µs')
  })

  it('details of the selected region are shown, and the table scrolls so that the selected row is visible', async () => {
    const { screen } = await shown(9)
    expect(screen.text).not.toContain('App.part9')
    screen.press('down down down down down down down down down')
    expect(screen.styled('selected')).toContain('App.part9:3-4')
    expect(screen.styled('title')).toContain('com.acme.App.part9(int):3-4')
    screen.mouse('wheel-up', 3, 3)
    expect(screen.styled('selected')).toContain('App.part8:3-4')
    screen.press('k')
    expect(screen.styled('selected')).toContain('App.part7:3-4')
  })

  it('the view of regions does not change while the view is paused', async () => {
    const { screen, source, view } = await shown(1)
    screen.press('p')
    await expect.poll(() => screen.text).toContain('PAUSED')
    source.all = [{ ...source.all[0]!, count: 77 }]
    await view.refresh()
    expect(screen.text).toContain('PAUSED')
    expect(screen.text).not.toContain('77')
    screen.press('p')
    await view.refresh()
    expect(screen.text).toMatch(/^ +77 /m)
  })

  it('the view of regions has help and warnings, can reset the data, and shows hints for unavailable keys', async () => {
    const { screen, source } = await shown(1)
    screen.press('?')
    for (const { label, help } of REGION_BINDINGS) expect(screen.text).toContain(`${label.padEnd(9)}${help}`)
    screen.press('q') // closes only the page
    source.facts = { warnings: ['something is odd'] }
    screen.press('w')
    expect(screen.text).toMatch(/^ {2}something is odd$/m)
    screen.press('escape z')
    expect([source.resets, screen.text.includes('are reset to zero')]).toEqual([1, true])
    screen.press('x')
    expect(screen.text).toContain('x is not a key here')
    screen.press('C-z')
    expect(screen.suspended).toBe(1)
  })

  it('long warnings can be scrolled by key and by mouse wheel', async () => {
    const { screen, source } = await shown(3)
    source.facts = { warnings: Array.from({ length: 30 }, (_, i) => `warning ${i + 1}.`) }
    screen.press('w')
    expect(screen.text).toMatch(/lines 1 to 20 of 60 *$/m)
    expect(screen.text).not.toContain('warning 30.')
    screen.press('end')
    expect(screen.text).toContain('warning 30.')
    screen.mouse('wheel-up', 3, 3)
    expect(screen.text).toMatch(/lines 40 to 59 of 60 *$/m)
    screen.press('escape')
    expect(screen.styled('selected')).toContain('App.part1:3-4') // the page received the wheel event
  })

  it('the view of regions shows why the session ended; q or a signal leaves the view', async () => {
    const { screen, source, left } = await shown(1)
    source.end('the JVM ended')
    await expect.poll(() => screen.text).toContain('the JVM ended: press q to quit and see the report')
    screen.press('q')
    expect(await left).toBe('quit')
    const other = await shown(1)
    other.screen.signal('SIGTERM')
    expect(await other.left).toBe('SIGTERM')
  })

  it('the view of regions marks unexecuted regions, shows errors, and shows a message if the terminal is too small', async () => {
    const { screen, source, view, left } = await shown(1)
    source.all = [{ ...source.all[0]!, count: 0, intervals: [], buckets: [], lastNs: [] }]
    await view.refresh()
    expect(screen.text).toContain('not executed yet')
    source.failure = new Error('the recorder has stopped')
    await view.refresh()
    expect(screen.text).toContain('the recorder has stopped')
    screen.resize(60, 10)
    expect(screen.text).toMatch(/jfluid needs 80×24\.\n +Enlarge it, or press q\./)
    screen.press('? q')
    expect(await left).toBe('quit')
  })

  it('the view of regions uses only ASCII if the terminal has no UTF-8', async () => {
    const { screen } = await shown(1, 80, 24, false)
    expect(screen.text).toMatch(/^[\n -~]*$/)
    expect(screen.text).toMatch(/50\.0 us/)
  })
})
