// The connection against a peer that a test plays: what is answered, what is not, and how it ends.

import { describe, expect, it } from 'vitest'
import { JdwpConnection, JdwpLost, jdwpErrorName, NoDebuggerPort } from '../../src/jdwp-client/connection.ts'
import { encodeCommand, encodeReply, MalformedJdwp } from '../../src/jdwp-client/packet.ts'
import { startPeer } from './peer.ts'

describe('replies', () => {
  it('find their commands in whatever order they come', async () => {
    const held: { id: number; data: Buffer }[] = []
    const peer = await startPeer((command, socket) => {
      held.push(command)
      if (held.length === 3) for (const c of held.reverse()) socket.write(encodeReply(c.id, 0, c.data))
      return 'nothing'
    })
    await using connection = await JdwpConnection.open(peer.port)
    const values = await Promise.all(
      ['a', 'b', 'c'].map(async (text) => {
        const reply = await connection.command(1, 1, Buffer.from(text))
        return reply.ok ? reply.value.toString() : reply.error
      }),
    )
    expect(values).toEqual(['a', 'b', 'c'])
  })

  it('with an error are values, and the connection goes on', async () => {
    const peer = await startPeer((c) => (c.command === 1 ? { error: 21 } : Buffer.from('fine')))
    await using connection = await JdwpConnection.open(peer.port)
    const refused = await connection.command(2, 1)
    expect(refused).toEqual({ ok: false, error: 21 })
    expect(refused.ok ? '' : jdwpErrorName(refused.error)).toBe('INVALID_CLASS')
    expect((await connection.command(2, 2)).ok).toBe(true)
  })

  it('are not mistaken for events of the JVM', async () => {
    const peer = await startPeer((c, socket) => {
      socket.write(encodeCommand(c.id, 64, 100, Buffer.from('VM start')))
      return Buffer.from('the reply')
    })
    await using connection = await JdwpConnection.open(peer.port)
    expect(await connection.command(1, 1)).toEqual({ ok: true, value: Buffer.from('the reply') })
  })
})

describe('a connection', () => {
  it('that the JVM ends fails all that is asked of it', async () => {
    const peer = await startPeer(() => 'hang up')
    await using connection = await JdwpConnection.open(peer.port)
    await expect(connection.command(1, 1)).rejects.toThrow(JdwpLost)
    await expect(connection.command(1, 1)).rejects.toThrow(JdwpLost)
  })

  it('ends at bytes that are no packet', async () => {
    const peer = await startPeer((_, socket) => {
      socket.write(Buffer.alloc(16))
      return 'nothing'
    })
    await using connection = await JdwpConnection.open(peer.port)
    await expect(connection.command(1, 1)).rejects.toThrow(MalformedJdwp)
  })

  it('is not made where something else answers, or nothing does', async () => {
    const web = await startPeer(() => 'nothing', 'HTTP/1.1 400 Bad Request')
    await expect(JdwpConnection.open(web.port)).rejects.toThrow(/does not speak JDWP/)
    const silent = await startPeer(() => 'nothing', '')
    await expect(JdwpConnection.open(silent.port, '127.0.0.1', 50)).rejects.toThrow(/no handshake within/)
    await expect(JdwpConnection.open(1)).rejects.toThrow(NoDebuggerPort)
  })
})
