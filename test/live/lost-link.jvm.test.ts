// A connection is lost while the JVM continues. The message must report a lost connection, and not the end of the JVM.

import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { attachDoor, type OpenDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'
import { threadNames, until } from './remains.ts'

const socketOf = ({ link }: OpenDoor): Socket => (link as unknown as { socket: Socket }).socket

forNewestJdk((jdk) => {
  it('a session that loses its connection ends by itself, and its recorded data are kept', async () => {
    const classes = await compileFixture(jdk, 'Ticker')
    const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Ticker', '1'])
    const options = sessionOptions({ root: ['fix.Ticker.work'], scheme: 'b' })
    const start = async () => {
      const door = await attachDoor(java.pid)
      const session = await Session.start(door, options)
      await until(async () => (await session.status()).events > 0)
      return { session, socket: socketOf(door) }
    }
    const kept = async (session: Session) => {
      const { methodNames, truncated, warnings } = await session.profile()
      expect([methodNames.length > 0, truncated !== false]).toEqual([true, true])
      await session.close()
      // The agent has detected the end of the connection, so the next session does not wait.
      await until(async () => probed(await liveCode(jvm, 'Lfix/')).length === 0)
      await until(async () => !(await threadNames(java.pid)).some((name) => /jfluid/.test(name)))
      return warnings
    }
    const lost = 'the connection to its agent was lost (the agent closed it)'

    const recording = await start()
    recording.socket.destroy()
    expect(await recording.session.ended).toBe(lost)
    expect(await recording.session.detach()).toBeNull()
    expect(recording.session.ending).toMatchObject({ how: 'by itself', reason: lost, exitCode: 75 })
    expect(await kept(recording.session)).toContain(`the session ended unexpectedly: ${lost}`)

    // If the agent has reported a reason before the loss, this reason is shown, even if the client is already detaching.
    const leaving = await start()
    const left = leaving.session.detach()
    leaving.socket.emit('data', encodeFrame([0, 'ended', 'the JVM has no free heap memory']))
    leaving.socket.destroy()
    expect(await left).toBeNull()
    expect(leaving.session.ending).toMatchObject({ reason: 'the JVM has no free heap memory' })
    expect(await kept(leaving.session)).toContain(
      'the session ended unexpectedly: the JVM has no free heap memory',
    )
    await jvm.dispose()
  })
})
