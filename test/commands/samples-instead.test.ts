import { expect, it } from 'vitest'
import { BusyBeforeFlush } from '../../src/attach/first-redefinition.ts'
import { samplesInstead, whySampled } from '../../src/commands/samples-instead.ts'
import type { SessionFlags } from '../../src/options/table.ts'

const flags = (given: Partial<SessionFlags>): SessionFlags => ({
  ...{ scheme: 'auto', mode: 'exact', root: ['A.b'] },
  ...given,
})

it('for a busy JVM, sampling inside the root replaces counting if only a root is given', () => {
  expect(samplesInstead(flags({}))).toEqual(flags({ mode: 'sample' }))
})

it.each<Partial<SessionFlags>>([
  { mode: 'count' },
  { scheme: 'adaptive' },
  { time: ['A.c'] },
  { trace: 3 },
  { callSites: true },
  { root: ['A.b(int)'] }, // thread dumps contain no parameter types
])('sampling does not replace counting with %j', (given) => {
  expect(samplesInstead(flags(given))).toBeNull()
})

it('sampling does not replace counting for several JVMs', () => {
  expect(samplesInstead({ ...flags({}), all: 'Shop' })).toBeNull()
})

it('sampling replaces counting only if the code cache flush would affect a busy JVM', () => {
  const busy = new BusyBeforeFlush(7, { used: 0.32, most: 2, idle: 1.58, ours: 0 }, 11_768, 17)
  expect(whySampled(busy, flags({}))?.why).toBe(
    'only sampling stacks, without counting calls: JVM 7 is too busy for its first redefinition, which discards all of its 11,768 compiled methods (JDK 17): the JVM uses 0.32 processors and can use 1.90, but would need about 2.24 to compile them again, so requests would wait for seconds (--yes attaches anyway)',
  )
  expect(whySampled(new Error('refused'), flags({}))).toBeNull()
})
