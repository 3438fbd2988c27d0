// A session in a proxy whose client asks for what nobody can do.

import { expect, it } from 'vitest'
import { HostedSession } from '../../src/commands/hosted-session.ts'

it.each([null, {}, { flags: null }, { flags: { root: ['a.B.c'] } }])(
  'one that was to start with %j, and did not, can be closed',
  async (args) => {
    const session = new HostedSession()
    await expect(session.operations.start!(args)).rejects.toThrow()
    await session.close()
  },
)
