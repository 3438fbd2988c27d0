// jfluid compare on the command line: files, exit codes and refused input.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { beforeAll, describe, it } from 'vitest'
import { writeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { recorded } from '../profile/recorded-segments.ts'
import { REGION } from '../profile/region.ts'
import { profileOf } from '../profile/trees.ts'
import { inProcess } from '../support/in-process.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'
import { problemsOf } from '../support/schema.ts'

const directory = temporaryDirectory('jfluid-compare-')
const path = (name: string): string => join(directory, `${name}.jfluid`)

const none = profileOf('')
const NO_TREE = { regions: [{ ...REGION, method: 1 }], merged: none.merged, threads: [] }

function counted(notation: string): Profile {
  const profile = profileOf(notation, { mode: 'bytecodes', blocks: 'default' })
  const { calls, selfNs, totalNs } = profile.merged.metrics
  const merged = {
    ...profile.merged,
    metrics: { calls: calls!, selfBytecodes: selfNs!, totalBytecodes: totalNs! },
  }
  return { ...profile, merged, threads: [] }
}

beforeAll(async () => {
  await writeProfile(profileOf('main 10x 1000000ns ( work 20x 3000000ns )'), path('old'))
  await writeProfile(profileOf('main 10x 1000000ns ( work 20x 4000000ns )'), path('new'))
  await writeProfile(counted('main 10x 10ns ( work 20x 30ns )'), path('bytecodes'))
  await writeProfile(profileOf(''), path('empty'))
  await writeProfile({ ...profileOf('main 1x 1ns'), ...NO_TREE }, path('regions'))
})

describe('the command jfluid compare', () => {
  it('compare prints a report of the changes between two profiles', async () => {
    const { code, stdout, stderr } = await inProcess('compare', path('old'), path('new'))
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^ {2}mean +400\.0 µs +500\.0 µs +\+25\.0 %$/m)
    assert.match(
      stdout,
      /\+100\.0 µs +300\.0 µs +400\.0 µs +com\.acme\.App\.work\n {2}called by com\.acme\.App\.main\n/,
    )
  })

  it('compare exits with 82 if a --fail-if condition holds and prints all conditions', async () => {
    const held = await inProcess('compare', path('old'), path('new'), '--fail-if', 'App.work self > +40%')
    assert.equal(held.code, 0)
    assert.match(held.stdout, /^ok +App\.work self > \+40%: com\.acme\.App\.work 300\.0 µs, now 400\.0 µs:/m)
    const two = ['--fail-if', 'App.work self > +10%', '--fail-if', 'root total > 1s']
    const failed = await inProcess('compare', path('old'), path('new'), ...two)
    assert.equal(failed.code, 82)
    assert.match(failed.stdout, /^FAILED +App\.work self > \+10%/m)
    assert.match(failed.stdout, /^ok +root total > 1s/m)
    assert.match(
      failed.stderr,
      /^jfluid: 'App\.work self > \+10%' holds: com\.acme\.App\.work 300\.0 µs, now 400\.0 µs: \+33\.3 %\n/,
    )
  })

  it('compare exits with 82 if a --fail-if condition holds, even if the reader of the output has exited', async () => {
    const p = startProcess('bash', [
      '-o',
      'pipefail',
      '-c',
      '"$@" | true',
      'bash',
      process.execPath,
      cli,
      ...['compare', path('old'), path('new'), '--fail-if', 'App.work self > +10%'],
    ])
    assert.equal((await p.exit).code, 82)
  })

  it('compare marks the position of a syntax error in --fail-if', async () => {
    const { code, stderr } = await inProcess(
      'compare',
      path('old'),
      path('new'),
      '--fail-if',
      'App.work self > 10%',
    )
    assert.equal(code, 64)
    assert.match(
      stderr,
      /^jfluid: cannot read --fail-if: a change has a sign, .*\n {2}App\.work self > 10%\n {18}\^\n/,
    )
  })

  it('compare refuses a --fail-if method that the profile does not contain', async () => {
    const { code, stderr } = await inProcess(
      'compare',
      path('old'),
      path('new'),
      '--fail-if',
      'Foo.work self > +1%',
    )
    assert.equal(code, 64)
    assert.match(stderr, /the profile contains no method 'Foo\.work'\n {2}Use .*: com\.acme\.App\.work\n/)
  })

  it('compare refuses two profiles that measure different quantities', async () => {
    const { code, stderr } = await inProcess('compare', path('old'), path('bytecodes'))
    assert.equal(code, 65)
    assert.match(
      stderr,
      /old\.jfluid contains time and .*bytecodes\.jfluid contains bytecodes \(default blocks\): their costs cannot/,
    )
  })

  it.each([
    ['empty', /nothing to compare: .*empty\.jfluid contains no call of a root/],
    ['regions', /nothing to compare: .*regions\.jfluid contains times of regions, and no tree/],
  ])(
    'compare refuses, as its first or second argument, a file with this content: %s',
    async (name, message) => {
      for (const files of [
        [path('old'), path(name)],
        [path(name), path('old')],
      ]) {
        const { code, stdout, stderr } = await inProcess('compare', ...files)
        assert.deepEqual([code, stdout], [65, ''])
        assert.match(stderr, message)
      }
    },
  )

  it('compare computes the noise from several recordings a side', async () => {
    const recordings = async (side: string, works: readonly number[]) => {
      const paths = works.map((_, i) => path(`${side}${i + 1}`))
      for (const [i, work] of works.entries())
        await writeProfile(profileOf(`main 10x 1000000ns ( work 20x ${work}000ns )`), paths[i]!)
      return paths
    }
    const before = await recordings('a', [3000, 3100, 3200])
    const same = await recordings('b', [3050, 3250])
    const slower = await recordings('c', [6000, 6100])
    const of = (after: readonly string[], ...flags: string[]) =>
      inProcess('compare', '--before', ...before, '--after', ...after, ...flags)
    const noise = await of(same)
    assert.equal(noise.code, 0, noise.stderr)
    assert.match(noise.stdout, /^no method changed by more than the noise; 1 other change: --top 0$/m)
    assert.match(
      noise.stdout,
      /^before +\S+a1\.jfluid, \S+a2\.jfluid, \S+a3\.jfluid: JDK 17\.0\.15, 3 recordings of 10/m,
    )
    const all = await of(same, '--top', '0')
    assert.match(all.stdout, /^ +\+5\.000 µs +310\.0 µs +315\.0 µs +±.* com\.acme\.App\.work$/m)
    const found = await of(slower, '--json', '--fail-if', 'App.work self > +10%')
    assert.equal(found.code, 82)
    assert.deepEqual(problemsOf('compare', found.stdout), [])
    const json = JSON.parse(found.stdout) as {
      methods: { method: string }[]
      noiseKnown: boolean
      noiseFrom: object
    }
    assert.deepEqual(
      json.methods.map(({ method }) => method),
      ['work'],
    )
    assert.equal(json.noiseKnown, true)
    assert.deepEqual(json.noiseFrom, { before: 'recordings', after: 'recordings' })
    assert.match(noise.stdout, /^noise +from recordings$/m)
    assert.equal(noise.stderr, '')
    const hidden = await of(same, '--fail-if', 'App.work self > +1%')
    assert.equal(hidden.code, 0)
    assert.match(
      hidden.stderr,
      /^warning: the condition 'App\.work self > \+1%' cannot see a change of its limit: the noise of com\.acme\.App\.work is ±\d.* %\. Compare more .*\n$/,
    )
  })

  it('compare refuses two time ranges of a file that share a segment after rounding', async () => {
    await writeProfile(recorded(), path('segments'))
    const shared = await inProcess('compare', path('segments'), '--before', '0s-7s', '--after', '7s-')
    assert.deepEqual([shared.code, shared.stdout], [64, ''])
    assert.match(
      shared.stderr,
      /both sides contain 5\.\d* s to 10\.\d* s of \S+segments\.jfluid: time ranges/,
    )
    assert.match(shared.stderr, /\n {2}Use .*: --before 0s-5s --after 10s-\n/)
    const apart = await inProcess('compare', path('segments'), '--before', '0s-5s', '--after', '10s-')
    assert.equal(apart.code, 0, apart.stderr)
  })

  it('compare names the rounded time range of each of several recordings', async () => {
    await writeProfile(recorded(), path('first'))
    await writeProfile(recorded(), path('second'))
    const sides = ['--before', path('first'), path('second'), '0s-7s', '--after', path('new')]
    const { stdout } = await inProcess('compare', ...sides)
    assert.match(
      stdout.replace(/\s+/g, ' '),
      /2 recordings of .*rounded to segments.*; .*rounded to segments/,
    )
  })

  it('compare refuses arguments that do not name two sides', async () => {
    for (const args of [
      [path('old')],
      ['--before', path('old')],
      [path('old'), path('new'), '--after', path('new')],
    ]) {
      const { code, stderr } = await inProcess('compare', ...args)
      assert.equal(code, 64)
      assert.match(stderr, /^jfluid: two sides are needed for a comparison\n/)
    }
  })

  it('the error of compare names the file that does not exist', async () => {
    const { code, stderr } = await inProcess('compare', path('old'), path('none'))
    assert.equal(code, 66)
    assert.match(stderr, /cannot read .*none\.jfluid/)
  })

  it('compare --top requires a whole number', async () => {
    const { code, stderr } = await inProcess('compare', path('old'), path('new'), '--top', 'many')
    assert.equal(code, 64)
    assert.match(stderr, /It is a whole number/)
  })

  it('compare --json prints one object', async () => {
    const { code, stdout } = await inProcess('compare', path('old'), path('new'), '--json')
    assert.equal(code, 0)
    const json = JSON.parse(stdout) as { command: string; growth: number; before: { rootCost: number } }
    assert.equal(json.command, 'compare')
    assert.ok(Math.abs(json.growth - 0.25) < 1e-12)
    assert.equal(json.before.rootCost, 400_000)
  })
})
