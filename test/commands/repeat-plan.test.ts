// Decisions of record --repeat: starts of sessions, back-off, metaspace, texts.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Jvm } from '../../src/attach/jvms.ts'
import { periodsBetween } from '../../src/attach/pressure.ts'
import { timeInName, unusedPath } from '../../src/commands/file-name.ts'
import { checkRepeat } from '../../src/commands/repeat.ts'
import {
  againText,
  backOff,
  CLASSES_OF_FAILED_SESSION,
  depthLabel,
  depthOf,
  depthText,
  isTooYoung,
  MAX_BACK_OFF,
  MAX_METASPACE_OF_SESSIONS_BYTES,
  MetaspaceAccount,
  neededMethods,
  nextStart,
  overheadLabels,
  recordedText,
  successorOf,
  summaryText,
  timeOf,
  whyBusy,
} from '../../src/commands/repeat-plan.ts'
import { jvmsWithMainClass } from '../../src/commands/target.ts'
import { overheadOf } from '../../src/profile/overhead.ts'
import { parseLabels } from '../../src/push/identity.ts'
import { profileOf } from '../profile/trees.ts'

const MIB = 2 ** 20

describe('the start of the next session', () => {
  it('is the next multiple of the interval after the first start', () => {
    expect(nextStart(1_000, 1_000, 31_500, 40_000, 1)).toBe(41_000)
    expect(nextStart(1_000, 41_000, 72_000, 40_000, 1)).toBe(81_000)
  })

  it('skips the multiples that have passed, so that sessions never follow without a pause', () => {
    expect(nextStart(0, 0, 130_000, 40_000, 1)).toBe(160_000)
  })

  it('is later by the factor of the back-off', () => {
    expect(nextStart(0, 40_000, 41_000, 40_000, 4)).toBe(200_000)
  })

  it('does not drift over a day with sessions that begin late', () => {
    let planned = 0
    for (let n = 0; n < 2_160; n++) planned = nextStart(0, planned, planned + 31_234.5, 40_000, 1)
    expect(planned).toBe(86_400_000)
  })

  it('the back-off doubles up to its limit', () => {
    const factors = [1]
    while (factors.at(-1)! < MAX_BACK_OFF) factors.push(backOff(factors.at(-1)!))
    expect(factors).toEqual([1, 2, 4, 8])
    expect(backOff(MAX_BACK_OFF)).toBe(MAX_BACK_OFF)
  })
})

describe('a busy machine', () => {
  const idle = { elapsedMs: 3_000, ranMs: 600, delayedMs: 100, periods: null }

  it('a JVM that gets its processor time is recorded', () => {
    expect(whyBusy(idle)).toBe(null)
  })

  it('a JVM whose threads mostly wait for a processor is not recorded', () => {
    expect(whyBusy({ ...idle, delayedMs: 1_800 })).toBe(
      'threads of the JVM waited for a processor in 75 % of the time in which they could run',
    )
  })

  it('a JVM that hardly runs is recorded, although its threads mostly wait for a processor', () => {
    expect(whyBusy({ ...idle, ranMs: 10, delayedMs: 90 })).toBe(null)
  })

  it('a JVM that has used up the quota of its control group is not recorded', () => {
    const busy = { ...idle, periods: { all: 30, throttled: 6 } }
    expect(whyBusy(busy)).toBe('the processor quota of the JVM was used up in 20 % of its periods')
    expect(whyBusy({ ...idle, periods: { all: 30, throttled: 1 } })).toBe(null)
    expect(whyBusy({ ...idle, periods: { all: 0, throttled: 0 } })).toBe(null)
  })
})

