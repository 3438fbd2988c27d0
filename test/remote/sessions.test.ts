// Requests between a client and a proxy: each is executed once in spite of lost connections. Also peers with another protocol.

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { EX_PROTOCOL } from '../../src/base/errors.ts'
import { Caller, type Way } from '../../src/remote/caller.ts'
import type { Operations } from '../../src/remote/desk.ts'
import {
  CannotReach,
  NotAProxy,
  OtherProxyVersion,
  ProxyLost,
  SessionGone,
  WrongProxyKey,
} from '../../src/remote/errors.ts'
import { Host } from '../../src/remote/host.ts'
import { MAX_HELLO_BYTES, MAX_OPEN_REQUESTS, PROTOCOL } from '../../src/remote/protocol.ts'
import { encodeFrame, FrameReader } from '../../src/wire/frame.ts'
import { Chance } from '../faults/trials.ts'
import { inputs, mutated, seedOf } from '../security/mutate.ts'
import { temporaryDirectory } from '../support/java-process.ts'

const SESSION = 'ab'.repeat(16)
/** Longer than the timeout of a test. */
const LONG_MS = 600_000

interface Proxy {
  readonly way: Way
  readonly path: string
  readonly sockets: Socket[]
  /** Numbers of opened and closed sessions. */
  readonly sessions: { opened: number; closed: number }
  /** Errors of sessions that could not be closed. */
  readonly problems: unknown[]
  readonly host: Host
  isUp: boolean
}

interface ProxyOptions {
  readonly graceMs?: number
  readonly version?: string
  /** Result of closing a session. */
  readonly close?: () => Promise<void>
  /** Result of ending a session with its proxy. */
  readonly end?: (reason: string) => Promise<boolean>
}

async function proxy(
  operations: Operations,
  { graceMs = 30_000, version = '1.2.3', close = async () => {}, end = async () => false }: ProxyOptions = {},
): Promise<Proxy> {
  const path = join(temporaryDirectory('jfluid-desk-'), 's')
  const sessions = { opened: 0, closed: 0 }
  const sockets: Socket[] = []
  const problems: unknown[] = []
  const host = new Host({
    version,
    graceMs,
    onProblem: (error) => problems.push(error),
    open() {
      sessions.opened++
      return {
        operations,
        close: async () => {
          sessions.closed++
          await close()
        },
        end,
      }
    },
  })
  const server = createServer((socket) => {
    sockets.push(socket)
    host.welcome(socket)
  })
  server.listen(path)
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await host.end('the end of its test')
  })
  const self: Proxy = {
    way: wayTo(path, () => self.isUp),
    ...{ path, sockets, sessions, problems, isUp: true, host },
  }
  return self
}

function wayTo(path: string, isUp: () => boolean): Way {
  return {
    where: 'test://there',
    connect: async () => {
      if (!isUp()) throw new CannotReach('test://there', 'it is down', 'Wait.')
      const socket = connect(path)
      await once(socket, 'connect')
      return socket
    },
    problem: () => Promise.resolve(null),
  }
}

async function called(there: Proxy, version = '1.2.3'): Promise<Caller> {
  const caller = await Caller.connect(there.way, version)
  onTestFinished(() => caller.close())
  return caller
}

/** Opens a session without a `Caller`: messages are written and read one by one. */
async function spoken({ path }: Proxy): Promise<{ socket: Socket; next(): Promise<unknown[]> }> {
  const socket = connect(path)
  socket.on('error', () => {}) // the peer may close it at any time
  onTestFinished(() => void socket.destroy())
  const reader = new FrameReader()
  const messages: unknown[][] = []
  socket.on('data', (bytes) => messages.push(...reader.push(bytes)))
  const next = async (): Promise<unknown[]> => {
    await expect.poll(() => messages.length).toBeGreaterThan(0)
    return messages.shift()!
  }
  socket.write(encodeFrame(['hello', PROTOCOL, '1.2.3', SESSION, false]))
  expect(await next()).toEqual(['hello', PROTOCOL, '1.2.3'])
  return { socket, next }
}

