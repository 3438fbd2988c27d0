// A user without a home directory: HOME is unset and passwd has no entry, as in a container with an arbitrary user id.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { homeDirectory } from '../../src/base/home.ts'
import { fileKeeper } from '../../src/commands/keeper.ts'
import { ProfilePlace } from '../../src/commands/place.ts'
import { readProfile } from '../../src/profile/file.ts'
import { profileOf } from '../profile/trees.ts'

vi.mock('node:os', async (actual) => ({
  ...(await actual<typeof import('node:os')>()),
  homedir: () => {
    throw new Error('A system error occurred: uv_os_homedir returned ENOENT (no such file or directory)')
  },
}))

const PROFILE = profileOf('main 1x 5ns ( work 2x 7ns )')

function temporary(): string {
  const dir = mkdtempSync(join(tmpdir(), 'jfluid-no-home-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

it('homeDirectory returns null if HOME is unset and the user has no passwd entry', () =>
  expect(homeDirectory()).toBeNull())

it('profiles can be saved by a user without a home directory', async () => {
  const path = join(temporary(), 'p.jfluid')
  const place = await ProfilePlace.at(path, {}, () => {})
  await place.keep(PROFILE)
  expect((await readProfile(path)).events).toEqual(PROFILE.events)
})

it('a path that begins with ~ is not expanded for a user without a home directory', () => {
  expect(fileKeeper(PROFILE, 'p.jfluid').exists('~/p.jfluid')).toBe(false)
})
