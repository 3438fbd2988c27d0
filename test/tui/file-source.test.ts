import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { LiveView } from '../../src/tui/app.ts'
import { fileRegionSource, fileSource } from '../../src/tui/file-source.ts'
import { RegionView } from '../../src/tui/region-app.ts'
import { REGION } from '../profile/region.ts'
import { chain, Methods, profileOf, profileOfTree, treeOf } from '../profile/trees.ts'
import { FakeScreen } from './fake-screen.ts'

const PROFILE = profileOf('main 2x 10000000ns ( work 4x 50000000ns ( leaf 9x 1000000ns ) other 1x 0ns )', {
  truncated: 'the target ended',
})

async function open(
  profile = PROFILE,
  columns = 80,
  rows = 24,
): Promise<{ screen: FakeScreen; view: LiveView }> {
  const screen = new FakeScreen(columns, rows)
  const view = new LiveView(fileSource(profile, '/far/away/shop.jfluid'), screen)
  await view.refresh()
  return { screen, view }
}

describe('the live view of a file', () => {
  it('the view of a file shows the file name, program, date and mode on a terminal of 80x24', async () => {
    const { screen } = await open()
    assert.equal(
      screen.text,
      ` jfluid  shop.jfluid  com.acme.Main      1 warning: w  2026-11-21 08:00Z 10.0 s
 exact  scheme B  12 instrumented, 4 called  2.00k events  stalled 0.0 %
   ▾total     self  % root    calls per call  method
  61.00ms  10.00ms   100.0        2  30.50ms  ▾ com.acme.App.main
  51.00ms  50.00ms    83.6        4  12.75ms    ▾ com.acme.App.work
  1.000ms  1.000ms     1.6        9  111.1µs        com.acme.App.leaf
      0        0       0.0        1      0        com.acme.App.other















 com.acme.App.main(int)                                                  1 of 4
 q quit  ? help  Enter open  / find  m hot  t tree  c callers  f flame  o sort`,
    )
  })

  it('the view of a file shows the hot methods, threads and warnings of the profile', async () => {
    const { screen } = await open()
    screen.press('m')
    assert.match(screen.text, /50\.00ms .* com\.acme\.App\.work\n/)
    screen.press('T down enter')
    assert.match(screen.text, /thread worker-1/)
    screen.press('w')
    assert.match(screen.text, /truncated: the target ended/)
  })

  it('in the view of a file, the key r makes the selected method the root of all views, and Esc shows all rows again', async () => {
    const { screen } = await open()
    screen.press('down r')
    assert.equal(
      screen.text.split('\n').slice(1, 6).join('\n'),
      ` exact  scheme B  12/4 methods  2.00k events  stalled 0.0 %  below c.a.App.work
   ▾total     self  % root    calls per call  method
  51.00ms  50.00ms   100.0        4  12.75ms  ▾ com.acme.App.work
  1.000ms  1.000ms     2.0        9  111.1µs      com.acme.App.leaf
`,
    )
    screen.press('r')
    assert.match(screen.text, /this method is the root already/)
    screen.press('m down r')
    assert.match(screen.text, /below c\.a\.App\.leaf/)
    assert.match(screen.text, /1\.000ms {2}1\.000ms {3}100\.0 .* com\.acme\.App\.leaf/)
    screen.press('escape')
    assert.doesNotMatch(screen.text, /below c/)
    screen.press('t')
    assert.match(screen.text, /61\.00ms .* com\.acme\.App\.main/)
  })

  it('in the view of a file, the key r works in each view that selects a method, and shows a reason if the row is a package', async () => {
    const { screen } = await open()
    for (const view of ['t down', 'm', 'c', 'f down']) {
      screen.press(`${view} r`)
      assert.match(screen.text, /below c\.a\.App\.work/, view)
      screen.press('escape')
      assert.doesNotMatch(screen.text, /below c/, view)
    }
    screen.press('t P r')
    assert.match(screen.text, /this row is not a method; press P or t to show methods/)
  })

  it('a thread without calls of the chosen root shows no rows, and names the key that shows all rows', async () => {
    const other = treeOf('main 2x 10000000ns', new Methods())
    const { screen } = await open({
      ...PROFILE,
      threads: [...PROFILE.threads, { id: 99, name: 'other', tree: other }],
    })
    screen.press('m r T end enter')
    assert.match(screen.text, /No call of com\.acme\.App\.work here\. Press Esc to show all rows\./)
  })

  it('in the view of a file, keys that need a session show a hint and are not in the help', async () => {
    const { screen } = await open()
    for (const key of ['p', 'z']) {
      screen.press(key)
      assert.equal(
        screen.styled('warning'),
        `1 warning: w|${key} works only in a live session; this is a file`,
      )
    }
    screen.press('?')
    assert.match(screen.text, / q +quit\n/)
    assert.doesNotMatch(screen.text, /zero|freeze/)
  })

  it('the view of a file reads the profile once, and redraws only what has changed', async () => {
    const screen = new FakeScreen(80, 24)
    const source = fileSource(PROFILE, 'p.jfluid')
    let asked = 0
    const counting = {
      ...source,
      snapshot: (perThread: boolean) => {
        asked++
        return source.snapshot(perThread)
      },
    }
    const view = new LiveView(counting, screen)
    await view.refresh()
    const { lines } = screen
    await view.refresh()
    assert.equal(asked, 1)
    assert.equal(screen.lines, lines)
    screen.press('down')
    assert.notEqual(screen.lines, lines)
  })

  it('the view of a profile without calls shows a message', async () => {
    const { screen } = await open(profileOf(''))
    assert.match(screen.text, /No root method was called\./)
  })

  it('the selection in the view of a file can move to the bottom of a call chain 100,000 deep', async () => {
    const names = PROFILE.methodNames.slice(0, 2)
    const { screen } = await open(profileOfTree(chain(100_000), names))
    screen.press('* end')
    assert.match(screen.text, /100,000 of 100,000/)
  })
})

describe('the live view of a file of regions', () => {
  it('the view of a file of regions shows the rate of executions over the whole recording', async () => {
    const screen = new FakeScreen(80, 24)
    const profile = { ...profileOf('main 1x 1ns', { events: { count: 4, waitMs: 0 } }), regions: [REGION] }
    const view = new RegionView(fileRegionSource(profile, 'r.jfluid'), screen)
    await view.refresh()
    // 4 executions in 10 s; t_I is 11.5 ns and t_O 13.25 ns per execution
    assert.match(screen.text, /^ {7}4 {6}0\.40 .* com\.acme\.App\.main:3-4$/m)
    assert.match(screen.text, / 4 executions {2}25 ns probe cost each/)
    screen.press('z')
    assert.match(screen.text, /z works only in a live session; this is a file/)
  })
})
