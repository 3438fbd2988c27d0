// The tools that formats are made for, reading what we write. They are part of `npm run test:full` and have to be there.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, it } from 'vitest'
import { hotMethods } from '../../src/cct/snapshot.ts'
import { exportToFile, formatNamed } from '../../src/export/formats.ts'
import { nameOf, type Profile } from '../../src/profile/profile.ts'
import { fullName, signature } from '../../src/profile/text.ts'
import { profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { allocations, callSites, counted, twoThreads, waits } from './exported.ts'

const METHODS = 12
const SEED = 19

/** A tree whose methods recur in each other, with times of some seconds. */
function recursive(): Profile {
  const tree = randomTree(3000, METHODS, seeded(SEED))
  const names = Array.from({ length: METHODS }, (_, id) => `m${id} 1x 1ns`).join(' ')
  return profileOfTree(tree, profileOf(names).methodNames, { threads: [{ id: 21, name: 'worker-1', tree }] })
}

const OF_EVERY_METRIC: readonly (readonly [string, () => Profile])[] = [
  ['times', recursive],
  ['threads', twoThreads],
  ['waits', waits],
  ['bytecodes', () => counted('bytecodes')],
  ['calls', () => counted('count')],
  ['samples', () => counted('sample')],
  ['bytes', allocations],
  ['call sites', callSites],
]

async function written(profile: Profile, format: string, threads = false): Promise<string> {
  const of = formatNamed(format)
  const file = join(temporaryDirectory(), `p${of.extension}`)
  await exportToFile(profile, of, file, { threads })
  return file
}

async function ran(command: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  try {
    return await promisify(execFile)(command, args, {
      maxBuffer: 64 << 20,
      env: { ...process.env, LC_ALL: 'C' },
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Error(`${command} is not on PATH: the full tests read exports with it`)
    }
    throw error
  }
}

interface Sums {
  readonly self: number
  readonly total: number
}

/** Of all methods, by name. */
function ours(profile: Profile, nameBy: typeof signature): Map<string, Sums> {
  return new Map(
    hotMethods(profile.merged).map(({ method, self, total }) => [
      nameBy(nameOf(profile.methodNames, method)),
      { self, total },
    ]),
  )
}

const isFull = process.env.JFLUID_FULL === '1'

describe.runIf(isFull)('go tool pprof', () => {
  /** `pprof -top`: flat is self, cum is total, which counts recursion once. */
  async function top(file: string): Promise<Map<string, Sums>> {
    const flags = ['-top', '-unit=nanoseconds', '-nodefraction=0', '-edgefraction=0', '-nodecount=1000000']
    const { stdout } = await ran('go', 'tool', 'pprof', ...flags, file)
    const rows = stdout.matchAll(/^ *(-?\d+)\S* +\S+% +\S+% +(-?\d+)\S* +\S+% {2}(.+)$/gm)
    return new Map(
      [...rows].map(([, self, total, name]) => [name!, { self: Number(self), total: Number(total) }]),
    )
  }

  it('sums up methods as we do', async () => {
    const profile = recursive()
    const found = await top(await written(profile, 'pprof'))
    assert.deepEqual(new Map([...found].sort()), new Map([...ours(profile, fullName)].sort()))
    assert.equal(found.size, METHODS)
  })

  it.each(OF_EVERY_METRIC)('reads %s', async (_, make) => {
    const file = await written(make(), 'pprof', true)
    const { stdout } = await ran('go', 'tool', 'pprof', '-raw', file)
    assert.match(stdout, /Samples:\n.*calls\/count.*\n(.*\n)*Locations\n/)
    assert.match(stdout, /com\.acme\.App\.\w+/)
    assert.match(stdout, /thread:\[/)
  })
})

describe.runIf(isFull)('callgrind_annotate', () => {
  async function annotated(file: string, inclusive: 'yes' | 'no'): Promise<Map<string, number>> {
    const flags = ['--auto=no', '--threshold=100', '--show-percs=no', `--inclusive=${inclusive}`]
    const { stdout, stderr } = await ran('callgrind_annotate', ...flags, file)
    assert.equal(stderr, '')
    const rows = stdout.matchAll(/^ *([\d,]+) +com\.acme\.App:(.+?)(?: \[\])?$/gm)
    return new Map([...rows].map(([, cost, name]) => [name!, Number(cost!.replaceAll(',', ''))]))
  }

  it('sums up methods as we do, inclusive and not', async () => {
    const profile = recursive()
    const file = await written(profile, 'callgrind')
    const known = [...ours(profile, signature)]
    assert.deepEqual(
      new Map([...(await annotated(file, 'no'))].sort()),
      new Map(known.map(([name, { self }]) => [name, self] as const).sort()),
    )
    assert.deepEqual(
      new Map([...(await annotated(file, 'yes'))].sort()),
      new Map(known.map(([name, { total }]) => [name, total] as const).sort()),
    )
  })

  it.each(OF_EVERY_METRIC)('reads %s without a warning', async (_, make) => {
    for (const threads of [false, true]) {
      const { stdout, stderr } = await ran(
        'callgrind_annotate',
        '--tree=both',
        await written(make(), 'callgrind', threads),
      )
      assert.equal(stderr, '')
      assert.match(stdout, /com\.acme\.App\.\w+\(int\)/)
    }
  })
})
