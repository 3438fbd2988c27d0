// Named pipes to an agent that cannot open UNIX sockets. The test opens the pipes as the agent does (JFluid1Pipes.java).

import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { JdkTooOld, NotHotSpot } from '../../../src/attach/admission.ts'
import { startProblem } from '../../../src/session/doors/door.ts'
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
    await vi.waitUntil(() => isAtEnd(source))
    closeSync(source)
  })

  it('a write for which the pipe has no room does not keep the pipe open when the agent ends', async () => {
    const { sink, source } = ends()
    writeSync(sink, token)
    const link = await accepted()
    link.send('status', new Uint8Array(1 << 20))
    expect(readSync(source, Buffer.alloc(1))).toBe(1)
    closeSync(sink)
    expect(await link.closed).toBe(LINK_CLOSED)
    await vi.waitUntil(() => isAtEnd(source))
    closeSync(source)
  })

  it('the names are removed when the agent connects, and before a connection without an agent is closed', async () => {
    const { sink, source } = ends()
    writeSync(sink, token)
    const link = await accepted()
    expect(readdirSync(directory)).toEqual([])
    link.close()
    closeSync(sink)
    closeSync(source)
    const unused = makePipes(directory)
    unused.destroy()
    expect(readdirSync(directory)).toEqual([])
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

  it('a name that exists is an error that does not ask to install mkfifo', () => {
    expect(() => makePipes(directory)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/exists/),
        hint: expect.not.stringMatching(/Install/),
      }),
    )
  })

  it.each(['a file', 'a link'])('%s in place of a pipe is refused, and no descriptor stays open', (what) => {
    const other = mkdtempSync(join(tmpdir(), 'jfluid-pipes-'))
    const commands = mkdtempSync(join(tmpdir(), 'jfluid-pipes-'))
    const replace = what === 'a file' ? `echo > ${TO_AGENT}` : `ln -s /dev/null ${TO_AGENT}`
    // The first pipe is made by the real command, so that one descriptor is open when the second is refused.
    writeFileSync(
      join(commands, 'mkfifo'),
      `#!/bin/sh\nPATH=/usr/bin:/bin\nmkfifo -m 600 ${FROM_AGENT}\n${replace}\n`,
      { mode: 0o755 },
    )
    vi.stubEnv('PATH', `${commands}:${process.env.PATH}`)
    const before = readdirSync('/proc/self/fd').length
    try {
      expect(() => makePipes(other)).toThrow('cannot make the named pipes')
      expect(readdirSync('/proc/self/fd')).toHaveLength(before)
    } finally {
      vi.unstubAllEnvs()
      rmSync(other, { recursive: true })
      rmSync(commands, { recursive: true })
    }
  })

  it('a directory that does not exist is an error with a reason', () => {
    expect(() => makePipes(join(directory, 'none'))).toThrow(NoPipes)
    expect(existsSync(join(directory, 'none'))).toBe(false)
  })
})

/** Whether no process has the pipe open for writing. */
function isAtEnd(source: number): boolean {
  try {
    while (readSync(source, Buffer.alloc(1 << 16)) > 0) {
      // bytes that the client sent before
    }
    return true
  } catch (problem) {
    if ((problem as NodeJS.ErrnoException).code !== 'EAGAIN') throw problem
    return false
  }
}

describe('the reason why an agent did not connect', () => {
  const said = 'java.nio.file.NoSuchFileException: /dev/shm/jfluid-1-2-abcdef/from-agent'
  it('is the missing pipe', () => {
    const problem = new NoPipes('spawnSync mkfifo ENOENT', true)
    expect(startProblem(1, said, problem)).toBe(problem)
    expect(startProblem(1, said)).not.toBe(problem)
    expect(startProblem(1, 'another jfluid is attached', problem)).not.toBe(problem)
  })
  it.each([
    ['this is JDK 1.8, and jfluid needs JDK 11 or newer', JdkTooOld],
    ['the VM is Eclipse OpenJ9 VM, not HotSpot', NotHotSpot],
  ])('is the kind of the JVM: %s', (reason, kind) =>
    expect(startProblem(1, `java.lang.UnsupportedOperationException: ${reason}`)).toBeInstanceOf(kind),
  )
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
