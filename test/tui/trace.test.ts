// Traced calls on the screen: key C in the view of a file.

import assert from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import type { Trace, TraceTrack } from '../../src/cct/trace.ts'
import { LiveView } from '../../src/tui/app.ts'
import { fileSource } from '../../src/tui/file-source.ts'
import { callOf, traceOf } from '../profile/traced.ts'
import { Methods, profileOfTree, treeOf } from '../profile/trees.ts'
import { FakeScreen } from './fake-screen.ts'

const FINDS = Array.from({ length: 12 }, (_, i) => `find> ${i * 1e6} find< ${i * 1e6 + 5e5}`).join(' ')
const HANDED =
  'main> 0 prepare> 0 parse> 100000 parse< 900000 prepare< 1000000 hand 1 5000000 get> 5000000 get< 20000000 main< 22000000' +
  ' | run> 6000000 compute> 6500000 compute< 18000000 run< 19000000'
const LOOP = `main> 0 ${FINDS} main< 12000000`

async function open(columns = 80, rows = 24, unicode = true, calls: readonly string[] = [LOOP, HANDED]) {
  const methods = new Methods()
  const merged = treeOf('main 2x 30ns ( get 1x 15ns find 12x 2ns ) run 1x 13ns', methods)
  const trace: Trace = traceOf(methods, ...calls)
  const profile = profileOfTree(merged, methods.names, { trace })
  const screen = new FakeScreen(columns, rows, unicode)
  const view = new LiveView(fileSource(profile, 'shop.jfluid'), screen)
  await view.refresh()
  screen.press('C')
  return { screen, view, methods }
}

const body = (screen: FakeScreen): string[] =>
  screen.text
    .split('\n')
    .slice(2, -2)
    .filter((it) => it !== '')

