// A hand-written debugger port. It answers the handshake and sends the answers that a test defines.

import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { type CommandPacket, HANDSHAKE, PacketReader } from '../../src/jdwp-client/packet.ts'
import { encodeReply } from './memory-peer.ts'

export type Answer = Uint8Array | { readonly error: number } | 'nothing' | 'hang up'

export interface Peer {
  readonly port: number
  /** Commands received so far, as `set/command`. */
  readonly seen: string[]
}

/** @param greeting sent instead of the handshake */
export async function startPeer(
  answer: (command: CommandPacket, socket: Socket) => Answer,
  greeting: string = HANDSHAKE,
): Promise<Peer> {
  const seen: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    const reader = new PacketReader()
    let greeted = false
    socket.on('data', (chunk: Buffer) => {
      if (!greeted) {
        greeted = true
        socket.write(greeting)
        return
      }
      for (const packet of reader.push(chunk)) {
        if (packet.kind === 'reply') continue
        seen.push(`${packet.set}/${packet.command}`)
        const a = answer(packet, socket)
        if (a === 'hang up') socket.destroy()
        else if (a instanceof Uint8Array) socket.write(encodeReply(packet.id, 0, a))
        else if (a !== 'nothing') socket.write(encodeReply(packet.id, a.error, new Uint8Array()))
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return { port: address.port, seen }
}
