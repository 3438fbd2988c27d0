// Tests with a condition. The title of a skipped test contains the reason, which the lane's summary reads.

import { describe, it } from 'vitest'
import { FULL } from './lane.ts'

/** Returns `it` if the condition holds; otherwise `it.skip`, with the reason in brackets after the title. */
export function itOnlyIf(holds: boolean, reason: string): typeof it {
  return holds ? it : withReason(it.skip as typeof it, reason)
}

/** `it` for a test that takes long while other tests run most of the same code: only `test:full` runs it. */
export const itInFull = itOnlyIf(FULL, 'takes long, runs in test:full')

/** Returns `describe` or `describe.skip` in the same way. */
export function describeOnlyIf(holds: boolean, reason: string): typeof describe {
  return holds ? describe : withReason(describe.skip as typeof describe, reason)
}

type Titled = (title: string, ...rest: unknown[]) => unknown

/** @param skip  `it.skip` or `describe.skip` of vitest */
export function withReason<T extends object>(skip: T, reason: string): T {
  const titled = (inner: Titled): Titled => {
    return (title, ...rest) => inner(`${title} [${reason}]`, ...rest)
  }
  return new Proxy(skip, {
    apply: (target, _, [title, ...rest]) => titled(target as unknown as Titled)(title, ...rest),
    get(target, name) {
      if (name !== 'each') return Reflect.get(target, name)
      const each = Reflect.get(target, 'each') as (...cases: unknown[]) => Titled
      return (...cases: unknown[]) => titled(each.apply(target, cases))
    },
  })
}
