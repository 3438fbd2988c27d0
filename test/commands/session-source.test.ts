import { expect, test, vi } from 'vitest'
import { doLessInBackground } from '../../src/base/less-background-work.ts'
import { sessionSource } from '../../src/commands/session-source.ts'
import type { Session } from '../../src/session/session.ts'

vi.mock('../../src/base/less-background-work.ts', () => ({ doLessInBackground: vi.fn() }))

test.each([
  [true, 1],
  [false, 0],
])('V8 does less in the background before the detach of the last session: %s', async (isLast, calls) => {
  const end = new Error('the detach begins')
  const session = {
    ended: new Promise(() => {}),
    detach: () => {
      expect(doLessInBackground).toHaveBeenCalledTimes(calls)
      return Promise.reject(end)
    },
    profile: () => Promise.reject(end),
    close: async () => {},
  }
  const source = sessionSource(session as unknown as Session, isLast)
  expect(doLessInBackground).not.toHaveBeenCalled()
  await expect(source.finish(() => {})).rejects.toBe(end)
  expect(doLessInBackground).toHaveBeenCalledTimes(calls)
  vi.clearAllMocks()
})
