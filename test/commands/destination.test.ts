// Destination of a recorded profile: what is pushed, and what stays in the file.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Destination, ProfileNotPushed } from '../../src/commands/destination.ts'
import { UnpushedProfiles } from '../../src/commands/unpushed.ts'
import { readProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { valueRow } from '../../src/profile/values.ts'
import { profileOf } from '../profile/trees.ts'
import { ingested, startStore } from '../push/stores.ts'
import { neverStops } from './never-stops.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'jfluid-destination-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Returns a profile with a row for each value of --by. */
function valued(...values: readonly string[]): Profile {
  const plain = profileOf(`main 4x 0ns ( ${values.map((_, i) => `v${i} 2x 10ns`).join(' ')} )`)
  const methodNames = plain.methodNames.map((name) =>
    /^v\d$/.test(name.method)
      ? { class: '', method: valueRow(values[Number(name.method.slice(1))]!), descriptor: '', loader: '' }
      : name,
  )
  const events = { count: 8, waitMs: 0 }
  return { ...plain, events, methodNames, values: { show: [], by: 'arg0.uri', dropped: 0 } }
}

async function destination(url: string, redact: boolean) {
  const told: string[] = []
  const flags = { out: join(directory, 'p.jfluid'), push: url, autosave: 'off' as const, redact }
  const to = Destination.check(flags)
  return { to: await Destination.of(flags, to, 4711, (line) => told.push(line)), told, flags }
}

const rowsOf = async (request: Parameters<typeof ingested>[0]) =>
  (await ingested(request)).samples.map(({ stack }) => stack.at(-1)!).filter((row) => row.startsWith('by='))

it('record --push --redact pushes numbers in place of values, and the file keeps the values', async () => {
  const store = await startStore()
  const { to, told } = await destination(store.url, true)
  expect(await to.put(valued('/orders/17', '/pay'), () => {}, neverStops)).toMatchObject({ problem: null })
  const rows = await rowsOf(store.received[0]!)
  expect(rows).toEqual([expect.stringMatching(/^by=#\d+$/), expect.stringMatching(/^by=#\d+$/)])
  expect(told).toEqual([])
  const { methodNames } = await readProfile(join(directory, 'p.jfluid'))
  expect(methodNames.map(({ method }) => method)).toContain('by=/orders/17')
  // A later session of --repeat has a destination of its own.
  await (await destination(store.url, true)).to.put(valued('/pay', '/orders/17'), () => {}, neverStops)
  expect(await rowsOf(store.received[1]!)).toEqual(rows.toReversed())
})

it('record --push says that it sends values', async () => {
  const store = await startStore()
  const { to, told } = await destination(store.url, false)
  await to.put(valued('/orders/17', '/pay'), () => {}, neverStops)
  expect(await rowsOf(store.received[0]!)).toEqual(['by=/orders/17', 'by=/pay'])
  expect(told).toEqual(['the profile contains values of the program: by arg0.uri; --redact removes them'])
})

it('a profile that was not pushed is pushed later without its values', async () => {
  const store = await startStore((response, nth) => {
    response.statusCode = nth <= 2 ? 503 : 200
    response.end()
  })
  const { to, flags } = await destination(store.url, true)
  const { problem } = await to.put(valued('/orders/17', '/pay'), () => {}, neverStops)
  expect(problem).toBeInstanceOf(ProfileNotPushed)
  expect((problem as ProfileNotPushed).hint).toMatch(/ --redact$/)
  const unpushed = new UnpushedProfiles(true, () => {})
  await unpushed.add(problem as ProfileNotPushed)
  expect(await unpushed.pushAgain(Destination.check(flags)!, neverStops)).toBe(1)
  const rows = await rowsOf(store.received.at(-1)!)
  expect(rows).toHaveLength(2)
  for (const row of rows) expect(row).toMatch(/^by=#\d+$/)
})
