import { describe, expect, it } from 'vitest'
import { commandOptions } from '../../src/commands/options.ts'
import type { SessionFlags } from '../../src/options/table.ts'

const plain: SessionFlags = { scheme: 'b', mode: 'exact' }

describe('the option --region', () => {
  it('--region adds its methods as roots whose callees are not instrumented', async () => {
    const options = await commandOptions({ ...plain, region: ['Foo.bar:3-4', 'Foo.baz'] })
    expect(options).toMatchObject({ scheme: 'b', mode: 'exact', jdk: false })
    expect(options.roots.map(({ text, option }) => [text, option])).toEqual([
      ['Foo.bar', 'region'],
      ['Foo.baz', 'region'],
    ])
    expect(options.regions?.map(({ lines }) => lines)).toEqual([{ from: 3, to: 4 }, null])
  })

  it.each<[string, Partial<SessionFlags>]>([
    ['--root', { root: ['Foo.baz'] }],
    ['--mode count', { mode: 'count' }],
    ['--every', { every: '10ms' }],
    ['--sampler', { sampler: 'jfr' }],
    ['--random', { random: 3 }],
    ['--max-overhead', { maxOverhead: 0.05 }],
    ['--call-sites', { callSites: true }],
    ['--sample-every', { sampleEvery: 10 }],
    ['--liveness', { liveness: true }],
    ['--bba', { bba: 'precise' }],
    ['--scheme a', { scheme: 'a' }],
    ['--include', { include: ['x'] }],
    ['--exclude', { exclude: ['x'] }],
    ['--jdk', { jdk: true }],
    ['--profiler', { profiler: 'x.jar' }],
    ['--reproducible', { reproducible: true }],
    ['--follow-threads', { followThreads: true }],
  ])('--region cannot be combined with %s', async (option, flags) => {
    const asked = commandOptions({ ...plain, region: ['Foo.bar'], ...flags })
    await expect(asked).rejects.toThrow(`--region cannot be combined with ${option}`)
  })
})
