// The detach in a profile: one line, warnings about problems, and the same output from a file.

import { describe, expect, it } from 'vitest'
import { type DetachFacts, detachWarnings, restoredText } from '../../src/profile/detach-facts.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import { profileOf } from './trees.ts'

const GOOD: DetachFacts = {
  ...{ ms: 12.5, proofMs: 30, restoredClasses: 42, refusedClasses: 0, pauseMs: 8.5, lambdaClasses: 3 },
  code: { checkedClasses: 42, checkedMethods: 300, originalClasses: 42, different: [], unchecked: '' },
  ...{ left: [], unseen: [] },
}
const withCode = (code: Partial<DetachFacts['code']>, more: Partial<DetachFacts> = {}): DetachFacts => ({
  ...GOOD,
  ...more,
  code: { ...GOOD.code, ...code },
})

describe("the report's line about the detach", () => {
  it.each([
    ['restored: 42 classes verified as original, nothing of jfluid remains', GOOD],
    [
      'restored: 1 class verified as original, nothing of jfluid remains',
      withCode({ checkedClasses: 1, originalClasses: 1 }, { restoredClasses: 1 }),
    ],
    [
      'restored: no class had probes, nothing of jfluid remains',
      withCode({ checkedClasses: 0 }, { restoredClasses: 0 }),
    ],
    [
      'restored: 42 classes, not verified: this JVM does not let jfluid read its code, nothing else of jfluid remains',
      withCode({
        checkedClasses: 0,
        originalClasses: 0,
        unchecked: 'this JVM does not let jfluid read its code',
      }),
    ],
    [
      'restored: 42 classes, not verified: none of their methods can be read, nothing else of jfluid remains',
      withCode({ checkedClasses: 0, originalClasses: 0 }),
    ],
    [
      'restored: 18,000 classes, 2,000 of them verified as original, nothing else of jfluid remains',
      withCode(
        { checkedClasses: 2000, originalClasses: 2000, unchecked: 'there was no time' },
        { restoredClasses: 18_000 },
      ),
    ],
    [
      'restored: 1 of 42 classes NOT restored, nothing else of jfluid remains',
      withCode({ originalClasses: 41 }),
    ],
    [
      'restored: 42 classes verified as original, still in the JVM: thread jfluid-agent, socket',
      { ...GOOD, left: ['thread jfluid-agent', 'socket'] },
    ],
  ])('the line about the detach reads: %s', (text, facts) => {
    expect(restoredText(facts)).toBe(text)
  })
})

it('a profile has warnings about the detach only if the detach had problems', () => {
  expect(detachWarnings(GOOD)).toEqual([])
  expect(detachWarnings(withCode({ checkedClasses: 7, originalClasses: 7, unchecked: 'no time' }))).toEqual(
    [],
  )
  expect(
    detachWarnings(withCode({ originalClasses: 41, different: ['a.B.c()V'] }, { left: ['socket'] })),
  ).toEqual([
    'after the detach, 1 of 42 classes did not have their original code: a.B.c()V',
    'after the detach, parts of jfluid remained in the JVM: socket',
  ])
  const refused = { restoredClasses: 41, refusedClasses: 1 }
  expect(detachWarnings(withCode({ checkedClasses: 0, originalClasses: 0 }, refused))).toEqual([
    'after the detach, 1 of 42 classes still had probes',
  ])
})

it('the report of a file has the same line about the detach, and no such line if the file has no detach data', () => {
  const profile = {
    ...profileOf('main 1x 10ns'),
    detach: withCode({ different: ['a.B.c()V'] }),
  }
  expect(decodeProfile(encodeProfile(profile), 'p').detach).toEqual(profile.detach)
  expect(decodeProfile(encodeProfile(profileOf('main 1x 10ns')), 'p').detach).toBeUndefined()
})

it.each([
  { ...GOOD, ms: 'soon' },
  { ...GOOD, left: [1] },
  { ...GOOD, code: null },
  withCode({ checkedClasses: -1 }),
])('a file with invalid data about the detach is refused: %j', (detach) => {
  const file = encodeProfile({ ...profileOf('main 1x 10ns'), detach: detach as DetachFacts })
  expect(() => decodeProfile(file, 'p')).toThrow(/detach/)
})