function deferred<T>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

describe('a request from a client to a proxy', () => {
  it('a request is executed once and answered even if connections break before the answer arrives', async () => {
    const begun = deferred<void>()
    const answer = deferred<string>()
    let done = 0
    const there = await proxy({
      slow: () => {
        done++
        begun.resolve()
        return answer.promise
      },
    })
    const caller = await called(there)
    const asked = caller.ask('slow')
    await begun.promise
    there.sockets[0]!.destroy()
    await expect.poll(() => there.sockets.length).toBe(2)
    there.sockets[1]!.destroy()
    answer.resolve('here it is')
    expect(await asked).toBe('here it is')
    expect(done).toBe(1)
    expect(there.sessions).toEqual({ opened: 1, closed: 0 })
  })

  it('a request that is made without a connection is executed on the next connection', async () => {
    const there = await proxy({ twice: async (args) => 2 * (args as number) })
    const caller = await called(there)
    there.isUp = false
    there.sockets[0]!.destroy()
    await expect.poll(() => caller.problem).toBe('it is down')
    expect(caller.lostForMs).not.toBeNull()
    const asked = [caller.ask('twice', 4), caller.ask('twice', 5)]
    there.isUp = true
    expect(await Promise.all(asked)).toEqual([8, 10])
    expect([caller.lostForMs, caller.problem]).toEqual([null, null])
  })

  it('more requests than a proxy accepts at a time, made without a connection, are all executed', async () => {
    const there = await proxy({ twice: async (args) => 2 * (args as number) })
    const caller = await called(there)
    there.isUp = false
    there.sockets[0]!.destroy()
    await expect.poll(() => caller.lostForMs).not.toBeNull()
    const numbers = Array.from({ length: 5 * MAX_OPEN_REQUESTS }, (_, i) => i)
    const asked = numbers.map((it) => caller.ask('twice', it))
    there.isUp = true
    expect(await Promise.all(asked)).toEqual(numbers.map((it) => 2 * it))
    expect(there.sockets.length).toBe(2)
  })

  it('a request above the limit is refused, and the other requests continue', async () => {
    const answers = deferred<string>()
    const there = await proxy({ slow: () => answers.promise })
    const { socket, next } = await spoken(there)
    const open = Array.from({ length: MAX_OPEN_REQUESTS + 1 }, (_, i) => i + 1)
    for (const id of open) socket.write(encodeFrame([id, open, 'slow', 'null']))
    expect(await next()).toEqual([
      ...[MAX_OPEN_REQUESTS + 1, false, 'Error', expect.stringMatching(/more than 64 requests at a time/)],
      ...['Report it.', 70],
    ])
    answers.resolve('done')
    expect(await next()).toEqual([1, true, 'done'])
  })

  it('an unknown or failing operation is answered with an error, and the other requests continue', async () => {
    const there = await proxy({
      breaks: () => Promise.reject(new TypeError('a defect')),
      works: async () => 'well',
    })
    const caller = await called(there)
    await expect(caller.ask('toString')).rejects.toThrow(
      /internal error of the proxy: .*an operation toString/,
    )
    await expect(caller.ask('breaks')).rejects.toThrow(/internal error of the proxy: TypeError: a defect/)
    expect(await caller.ask('works')).toBe('well')
  })
})

