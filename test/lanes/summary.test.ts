import { expect, it } from 'vitest'
import { sayLane, type TestFile } from './summary.ts'

const file = (name: string, seconds: number, more: Partial<TestFile> = {}): TestFile => ({
  ...{ lane: 'unit', file: `test/${name}.test.ts`, seconds, passed: 2, failed: 0, skipped: 0, skips: [] },
  ...more,
})

it('the summary of a test lane lists at most the ten slowest test files, the number of tests and the total time', () => {
  const files = Array.from({ length: 12 }, (_, i) => file(`f${i}`, i / 10))
  const { text, isTooSlow } = sayLane(files, 61.4)
  expect(isTooSlow).toBe(false)
  const lines = text.split('\n')
  expect(lines.slice(0, 3)).toEqual([
    'slowest files:',
    '     1.1 s  test/f11.test.ts',
    '     1.0 s  test/f10.test.ts',
  ])
  expect(lines.filter((line) => line.startsWith('  '))).toHaveLength(10)
  expect(lines.slice(-2)).toEqual(['unit: 12 files in 61 s', '24 passed, 0 failed, 0 skipped'])
})

it('the summary lists unit test files that take more than 3 s, and fails the lane if a file takes more than 30 s', () => {
  const three = sayLane([file('quick', 3), file('slow', 3.1), file('slower', 30)], 1)
  expect(three.isTooSlow).toBe(false)
  expect(three.text).toContain(
    'unit files above 3 s:\n    30.0 s  test/slower.test.ts\n     3.1 s  test/slow.test.ts\nunit: ',
  )
  const ten = sayLane([file('slow', 3.1), file('slowest', 30.1)], 1)
  expect(ten.isTooSlow).toBe(true)
  expect(ten.text).toContain('unit files above 3 s:\n     3.1 s  test/slow.test.ts\n')
  expect(ten.text).toContain('above 30 s, which fails the lane:\n    30.1 s  test/slowest.test.ts\nunit: ')
})

it('the summary applies no time limit to test files of lanes other than unit', () => {
  const { text, isTooSlow } = sayLane([file('long', 400, { lane: 'live' })], 401)
  expect(isTooSlow).toBe(false)
  expect(text).toBe(
    'slowest files:\n   400.0 s  test/long.test.ts\nlive: 1 files in 401 s\n2 passed, 0 failed, 0 skipped',
  )
})

it('the summary of a test lane lists skipped tests by reason and file', () => {
  const { text } = sayLane(
    [
      file('a', 0, { skipped: 3, skips: ['no root', 'no zsh', 'no root'] }),
      file('b', 0, { failed: 1, skipped: 1, skips: ['no root'] }),
    ],
    1,
  )
  expect(text).toContain(
    [
      'skipped:',
      '  no root:',
      '    2 in test/a.test.ts',
      '    1 in test/b.test.ts',
      '  no zsh:',
      '    1 in test/a.test.ts',
      '',
    ].join('\n'),
  )
  expect(text).toMatch(/4 passed, 1 failed, 4 skipped$/)
})

it("the summary fails the lane for a test skipped without a reason, and names the test's file", () => {
  const { text, hasUnexplainedSkip } = sayLane(
    [
      file('a', 0, { skipped: 3, skips: [null, 'no root', null] }),
      file('hook', 0, { failed: 1, skipped: 2, skips: [null, null] }),
    ],
    1,
  )
  expect(hasUnexplainedSkip).toBe(true)
  expect(text).toContain('skipped:\n  no root:\n    1 in test/a.test.ts\n')
  expect(text).toMatch(
    /skipped without a reason, which fails the lane.*:\n {2}2 in test\/a\.test\.ts\nunit: /,
  )
})

it('the summary accepts tests that are skipped with a reason', () => {
  const { text, hasUnexplainedSkip } = sayLane([file('a', 0, { skipped: 1, skips: ['no root'] })], 1)
  expect(hasUnexplainedSkip).toBe(false)
  expect(text).not.toContain('without a reason')
})

it('the summary of a test lane omits the slowest files if one list is printed for all lanes', () => {
  const { text } = sayLane([file('a', 1), file('slow', 4)], 5, false)
  expect(text).not.toContain('slowest files')
  expect(text).toMatch(/^unit files above 3 s:\n/)
})