describe('the metaspace that sessions use', () => {
  function account(...sessions: readonly (readonly [before: number, after: number])[]): MetaspaceAccount {
    const made = new MetaspaceAccount()
    for (const [i, [before, after]] of sessions.entries()) {
      made.before(before * MIB, i * 40_000)
      made.after(after * MIB, i * 40_000 + 30_000, 100)
    }
    return made
  }

  it('is the growth during the sessions', () => {
    expect(account([50, 53], [53, 54], [54, 56]).bytes).toBe(6 * MIB)
  })

  it('does not contain what the program uses between sessions at the same rate', () => {
    // The program uses 0.1 MiB a second: 1 MiB in 10 s between sessions, 3 MiB during 30 s.
    expect(account([50, 55], [56, 61]).bytes / MIB).toBeCloseTo(5 + 5 - 6)
  })

  it('is not hidden by classes that the program has loaded once, between two sessions', () => {
    const sessions: [number, number][] = []
    let used = 50
    for (let n = 0; n < 30; n++) {
      sessions.push([used, used + 1])
      used += n === 3 ? 11 : 1
    }
    // The sessions before and after the growth of 10 MiB in 10 s seem to have used nothing, or what is above the lower rate.
    expect(account(...sessions).bytes).toBeGreaterThanOrEqual(28 * MIB)
    expect(account(...sessions.slice(0, 26)).leftBytes).toBe(0)
  })

  it('contains what a failed session has used', () => {
    const made = account([50, 53])
    made.before(53 * MIB, 40_000)
    made.after(56 * MIB, 41_000, CLASSES_OF_FAILED_SESSION)
    made.before(56 * MIB, 80_000)
    expect(made.bytes).toBe(6 * MIB)
  })

  it('is reduced by what the JVM frees between sessions', () => {
    expect(account([50, 54], [51, 55]).bytes).toBe(5 * MIB)
  })

  it.each([0, 1, 2, 5, 20])(
    'reaches the limit although the program loads and unloads %d MiB again and again',
    (mib) => {
      // Each session leaves 1 MiB. Between two sessions the program loads the classes, and unloads them in the next such time.
      const sessions: [number, number][] = []
      let used = 50
      for (let n = 0; n < 60; n++) {
        sessions.push([used, used + 1])
        used += 1 + (n % 2 === 0 ? mib : -mib)
      }
      const made = account(...sessions)
      expect(made.leftBytes).toBe(0)
      expect(made.bytes).toBeGreaterThanOrEqual(24 * MIB)
      expect(made.bytes).toBeLessThanOrEqual(60 * MIB)
    },
  )

  it('is not reduced by what the JVM frees of the program during a session', () => {
    expect(account([50, 50], [50, 54], [64, 54], [64, 54]).bytes).toBe(4 * MIB)
  })

  it('is at most what the redefined classes can use, if the program loads classes during a session', () => {
    const made = new MetaspaceAccount()
    made.before(50 * MIB, 0)
    made.after(120 * MIB, 30_000, 8)
    expect(made.bytes).toBe(6 * MIB)
  })

  it('is 0 if the JVM does not report its metaspace', () => {
    const made = new MetaspaceAccount()
    made.before(undefined, 0)
    made.after(90 * MIB, 30_000, 8)
    expect(made.bytes).toBe(0)
    expect(made.leftBytes).toBe(MAX_METASPACE_OF_SESSIONS_BYTES)
  })

  it('leaves nothing for methods below the roots after 24 MiB', () => {
    expect(account([50, 65], [65, 73]).leftBytes).toBe(MIB)
    expect(account([50, 65], [65, 75]).leftBytes).toBe(0)
  })

  it('leaves metaspace again after the JVM has freed a third of it', () => {
    expect(account([50, 75], [74, 74]).leftBytes).toBe(0)
    expect(account([50, 75], [66, 66]).leftBytes).toBe(0)
    expect(account([50, 75], [65, 65]).leftBytes).toBe(9 * MIB)
  })
})