describe('a session between a client and a proxy', () => {
  it('a session is abandoned if every connection closes before any data arrive', async () => {
    const way = await saying(encodeFrame(['hello', PROTOCOL, '1.2.3']))
    const caller = await Caller.connect(way, '1.2.3', 300)
    await expect(caller.ask('status')).rejects.toBeInstanceOf(ProxyLost)
  })

  it('a session is abandoned at once if a proxy with another key answers', async () => {
    const there = await proxy({ ended: () => new Promise(() => {}) })
    const caller = await called(there)
    const ended = caller.ask('ended')
    there.way.connect = () => Promise.reject(new WrongProxyKey('test://there'))
    there.sockets[0]!.destroy()
    await expect(ended).rejects.toBeInstanceOf(WrongProxyKey)
  })

  it('a session is closed when its client leaves', async () => {
    const there = await proxy({})
    await (await called(there)).leave()
    expect(there.sessions).toEqual({ opened: 1, closed: 1 })
  })

  it('a session is closed and its client is notified if the client was disconnected too long', async () => {
    const there = await proxy({ ended: () => new Promise(() => {}) }, { graceMs: 50 })
    const caller = await called(there)
    const ended = caller.ask('ended')
    there.isUp = false
    there.sockets[0]!.destroy()
    await expect.poll(() => there.sessions.closed).toBe(1)
    there.isUp = true
    await expect(ended).rejects.toBeInstanceOf(SessionGone)
    expect(there.sessions).toEqual({ opened: 1, closed: 1 })
  })

  it('a session that cannot be closed is reported, and the other sessions continue', async () => {
    const defect = new TypeError('a defect')
    const close = () => Promise.reject(defect)
    const there = await proxy({ works: async () => 'well' }, { graceMs: 50, close })
    const [one, other] = [await called(there), await called(there)]
    one.close()
    await expect.poll(() => there.problems).toEqual([defect])
    expect(await other.ask('works')).toBe('well')
  })

  it('when the proxy ends, each session first sends the recording and the reason to its client', async () => {
    const told = deferred<string>()
    const operations = { ended: () => told.promise, piece: async () => 'all of it' }
    const end = async (reason: string) => {
      told.resolve(reason)
      return true
    }
    const there = await proxy(operations, { end })
    const caller = await called(there)
    const ended = caller.ask('ended')
    let isOver = false
    const over = there.host.end('SIGTERM').then(() => {
      isOver = true
    })
    expect(await ended).toBe('the proxy was ended by SIGTERM')
    expect(await caller.ask('piece')).toBe('all of it')
    expect([isOver, there.sessions.closed]).toEqual([false, 0])
    const late = await called(there).catch((it: unknown) => it)
    expect(late).toMatchObject({
      message: 'the proxy accepts no further session: it is ending',
      exitCode: 75,
    })
    expect(await caller.leave()).toBe(true)
    await over
    expect(there.sessions).toEqual({ opened: 1, closed: 1 })
  })

  it('a proxy that ends waits only for clients to which data must still be sent', async () => {
    const ending = (isMore: boolean) => proxy({}, { end: async () => isMore })
    const [slow, idle, gone] = [await ending(true), await ending(false), await ending(true)]
    for (const there of [slow, idle]) await called(there)
    const caller = await called(gone)
    caller.close()
    await expect.poll(() => gone.host.clients).toBe(0)
    await Promise.all([
      slow.host.end('SIGTERM', 50),
      idle.host.end('SIGTERM', LONG_MS),
      gone.host.end('SIGTERM', LONG_MS),
    ])
    for (const { sessions } of [slow, idle, gone]) expect(sessions).toEqual({ opened: 1, closed: 1 })
  })

  it('a session above the limit is refused, and clients that reconnect keep their sessions', async () => {
    const there = await proxy({ works: async () => 'well' })
    const callers: Caller[] = []
    for (let i = 0; i < 64; i++) callers.push(await called(there))
    const error = await called(there).catch((it: unknown) => it)
    expect(error).toMatchObject({
      message: 'the proxy accepts no further session: it has 64 sessions',
      exitCode: 75,
    })
    there.sockets[0]!.destroy()
    expect(await callers[0]!.ask('works')).toBe('well')
    await callers[1]!.leave()
    await called(there)
  })

  it('a session is refused by client and proxy if they have different versions', async () => {
    const there = await proxy({})
    const error = await called(there, '1.2.4').catch((it: unknown) => it)
    expect(error).toMatchObject({
      message: `the proxy has jfluid version 1.2.3 (protocol ${PROTOCOL}), and this is version 1.2.4 (protocol ${PROTOCOL})`,
      exitCode: EX_PROTOCOL,
    })
    expect(there.sessions.opened).toBe(0)
  })
})

