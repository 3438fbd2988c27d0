import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { keepIn, ProfilePlace } from '../../src/commands/place.ts'
import { checkOwnOptions } from '../../src/options/refusals.ts'
import { readProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { profileOf } from '../profile/trees.ts'

const isRoot = process.getuid?.() === 0
const PROFILE = profileOf('main 1x 5ns ( work 2x 7ns )')

let directory: string
let told: string[]
const tell = (line: string): void => {
  told.push(line)
}
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'jfluid-place-test-'))
  told = []
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** A session that counts how often its profile is requested. */
class FakeSession {
  asked = 0
  profile: Profile = PROFILE
  async profileSoFar(why: string): Promise<Profile> {
    this.asked++
    return { ...this.profile, truncated: why }
  }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(5) // limited by the timeout of the test
}

describe('checks of the output path before recording starts', () => {
  it.each([
    ['in a missing directory', 'none/p.jfluid', /no such file or directory/],
    ['a directory', '.', /it is a directory/],
    ['with a name that is too long', `${'x'.repeat(256)}.jfluid`, /the name is too long/],
  ])('output path %s is refused', async (_, name, message) => {
    await assert.rejects(ProfilePlace.at(join(directory, name), {}, tell), {
      name: 'CannotWriteProfile',
      exitCode: 73,
      message,
    })
  })

  it('an output path in a read-only directory is refused before recording starts', async () => {
    chmodSync(directory, 0o500)
    // Root may write to any directory, so a directory that accepts no files is used.
    const place = isRoot ? '/sys' : directory
    await assert.rejects(ProfilePlace.at(join(place, 'p.jfluid'), {}, tell), /permission denied|read-only/)
  })

  it('the check of an output path creates no file and keeps an existing file', async () => {
    writeFileSync(join(directory, 'p.jfluid'), 'before')
    await ProfilePlace.at(join(directory, 'p.jfluid'), {}, tell)
    await ProfilePlace.at(join(directory, 'new.jfluid'), {}, tell)
    assert.deepEqual(readdirSync(directory), ['p.jfluid'])
    assert.equal(statSync(join(directory, 'p.jfluid')).size, 6)
  })

  it('--autosave without a file is refused', () => {
    for (const [command, option] of [
      ['attach', '--out'],
      ['run', '--record'],
    ] as const) {
      assert.throws(() => checkOwnOptions(command, { autosave: 1000 }), {
        name: 'OptionRefused',
        exitCode: 64,
        message: `--autosave needs ${option}, which names the file of the profile`,
      })
    }
    assert.doesNotThrow(() => checkOwnOptions('run', { autosave: '1s', record: 'p.jfluid' }))
  })
})

describe('autosave during a recording', () => {
  it("the autosave file is readable only by its owner, is in the profile's directory, and is marked as truncated", async () => {
    const path = join(directory, 'p.jfluid')
    const place = await ProfilePlace.at(path, { autosave: 1 }, tell)
    place.guard(new FakeSession())
    await until(() => existsSync(`${path}.autosave`))
    const { truncated, merged } = await readProfile(`${path}.autosave`)
    assert.match(String(truncated), /^autosaved during the recording/)
    assert.deepEqual(merged, PROFILE.merged)
    assert.equal(statSync(`${path}.autosave`).mode & 0o777, 0o600)
    assert.equal(existsSync(path), false)

    await place.keep(PROFILE)
    assert.deepEqual(readdirSync(directory), ['p.jfluid'])
    assert.deepEqual(await readProfile(path), PROFILE)
  })

  it('autosave stops when the end of the recording begins', async () => {
    const session = new FakeSession()
    const place = await ProfilePlace.at(join(directory, 'p.jfluid'), { autosave: 1 }, tell)
    place.guard(session)
    await until(() => session.asked > 1)
    await place.release()
    const { asked } = session
    await sleep(20)
    assert.equal(session.asked, asked)
  })

  it('the autosave file is kept if the final profile is empty after a reset', async () => {
    const path = join(directory, 'p.jfluid')
    const place = await ProfilePlace.at(path, { autosave: 5 }, tell)
    place.guard(new FakeSession())
    await until(() => existsSync(`${path}.autosave`))
    await place.keep({ ...PROFILE, events: { ...PROFILE.events, count: 0 } })
    assert.ok((await readProfile(`${path}.autosave`)).events.count > 0)
    assert.deepEqual(told, [
      `the profile is empty; the autosaved profile is kept: jfluid report ${path}.autosave`,
    ])
  })

  it('the autosave file of another recording is kept, with a warning', async () => {
    const path = join(directory, 'p.jfluid')
    writeFileSync(`${path}.autosave`, 'of another')
    const place = await ProfilePlace.at(path, { autosave: 1 }, tell)
    assert.match(
      told[0] ?? '',
      /p\.jfluid\.autosave contains a recording .* jfluid report .*p\.jfluid\.autosave$/,
    )
    place.guard(new FakeSession())
    await until(() => existsSync(`${path}.autosave.2`))
    await place.keep(PROFILE)
    assert.deepEqual(readdirSync(directory).sort(), ['p.jfluid', 'p.jfluid.autosave'])
    assert.equal(statSync(`${path}.autosave`).size, 10)
  })

  it.each(['off', 'a device'])(
    'no autosave file is written if autosave is off or the output is a device: %s',
    async (why) => {
      const session = new FakeSession()
      const path = why === 'off' ? join(directory, 'p.jfluid') : '/dev/null'
      const place = await ProfilePlace.at(path, { autosave: why === 'off' ? 'off' : 1 }, tell)
      place.guard(session)
      await sleep(20)
      assert.equal(session.asked, 0)
      await place.keep(PROFILE)
      assert.deepEqual(readdirSync(directory), why === 'off' ? ['p.jfluid'] : [])
    },
  )

  it('no autosave file is written before the first recorded event', async () => {
    const session = new FakeSession()
    session.profile = { ...PROFILE, events: { count: 0, waitMs: 0 } }
    const place = await ProfilePlace.at(join(directory, 'p.jfluid'), { autosave: 1 }, tell)
    place.guard(session)
    await until(() => session.asked > 1)
    await place.release()
    assert.deepEqual(readdirSync(directory), [])
  })

  it('an unavailable directory of the autosave file is reported once, and autosave resumes when the directory is available again', async () => {
    const folder = join(directory, 'folder')
    mkdirSync(folder)
    const session = new FakeSession()
    const place = await ProfilePlace.at(join(folder, 'p.jfluid'), { autosave: 1 }, tell)
    rmSync(folder, { recursive: true })
    place.guard(session)
    await until(() => session.asked > 3)
    assert.equal(told.length, 1)
    assert.match(told[0] ?? '', /^autosave failed, and recording continues: .*no such file or directory$/)
    mkdirSync(folder)
    await until(() => existsSync(join(folder, 'p.jfluid.autosave')))
    await place.keep(PROFILE)
    assert.deepEqual(readdirSync(folder), ['p.jfluid'])
  })

  it('if an autosave fails, the final profile is still written', async () => {
    const place = await ProfilePlace.at(join(directory, 'p.jfluid'), { autosave: 1 }, tell)
    let asked = 0
    place.guard({
      profileSoFar: async () => {
        asked++
        throw new Error('the recorder has gone')
      },
    })
    await until(() => asked > 1)
    await place.keep(PROFILE)
    assert.deepEqual(told, [])
  })
})

