// Time ranges in the live view: Space at two bars of the timeline shows the time between them, and Esc shows all.

import assert from 'node:assert/strict'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { CourseTimes } from '../../src/cct/root-calls.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { LiveView } from '../../src/tui/app.ts'
import { fileSource } from '../../src/tui/file-source.ts'
import { recorded } from '../profile/recorded-segments.ts'
import { slowCallsOf } from '../profile/root-calls.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

/** 18 complete seconds with 10 root calls each. */
function courseOf(seconds = 19): CourseTimes {
  const all = (value: number) => new Float64Array(seconds).fill(value)
  return {
    first: 0,
    rootCalls: { calls: all(10), p50: all(1e6), p95: all(2e6), max: all(3e6) },
    ...{ events: all(100), waitNs: all(0), pauses: all(0), pauseNs: all(0) },
  }
}

const PROFILE: Profile = { ...recorded(), course: courseOf() }

/** Resolves when the data requested by a key have arrived. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await turnOfTheLoop()
}

/** Marks the bar at the second 6 and the bar at the second 8. */
const SELECT = `L ${'left '.repeat(11)}space right right space`

async function openedFile(profile = PROFILE) {
  const screen = new FakeScreen(80, 24)
  const view = new LiveView(fileSource(profile, '/tmp/p.jfluid'), screen)
  await view.refresh()
  return { screen, view }
}

/** Opens a session with other method ids than those of the profile. */
async function openedSession(profile: () => Promise<Profile> = async () => PROFILE) {
  const methods = new Methods()
  const source = new FakeSource(methods, treeOf('now 10x 23ns', methods))
  source.more = { course: courseOf() }
  source.ranges = { refusal: () => null, profile }
  const screen = new FakeScreen(80, 24)
  const view = new LiveView(source, screen)
  await view.refresh()
  return { screen, source, view }
}

