// Slow calls in the live view: S selects the call whose tree is shown, F freezes the view at the next slow call.

import assert from 'node:assert/strict'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { SlowTimes } from '../../src/cct/slow-times.ts'
import { LiveView } from '../../src/tui/app.ts'
import { fileSource } from '../../src/tui/file-source.ts'
import { slowCallsOf, TIMED } from '../profile/root-calls.ts'
import { Methods, profileOfTree, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

async function open(columns = 80) {
  const methods = new Methods()
  const all = treeOf('main 100x 100000000ns ( work 100x 45000000ns )', methods)
  const slow = treeOf('main 1x 1000000ns ( work 1x 44000000ns ( lock 3x 9000000ns ) )', methods)
  const one = treeOf('main 1x 1000000ns ( lock 1x 44000000ns )', methods)
  const source = new FakeSource(methods, all)
  const times = slowCallsOf(slow, one)
  source.more = { ...TIMED, slow: times }
  const screen = new FakeScreen(columns, 24)
  const view = new LiveView(source, screen)
  await view.refresh()
  return { source, screen, view, times, methods, all, slow }
}

/** Returns this number of slow calls, of which the latest is new. */
function later(times: SlowTimes, count: number): SlowTimes {
  return { ...times, count, latest: { ...times.latest!, number: times.latest!.number + count } }
}

/** Resolves when the data requested by a key have arrived. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await turnOfTheLoop()
}

describe('slow calls in the live view', () => {
  it('the key S lists slow calls, and Enter shows the tree of the selected slow call in place of the tree of all calls', async () => {
    const { screen, source } = await open()
    screen.press('S')
    await settled()
    assert.equal(source.kept, 1)
    assert.equal(source.wanted, 'figures')
    expect(screen.text.split('\n').slice(0, 9).join('\n')).toMatchInlineSnapshot(`
      " jfluid  pid 4711  com.acme.demo.OrderServer                   recording 12.3 s
       scheme B  1,312 instrumented, 240 called  1.23M events/s  stalled 0.3 %

          latency  ended at  root calls (Enter shows their tree)
         ~2.00 ms            average of all 4,252 finished calls
                             1 slow call above p99 (now 12.0 ms)
          45.0 ms     1.5 s  com.acme.App.main  worker-1
          2.00 ms     1.5 s  com.acme.App.main  worker-1
      "
    `)
    screen.press('down enter')
    await settled()
    assert.equal(source.wanted, 'tree')
    expect(screen.text.split('\n').slice(0, 7).join('\n')).toMatchInlineSnapshot(`
      " jfluid  pid 4711  com.acme.demo.OrderServer                   recording 12.3 s
       scheme B  1,312/240 methods  1.23M events/s  stalled 0.3 %         1 slow call
         ▾total     self  % root    calls per call  method
        54.00ms  1.000ms   100.0        1  54.00ms  ▾ com.acme.App.main
        53.00ms  44.00ms    98.1        1  53.00ms    ▾ com.acme.App.work
        9.000ms  9.000ms    16.7        3  3.000ms        com.acme.App.lock
      "
    `)
    screen.press('S down enter')
    await settled()
    assert.deepEqual(source.wanted, { call: 2 })
    assert.match(screen.text, /slow call of 45\.0 ms/)
    assert.match(screen.text, /^ +44\.0\d*ms .*lock$/m)
    screen.press('S home enter')
    await settled()
    assert.equal(source.wanted, undefined)
    assert.match(screen.text, /^ +145\.\d*ms .*main$/m)
  })

  it('a slow call stays selected when slower calls are added', async () => {
    const { screen, source, times, view } = await open()
    screen.press('S')
    await settled()
    screen.press('down down')
    assert.match(screen.styled('selected'), /^45\.0 ms/)
    const slower = { ...times.slowest[0]!, number: 3, time: 90e6 }
    source.more = { ...TIMED, slow: { ...times, slowest: [slower, ...times.slowest] } }
    await view.refresh()
    assert.match(screen.text, /^ +90\.0 ms/m)
    assert.match(screen.styled('selected'), /^45\.0 ms/)
    screen.press('enter')
    await settled()
    assert.deepEqual(source.wanted, { call: 2 })
  })

  it('slow calls are listed with the method names of their roots, even while packages are shown', async () => {
    const { screen } = await open()
    screen.press('P S')
    await settled()
    assert.match(screen.text, /45\.0 ms .*com\.acme\.App\.main {2}worker-1$/m)
  })

  it('slow calls are listed with thread and threshold if the line has space', async () => {
    const { screen } = await open(120)
    screen.press('S down enter')
    await settled()
    assert.match(screen.text, /1 slow call above p99 \(now 12\.0 ms\)$/m)
    screen.press('S down enter')
    await settled()
    assert.match(screen.text, /slow call of 45\.0 ms, worker-1$/m)
  })

  it('all views show the tree of slow calls, until the user chooses a thread and all calls are shown again', async () => {
    const { screen, source, all } = await open()
    source.threads = [{ id: 21, name: 'worker-1', tree: all }]
    screen.press('S down enter')
    await settled()
    screen.press('m')
    assert.match(screen.text, /^ .*lock$/m)
    screen.press('T')
    await settled()
    screen.press('down enter')
    await settled()
    assert.doesNotMatch(screen.text, /lock$/m)
    assert.match(screen.text, /thread worker-1/)
  })

  it('a common tree that began again says from when on it has calls', async () => {
    const { screen, source, times, view } = await open(120)
    source.more = { ...TIMED, slow: { ...times, count: 3, treeFromMs: 14_200, treeCount: 1 } }
    await view.refresh()
    screen.press('S')
    await settled()
    assert.match(screen.text, / 3 slow calls \(tree: 1 since 14\.2 s\) above p99 /)
    screen.press('down enter')
    await settled()
    assert.match(screen.text, /slow calls: 1 since 14\.2 s above p99 \(now 12\.0 ms\)$/m)
  })

  it('a message is shown if there are no slow calls, or if the shown slow call was removed', async () => {
    const { screen, source, times, view } = await open()
    const { tree: _, ...rest } = times
    const none: SlowTimes = { ...rest, thresholdNow: null, count: 0, slowest: [], latest: null }
    source.more = { ...TIMED, slow: none }
    await view.refresh()
    screen.press('S')
    await settled()
    assert.match(screen.text, /0 slow calls above p99 \(known after 100 calls, now [\d,]+\)$/m)
    screen.press('down enter')
    await settled()
    assert.match(screen.text, /No slow call has ended yet: p99 needs at least 100 calls\./)
    source.more = { ...TIMED, slow: times }
    await view.refresh()
    screen.press('S down down enter')
    await settled()
    assert.match(screen.text, /The tree of this call is no longer kept, or was too large/)
  })

  it('below the selected slow call are the facts that its line does not show', async () => {
    const { screen, source, times, view } = await open()
    const [first, ...rest] = times.slowest
    const facts = {
      threw: 'com.acme.OutOfStockException',
      caller: 'web.Filter.next',
      traceId: '4bf9',
      samples: 2,
    }
    source.more = { ...TIMED, slow: { ...times, slowest: [{ ...first!, ...facts }, ...rest] } }
    await view.refresh()
    screen.press('S home')
    await settled()
    assert.doesNotMatch(screen.text, /called by/)
    screen.press('down down')
    await settled()
    assert.match(
      screen.text,
      /^ +45\.0 ms +\S+ s +threw .*\n {23}worker-1 {2}threw com\.acme\.OutOfStockException *\n {23}called by web\.Filter\.next; trace 4bf9 *\n {23}2 samples: too few/m,
    )
  })

  it('the key for slow calls is refused if root calls are not timed', async () => {
    const { screen, source, view } = await open()
    source.more = {}
    await view.refresh()
    screen.press('S')
    assert.match(screen.text, /durations of single calls are not recorded here/)
    assert.equal(source.kept, 0)
    screen.press('F')
    assert.match(screen.text, /durations of single calls are not recorded here/)
  })

  it('slow calls of a file are shown; if the file has no slow calls, a message is shown', async () => {
    const { all, methods, slow } = await open()
    const screenOf = async (more: object) => {
      const screen = new FakeScreen(80, 24)
      const view = new LiveView(fileSource(profileOfTree(all, methods.names, more), 'p.jfluid'), screen)
      await view.refresh()
      screen.press('S')
      await settled()
      screen.press('down enter')
      await settled()
      return screen.text
    }
    assert.match(await screenOf({ ...TIMED, slowCalls: slowCallsOf(slow) }), /^ +9\.0\d*ms .*lock$/m)
    assert.match(await screenOf({}), /this file has no slow calls; record with --slow/)
  })
})

describe('the key F, which freezes the view at the next slow call', () => {
  it('the key F freezes the view at the next slow call, and pressing F again continues', async () => {
    const { screen, source, times, view } = await open()
    screen.press('F')
    assert.match(screen.text, /will pause at the next slow call/)
    await view.refresh()
    assert.equal(source.wanted, 'latest')
    await view.refresh()
    assert.doesNotMatch(screen.text, /PAUSED/)
    source.more = { ...TIMED, slow: later(times, 2) }
    await view.refresh()
    assert.match(screen.text, /PAUSED/)
    assert.match(screen.text, /paused: slow call of 45\.0 ms in worker-1; F resumes/)
    assert.match(screen.text, /^ +44\.0\d*ms .*lock$/m)
    const asked = source.snapshots
    await view.refresh()
    assert.equal(source.snapshots, asked)

    screen.press('F')
    await view.refresh()
    assert.doesNotMatch(screen.text, /PAUSED|lock$/m)
    source.more = { ...TIMED, slow: later(times, 3) }
    await view.refresh()
    assert.match(screen.text, /PAUSED/)
    screen.press('F')
    screen.press('F')
    assert.match(screen.text, /no longer pauses at slow calls/)
    source.more = { ...TIMED, slow: later(times, 4) }
    await view.refresh()
    assert.doesNotMatch(screen.text, /PAUSED/)
  })

  it('the key F also works while slow calls are shown, and requests a snapshot at once', async () => {
    const { screen, source, times, view } = await open()
    screen.press('F')
    await settled()
    assert.equal(source.wanted, 'latest')
    screen.press('S down enter')
    await settled()
    assert.equal(source.wanted, 'tree and latest')
    screen.press('S down enter')
    await settled()
    assert.deepEqual(source.wanted, { call: 2, andLatest: true })
    source.more = { ...TIMED, slow: later(times, 2) }
    await view.refresh()
    assert.match(screen.text, /PAUSED/)
  })

  it('the key F freezes the view only at a new slow call, even if the number of slow calls changes', async () => {
    const { screen, source, times, view } = await open()
    screen.press('F')
    await view.refresh()
    await view.refresh()
    const latest = times.latest!
    const withLatest = (count: number, number: number) => {
      source.more = { ...TIMED, slow: { ...times, count, latest: { ...latest, number } } }
      return view.refresh()
    }
    await withLatest(0, latest.number - 1)
    assert.doesNotMatch(screen.text, /PAUSED/)
    await withLatest(times.count, latest.number)
    assert.doesNotMatch(screen.text, /PAUSED/) // it is the same slow call, not a new one
    await withLatest(times.count, latest.number + 3)
    assert.match(screen.text, /PAUSED/)
  })

  it('the key p continues a view that the key F has frozen', async () => {
    const { screen, source, times, view } = await open()
    screen.press('F')
    await view.refresh()
    source.more = { ...TIMED, slow: later(times, 2) }
    await view.refresh()
    screen.press('p')
    await view.refresh()
    assert.doesNotMatch(screen.text, /PAUSED/)
  })
})
