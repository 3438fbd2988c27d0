import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { describe, it } from 'vitest'
import { exportProfile, formatNamed, formats, UnknownFormat } from '../../src/export/formats.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { chain, profileOf, profileOfTree } from '../profile/trees.ts'

/** What is written for a profile. */
async function exported(profile: Profile, format: string, threads = false): Promise<string> {
  let text = ''
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString()
      done()
    },
  })
  assert.equal(await exportProfile(profile, formatNamed(format), out, { threads }), true)
  return text
}

describe('export formats', () => {
  it('are found by name, and have an extension each', () => {
    assert.equal(formatNamed('JSON').name, 'json')
    assert.equal(new Set(formats.map((format) => format.extension)).size, formats.length)
  })

  it('an unknown one: exit 64, and the known ones', () => {
    assert.throws(
      () => formatNamed('svg\x1b'),
      (error) =>
        error instanceof UnknownFormat &&
        error.exitCode === 64 &&
        error.hint.includes('json, collapsed') &&
        error.message === 'unknown export format "svg\\u001b"',
    )
  })

  it('of an empty profile are files like any other', async () => {
    assert.equal(await exported(profileOf(''), 'collapsed'), '')
    assert.deepEqual(JSON.parse(await exported(profileOf(''), 'json')).merged, [])
  })
})

describe('collapsed stacks', () => {
  const profile = profileOf('main 1x 10.4ns ( work 2x 54.5ns ( main 1x 0ns ( leaf 1x 3ns ) ) other 1x -3ns )')

  it('are a line a context, with self time rounded; none for zero and below', async () => {
    assert.equal(
      await exported(profile, 'collapsed'),
      `com.acme.App.main 10
com.acme.App.main;com.acme.App.work 55
com.acme.App.main;com.acme.App.work;com.acme.App.main;com.acme.App.leaf 3
`,
    )
  })

  it('start with the thread when asked', async () => {
    const [first] = (await exported(profile, 'collapsed', true)).split('\n')
    assert.equal(first, '[worker-1 id=21];com.acme.App.main 10')
  })

  it('keep separators and line ends out of frames', async () => {
    const odd = profileOf('main 1x 1ns', {
      methodNames: [
        { class: '', method: '', descriptor: '', loader: '' },
        { class: 'a;b', method: 'c\nd', descriptor: '()V', loader: 'app' },
      ],
    })
    assert.equal(await exported(odd, 'collapsed'), 'a:b.c?d 1\n')
  })

  it('of a recursion 3,000 deep have lines of bounded length', async () => {
    const deep = profileOfTree(chain(3000), profileOf('deep 1x 1ns').methodNames)
    const lines = (await exported(deep, 'collapsed')).trimEnd().split('\n')
    assert.equal(lines.length, 3000)
    const last = lines[2999]!.split(';')
    assert.equal(last.length, 513)
    assert.equal(last[256], '[2488 frames]')
  })
})
