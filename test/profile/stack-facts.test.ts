import { describe, expect, it } from 'vitest'
import type { CourseTimes, RootCallTimes } from '../../src/cct/root-calls.ts'
import type { DetachFacts } from '../../src/profile/detach-facts.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import { reportText } from '../../src/profile/report.ts'
import { STALL_CAUSES, type StackFacts, stackLines } from '../../src/profile/stack-facts.ts'
import { TIMED } from './root-calls.ts'
import { profileOf } from './trees.ts'

const FACTS: StackFacts = {
  ...{ samples: 4_252, unseenPart: null, missed: 0, dropped: 0, costMs: 180 },
  ...{ longestStallMs: 231.4, stallAtMs: 6_480, stallCause: 'collection', suspendedMs: 0 },
  pauses: [],
  ...{ rowsFromMs: 0, coldUntilMs: null, rootCalls: 500, timedOneOf: 1 },
}

const DETACH: DetachFacts = {
  ...{ ms: 12.5, proofMs: 30, restoredClasses: 42, refusedClasses: 0, pauseMs: 48.2, lambdaClasses: 3 },
  code: { checkedClasses: 42, checkedMethods: 99, originalClasses: 42, different: [], unchecked: '' },
  ...{ left: [], unseen: [] },
}

/** Returns seconds with calls of the given durations in ms. */
function timesOf(first: number, ...seconds: [calls: number, mean: number][]) {
  const calls = Float64Array.from(seconds, ([it]) => it)
  const mean = Float64Array.from(seconds, ([, ms]) => ms * 1e6)
  const zeros = new Float64Array(seconds.length)
  const count = seconds.reduce((sum, [it]) => sum + it, 0)
  const total = seconds.reduce((sum, [it, ms]) => sum + it * ms * 1e6, 0)
  const course: CourseTimes = {
    first,
    rootCalls: { calls, mean, p50: mean, p95: mean, max: mean },
    ...{ events: zeros, waitNs: zeros, pauses: zeros, pauseNs: zeros },
  }
  const rootCalls: RootCallTimes = { ...TIMED.rootCalls, count, total }
  return { course, rootCalls }
}

const linesOf = (facts: Partial<StackFacts>, around: object = {}) =>
  Object.fromEntries(stackLines({ ...FACTS, ...facts }, { durationMs: 60_000, ...around }))

describe("the report's lines about stacks", () => {
  it('the lines show the number of stacks taken, the number of stacks lost, and the cost of taking stacks in the target', () => {
    expect(linesOf({}).samples).toBe('4,252 stacks; cost 180 ms (0.3 % of one processor)')
    expect(linesOf({ samples: 1, missed: 3, dropped: 1_200 }).samples).toBe(
      '1 stack, 3 missed, 1,200 dropped for lack of buffer space; cost 180 ms (0.3 % of one processor)',
    )
    expect(linesOf({ unseenPart: 0.0234 }).samples).toBe(
      '4,252 stacks; cost 180 ms (0.3 % of one processor); 2.3 % of those in rows contain calls that probes did not record',
    )
  })

  it.each([
    ['redefinition', 'a redefinition'],
    ['collection', 'a garbage collection'],
    ['safepoint', 'a safepoint of the JVM'],
    ['throttled', 'the CPU quota of the control group was used up'],
    ['suspended', 'the process was suspended'],
    ['processor', 'no processor was free'],
    [null, ''],
  ] as const)(
    'the lines show the length, time and cause of the longest stall, cause: %s',
    (stallCause, text) => {
      expect(linesOf({ stallCause }).stalls).toBe(
        `longest 231 ms, 6.5 s after the start${text === '' ? '' : `; cause: ${text}`} (measured as the late wake-up of a sleeping thread)`,
      )
    },
  )

  it('the lines show how long taking stacks stalled the target if this was the longest stall', () => {
    expect(linesOf({ stallCause: 'stacks' }).stalls).toBe(
      'longest 231 ms, 6.5 s after the start; cause: jfluid took stacks, which may stop threads',
    )
  })

  it('the lines show for how long the process was suspended', () => {
    expect(linesOf({})).not.toHaveProperty('suspended')
    expect(linesOf({ suspendedMs: 3_100 }).suspended).toBe(
      'the process was suspended for 3.1 s in total; rows and calls do not contain this time',
    )
  })

  it('the lines show predicted and measured pauses for redefinition, and the pause at the end of the recording', () => {
    expect(linesOf({})).not.toHaveProperty('pauses')
    const pauses = [
      { predictedMs: 80, measuredMs: 95.4, classes: 1 },
      { predictedMs: null, measuredMs: 110, classes: 1_234 },
      { predictedMs: 50, measuredMs: null, classes: 2 },
    ]
    expect(linesOf({ pauses }).pauses).toBe(
      '95 ms to redefine 1 class (80 ms expected), 110 ms to redefine 1,234 classes',
    )
    expect(linesOf({ pauses: pauses.slice(0, 1) }, { detach: DETACH }).pauses).toBe(
      '95 ms to redefine 1 class (80 ms expected), 48 ms to restore 42 classes at the end',
    )
    expect(linesOf({}, { detach: { ...DETACH, pauseMs: null } })).not.toHaveProperty('pauses')
    expect(linesOf({}, { detach: { ...DETACH, restoredClasses: 0 } })).not.toHaveProperty('pauses')
  })
})

