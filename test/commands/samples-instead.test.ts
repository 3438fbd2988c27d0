import { expect, it } from 'vitest'
import { BusyBeforeFlush } from '../../src/attach/first-redefinition.ts'
import type { SessionFlags } from '../../src/commands/options.ts'
import { samplesInstead, whySampled } from '../../src/commands/samples-instead.ts'

const flags = (given: Partial<SessionFlags>): SessionFlags => ({
  ...{ scheme: 'auto', mode: 'exact', root: ['A.b'] },
  ...given,
})

it('where a root is all that is asked for, stacks inside it will do', () => {
  expect(samplesInstead(flags({}))).toEqual(flags({ mode: 'sample', sampler: 'stacks' }))
})

it.each<Partial<SessionFlags>>([
  { mode: 'count' },
  { scheme: 'adaptive' },
  { time: ['A.c'] },
  { trace: 3 },
  { callSites: true },
  { root: ['A.b(int)'] }, // a dump of threads knows no parameters
])('with %j they will not', (given) => {
  expect(samplesInstead(flags(given))).toBeNull()
})

it('nothing else than a flush of a busy JVM leads to them', () => {
  const busy = new BusyBeforeFlush(7, { used: 1.9, most: 2, idle: 0.1, ours: 0 }, 11_768, 17)
  expect(whySampled(busy, flags({}))?.why).toMatch(
    /^stacks only, no call is counted: JVM 7 is too busy for its first redefinition \(it uses 1\.9 of 2, and 0\.1 are idle\).* \(--yes attaches all the same\)$/,
  )
  expect(whySampled(new Error('refused'), flags({}))).toBeNull()
})
