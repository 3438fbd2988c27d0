// The list of threads during a session: events of each thread in the latest seconds, and the threads inside a root.

import assert from 'node:assert/strict'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Activity } from '../../src/cct/activity.ts'
import { LiveView } from '../../src/tui/app.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

/** Returns the activity in 59 seconds: `perSecond` for the latest seconds, and zero for earlier seconds. */
function told(perSecond: readonly number[], inside?: number): Activity {
  const all = new Uint32Array(59)
  all.set(perSecond, 59 - perSecond.length)
  return { perSecond: all, ...(inside !== undefined && { inside }) }
}

const WORKERS = [
  { name: 'shop-worker-1', ms: 60, activity: told([10, 20, 40, 80, 80, 0, 0, 80], 1) },
  { name: 'shop-worker-2', ms: 30, activity: told([1, 0, 0, 0, 0, 0, 0, 40], 0) },
  { name: '配達-配達-配達-配達-配達-配達-3', ms: 10, activity: told([], 1) },
]

async function open(columns: number, unicode = true, workers: readonly (typeof WORKERS)[number][] = WORKERS) {
  const methods = new Methods()
  const all = treeOf('main 9x 100000000ns', methods)
  const source = new FakeSource(methods, all)
  source.threads = workers.map(({ name, ms, activity }, i) => ({
    ...{ id: 21 + i, name, activity },
    tree: treeOf(`main 3x ${ms}000000ns`, methods),
  }))
  const screen = new FakeScreen(columns, 24, unicode)
  const view = new LiveView(source, screen)
  await view.refresh()
  screen.press('T')
  for (let i = 0; i < 5; i++) await turnOfTheLoop()
  return { screen, source, view }
}

const rows = (screen: FakeScreen): string =>
  screen.text
    .split('\n')
    .slice(2, -1)
    .filter((it) => it !== '')
    .join('\n')

describe('the list of running threads', () => {
  it('the list of threads shows the recent seconds of each thread, and marks threads inside a root, on a terminal of 80x24', async () => {
    const { screen } = await open(80)
    expect(rows(screen)).toMatchInlineSnapshot(`
      "      ▾total   % all       calls  last 12 s          id   thread
           100.0ms   100.0           9      ▁▁▃▅▅  █            all threads
           60.00ms    60.0           3      ▁▂▄██  █       21 ● shop-worker-1
           30.00ms    30.0           3      ▁      ▄       22   shop-worker-2
           10.00ms    10.0           3                     23 ● 配達-配達-配達-配達-配
       Enter: show all threads; 120 events in the last second, 2 inside a root now"
    `)
  })

  it("the list of threads shows each thread's share as a bar on a terminal of 120 columns", async () => {
    const { screen } = await open(120)
    expect(rows(screen)).toMatchInlineSnapshot(`
      "      ▾total   % all       calls                last 40 s                                      id   thread
           100.0ms   100.0           9  ▇▇▇▇▇▇▇▇▇▇                                    ▁▁▃▅▅  █            all threads
           60.00ms    60.0           3  ▇▇▇▇▇▇                                        ▁▂▄██  █       21 ● shop-worker-1
           30.00ms    30.0           3  ▇▇▇                                           ▁      ▄       22   shop-worker-2
           10.00ms    10.0           3  ▇                                                            23 ● 配達-配達-配達-配達-
       Enter: show all threads; 120 events in the last second, 2 inside a root now"
    `)
  })

  it('the status line shows the state of the selected thread', async () => {
    const { screen } = await open(80)
    assert.match(
      screen.text,
      /^ Enter: show all threads; 120 events in the last second, 2 inside a root now$/m,
    )
    screen.press('down')
    assert.match(screen.text, /^ Enter: show this thread; 80 events in the last second, inside a root now$/m)
    screen.press('down')
    assert.match(screen.text, / 40 events in the last second, not inside a root now$/m)
  })

  it('the list of threads in ASCII stays inside the screen', async () => {
    for (const columns of [80, 100, 120, 200]) {
      const { screen } = await open(columns, false)
      assert.ok(screen.widest <= columns, `${columns}: ${screen.widest}`)
      assert.match(screen.text.replaceAll(/[配達]/g, '?'), /^[\n -~]*$/)
      assert.match(screen.text, /\* shop-worker-1/)
    }
  })

  it('no thread is marked as inside a root after the end of the session', async () => {
    const { screen, source, view } = await open(80)
    source.end('the JVM ended')
    await view.refresh()
    assert.doesNotMatch(screen.text, /●|inside a root/)
    assert.match(screen.text, /▁▁▃▅▅/)
  })

  it('the bars of platform threads are not scaled down if virtual threads have many events', async () => {
    const { screen, source, view } = await open(80)
    const virtual = { id: 0, name: 'virtual threads', tree: source.tree, activity: told([4000, 8000], 7) }
    source.threads = [...source.threads, virtual]
    await view.refresh()
    assert.match(screen.text, /▁▂▄██ {2}█ {7}21 ● shop-worker-1/)
    assert.match(screen.text, / {6}▄█ {8}0 ● virtual threads/)
  })

  it('in a sampled session the list of threads shows samples, and no mark for threads inside a root', async () => {
    const { screen } = await open(80, true, [
      { name: 'main', ms: 1, activity: told([3, 2]) },
      { name: 'other', ms: 1, activity: told([1, 1]) },
    ])
    assert.match(screen.text, /^ Enter: show all threads; 3 samples in the last second$/m)
    assert.doesNotMatch(screen.text, /●/)
  })
})