describe('what is timed with the metaspace that is left', () => {
  const of = (used: number, left: number) => ({
    ...{ bytes: used * MIB, leftBytes: left * MIB, maxBytes: MAX_METASPACE_OF_SESSIONS_BYTES },
  })

  it.each([
    [of(0, 24), 'exact', {}, 'methods'],
    [of(24, 0), 'exact', {}, 'roots'],
    [of(20, 0), 'exact', {}, 'roots'],
    [of(48, 0), 'exact', {}, 'nothing'],
    [of(24, 0), 'exact', { scheme: 'b' }, 'nothing'],
    [of(24, 0), 'exact', { region: ['A.b:1-2'] }, 'nothing'],
    [of(48, 0), 'sample', {}, 'methods'],
  ] as const)('%j, mode %s and the options %j: %s', (account, mode, flags, depth) => {
    expect(depthOf(account, mode, neededMethods(flags))).toBe(depth)
  })

  it('only sessions of roots, and not samples, have a label', () => {
    expect([...depthLabel('roots', 'exact')]).toEqual([['depth', 'roots']])
    expect([...depthLabel('roots', 'sample')]).toEqual([])
    expect([...depthLabel('methods', 'exact')]).toEqual([])
  })

  it('each change has a message', () => {
    expect(depthText('roots', 25 * MIB, 4711, null)).toBe(
      'only the roots are timed from now on: the sessions have used 25 MiB of the metaspace of JVM 4711',
    )
    expect(depthText('methods', 9 * MIB, 4711, null)).toMatch(/^methods below the roots are timed again/)
    expect(depthText('nothing', 49 * MIB, 4711, null)).toBe(
      'nothing is recorded until the JVM has freed some of it: the sessions have used 49 MiB of the metaspace of JVM 4711, and each session needs more. Restart the program, or use --mode sample, which changes no class.',
    )
    expect(depthText('nothing', 25 * MIB, 4711, '--scheme b')).toMatch(/Leave --scheme b out/)
  })
})

describe('the JVM that replaces another one', () => {
  it('has the main class of the first one, unless the user gave a pattern', () => {
    expect(successorOf('shop', 'com.acme.ShopServer')).toEqual({ name: 'com.acme.ShopServer', isExact: true })
    expect(successorOf('*.Shop*', 'com.acme.ShopServer')).toEqual({ name: '*.Shop*', isExact: false })
    expect(successorOf('shop', undefined)).toEqual({ name: 'shop', isExact: false })
    const jvms = ['com.acme.ShopServer', 'com.acme.ShopServerBatch'].map(
      (mainClass) => ({ mainClass }) as Jvm,
    )
    expect(jvmsWithMainClass('com.acme.ShopServer', jvms.slice(1))).toEqual([])
    expect(jvmsWithMainClass('com.acme.ShopServer', jvms)).toEqual([jvms[0]])
  })

  it('is not recorded in its first 30 s, or in its first interval if that is shorter', () => {
    expect(isTooYoung(true, 29_000, 600_000)).toBe(true)
    expect(isTooYoung(true, 31_000, 600_000)).toBe(false)
    expect(isTooYoung(true, 1_000, 2_000)).toBe(true)
    expect(isTooYoung(true, 3_000, 2_000)).toBe(false)
    expect(isTooYoung(false, 1_000, 600_000)).toBe(false)
  })
})

it('periods of different control groups are not compared', () => {
  expect(periodsBetween({ all: 10, throttled: 1 }, { all: 40, throttled: 7 })).toEqual({
    all: 30,
    throttled: 6,
  })
  expect(periodsBetween({ all: 10, throttled: 9 }, { all: 8, throttled: 8 })).toBe(null)
  expect(periodsBetween(null, { all: 8, throttled: 8 })).toBe(null)
})

it('an interval that is not longer than 10 s or than a session is refused', async () => {
  const flags = { out: 'p-%t.jfluid', duration: 200, mode: 'exact', scheme: 'auto' } as const
  await expect(checkRepeat({ ...flags, repeat: 9_999 })).rejects.toThrow(/^--repeat 9999ms is too short/)
  await expect(checkRepeat({ ...flags, repeat: 10_000, duration: 10_000 })).rejects.toThrow(/no pause/)
  await expect(checkRepeat({ ...flags, repeat: 10_000 })).resolves.toBe(undefined)
})

