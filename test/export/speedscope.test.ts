import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv } from 'ajv'
import { describe, it } from 'vitest'
import type { Profile } from '../../src/profile/profile.ts'
import { chain, profileOf, profileOfTree } from '../profile/trees.ts'
import { exported, ofEveryMetric, twoThreads } from './exported.ts'

interface Speedscope {
  readonly shared: { readonly frames: readonly { readonly name: string }[] }
  readonly profiles: readonly {
    readonly name: string
    readonly unit: string
    readonly endValue: number
    readonly samples: readonly (readonly number[])[]
    readonly weights: readonly number[]
  }[]
}

// The schema of the released version.
const schema = JSON.parse(
  readFileSync(
    createRequire(import.meta.url).resolve('speedscope/dist/release/file-format-schema.json'),
    'utf8',
  ),
) as object
const isValid = new Ajv({ strict: false }).compile(schema)

async function speedscopeOf(profile: Profile, threads = false): Promise<Speedscope> {
  const file: unknown = JSON.parse(await exported(profile, 'speedscope', threads))
  assert.ok(isValid(file), JSON.stringify(isValid.errors))
  return file as Speedscope
}

/** Returns stacks in the format "main;work 54", one for each sample. */
function stacks({ shared, profiles }: Speedscope, profile = 0): string[] {
  const { samples, weights, endValue } = profiles[profile]!
  assert.equal(samples.length, weights.length)
  assert.equal(
    weights.reduce((a, b) => a + b, 0),
    endValue,
  )
  const nameOf = (frame: number) => shared.frames[frame]!.name.replaceAll('com.acme.App.', '')
  return samples.map((stack, at) => `${stack.map(nameOf).join(';')} ${weights[at]}`)
}

describe('the export format speedscope', () => {
  it('a speedscope export has one sample per context with self time, with the root as first frame', async () => {
    const profile = profileOf(
      'main 1x 10.4ns ( work 2x 54.5ns ( main 1x 0ns ( leaf 1x 3ns ) ) other 1x -3ns )',
    )
    const file = await speedscopeOf(profile)
    assert.deepEqual(stacks(file), ['main 10', 'main;work 55', 'main;work;main;leaf 3'])
    assert.deepEqual(
      file.profiles.map((it) => [it.name, it.unit]),
      [['all threads', 'nanoseconds']],
    )
  })

  it('a speedscope export has, on request, one profile for each thread with calls', async () => {
    const file = await speedscopeOf(twoThreads(), true)
    assert.deepEqual(
      file.profiles.map((it) => it.name),
      ['main id=1', 'pool "1";? id=21'],
    )
    assert.deepEqual([stacks(file, 0), stacks(file, 1)], [['main 10'], ['main 20', 'main;work 54']])
  })

  const counts = { unit: 'none', expected: ['main 5', 'main;work 7'] }
  it.each(
    ofEveryMetric({
      waits: { unit: 'nanoseconds', expected: ['lock;(blocked on com.acme.Lock) 700'] },
      bytecodes: counts,
      calls: counts,
      samples: counts,
      bytes: { unit: 'bytes', expected: ['main;new java.lang.String 48', 'main;work;new byte[] 100'] },
      'call sites': { unit: 'nanoseconds', expected: ['main 5', 'main;work:7 10', 'main;work:9 20'] },
    }),
  )('a speedscope export of a profile with %s has the right unit', async (_, profile, { unit, expected }) => {
    const file = await speedscopeOf(profile)
    assert.equal(file.profiles[0]!.unit, unit)
    assert.deepEqual(stacks(file), expected)
  })

  it('a speedscope export of an empty profile is valid, and contains a profile without samples', async () => {
    assert.deepEqual(stacks(await speedscopeOf(profileOf(''))), [])
  })

  it('the length of stacks in a speedscope export is limited for a recursion 3,000 deep, and a frame states how many frames are missing', async () => {
    const deep = profileOfTree(chain(3000), profileOf('deep 1x 1ns').methodNames)
    const [last] = stacks(await speedscopeOf(deep)).slice(-1)
    assert.equal(last!.split(';').length, 513)
    assert.ok(last!.includes(';[2488 frames];'))
  })
})
