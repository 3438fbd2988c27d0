// A session on another machine that is steered: what would be lost with a change of its roots comes over to the client.

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
import { OldRootsAgain } from '../../src/session/changed-roots.ts'
import { profileOf } from '../profile/trees.ts'
import { temporaryDirectory } from '../support/java-process.ts'

const PLACE = 'out/jfluid-7.jfluid'
const RECORDED = encodeProfile(profileOf('main 2x 10ns ( work 3x 4ns )'))

/** A client of a session there that cannot record another root. @param before  what it would have lost; null: nothing */
async function failing(before: Buffer | null): Promise<RemoteSession> {
  const path = join(temporaryDirectory('jfluid-steered-'), 's')
  const operations = {
    start: async () => JSON.stringify({ pid: 7, timesRegions: false, matches: [] }),
    ended: () => new Promise<never>(() => {}),
    steer: async (args: unknown) => {
      const { place } = args as { place: string }
      throw new OldRootsAgain(new Error('no room'), before === null ? null : place)
    },
    before: async () => before?.length ?? null,
    piece: async (args: unknown) => {
      const { of, at } = args as { of: number; at: number }
      expect(of).toBe(BEFORE)
      return before!.subarray(at, at + PIECE_BYTES)
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
  return await RemoteSession.start(caller, { root: ['a.B.c'], scheme: 'b', lookAhead: 8 })
}

describe('a root that cannot be recorded there', () => {
  it('what was recorded before is kept here, at the place that is told', async () => {
    const session = await failing(RECORDED)
    const kept: Profile[] = []
    const changed = session.changeRoot('a.B.d', PLACE, async (profile) => {
      kept.push(profile)
      return PLACE
    })
    await expect(changed).rejects.toThrow(
      /^the old roots again, from zero \(before: out\/jfluid-7\.jfluid\): no room$/,
    )
    expect(kept.map(encodeProfile)).toEqual([RECORDED])
  })

  it('where it is elsewhere, or nowhere, that is added', async () => {
    const session = await failing(RECORDED)
    const elsewhere = session.changeRoot('a.B.d', PLACE, async () => 'out/jfluid-7-2.jfluid')
    await expect(elsewhere).rejects.toThrow(/: no room; it is in out\/jfluid-7-2\.jfluid instead$/)
    const nowhere = session.changeRoot('a.B.d', PLACE, async () => {
      throw new Error('the disk is full')
    })
    await expect(nowhere).rejects.toThrow(/: no room; it is lost: the disk is full$/)
  })

  it('where nothing would be lost nothing comes', async () => {
    const session = await failing(null)
    const changed = session.changeRoot('a.B.d', PLACE, async () => {
      throw new Error('there is nothing to keep')
    })
    await expect(changed).rejects.toThrow(/^the old roots again, from zero \(before: lost\): no room$/)
  })
})
