import { expect, it } from 'vitest'
import { BusyBeforeFlush } from '../../src/attach/first-redefinition.ts'
import { sampledInstead, samplesInstead, whySampled } from '../../src/commands/samples-instead.ts'
import type { SessionFlags } from '../../src/options/table.ts'

const flags = (given: Partial<SessionFlags>): SessionFlags => ({
  ...{ scheme: 'auto', mode: 'exact', root: ['A.b'] },
  ...given,
})

it('for a busy JVM, calls in the root are sampled instead of counted if the root is the only given option', () => {
  expect(samplesInstead(flags({}))).toEqual(flags({ mode: 'sample' }))
})

it.each<Partial<SessionFlags>>([
  { mode: 'count' },
  { scheme: 'adaptive' },
  { time: ['A.c'] },
  { trace: 3 },
  { callSites: true },
  { root: ['A.b(int)'] }, // thread dumps contain no parameter types
])('calls are counted, not sampled, with the options %j', (given) => {
  expect(samplesInstead(flags(given))).toBeNull()
})

it('calls are counted, not sampled, if several JVMs are recorded', () => {
  expect(samplesInstead({ ...flags({}), all: 'Shop' })).toBeNull()
})

it('the message about sampling instead of counting names the JVM and the effect of its first redefinition', () => {
  const busy = new BusyBeforeFlush(7, { used: 0.32, most: 2, idle: 1.58, ours: 0 }, 11_768, 17)
  expect(whySampled(busy.message)).toBe(
    'only sampling stacks, without counting calls: JVM 7 is too busy for its first redefinition, which discards all of its 11,768 compiled methods (JDK 17): the JVM uses 0.32 processors and can use 1.90, but would need about 2.24 to compile them again, so requests would wait for seconds (--yes attaches anyway)',
  )
})

it('calls are sampled instead of counted only if a busy JVM would discard much compiled code', async () => {
  const busy = new BusyBeforeFlush(7, { used: 0.32, most: 2, idle: 1.58, ours: 0 }, 11_768, 17)
  expect((await sampledInstead(busy, flags({})))?.flags).toEqual(flags({ mode: 'sample' }))
  expect(await sampledInstead(new Error('refused'), flags({}))).toBeNull()
})
