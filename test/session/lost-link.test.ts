// Whether a lost connection means that the JVM has ended.

import { expect, it } from 'vitest'
import { readTargetProcess } from '../../src/attach/target-process.ts'
import { whyLinkWasLost } from '../../src/session/target-waits.ts'
import { LINK_CLOSED } from '../../src/wire/link.ts'

it('a closed connection to a remote JVM means that the JVM has ended, but a network error does not mean that the JVM has ended', async () => {
  expect(await whyLinkWasLost(undefined, LINK_CLOSED)).toBe(null)
  expect(await whyLinkWasLost(undefined, 'read ECONNRESET')).toBe(null)
  expect(await whyLinkWasLost(undefined, 'read ETIMEDOUT')).toBe(
    'the connection to its agent was lost (read ETIMEDOUT)',
  )
})

it('a closed connection to a local JVM means that the JVM has ended only if its process has ended', async () => {
  const lives = readTargetProcess(process.pid)
  expect(await whyLinkWasLost(lives, LINK_CLOSED)).toBe(
    `the connection to its agent was lost (${LINK_CLOSED})`,
  )
})
