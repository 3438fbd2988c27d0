// The command polls a recording session for messages, with one request at a time.

import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { tellMessages } from '../../src/commands/finish.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('a session that does not answer for a minute receives only one status request', async () => {
  let asked = 0
  let fail: () => void = () => {}
  const status = () => {
    asked++
    return new Promise<never>((_, reject) => {
      fail = () => reject(new Error('nothing comes through'))
    })
  }
  const quiet = tellMessages({ status }, () => {})
  await vi.advanceTimersByTimeAsync(60_000)
  expect(asked).toBe(1)
  fail()
  await vi.advanceTimersByTimeAsync(1000)
  expect(asked).toBe(2)
  quiet()
})
