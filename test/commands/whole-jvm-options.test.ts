import { describe, expect, it } from 'vitest'
import { BadInterval } from '../../src/commands/every.ts'
import { commandOptions } from '../../src/commands/options.ts'
import { IntervalNotTaken, isSampledByJvm, wholeJvmSampling } from '../../src/commands/whole-jvm-options.ts'
import type { SamplerName } from '../../src/options/how-exactly.ts'
import type { SessionFlags } from '../../src/options/table.ts'

const flags = (given: Partial<SessionFlags>): SessionFlags => ({
  ...{ scheme: 'b', mode: 'sample' },
  ...given,
})

describe('--mode sample with a time interval', () => {
  it('only --mode sample with a time interval uses the sampler of the JVM', () => {
    expect(isSampledByJvm(flags({}))).toBe(true)
    expect(isSampledByJvm(flags({ root: ['A.b'], sampler: 'cpu' }))).toBe(true)
    expect(isSampledByJvm(flags({ root: ['A.b'] }))).toBe(true)
    expect(isSampledByJvm(flags({ root: ['A.b'], every: '1ms' }))).toBe(true)
    expect(isSampledByJvm(flags({ root: ['A.b'], every: '100bc' }))).toBe(false)
    expect(isSampledByJvm(flags({ mode: 'exact' }))).toBe(false)
  })

  it.each<[Partial<SessionFlags>, object]>([
    // Without options the sampler depends on the JVM.
    [{}, {}],
    [{ every: '1ms' }, { every: 1_000_000 }],
    [
      { every: '0.1ms', sampler: 'cpu' },
      { every: 100_000, by: 'cpu' },
    ],
  ])('the sampling options %j are accepted without a root', (given, sampling) => {
    expect(wholeJvmSampling(flags(given))).toEqual({ sampling, roots: [], debugInfo: false })
  })

  it.each<[Partial<SessionFlags>, string]>([
    [{ scheme: 'a' }, '--scheme a'],
    [{ jdk: true }, '--jdk'],
    [{ include: ['a.*'] }, '--include'],
    [{ exclude: ['a.*'] }, '--exclude'],
    [{ followThreads: true }, '--follow-threads'],
    [{ random: 1 }, '--random'],
    [{ sampleEvery: 2 }, '--sample-every'],
    [{ bba: 'precise' }, '--bba'],
    [{ profiler: 'a.jar' }, '--profiler'],
    [{ reproducible: true }, '--reproducible'],
  ])('the option %j without --root is refused, and the error names the option', (given, option) => {
    expect(() => wholeJvmSampling(flags(given))).toThrow(
      `${option} needs --root, because without a root no method is instrumented`,
    )
    const inside = flags({ ...given, root: ['A.b'], sampler: 'jfr' })
    expect(() => wholeJvmSampling(inside)).toThrow(
      `${option} cannot be combined with sampling by time, which instruments no methods`,
    )
  })

  it.each<[string, SamplerName]>([
    ['10000bc', 'jfr'],
    ['0.5ms', 'jfr'],
    ['1.5ms', 'jfr'],
    ['0.1ms', 'jfr'],
    ['1bc', 'cpu'],
  ])('the sampling interval %s is refused for the sampler %s', (every, sampler) => {
    expect(() => wholeJvmSampling(flags({ every, sampler }))).toThrow(IntervalNotTaken)
  })

  it('an invalid sampling interval is refused, and the error describes valid intervals', () => {
    expect(() => wholeJvmSampling(flags({ every: '1' }))).toThrow(BadInterval)
  })
})

it('samples are kept only if the sampled thread is inside a given root', () => {
  const { roots } = wholeJvmSampling(flags({ root: ['A.b(int)'], sampler: 'jfr' }))
  expect(roots).toEqual([expect.objectContaining({ className: 'A', method: 'b', parameters: 'int' })])
})

it('modes without sampling refuse sampling options', async () => {
  await expect(commandOptions(flags({ mode: 'exact', sampler: 'jfr' }))).rejects.toThrow(
    '--sampler is for sampling, and --mode exact takes no samples',
  )
})
