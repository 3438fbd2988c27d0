// Decisions of record --repeat: starts of sessions, back-off, metaspace, texts.

import { describe, expect, it } from 'vitest'
import {
  againText,
  backOff,
  CLASSES_OF_FAILED_SESSION,
  MAX_BACK_OFF,
  MAX_METASPACE_OF_SESSIONS_BYTES,
  MetaspaceAccount,
  nextStart,
  overheadLabels,
  overheadOf,
  recordedText,
  summaryText,
  timeOf,
  whyBusy,
} from '../../src/commands/repeat-plan.ts'
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
  const idle = { elapsedMs: 3_000, ranMs: 600, delayedMs: 100, throttledMs: null }

  it('a JVM that gets its processor time is recorded', () => {
    expect(whyBusy(idle)).toBe(null)
  })

  it('a JVM whose threads mostly wait for a processor is not recorded', () => {
    expect(whyBusy({ ...idle, delayedMs: 1_800 })).toBe(
      'threads of the JVM waited for a processor in 75 % of the time in which they could run',
    )
  })

  it('the waiting of a JVM that hardly runs is of no importance', () => {
    expect(whyBusy({ ...idle, ranMs: 10, delayedMs: 90 })).toBe(null)
  })

  it('a JVM that has used up the quota of its control group is not recorded', () => {
    expect(whyBusy({ ...idle, throttledMs: 600 })).toBe(
      'the processor quota of the JVM was used up in 20 % of the time',
    )
    expect(whyBusy({ ...idle, throttledMs: 200 })).toBe(null)
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
    expect(recordedText(paused, 3.1 * MIB)).toBe(
      '4 calls in 30 s, overhead 0.0 % of a processor, longest pause 41 ms, metaspace 3.1 of 24 MiB',
    )
    expect(recordedText({ ...profile, mode: 'sample' }, null)).toBe('8 samples in 30 s, longest pause 3 ms')
  })

  it('the summary has what happened', () => {
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