describe('a profile that cannot be written to its path', () => {
  it('a profile that cannot be written to its path is written to another directory, and its autosave file is deleted', async () => {
    const path = join(directory, 'p.jfluid')
    const other = join(directory, 'other')
    mkdirSync(other)
    const place = await ProfilePlace.at(path, { autosave: 1 }, tell)
    place.guard(new FakeSession())
    await until(() => existsSync(`${path}.autosave`))
    mkdirSync(path)
    const problem = await place.keep(PROFILE, ['/proc', other]).catch((error: unknown) => error)
    await assert.rejects(Promise.reject(problem), {
      name: 'ProfilePutElsewhere',
      exitCode: 73,
      message:
        /cannot write .*: it is a directory; the profile is in .*other\/jfluid-profile-\w+\/p\.jfluid$/,
    })
    const [made = ''] = readdirSync(other)
    assert.deepEqual(await readProfile(join(other, made, 'p.jfluid')), PROFILE)
    assert.equal((problem as { path?: string }).path, join(other, made, 'p.jfluid'))
    assert.equal(existsSync(`${path}.autosave`), false)
  })

  it('if a profile cannot be written to its path or to another directory, its autosave file is kept', async () => {
    const path = join(directory, 'p.jfluid')
    const place = await ProfilePlace.at(path, { autosave: 1 }, tell)
    place.guard(new FakeSession())
    await until(() => existsSync(`${path}.autosave`))
    mkdirSync(path)
    await assert.rejects(place.keep(PROFILE, ['/proc']), {
      name: 'ProfileOnlyAutosaved',
      exitCode: 73,
      message:
        /it is a directory; a profile that was autosaved some seconds before the end is in .*p\.jfluid\.autosave$/,
    })
    assert.equal((await readProfile(`${path}.autosave`)).events.count, 2000)
  })

  it('if a profile cannot be written to any directory and no autosave file exists, an error reports the reason', async () => {
    const place = await ProfilePlace.at('/dev/full', {}, tell)
    await assert.rejects(place.keep(PROFILE, ['/proc']), {
      name: 'CannotWriteProfile',
      message: /no space left on the device/,
    })
  })
})

it('the error for a missing profile names its autosave file', async () => {
  const path = join(directory, 'p.jfluid')
  const place = await ProfilePlace.at(path, { autosave: 1 }, tell)
  place.guard(new FakeSession())
  await until(() => existsSync(`${path}.autosave`))
  await place.release()
  await assert.rejects(readProfile(path), {
    name: 'CannotReadProfile',
    hint: new RegExp(`jfluid report ${path}\\.autosave$`),
  })
})

describe('a profile without a given file name', () => {
  it('a profile without a given file name is written to the default directory, or to another directory if the default directory is not writable', async () => {
    const path = await keepIn(directory, 'jfluid-1.jfluid', PROFILE)
    assert.equal(path, join(directory, 'jfluid-1.jfluid'))
    assert.equal((await readProfile(path)).events.count, PROFILE.events.count)

    const elsewhere = await keepIn(join(directory, 'none'), 'jfluid-1.jfluid', PROFILE, [directory])
    assert.match(elsewhere, /jfluid-profile-.*\/jfluid-1\.jfluid$/)
    assert.ok(elsewhere.startsWith(directory))
    assert.equal((await readProfile(elsewhere)).events.count, PROFILE.events.count)

    const nowhere = keepIn(join(directory, 'none'), 'jfluid-1.jfluid', PROFILE, [join(directory, 'none')])
    await assert.rejects(nowhere, { name: 'CannotWriteProfile' })
  })
})
