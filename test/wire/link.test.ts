import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { debug } from '../../src/base/debug.ts'
import { encodeFrame, FrameReader } from '../../src/wire/frame.ts'
import { AgentRefused, type Link, LinkLost, LinkServer, newToken } from '../../src/wire/link.ts'

describe('the link to the agent', () => {
  let dir: string
  let peer: Socket
  let link: Link
  let asked: (message: unknown[]) => void

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'jfluid-link-'))
    const token = newToken()
    const server = await LinkServer.listen(join(dir, 'link'), token)
    peer = connect(join(dir, 'link'))
    peer.write(token)
    link = (await server.accept(5000))!
    const reader = new FrameReader()
    peer.on('data', (chunk: Buffer) => {
      for (const message of reader.push(chunk)) asked(message)
    })
  })

  afterEach(() => {
    peer.destroy()
    link.close()
    rmSync(dir, { recursive: true, force: true })
  })

  it('each request gets its reply, in any order of replies', async () => {
    const held: unknown[][] = []
    asked = (message) => {
      held.push(message)
      if (held.length < 2) return
      for (const [id, op] of held.reverse()) peer.write(encodeFrame([id, true, `${op}!`]))
    }
    expect(await Promise.all([link.request('a'), link.request('b')])).toEqual(['a!', 'b!'])
  })

  it('the debug log contains the size, reply time and fields of each message', async () => {
    const told: string[] = []
    debug.wire = (text) => told.push(text)
    onTestFinished(() => {
      delete debug.wire
    })
    asked = ([id, op]) => {
      if (op === 'classBytes') peer.write(encodeFrame([id, true, [new Uint8Array(40)]]))
      if (op === 'configure') peer.write(encodeFrame([id, false, 'no room']))
      if (op === 'reflected') peer.write(encodeFrame([0, 'first', 4711]))
    }
    const first = new Promise<void>((resolve) => link.listen(() => resolve()))
    await link.request('classBytes', [7])
    await expect(link.request('configure', 'token=secret', 3)).rejects.toThrow('no room')
    link.send('reflected', 5)
    await first
    expect(told.map((it) => it.replace(/after [\d.]+ ms/, 'after a while'))).toEqual([
      '→ #1 classBytes, 19 bytes: [7]',
      '← #1 after a while: classBytes, 50 bytes: [(40 bytes)]',
      '→ #2 configure, 30 bytes: (12 characters) 3',
      '← #2 after a while: configure refused: no room',
      '→ reflected, 17 bytes: 5',
      '← first, 15 bytes: 4711',
    ])
  })

  it('an error reply of the agent is thrown as AgentRefused, which names the command', async () => {
    asked = ([id]) => peer.write(encodeFrame([id, false, 'no such thing']))
    await expect(link.request('classBytes')).rejects.toThrow(AgentRefused)
    await expect(link.request('classBytes')).rejects.toThrow(/execute classBytes: no such thing/)
  })

  it('an agent error whose cause is a lack of resources is reported as a lack of resources', async () => {
    asked = ([id, op]) =>
      peer.write(
        encodeFrame([
          id,
          false,
          op === 'configure'
            ? 'FileSystemException: ring: Too many open files'
            : 'unable to create native thread',
        ]),
      )
    await expect(link.request('configure')).rejects.toMatchObject({
      exitCode: 75,
      message: expect.stringMatching(/ran out of files .*: FileSystemException/),
    })
    await expect(link.request('other')).rejects.toThrow(/ran out of threads/)
    asked = ([id]) => peer.write(encodeFrame([id, false, 'java.io.IOException: the JVM is ending']))
    await expect(link.request('loadedClasses')).rejects.toThrow(LinkLost)
  })

  it('events that arrive before a listener is added are kept for the listener', async () => {
    const seen: unknown[] = []
    asked = ([id]) => peer.write(encodeFrame([id, true, null]))
    peer.write(encodeFrame([0, 'first', 7]))
    await link.request('barrier')
    link.listen((event, args) => seen.push([event, args]))
    expect(seen).toEqual([['first', [7]]])
  })

  it('when the agent ends, unanswered requests and all later requests are rejected', async () => {
    asked = () => peer.destroy()
    await expect(link.request('hello')).rejects.toThrow(LinkLost)
    await link.closed
    await expect(link.request('again')).rejects.toThrow(LinkLost)
  })

  it("the agent's last message is reported as the reason for its end, even if there is no listener", async () => {
    asked = () => {
      peer.write(encodeFrame([0, 'ended', 'somebody has ended it']))
      peer.end()
    }
    await expect(link.request('hello')).rejects.toThrow(/lost: somebody has ended it$/)
  })

  it('invalid bytes from the agent end the link with an error message', async () => {
    peer.write(Buffer.alloc(16, 0xff))
    expect(await link.closed).toMatch(/a frame of 4294967295 bytes/)
  })

  it('a TCP link accepts connections from only one address, which must also send the token', async () => {
    const token = newToken()
    const server = await LinkServer.listen({ host: '127.0.0.1', from: '127.0.0.1' }, token)
    const come = (localAddress: string, says: string): Promise<unknown> => {
      const socket = connect({ host: '127.0.0.1', port: server.port, localAddress })
      socket.on('error', () => {})
      socket.write(says)
      return new Promise((closed) => socket.on('close', closed))
    }
    await come('127.0.0.2', token)
    await come('127.0.0.1', newToken())
    const left = come('127.0.0.1', token)
    const own = await server.accept(5000)
    expect(own).not.toBeNull()
    own!.close()
    await left
  })

  it('the link accepts the connection of only one agent', async () => {
    const second = connect(join(dir, 'link'))
    const error = await new Promise<NodeJS.ErrnoException>((resolve) => second.once('error', resolve))
    expect(['ENOENT', 'ECONNREFUSED']).toContain(error.code)
  })
})

it('an agent that connects too late is disconnected, so that the process can exit', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'jfluid-link-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const token = newToken()
  const server = await LinkServer.listen(join(dir, 'link'), token)
  const ended = (socket: Socket) => new Promise((resolve) => socket.on('close', resolve).resume())
  const agent = connect(join(dir, 'link'))
  agent.write(token)
  const agentEnded = ended(agent)
  // The token is valid for one connection. A second connection with the token is closed when the agent has been accepted.
  const second = connect(join(dir, 'link'))
  second.write(token)
  await ended(second)
  server.close()
  await agentEnded
})
