// Profiles that a store has not received, with record --repeat.

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { ProfileNotPushed } from '../../src/commands/destination.ts'
import { MAX_UNPUSHED, UnpushedProfiles } from '../../src/commands/unpushed.ts'
import { writeProfile } from '../../src/profile/file.ts'
import { PushUnavailable } from '../../src/push/errors.ts'
import { credentials, parseStore } from '../../src/push/store.ts'
import { profileOf } from '../profile/trees.ts'
import { startStore } from '../push/stores.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { neverStops } from './never-stops.ts'

const PROFILE = profileOf('main 1x 10ns ( work 2x 54ns )')
let directory: string
beforeEach(() => {
  directory = temporaryDirectory()
})

/** Returns a list with the files a, b and c, which were not pushed because the store was not reachable. */
async function listOf(url: string, names = ['a', 'b', 'c']) {
  const to = { store: parseStore(url), labels: new Map(), credentials: credentials({}) }
  const told: string[] = []
  const unpushed = new UnpushedProfiles(false, (line) => told.push(line.replaceAll(`${directory}/`, '')))
  for (const name of names) {
    const path = join(directory, name)
    await writeProfile(PROFILE, path)
    await unpushed.add(new ProfileNotPushed(new PushUnavailable(url, 'HTTP 503', true), path, to))
  }
  return { unpushed, to, told }
}

it('a profile that the store refuses, and a removed file, do not prevent the push of the others', async () => {
  const store = await startStore((response, nth) => {
    response.statusCode = nth === 1 ? 422 : 200
    response.end()
  })
  const { unpushed, to, told } = await listOf(store.url)
  rmSync(join(directory, 'b'))
  expect(await unpushed.pushAgain(to, neverStops)).toBe(1)
  expect(told).toEqual([
    expect.stringMatching(/refused the profile.*; a is not pushed again$/),
    expect.stringMatching(/cannot read b.*; b is not pushed again$/),
    'pushed c, which was not pushed before',
  ])
  expect([existsSync(join(directory, 'a')), existsSync(join(directory, 'c'))]).toEqual([true, false])
  expect(await unpushed.pushAgain(to, neverStops)).toBe(0)
  expect(store.received.length).toBe(2)
  expect(unpushed.lastProblem?.path).toBe(join(directory, 'b')) // the exit code is still that of a failed push
})

it('no further profile is pushed while the store asks for a later push, and all of them after it', async () => {
  const store = await startStore((response, nth) => {
    response.statusCode = nth === 1 ? 503 : 200
    response.setHeader('Retry-After', '60').end()
  })
  const { unpushed, to, told } = await listOf(store.url)
  expect(await unpushed.pushAgain(to, neverStops)).toBe(0)
  expect(told).toEqual([expect.stringMatching(/HTTP 503.*; a is kept$/)])
  expect(await unpushed.pushAgain(to, neverStops)).toBe(3)
  expect(unpushed.lastProblem).toBe(undefined)
})

it('the oldest file is removed if more than 12 profiles were not pushed', async () => {
  const names = Array.from({ length: MAX_UNPUSHED + 1 }, (_, i) => `p${i}`)
  const { told } = await listOf('http://127.0.0.1:1', names)
  expect(told).toEqual(['removed p0: at most 12 profiles that were not pushed are kept'])
  expect(names.filter((it) => existsSync(join(directory, it)))).toEqual(names.slice(1))
})
