import assert from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import type { CourseTimes, RootCallTimes } from '../../src/cct/root-calls.ts'
import { BARS } from '../../src/profile/region-text.ts'
import { LiveView } from '../../src/tui/app.ts'
import { barLines } from '../../src/tui/views/timeline-view.ts'
import { TIMED } from '../profile/root-calls.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

/** Returns a course of this number of seconds: calls rise and fall, and every 25th second is slow and has a stall. */
function course(seconds: number): CourseTimes {
  const column = (of: (second: number) => number) => Float64Array.from({ length: seconds }, (_, i) => of(i))
  const isSlow = (i: number): boolean => i % 25 === 7
  return {
    first: 0,
    rootCalls: {
      calls: column((i) => (i % 10 === 9 ? 0 : 100 + (i % 10) * 10)),
      p50: column((i) => (i % 10 === 9 ? 0 : 1e6)),
      p95: column((i) => (i % 10 === 9 ? 0 : isSlow(i) ? 50e6 : 4e6)),
      max: column((i) => (i % 10 === 9 ? 0 : isSlow(i) ? 180e6 : 9e6)),
    },
    events: column((i) => 40_000 + i * 100),
    waitNs: column((i) => (isSlow(i) ? 80e6 : 1e6)),
    pauses: column((i) => (isSlow(i) ? 1 : 0)),
    pauseNs: column((i) => (isSlow(i) ? 12e6 : 0)),
  }
}

async function open(columns: number, rows: number, unicode = true, of = course(61)) {
  const methods = new Methods()
  const source = new FakeSource(methods, treeOf('main 120x 9000000ns', methods))
  const rootCalls: RootCallTimes = TIMED.rootCalls
  source.more = { course: of, rootCalls }
  const screen = new FakeScreen(columns, rows, unicode)
  const view = new LiveView(source, screen)
  await view.refresh()
  screen.press('L')
  return { source, screen, view }
}