it('names of files have the time in UTC, so that they do not repeat when summer time ends', () => {
  expect(timeInName(new Date('2026-10-25T02:30:00.123+02:00'))).toBe('20261025T003000Z')
  expect(timeInName(new Date('2026-10-25T02:30:00.123+01:00'))).toBe('20261025T013000Z')
})

it('the file of a session never replaces an existing file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'jfluid-names-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'p-20261025T003000Z.jfluid')
  expect(unusedPath(path)).toBe(path)
  writeFileSync(path, '')
  expect(unusedPath(path)).toBe(join(directory, 'p-20261025T003000Z-2.jfluid'))
})

describe('the overhead of a session', () => {
  const profile = profileOf('main 4x 10ns', {
    durationMs: 30_000,
    events: { count: 2_000_000, waitMs: 0 },
    calibration: { innerNs: 20, outerNs: 30, clock: 'rdtsc' },
  })

  it('is the time of the probes per time recorded', () => {
    // 1,000,000 calls of 50 ns in 30 s
    expect(overheadOf(profile).part).toBeCloseTo(0.05 / 30)
  })

  it('is unknown for samples', () => {
    expect(overheadOf({ ...profile, mode: 'sample' }).part).toBe(null)
  })

  it.each([
    [0, 0, '<1%', '<50ms'],
    [0.0999, 149.9, '3%-10%', '50ms-150ms'],
    [0.1, 400, '>=10%', '>=400ms'],
  ])('labels have few different values: %d and %d', (part, longestPauseMs, overhead, pause) => {
    const labels = overheadLabels({ part, longestPauseMs })
    expect([...labels]).toEqual([
      ['overhead', overhead],
      ['longest_pause', pause],
    ])
    expect(() => parseLabels([...labels].map(([name, value]) => `${name}=${value}`))).not.toThrow()
  })
})

describe('texts', () => {
  it('the line of a session has calls, overhead, longest pause and metaspace', () => {
    const profile = profileOf('main 4x 10ns', {
      durationMs: 30_000,
      events: { count: 8, waitMs: 0 },
      calibration: { innerNs: 1, outerNs: 1, clock: 'rdtsc' },
    })
    const { instrumentation } = profile
    const paused = { ...profile, instrumentation: { ...instrumentation, longestPauseMs: 41 } }
    expect(recordedText(paused, { bytes: 3.1 * MIB, maxBytes: 24 * MIB })).toBe(
      '4 calls in 30 s, overhead 0.0 % of a processor, longest pause 41 ms, metaspace 3.1 of 24 MiB',
    )
    expect(recordedText({ ...profile, mode: 'sample' }, null)).toBe('8 samples in 30 s, longest pause 3 ms')
  })

  it('the summary has the numbers of sessions, pushes, skips and failures, and the longest pause', () => {
    const none = { recorded: 0, pushed: 0, unpushed: 0, skipped: 0, failed: 0, jvms: 1, longestPauseMs: 0 }
    expect(summaryText(none, 5_000, true)).toBe('0 sessions in 5 s, 0 pushed')
    const all = { ...none, recorded: 12, pushed: 11, unpushed: 1, skipped: 2, failed: 1, jvms: 2 }
    expect(summaryText({ ...all, longestPauseMs: 41 }, 7_200_000, true)).toBe(
      '12 sessions in 2:00:00, 11 pushed, 1 not pushed, 2 skipped, 1 failed, 2 JVMs one after the other, longest pause 41 ms',
    )
  })

  it('the time until the next session has the wider interval after a skipped session', () => {
    expect(againText(95_000, 1, 600_000)).toBe('next session in 1:35')
    expect(againText(95_000, 2, 600_000)).toBe(
      'next session in 1:35 (the interval is 20m until a session succeeds)',
    )
  })

  it('times are local', () => {
    expect(timeOf(new Date(2026, 10, 29, 18, 35, 2))).toBe('2026-11-29 18:35:02')
  })
})
