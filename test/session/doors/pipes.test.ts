// Named pipes to an agent that cannot open UNIX sockets. The test opens the pipes as the agent does (JFluid1Pipes.java).

import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FROM_AGENT, makePipes, NoPipes, needsPipes, TO_AGENT } from '../../../src/session/doors/pipes.ts'
import { encodeFrame } from '../../../src/wire/frame.ts'
import { CLOSED_BY_US, LINK_CLOSED, LinkServer, newToken } from '../../../src/wire/link.ts'

describe('named pipes between client and agent', () => {
  let directory = ''
  let server: LinkServer
  const token = newToken()
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'jfluid-pipes-'))
    server = await LinkServer.listen(join(directory, 'link'), token)
    server.alsoBy(makePipes(directory))
  })
  afterEach(() => {
    server.close()
    rmSync(directory, { recursive: true })
  })
  const ends = () => {
    const open = (name: string, mode: number) => openSync(join(directory, name), mode | constants.O_NONBLOCK)
    return { sink: open(FROM_AGENT, constants.O_WRONLY), source: open(TO_AGENT, constants.O_RDONLY) }
  }
  const accepted = async () => {
    const link = await server.accept(10_000)
    if (link === null) throw new Error('the agent was not accepted')
    return link
  }

  it('only the owner can open the pipes', () => {
    for (const name of [TO_AGENT, FROM_AGENT])
      expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600)
  })

  it('a request and its reply pass through the pipes, and the link ends when the agent closes its end', async () => {
    const { sink, source } = ends()
    writeSync(sink, token)
    const link = await accepted()
    const reply = link.request('status', 1)
    const sent = encodeFrame([1, 'status', 1])
    const arrived = Buffer.alloc(sent.length)
    expect(readSync(source, arrived)).toBe(sent.length)
    expect(arrived).toEqual(Buffer.from(sent))
    writeSync(sink, encodeFrame([1, true, 'fine']))
    expect(await reply).toBe('fine')
    closeSync(sink)
    expect(await link.closed).toBe(LINK_CLOSED)
    closeSync(source)
  })

  it('an agent that closes the pipes without a token does not end them for the next agent', async () => {
    closeSync(ends().sink)
    const { sink, source } = ends()
    writeSync(sink, token)
    const link = await accepted()
    link.close()
    expect(await link.closed).toBe(CLOSED_BY_US)
    expect(readSync(source, Buffer.alloc(1))).toBe(0) // the end of the pipe: the client has closed it
    closeSync(sink)
    closeSync(source)
  })

  it('a wrong token is not accepted', async () => {
    const { sink, source } = ends()
    writeSync(sink, newToken())
    expect(await server.accept(200)).toBe(null)
    closeSync(sink)
    closeSync(source)
  })

  it('a directory that does not exist is an error with a reason', () => {
    expect(() => makePipes(join(directory, 'none'))).toThrow(NoPipes)
    expect(existsSync(join(directory, 'none'))).toBe(false)
  })
})

describe('which JVMs need pipes', () => {
  it.each([
    [11, true],
    [15, true],
    [16, false],
    [25, false],
    [null, true],
  ])('JDK %s: %s', (feature, expected) => expect(needsPipes(feature)).toBe(expected))
})
