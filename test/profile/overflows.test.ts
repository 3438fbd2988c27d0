import { describe, expect, it } from 'vitest'
import { overflowsTogether, overflowWarnings } from '../../src/profile/overflows.ts'

describe('StackOverflowErrors that ended instrumented methods', () => {
  it('a profile without StackOverflowErrors has no warning', () => {
    expect(overflowWarnings([])).toEqual([])
  })

  it('StackOverflowErrors are counted, and the methods that most of the errors ended are listed first', () => {
    const [one, ...none] = overflowWarnings([{ method: 'a.A.a(I)I', errors: 1 }])
    expect(none).toEqual([])
    expect(one).toMatch(/^1 StackOverflowError was thrown out of methods with probes: a\.A\.a\(I\)I 1\. /)
    const many = 'abcde'.split('').map((name, i) => ({ method: `a.A.${name}()V`, errors: 2000 - i }))
    expect(overflowWarnings(many)[0]).toMatch(
      /^9,990 StackOverflowErrors were thrown out of methods with probes: a\.A\.a\(\)V 2,000, a\.A\.b\(\)V 1,999, a\.A\.c\(\)V 1,998, and 2 more methods\. /,
    )
  })

  it('StackOverflowErrors of several JVMs are summed per method', () => {
    const all = [
      { method: 'a', errors: 1 },
      { method: 'b', errors: 2 },
      { method: 'a', errors: 3 },
    ]
    expect(overflowsTogether(all)).toEqual([
      { method: 'a', errors: 4 },
      { method: 'b', errors: 2 },
    ])
  })
})