describe('the timeline', () => {
  it('keys select the number of seconds per character, and other keys select the chart, whose name is shown', async () => {
    const { screen } = await open(80, 24, true, course(3600))
    assert.match(screen.text, /^ calls\/s: root calls that ended, without nested root calls$/m)
    screen.press('pageup pageup down down')
    assert.match(screen.text, /one bar: 5\.0 s \(PgUp, PgDn\)/)
    assert.match(screen.text, /^ +-3:20 +-1:40 +now$/m)
    assert.match(screen.text, /^ p95: 95th percentile of the latency of root calls that ended$/m)
    // 46 cells of 5 s contain 9 or 10 slow seconds, one of every 25.
    assert.match(screen.text, /pauses .* 9 in 108 ms$/m)
    screen.press('pageup pageup pageup pageup pageup pageup')
    assert.match(screen.text, /one bar: 1:00 /)
    screen.press(`${'pagedown '.repeat(7)}end`)
    assert.match(screen.text, /one bar: 1 s /)
    assert.match(screen.text, /^ stalled %: application threads stalled by jfluid/m)
  })

  it('if root calls are not timed, the timeline shows only charts of other data; if there are no data, it shows a message', async () => {
    const { rootCalls: _, ...rest } = course(30)
    const { screen, source, view } = await open(80, 24, true, rest)
    assert.doesNotMatch(screen.text, /p50|calls\/s/)
    assert.match(screen.text, /^ events\/s /m)
    source.more = {}
    await view.refresh()
    assert.match(screen.text, /No timeline/)
  })

  it('the timeline shows an incomplete first second', async () => {
    const { screen } = await open(80, 24, true, course(1))
    assert.match(screen.text, /^ calls\/s +█ +100$/m)
  })

  it('the height of bars changes by eighths of a cell, and any non-zero value is visible', () => {
    // 16 steps: 0.001 is one step, 8 a full line, 12 one and a half lines
    assert.deepEqual(barLines([0, 0.001, 8, 12, 16, Number.NaN], 16, 2, BARS), ['   ▄█ ', ' ▁███ '])
  })

  it('the timeline fits a terminal of 80x24', async () => {
    const { screen } = await open(80, 24)
    expect(screen.text).toMatchInlineSnapshot(`
      " jfluid  pid 4711  com.acme.demo.OrderServer                   recording 12.3 s
       scheme B  1,312 instrumented, 240 called  1.23M events/s  stalled 0.3 %
       timeline, one bar: 1 s (PgUp, PgDn)                       latest, min to max
       calls/s   ▄▅▆▇█ ▁▂▃▄▄▅▆▇█ ▁▂▃▄▄▅▆▇█ ▁▂▃▄▄▅▆▇█ ▁▂▃▄▄▅▆▇█                       0
                 █████ █████████ █████████ █████████ █████████                0 to 180
       p50       █████ █████████ █████████ █████████ █████████                       -
                 █████ █████████ █████████ █████████ █████████      1.00 ms to 1.00 ms
       p95                         █                        █                        -
                 ▁▁▁▁▁ ▁▁▁▁▁▁▁▁▁ ▁▁█▁▁▁▁▁▁ ▁▁▁▁▁▁▁▁▁ ▁▁▁▁▁▁▁█▁      4.00 ms to 50.0 ms
       max                         █                        █                        -
                 ▁▁▁▁▁ ▁▁▁▁▁▁▁▁▁ ▁▁█▁▁▁▁▁▁ ▁▁▁▁▁▁▁▁▁ ▁▁▁▁▁▁▁█▁       9.00 ms to 180 ms
       events/s  ▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇███████████████                  45.9k
                 ██████████████████████████████████████████████         41.4k to 45.9k
       stalled %                   █                        █                      0.1
                 ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▁▁             0.1 to 8.0
       pauses                      ▴                        ▴               2 in 24 ms
                       -40 s               -20 s            now
       range                                                  ▲     Space: from 59.0 s




       calls/s: root calls that ended, without nested root calls
       q quit  ? help  Enter open  / find  m hot  t tree  c callers  f flame  o sort"
    `)
  })

  it('the timeline fits a terminal of 120x40', async () => {
    const { screen } = await open(120, 40)
    expect(screen.text).toMatchInlineSnapshot(`
      " jfluid  pid 4711  com.acme.demo.OrderServer  JDK 17.0.15                                              recording 12.3 s
       scheme B  1,312 instrumented, 240 called  1.23M events/s  stalled by probes 0.3 %                          all threads
       timeline, one bar: 1 s (PgUp, PgDn)                                                               latest, min to max
       calls/s                                 ▁▃▄▆█     ▁▃▄▆█     ▁▃▄▆█     ▁▃▄▆█     ▁▃▄▆█     ▁▃▄▆█                       0
                                           ▂▄▅▇█████ ▂▄▅▇█████ ▂▄▅▇█████ ▂▄▅▇█████ ▂▄▅▇█████ ▂▄▅▇█████                0 to 180
                                           █████████ █████████ █████████ █████████ █████████ █████████
                                           █████████ █████████ █████████ █████████ █████████ █████████

       p50                                 █████████ █████████ █████████ █████████ █████████ █████████                       -
                                           █████████ █████████ █████████ █████████ █████████ █████████      1.00 ms to 1.00 ms
                                           █████████ █████████ █████████ █████████ █████████ █████████
                                           █████████ █████████ █████████ █████████ █████████ █████████

       p95                                        █                        █                        █                        -
                                                  █                        █                        █       4.00 ms to 50.0 ms
                                                  █                        █                        █
                                           ▃▃▃▃▃▃▃█▃ ▃▃▃▃▃▃▃▃▃ ▃▃▃▃▃▃▃▃▃ ▃▃█▃▃▃▃▃▃ ▃▃▃▃▃▃▃▃▃ ▃▃▃▃▃▃▃█▃

       max                                        █                        █                        █                        -
                                                  █                        █                        █        9.00 ms to 180 ms
                                                  █                        █                        █
                                           ▂▂▂▂▂▂▂█▂ ▂▂▂▂▂▂▂▂▂ ▂▂▂▂▂▂▂▂▂ ▂▂█▂▂▂▂▂▂ ▂▂▂▂▂▂▂▂▂ ▂▂▂▂▂▂▂█▂

       events/s                            ▄▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇████████                  45.9k
                                           ████████████████████████████████████████████████████████████         40.0k to 45.9k
                                           ████████████████████████████████████████████████████████████
                                           ████████████████████████████████████████████████████████████

       stalled %                                  █                        █                        █                      0.1
                                                  █                        █                        █               0.1 to 8.0
                                                  █                        █                        █
                                           ▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▁▁

       pauses                                     ▴                        ▴                        ▴               3 in 36 ms
                       -1:20               -1:00               -40 s               -20 s            now
       range                                                                                          ▲     Space: from 59.0 s


       calls/s: root calls that ended, without nested root calls
       q quit  ? help  Enter open  / find  m hot  t tree  c callers  f flame  o sort  T threads  p pause  z zero  s save"
    `)
  })

  it('each chart of the timeline has one line if the terminal has no UTF-8', async () => {
    const { screen } = await open(80, 14, false)
    expect(screen.text).toMatchInlineSnapshot(`
      "




                                   The terminal is 80x14;
                                    jfluid needs 80x24.
                                  Enlarge it, or press q."
    `)
  })
})
