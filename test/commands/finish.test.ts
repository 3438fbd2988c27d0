import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { finish } from '../../src/commands/finish.ts'
import type { Session } from '../../src/session/session.ts'

/** @returns a session with these results of detach() and profile(), and a log of the executed steps */
function ending(
  detach: () => Promise<null>,
  profile: () => Promise<never>,
): { session: Session; done: string[] } {
  const done: string[] = []
  const session = {
    detach: async () => {
      await turn()
      done.push('detached')
      return await detach()
    },
    profile,
    close: async () => void done.push('closed'),
  }
  return { session: session as unknown as Session, done }
}

describe('the end of a session', () => {
  const noProfile = () => Promise.reject(new Error('the recording thread ran out of memory'))

  it('jfluid waits for the detach at the end of a session even if there is no profile', async () => {
    const { session, done } = ending(() => Promise.resolve(null), noProfile)
    await expect(finish(session)).rejects.toThrow('the recording thread ran out of memory')
    expect(done).toEqual(['detached', 'closed'])
  })

  it('at the end of a session, an error of the detach is reported instead of a missing profile', async () => {
    const { session, done } = ending(() => Promise.reject(new Error('the link is lost')), noProfile)
    await expect(finish(session)).rejects.toThrow('the link is lost')
    expect(done).toEqual(['detached', 'closed'])
  })
})