describe('root calls during recompilation', () => {
  const times = timesOf(0, [10, 6], [20, 4.5], [100, 1.5], [300, 1.5])

  it('the report has a line about the root calls during recompilation and about the later root calls', () => {
    expect(linesOf({ coldUntilMs: 1_400 }, times)['warm-up']).toBe(
      'the JVM recompiled discarded code until 2.0 s after the start: 30 root calls until then, 5.00 ms on average; 400 later calls, 1.50 ms on average',
    )
  })

  it('the line about recompilation says "timed calls" if not all root calls are timed', () => {
    expect(linesOf({ coldUntilMs: 1_400, timedOneOf: 64 }, times)['warm-up']).toContain(
      '30 timed root calls until then',
    )
  })

  it('the line about recompilation covers all root calls if the recording ended before the end of recompilation', () => {
    expect(linesOf({ coldUntilMs: 10_000 }, { ...times, durationMs: 4_000 })['warm-up']).toBe(
      'the JVM recompiled discarded code until the end: 430 root calls until then, 1.74 ms on average; no later calls',
    )
  })

  it.each([
    ['the timeline begins later', 3_000, timesOf(7, [10, 6], [20, 4.5])],
    ['there was no root call', 2_000, timesOf(0, [0, 0], [0, 0], [3, 1])],
    ['recompilation had ended when recording began', 0, times],
    ['an old file has no end of recompilation', null, times],
    [
      'an old file has no averages',
      2_000,
      { ...times, course: { ...times.course, rootCalls: TIMED.course.rootCalls, first: 0 } },
    ],
  ])('the report has no line about root calls during recompilation if %s', (why, coldUntilMs, around) => {
    const calls = { ...around.course.rootCalls! }
    if (why.includes('averages')) delete calls.mean
    const course = { ...around.course, rootCalls: calls }
    expect(linesOf({ coldUntilMs }, { ...around, course })).not.toHaveProperty('warm-up')
  })
})

describe('data about stacks in a file', () => {
  const profile = profileOf('main 500x 10ns', { ...TIMED, stacks: FACTS, detach: DETACH })

  it.each(STALL_CAUSES)(
    'a profile is unchanged after writing and reading if its longest stall was caused by: %s',
    (stallCause) => {
      for (const coldUntilMs of [12_000, null]) {
        const stacks = { ...FACTS, stallCause, coldUntilMs, unseenPart: 0.01 }
        expect(decodeProfile(encodeProfile({ ...profile, stacks }), 'p')).toEqual({ ...profile, stacks })
      }
    },
  )

  it('an older file, without the data about the warm-up and the last pause, can be read', () => {
    const { coldUntilMs: _, unseenPart: ____, ...stacks } = FACTS
    const { pauseMs: __, ...detach } = DETACH
    const { mean: ___, ...rootCalls } = TIMED.course.rootCalls!
    const old = { ...profile, stacks, detach, course: { ...TIMED.course, rootCalls } }
    const read = decodeProfile(encodeProfile(old as typeof profile), 'p')
    expect(read).toEqual({ ...profile, detach: { ...DETACH, pauseMs: null }, course: old.course })
    expect(reportText(read)).not.toMatch(/warm-up|at the end/)
  })
})
