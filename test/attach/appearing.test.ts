// Repeated checks for a JVM with --wait-for.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { JvmStarts } from '../../src/attach/appearing.ts'
import { temporaryDirectory } from '../support/java-process.ts'

/** A test that waits for this time has failed. */
const LONG_TIMEOUT_MS = 60_000

let starts: JvmStarts
afterEach(() => starts.close())

function watching(...users: string[]): string {
  const tmp = temporaryDirectory()
  for (const user of users) mkdirSync(join(tmp, `hsperfdata_${user}`))
  starts = new JvmStarts(tmp)
  return tmp
}

it('a new hsperfdata file ends the pause between two searches for JVMs, even if the hsperfdata directory of the user is also new', async () => {
  const tmp = watching('shop')
  await starts.next(LONG_TIMEOUT_MS) // files that existed before the watch must be checked
  for (const pid of ['1', '2']) {
    const next = starts.next(LONG_TIMEOUT_MS)
    writeFileSync(join(tmp, 'hsperfdata_shop', pid), '')
    await next
  }
  const next = starts.next(LONG_TIMEOUT_MS)
  mkdirSync(join(tmp, 'hsperfdata_other'))
  await next
  const last = starts.next(LONG_TIMEOUT_MS)
  writeFileSync(join(tmp, 'hsperfdata_other', '3'), '')
  await last
  expect(starts.watched).toBe(3)
})

it('a file change during a search for JVMs ends the pause after that search at once', async () => {
  const tmp = watching('shop')
  await starts.next(LONG_TIMEOUT_MS)
  const seen = starts.next(LONG_TIMEOUT_MS)
  writeFileSync(join(tmp, 'hsperfdata_shop', '1'), '')
  await seen
  rmSync(join(tmp, 'hsperfdata_shop', '1')) // this change is reported while no `next` is pending
  await new Promise((resolve) => setImmediate(resolve))
  await starts.next(LONG_TIMEOUT_MS)
})

it('the pause between two searches for JVMs ends at a timeout or an abort; changes of files other than hsperfdata do not end the pause', async () => {
  const tmp = watching()
  writeFileSync(join(tmp, 'other'), '')
  const begun = performance.now()
  await starts.next(30)
  expect(performance.now() - begun).toBeGreaterThan(25)
  const stop = new AbortController()
  const next = starts.next(LONG_TIMEOUT_MS, stop.signal)
  stop.abort()
  await next
  await starts.next(LONG_TIMEOUT_MS, stop.signal)
})
