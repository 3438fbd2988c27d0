// A remote session whose roots are changed: data that would be lost are transferred to the client.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RemoteSession } from '../../src/commands/remote-session.ts'
import { encodeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { Caller } from '../../src/remote/caller.ts'
import { Host } from '../../src/remote/host.ts'
import { BEFORE, PIECE_BYTES } from '../../src/remote/protocol.ts'
import { CannotChangeRoots, type KeepProfile, OldRootsAgain } from '../../src/session/changed-roots.ts'
import { profileOf } from '../profile/trees.ts'
import { temporaryDirectory } from '../support/java-process.ts'

const PLACE = 'out/jfluid-7.jfluid'
const RECORDED = encodeProfile(profileOf('main 2x 10ns ( work 3x 4ns )'))

/**
 * Returns a client of a remote session that cannot record another root.
 *
 * @param before  data that would be lost; null for none
 * @param problem  returns the error for these data and this place
 */
async function failing(
  before: Buffer | null,
  problem = (place: string | null): Error => new OldRootsAgain(new Error('no room'), place),
): Promise<RemoteSession> {
  let following = Buffer.alloc(0)
  const path = join(temporaryDirectory('jfluid-steered-'), 's')
  const operations = {
    start: async () => JSON.stringify({ pid: 7, timesRegions: false, matches: [] }),
    ended: () => new Promise<never>(() => {}),
    steer: async (args: unknown) => {
      const { place } = args as { place: string }
      const error = problem(before === null ? null : place)
      const warnings = error instanceof OldRootsAgain ? [error.warning] : []
      following = Buffer.from(encodeProfile({ ...profileOf('main 1x 10ns'), warnings }))
      throw error
    },
    'so far': async () => [1, following.length],
    before: async () => before?.length ?? null,
    piece: async (args: unknown) => {
      const { of, at } = args as { of: number; at: number }
      return (of === BEFORE ? before! : following).subarray(at, at + PIECE_BYTES)
    },
  }
  const session = { operations, close: async () => {}, end: async () => false }
  const host = new Host({ version: '1.2.3', graceMs: 30_000, onProblem: () => {}, open: () => session })
  const server = createServer((socket) => host.welcome(socket))
  server.listen(path)
  await once(server, 'listening')
  const way = {
    where: 'test://there',
    connect: async () => {
      const socket = connect(path)
      await once(socket, 'connect')
      return socket
    },
    problem: () => Promise.resolve(null),
  }
  const caller = await Caller.connect(way, '1.2.3')
  onTestFinished(async () => {
    caller.close()
    server.close()
    await host.end('the end of its test')
  })
  return await RemoteSession.start(caller, 7, { root: ['a.B.c'], scheme: 'b' })
}

describe('a change of root that fails in the proxy', () => {
  it('after a failed change of root, the client saves the earlier recording at the reported path', async () => {
    const session = await failing(RECORDED)
    const kept: Profile[] = []
    const changed = session.changeRoot('a.B.d', PLACE, async (profile) => {
      kept.push(profile)
      return PLACE
    })
    await expect(changed).rejects.toThrow(
      /^cannot record the new roots: no room; .* from zero \(earlier profile: out\/jfluid-7\.jfluid\)$/,
    )
    expect(kept.map(encodeProfile)).toEqual([RECORDED])
  })

  it('the error message names the path if the client used another path, and names no path if no file was written', async () => {
    const session = await failing(RECORDED)
    const elsewhere = session.changeRoot('a.B.d', PLACE, async () => 'out/jfluid-7-2.jfluid')
    await expect(elsewhere).rejects.toThrow(/: no room; .*; it is in out\/jfluid-7-2\.jfluid instead$/)
    const nowhere = session.changeRoot('a.B.d', PLACE, async () => {
      throw new Error('the disk is full')
    })
    await expect(nowhere).rejects.toThrow(/: no room; .*; it is lost: the disk is full$/)
  })

  it('no recording is transferred if no data would be lost', async () => {
    const session = await failing(null)
    const changed = session.changeRoot('a.B.d', PLACE, async () => {
      throw new Error('there is nothing to keep')
    })
    await expect(changed).rejects.toThrow(
      /^cannot record the new roots: no room; .* from zero \(earlier profile: lost\)$/,
    )
  })

  it('the client requests no recording if the proxy could not begin the change of root', async () => {
    const session = await failing(RECORDED, () => new CannotChangeRoots('no room'))
    const changed = session.changeRoot('a.B.d', PLACE, async () => {
      throw new Error('there is nothing to keep')
    })
    await expect(changed).rejects.toThrow(/^cannot change the roots: no room$/)
  })

  const KEPT: readonly (readonly [string, KeepProfile, string])[] = [
    [
      'elsewhere',
      async () => 'tmp/jfluid-7.jfluid',
      'the earlier recording is in tmp/jfluid-7.jfluid (no room)',
    ],
    ['nowhere', () => Promise.reject(new Error('full')), 'the earlier recording is lost (no room)'],
    ['there', async () => PLACE, `the earlier recording is in ${PLACE} (no room)`],
  ]
  it.each(KEPT)(
    'after a failed change of roots, a warning in the profile says where the earlier recording is: %s',
    async (_, keep, words) => {
      const session = await failing(RECORDED)
      await expect(session.changeRoot('a.B.d', PLACE, keep)).rejects.toThrow(/no room/)
      const { warnings } = await session.profileSoFar('a test')
      expect(warnings).toEqual([expect.stringContaining(words)])
    },
  )
})
