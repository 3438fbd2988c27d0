// jfluid compare on the command line: files, exit codes and refused input.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { beforeAll, describe, it } from 'vitest'
import { writeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { REGION } from '../profile/region.ts'
import { profileOf } from '../profile/trees.ts'
import { inProcess } from '../support/in-process.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'

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

describe('jfluid compare', () => {
  it('compare prints a page with the changes', async () => {
    const { code, stdout, stderr } = await inProcess('compare', path('old'), path('new'))
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^per call +400\.0 µs before, 500\.0 µs after: \+25\.0 %$/m)
    assert.match(stdout, /\+100\.0 µs +300\.0 µs +400\.0 µs +\+33\.3 +2 +2 +com\.acme\.App\.work/)
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

  it('compare refuses two profiles with different measures', async () => {
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
  ])('compare refuses a profile with this content as first or second argument: %s', async (name, message) => {
    for (const files of [
      [path('old'), path(name)],
      [path(name), path('old')],
    ]) {
      const { code, stdout, stderr } = await inProcess('compare', ...files)
      assert.deepEqual([code, stdout], [65, ''])
      assert.match(stderr, message)
    }
  })

  it('compare names a file that does not exist', async () => {
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
    const json = JSON.parse(stdout) as { format: string; growth: number; before: { rootCost: number } }
    assert.equal(json.format, 'jfluid-compare')
    assert.ok(Math.abs(json.growth - 0.25) < 1e-12)
    assert.equal(json.before.rootCost, 400_000)
  })
})
