// The title of a skipped test contains the reason, in the format that the lane's summary reads.

import { describe, expect, it } from 'vitest'
import { reasonOf } from '../lanes/summary.ts'
import { describeOnlyIf, itOnlyIf, withReason } from './only-if.ts'

/** Records titles, and the cases of `each`, which vitest reads from `this`. */
class FakeSkip {
  readonly titles: string[] = []
  readonly skip = Object.assign((title: string) => void this.titles.push(title), {
    titles: this.titles,
    each(this: { titles: string[] }, cases: readonly number[]) {
      return (title: string) => {
        for (const it of cases) this.titles.push(title.replace('%i', `${it}`))
      }
    },
  })
}

it('onlyIf returns the unchanged test function if the condition is true', () => {
  expect(itOnlyIf(true, 'never')).toBe(it)
  expect(describeOnlyIf(true, 'never')).toBe(describe)
})

it('the title of a skipped test ends with the reason', () => {
  const { skip, titles } = new FakeSkip()
  withReason(skip, 'no zsh here')('completes')
  expect(titles).toEqual(['completes [no zsh here]'])
})

it('the title of each case of a skipped test ends with the reason', () => {
  const { skip, titles } = new FakeSkip()
  withReason(skip, 'no zsh here').each([1, 2])('case %i')
  expect(titles).toEqual(['case 1 [no zsh here]', 'case 2 [no zsh here]'])
})

it.each([
  ['completes [no zsh here]', 'no zsh here'],
  ['shells [no zsh here] > completes', 'no zsh here'],
  ['an array int[3] of [words] in the title', null],
  ['of JDK 17', null],
])('from the title %j, the reason for skipping is read as %j', (fullName, reason) => {
  expect(reasonOf(fullName)).toBe(reason)
})