describe('time ranges in the live view', () => {
  it('Space at two bars shows the tree of the time between them, and the header names the range', async () => {
    const { screen } = await openedFile()
    screen.press(SELECT)
    await settled()
    expect(screen.text.split('\n').slice(1, 6).join('\n')).toMatchInlineSnapshot(`
      " exact  scheme B  12/4 methods                            range 5.0 s to 10.0 s
         ▾total     self  % root    calls per call  method
           65ns      5ns   100.0        2     33ns  ▾ com.acme.App.main
           60ns     60ns    92.3        2     30ns      com.acme.App.early
      "
    `)
    assert.match(screen.text, /^ range 5\.0 s to 10\.0 s, rounded to 5\.0 s; Esc shows all$/m)
    screen.press('m')
    assert.match(screen.text, /\.early$/m)
    assert.doesNotMatch(screen.text, /\.late$/m)
  })

  it('the timeline marks the shown range, and another range can be selected', async () => {
    const { screen } = await openedFile()
    screen.press(SELECT)
    await settled()
    screen.press('L')
    assert.match(screen.text, /^ range +━{5} +▲ +Space: from 17\.0 s$/m)
    screen.press('left left space right')
    assert.match(screen.text, /^ range +━▲ +15\.0 s to 17\.0 s$/m)
    screen.press('right space')
    await settled()
    assert.match(screen.text, /range 15\.0 s to 18\.0 s$/m)
    screen.press('escape')
    screen.press('t')
    assert.match(screen.text, /\.early$/m)
    assert.doesNotMatch(screen.text, /range/)
  })

  it('Esc cancels a selection that has only a start', async () => {
    const { screen } = await openedFile()
    screen.press('L left space')
    assert.match(screen.text, /select the other end/)
    screen.press('escape')
    assert.match(screen.text, /Space: from 16\.0 s$/m)
  })

  it('the selected bar moves through the whole recording, and stays at its time when seconds are added', async () => {
    const { screen, source, view } = await openedSession()
    source.more = { course: courseOf(200) }
    await view.refresh()
    screen.press(`L ${'left '.repeat(100)}`)
    assert.match(screen.text, /^ range +▲ {45} +Space: from 1:38$/m)
    assert.match(screen.text, /-1:35 +-1:15 +-55 s$/m)
    assert.match(screen.text, /selected, min to max/)
    source.more = { course: courseOf(220) }
    await view.refresh()
    assert.match(screen.text, /Space: from 1:38$/m)
    screen.press('left '.repeat(300))
    assert.match(screen.text, /Space: from 0 s$/m)
    screen.press('right '.repeat(300))
    assert.match(screen.text, /▲ +Space: from 3:38$/m)
    assert.match(screen.text, /latest, min to max/)
  })

  it('a click selects a bar, and a second click on this bar acts as Space', async () => {
    const { screen } = await openedFile()
    screen.press('L')
    // The first bar is in column 39.
    screen.mouse('click', 50, 6)
    assert.match(screen.text, /Space: from 11\.0 s$/m)
    screen.mouse('click', 50, 8)
    assert.match(screen.text, /^ range .* 11\.0 s to 12\.0 s$/m)
  })

  it('a session is paused while a range is shown, with the method names of the profile, and Esc resumes it', async () => {
    const { screen, source, view } = await openedSession()
    screen.press(SELECT)
    await settled()
    assert.match(screen.text, /PAUSED/)
    assert.match(screen.text, /\.main$/m)
    const { snapshots } = source
    await view.refresh()
    assert.equal(source.snapshots, snapshots)
    screen.press('escape')
    await settled()
    assert.doesNotMatch(screen.text, /PAUSED/)
    assert.ok(source.snapshots > snapshots)
    screen.press('t')
    assert.match(screen.text, /\.now$/m)
  })

  it('a view that was paused before stays paused after Esc, and p resumes it', async () => {
    const { screen } = await openedSession()
    screen.press('p')
    await settled()
    screen.press(SELECT)
    await settled()
    screen.press('escape')
    await settled()
    assert.match(screen.text, /PAUSED/)
    screen.press('space right space')
    await settled()
    screen.press('p')
    await settled()
    assert.doesNotMatch(screen.text, /PAUSED/)
  })

  it('while the profile is read, the view says so, and Esc cancels', async () => {
    let answer: (profile: Profile) => void = () => {}
    const { screen } = await openedSession(() => new Promise((resolve) => (answer = resolve)))
    screen.press(SELECT)
    assert.match(screen.text, /reading the time range; Esc cancels/)
    screen.press('escape')
    answer(PROFILE)
    await settled()
    assert.doesNotMatch(screen.text, /PAUSED|reading/)
    assert.match(screen.text, /one bar/)
  })

  it('if the profile cannot be read, the reason is shown', async () => {
    const { screen } = await openedSession(async () => {
      throw new Error('the session is ending')
    })
    screen.press(SELECT)
    await settled()
    assert.match(screen.text, /^ the session is ending$/m)
  })

  it('if a recording has no time ranges, Space shows the reason', async () => {
    const { segments: _, ...older } = PROFILE
    const old = await openedFile(older)
    old.screen.press(SELECT)
    await settled()
    assert.match(old.screen.text, /this recording has no time ranges: it was recorded by an earlier jfluid/)
    const alloc = await openedFile({ ...older, mode: 'alloc' })
    alloc.screen.press('L space')
    assert.match(alloc.screen.text, /this recording has no time ranges: it was recorded with --mode alloc$/m)
  })

  it('keys that need the whole recording say that a range is shown', async () => {
    const { screen, source } = await openedSession()
    screen.press(SELECT)
    await settled()
    for (const [key, text] of [
      ['T', /all threads together: press Esc before T/],
      ['v', /source lines are of the whole recording: press Esc before v/],
      ['x', /a time range is shown: press Esc before you change probes/],
      ['b', /a time range has no changes/],
    ] as const) {
      screen.press(key)
      assert.match(screen.text, text)
    }
    screen.press('z')
    await settled()
    assert.equal(source.resets, 1)
    assert.doesNotMatch(screen.text, /range 5/)
  })

  it('the slow calls and the latency are of the range', async () => {
    const slow = slowCallsOf(PROFILE.merged)
    const [first, second] = slow.slowest
    const slowCalls = { ...slow, slowest: [{ ...first!, atMs: 6000 }, second!] }
    const { screen } = await openedFile({ ...PROFILE, slowCalls })
    screen.press(SELECT)
    await settled()
    screen.press('S')
    assert.match(screen.text, /average of all 1 finished calls/)
    assert.match(screen.text, /^ +45\.0 ms +6\.0 s /m)
    assert.doesNotMatch(screen.text, / 1\.5 s /)
    screen.press('down enter')
    assert.match(screen.text, /A time range has no common tree of its slow calls/)
    screen.press('S down enter')
    assert.match(screen.text, /slow call of 45\.0 ms {3}range 5\.0 s to 10\.0 s$/m)
  })
})