/** Returns an address of a proxy that sends only these bytes. */
async function saying(...bytes: readonly Uint8Array[]): Promise<Way> {
  const path = join(temporaryDirectory('jfluid-desk-'), 's')
  const server = createServer((socket) => {
    socket.on('error', () => {}) // the client may close the connection at any time
    for (const each of bytes) socket.write(each)
    socket.end()
  })
  server.listen(path)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return wayTo(path, () => true)
}

describe('a peer with another protocol', () => {
  it('another program is not accepted as a proxy', async () => {
    const says = async (...bytes: Uint8Array[]) => await Caller.connect(await saying(...bytes), '1.2.3')
    await expect(says(Buffer.from('Welcome to shop7\n'))).rejects.toThrow(
      /no jfluid proxy answers at .*: it sent "Welcome/,
    )
    await expect(says()).rejects.toThrow(/it ended without an answer/)
    await expect(says(encodeFrame(['hello']))).rejects.toBeInstanceOf(NotAProxy)
    await expect(says(encodeFrame(['hello', PROTOCOL + 1, '1.2.3']))).rejects.toBeInstanceOf(
      OtherProxyVersion,
    )
    const large = Buffer.alloc(MAX_HELLO_BYTES + 8)
    large.writeUInt32LE(MAX_HELLO_BYTES + 1, 0)
    await expect(says(large)).rejects.toBeInstanceOf(NotAProxy)
  })

  it('invalid data ends a running session with a jfluid error', async () => {
    const greeting = encodeFrame(['hello', PROTOCOL, '1.2.3'])
    for (const answer of [
      ['x', true, 1],
      [1, 'yes', 1],
      [1, false, 'only a name'],
    ]) {
      const caller = await Caller.connect(await saying(greeting, encodeFrame(answer)), '1.2.3')
      await expect(caller.ask('status')).rejects.toBeInstanceOf(NotAProxy)
    }
  })

  it('a proxy ignores invalid data, and its sessions continue', async () => {
    const seed = seedOf()
    const chance = new Chance(seed)
    const there = await proxy({ works: async () => 'well' })
    const caller = await called(there)
    const good = [
      encodeFrame(['hello', PROTOCOL, '1.2.3', SESSION, false]),
      encodeFrame([1, [1], 'works', 'null']),
      encodeFrame([0]),
    ]
    for (let left = inputs(200, 5000); left > 0; left--) {
      const which = chance.next() < 0.5 ? 0 : 1 + Math.floor(chance.next() * (good.length - 1))
      const damaged = good.map((bytes, i) => (i === which ? mutated(bytes, chance) : bytes))
      const socket = connect(there.path)
      socket.on('error', () => {}) // the peer closes it
      socket.end(Buffer.concat(damaged))
      socket.resume()
      await once(socket, 'close')
    }
    expect(await caller.ask('works'), `JFLUID_SEED=${seed}`).toBe('well')
    expect(caller.lostForMs).toBeNull()
  })

  it('a peer that reads no answers is disconnected', async () => {
    const large = Buffer.alloc(2 << 20)
    const there = await proxy({ large: async () => large })
    const { socket } = await spoken(there)
    socket.pause()
    const closed = once(there.sockets[0]!, 'close')
    for (let id = 1; id < MAX_OPEN_REQUESTS; id++) socket.write(encodeFrame([id, [id], 'large', 'null']))
    await closed
  })

  it('a peer that sends endless data is disconnected', async () => {
    const there = await proxy({})
    const socket = connect(there.path)
    socket.on('error', () => {}) // the peer closes it
    socket.resume()
    const long = Buffer.alloc(4)
    long.writeUInt32LE(0xffff_fff0, 0)
    socket.write(long)
    await once(socket, 'close')
    expect(there.sessions.opened).toBe(0)
  })
})