describe('traced calls in the view of a file', () => {
  it("the view of traced calls shows each call's critical path and its calls in order of time, with the slowest call open, on a terminal of 80x24", async () => {
    const { screen } = await open()
    expect(body(screen).join('\n')).toMatchInlineSnapshot(`
      "     start     total  % call    calls  traced calls; start: since the call began
                   12.00ms   100.0           ▸ call 1, at 0 in t1
                   22.00ms   100.0           ▾ call 2, at 1.000ms in t1
                                               ▾ critical path, 3 steps
             0     5.000ms    22.7               ▾ in t1
                   5.000ms    22.7        1          com.acme.App.main
         5.000ms   1.000ms     4.5                 (task submitted, not started)
         6.000ms   13.00ms    59.1               ▾ in t2
                   13.00ms    59.1        1          com.acme.App.run
                   11.50ms    52.3        1            com.acme.App.compute
         19.00ms   3.000ms    13.6               ▾ in t1
                   3.000ms    13.6                   com.acme.App.main
                                               ▾ calls in time order
             0     22.00ms   100.0        1      ▾ com.acme.App.main
             0     1.000ms     4.5        1        ▸ com.acme.App.prepare
         5.000ms   15.00ms    68.2        1          com.acme.App.get
         6.000ms   13.00ms    59.1             ▸ submitted task, in t2"
    `)
    assert.match(screen.styled('selected'), /call 2, at 1\.000ms in t1/)
  })

  it('the view of traced calls fits a terminal of 120x40', async () => {
    const { screen } = await open(120, 40)
    expect(body(screen).join('\n')).toMatchInlineSnapshot(`
      "     start     total  % call    calls  traced calls; start: since the call began
                   12.00ms   100.0           ▸ call 1, at 0 in t1
                   22.00ms   100.0           ▾ call 2, at 1.000ms in t1
                                               ▾ critical path, 3 steps
             0     5.000ms    22.7               ▾ in t1
                   5.000ms    22.7        1          com.acme.App.main
         5.000ms   1.000ms     4.5                 (task submitted, not started)
         6.000ms   13.00ms    59.1               ▾ in t2
                   13.00ms    59.1        1          com.acme.App.run
                   11.50ms    52.3        1            com.acme.App.compute
         19.00ms   3.000ms    13.6               ▾ in t1
                   3.000ms    13.6                   com.acme.App.main
                                               ▾ calls in time order
             0     22.00ms   100.0        1      ▾ com.acme.App.main
             0     1.000ms     4.5        1        ▸ com.acme.App.prepare
         5.000ms   15.00ms    68.2        1          com.acme.App.get
         6.000ms   13.00ms    59.1             ▸ submitted task, in t2"
    `)
  })

  it('an unfinished traced call is marked before the thread name, which is truncated if the line is too short', async () => {
    const methods = new Methods()
    const call = callOf('main> 0 main< 5000', methods, 7e6, 'open')
    const tracks: TraceTrack[] = [
      { ...call.tracks[0]!, thread: { id: 1, name: 'a-thread-with-a-very-long-name-indeed' } },
    ]
    const merged = treeOf('main 1x 5000ns', methods)
    const profile = profileOfTree(merged, methods.names, {
      trace: { asked: 1, calls: [{ ...call, tracks }] },
    })
    const screen = new FakeScreen(80, 24)
    await new LiveView(fileSource(profile, 'shop.jfluid'), screen).refresh()
    screen.press('C')
    assert.match(body(screen)[1]!, /▾ call 1 \(open\), at 7\.000ms in a-thr/)
    assert.match(screen.text, /call or one of its tasks was unfinished at the end/)
  })

  it('traced calls can be opened and closed, and a loop is one row with the number of its calls', async () => {
    const { screen } = await open()
    screen.press('g right')
    const shown = body(screen)
    const finds = shown
      .filter((it) => it.includes('App.find'))
      .map((it) => it.trim().split(/ +/).slice(0, -1))
    assert.deepEqual(finds, [
      ['6.000ms', '50.0', '12'],
      ['0', '6.000ms', '50.0', '12'],
    ])
    screen.press('left')
    assert.match(screen.styled('selected'), /▸ call 1/)
    assert.doesNotMatch(screen.text, /App\.find/)
  })

  it('the status line describes the selected row of a trace', async () => {
    const { screen } = await open()
    const below = (): string => screen.text.split('\n').at(-2)!
    assert.equal(below(), ' 13 events, 1 submitted task')
    screen.press('down')
    assert.equal(below(), ' steps that add up to the duration; waits are guessed (--mode locks: measured)')
    screen.press('/ p a r s e enter escape')
    assert.match(below(), /^ com\.acme\.App\.parse\(int\) +\d+ of \d+$/)
  })

  it('a search in a trace finds rows in order of time, including closed rows', async () => {
    const { screen } = await open()
    screen.press('/ c o m p u t e enter')
    assert.match(screen.styled('selected'), /com\.acme\.App\.compute/)
    assert.match(screen.text, /"compute": 1 found/)
    screen.press('/ m a i n enter')
    assert.match(screen.text, /"main": 2 found/)
    assert.match(screen.styled('selected'), /12\.00ms .*▾ com\.acme\.App\.main/)
    screen.press('n')
    assert.match(screen.styled('selected'), /22\.00ms .*▾ com\.acme\.App\.main/)
    screen.press('N')
    assert.match(screen.styled('selected'), /12\.00ms .*▾ com\.acme\.App\.main/)
    screen.press('/ n o n e enter')
    assert.match(screen.text, /no method here matches "none"/)
  })

  it('a row of a trace can be copied with its time or with its path', async () => {
    const { screen } = await open()
    screen.press('/ p a r s e enter y Y')
    assert.deepEqual(screen.copied, [
      'com.acme.App.parse(int)  start 100.0µs, total 800.0µs, 3.6 % of the call, calls 1',
      'com.acme.App.main\ncom.acme.App.prepare\ncom.acme.App.parse',
    ])
  })

  it('the callers of a method can be shown from a row of a trace', async () => {
    const { screen } = await open()
    screen.press('/ g e t enter escape c')
    assert.match(screen.text, /App\.get\n.*App\.main/)
  })

  it('a key hides short calls in a trace', async () => {
    const { screen } = await open()
    assert.match(screen.text, /App\.prepare/)
    screen.press('% 5 enter')
    assert.doesNotMatch(screen.text, /App\.prepare/)
    assert.match(screen.text, /App\.get/)
  })

  it('if a search finds a short call that is hidden, all calls are shown again', async () => {
    const { screen } = await open()
    screen.press('% 5 enter / p a r s e enter')
    assert.match(screen.text, /"parse": 1 found/)
    assert.match(screen.styled('selected'), /com\.acme\.App\.parse/)
    screen.press('% 5 enter / n o n e enter')
    assert.match(screen.text, /no method here matches "none"$/m, 'none is hidden')
  })

  it('if a trace has too many rows to show all, a search still selects one match after the other', async () => {
    const tiny = (name: string, at: number) => `${name}> ${at} ${name}< ${at + 10}`
    const many = Array.from({ length: 1002 }, (_, i) => `m${i}> ${1000 * (i + 1)} m${i}< ${1000 * (i + 2)}`)
    const { screen } = await open(80, 24, true, [
      `main> 0 ${tiny('tinyA', 100)} ${many.join(' ')} ${tiny('tinyB', 1_100_000)} main< 1200000`,
    ])
    screen.press('end')
    assert.match(screen.styled('selected'), /… 4 smaller rows/)
    screen.press('/ t i n y enter')
    assert.match(screen.text, /"tiny": 2 found/)
    for (const name of ['tinyA', 'tinyB', 'tinyA']) {
      assert.match(screen.styled('selected'), new RegExp(`10ns .* com\\.acme\\.App\\.${name}$`))
      screen.press('n')
    }
    screen.press('end')
    assert.match(screen.styled('selected'), /… 2 smaller rows/)
  })

  it('a trace shows methods even while other views show packages', async () => {
    const { screen } = await open()
    screen.press('g right left t P P C')
    assert.match(screen.styled('selected'), /▸ call 1/, 'what was closed stays closed')
    assert.match(screen.text, /com\.acme\.App\.get$/m)
    screen.press('/ p a r s e enter Y')
    assert.deepEqual(screen.copied, ['com.acme.App.main\ncom.acme.App.prepare\ncom.acme.App.parse'])
    screen.press('/ n o n e enter')
    assert.match(screen.text, /no method here matches "none"/)
    screen.press('escape c')
    assert.match(screen.text, /package, with callers below\n.* com\.acme\.\*\*$/m)
  })

  it('the key P in a trace shows a hint and changes nothing', async () => {
    const { screen } = await open()
    const before = body(screen)
    screen.press('P')
    assert.match(screen.text, /traced calls have no package rows; P works in the views t, m, c and f/)
    assert.deepEqual(body(screen), before)
    for (const key of ['L', 'T']) {
      screen.press(`${key} P`)
      assert.match(screen.text, /this view has no package rows; P works in the views t, m, c and f/)
    }
    screen.press('t')
    assert.match(screen.text, / method$/m)
  })

  it('a traced recursion 100,000 levels deep has a row for each call', async () => {
    const deep = 100_000
    const enters = Array.from({ length: deep }, (_, i) => `main> ${i}`).join(' ')
    const { screen } = await open(80, 24, true, [
      `${enters} ${Array.from({ length: deep }, (_, i) => `main< ${deep + i}`).join(' ')}`,
    ])
    assert.ok(screen.widest <= 80)
    screen.press('end')
    assert.match(screen.text, /App\.main/)
  })

  it('a trace in ASCII stays inside the screen', async () => {
    for (const [columns, rows] of [
      [80, 24],
      [200, 50],
    ] as const) {
      const { screen } = await open(columns, rows, false)
      for (const keys of ['end', 'enter', 'home', 'right']) {
        screen.press(keys)
        assert.ok(screen.widest <= columns)
        assert.match(screen.text, /^[\n -~]*$/)
      }
    }
  })

  it('a profile without traced calls shows a message', async () => {
    const { screen } = await open(80, 24, true, [])
    assert.match(screen.text, /No root call started while tracing was on\./)
    const methods = new Methods()
    const profile = profileOfTree(treeOf('main 1x 1ns', methods), methods.names)
    const other = new FakeScreen(80, 24)
    await new LiveView(fileSource(profile, 'shop.jfluid'), other).refresh()
    other.press('C')
    assert.match(other.text, /No traced calls\./)
  })
})
