// A failed change of roots in proxy and client: the earlier recording is transferred completely.

import { expect, it, vi } from 'vitest'
import { HostedSession } from '../../src/commands/hosted-session.ts'
import { RemoteSession } from '../../src/commands/remote-session.ts'
import { encodeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import type { Caller } from '../../src/remote/caller.ts'
import { errorFrame, ProxySays } from '../../src/remote/errors.ts'
import { PIECE_BYTES } from '../../src/remote/protocol.ts'
import { type KeepProfile, OldRootsAgain } from '../../src/session/changed-roots.ts'
import { profileOf } from '../profile/trees.ts'

const { there } = vi.hoisted(() => ({ there: { session: {} } }))
vi.mock('../../src/session/session.ts', () => ({ Session: { start: async () => there.session } }))
vi.mock('../../src/session/doors/door.ts', () => ({ attachDoor: async () => ({}) }))
vi.mock('../../src/commands/target.ts', () => ({ targetFromAfar: async () => 7 }))

/** Connects a client and a proxy in one process, without a network connection. */
async function hosted(session: object): Promise<RemoteSession> {
  there.session = {
    pid: 7,
    timesRegions: false,
    values: null,
    ended: new Promise(() => {}),
    filterReport: () => [],
    rootReport: () => [],
    ...session,
  }
  const { operations } = new HostedSession()
  const ask = async (operation: string, args: unknown = null): Promise<unknown> => {
    try {
      return await operations[operation]!(args as never)
    } catch (error) {
      throw new ProxySays(errorFrame(error as Error))
    }
  }
  const caller = { where: 'test://there', lostForMs: null, problem: null, ask } as unknown as Caller
  await RemoteSession.find(caller, '7')
  return await RemoteSession.start(caller, 7, { root: ['a.B.c'], scheme: 'b' })
}

/** A profile that is larger than one piece of a transfer. */
const LARGE = profileOf(
  `main 2x 10ns ( ${Array.from({ length: 2000 }, (_, i) => `work${'-'.repeat(50)}${i} ${i + 1}x ${7 * i + 3}ns`).join(' ')} )`,
)

it('the client saves the recording of a failed change of roots at the path named by the proxy', async () => {
  expect(encodeProfile(LARGE).length).toBeGreaterThan(PIECE_BYTES)
  let isLost = true
  const session = await hosted({
    changeRoots: async (_: unknown, __: unknown, keep: KeepProfile) => {
      throw new OldRootsAgain(new Error('no room'), isLost ? await keep(LARGE) : null)
    },
  })
  const kept: Profile[] = []
  const change = (): Promise<string> =>
    session.changeRoot('a.B.d', 'out/p.jfluid', async (profile) => {
      kept.push(profile)
      return 'out/p.jfluid'
    })
  await expect(change()).rejects.toThrow(
    /^cannot record the new roots: no room; .* from zero \(earlier profile: out\/p\.jfluid\)$/,
  )
  expect(kept.map(encodeProfile)).toEqual([encodeProfile(LARGE)])
  // A change of roots that loses no data does not save the profile again.
  isLost = false
  await expect(change()).rejects.toThrow(/no room; .* \(earlier profile: lost\)$/)
  expect(kept).toHaveLength(1)
})

it("requests to include or exclude code are executed by the proxy, and the proxy's messages are shown", async () => {
  const done: unknown[] = []
  const steered = (what: string) => async (text: string) => {
    done.push([what, text])
    return { methods: new Set([1, 2]), below: new Set([3]) }
  }
  const session = await hosted({
    byHand: [],
    exclude: steered('exclude'),
    add: steered('add'),
    takeBack: async (text: string) => (await steered('takeBack')(text)).methods.size,
    changeRoots: async ([root]: readonly { text: string }[]) => void done.push(['root', root!.text]),
  })
  expect(await session.steer('leaveOut', 'a.B')).toBe(
    'excluded: 2 methods of a.B; also 1 method that only it called',
  )
  expect(await session.steer('add', 'a.C')).toBe('added: 2 methods of a.C')
  expect(await session.steer('takeBack', 'a.B')).toBe('2 methods have probes again: a.B')
  expect(await session.steer('changeRoot', 'a.B.d')).toBe('recording restarted from zero: a.B.d')
  expect(done).toEqual([
    ['exclude', 'a.B'],
    ['add', 'a.C'],
    ['takeBack', 'a.B'],
    ['root', 'a.B.d'],
  ])
  await expect(session.steer('all' as 'add', 'x')).rejects.toThrow(/an unknown change all/)
})

it('the client shows the cost of exact times before it requests them from the proxy', async () => {
  const asked: string[] = []
  const session = await hosted({
    pauseToTime: async (text: string) => {
      asked.push(`cost ${text}`)
      return 38.2
    },
    time: async (text: string) => {
      asked.push(`time ${text}`)
      return 1
    },
  })
  expect(await session.steer('costToTime', 'a.B.d')).toBe('stops the JVM for about 38 ms')
  expect(await session.steer('time', 'a.B.d')).toBe(
    'timed from now on, with rows from zero: 1 method of a.B.d',
  )
  expect(asked).toEqual(['cost a.B.d', 'time a.B.d'])
})
