// The connection, with a peer played by the test: answered and unanswered commands, and the end of the connection.

import { describe, expect, it } from 'vitest'
import { JdwpConnection } from '../../src/jdwp-client/connection.ts'
import { DataWriter, MAX_ELEMENTS } from '../../src/jdwp-client/data.ts'
import { connect } from '../../src/jdwp-client/doors.ts'
import {
  type ArrayId,
  type ClassId,
  JdwpLost,
  JdwpRefused,
  JdwpSilent,
  JdwpTarget,
  MalformedJdwp,
  type MethodId,
  NoDebuggerPort,
  type ThreadId,
  type TypeId,
} from '../../src/jdwp-client/index.ts'
import { encodeCommand, HEADER_BYTES, MAX_EVENTS } from '../../src/jdwp-client/packet.ts'
import { encodeReply, MemoryPeer, reply } from './memory-peer.ts'
import { startPeer } from './peer.ts'

const SIZES = sizes(8, 8, 8, 8, 8)
function sizes(...all: number[]): Buffer {
  const w = new DataWriter()
  for (const it of all) w.int(it)
  return w.done()
}
const same = (data: Buffer): Buffer => data
/** Sends command n of set 1 with these bytes. */
const ask = (connection: JdwpConnection, n: number, data = Buffer.alloc(0), timeoutMs?: number) =>
  connection.command([1, n], data, same, { timeoutMs })

describe('replies of a JVM', () => {
  it('replies are matched to commands in any order', async () => {
    const held: { id: number; data: Buffer }[] = []
    const peer = await startPeer((command, socket) => {
      held.push(command)
      if (held.length === 3) for (const c of held.reverse()) socket.write(encodeReply(c.id, 0, c.data))
      return 'nothing'
    })
    await using connection = await connect(peer.port)
    const values = await Promise.all(
      ['a', 'b', 'c'].map(async (text) => {
        const answer = await ask(connection, 1, Buffer.from(text))
        return answer.ok ? answer.value.toString() : answer.error
      }),
    )
    expect(values).toEqual(['a', 'b', 'c'])
  })

  it('an error reply is returned as a value, and the connection continues', async () => {
    const peer = await startPeer((c) => (c.command < 3 ? { error: c.command * 21 } : Buffer.from('fine')))
    await using connection = await connect(peer.port)
    expect(await ask(connection, 1)).toEqual({ ok: false, error: 'INVALID_CLASS', code: 21 })
    expect(await ask(connection, 2)).toEqual({ ok: false, error: 'INVALID_MODULE', code: 42 })
    expect((await ask(connection, 3)).ok).toBe(true)
    const odd = new MemoryPeer((c, it) => it.send(reply(c, Buffer.alloc(0), 999)))
    await using other = await JdwpConnection.over(odd)
    expect(await ask(other, 1)).toEqual({ ok: false, error: 'ERROR_999', code: 999 })
  })

  it('replies are distinguished from events, and replies without a command are dropped', async () => {
    const events: string[] = []
    const peer = new MemoryPeer((c, it) => {
      it.send(encodeCommand(c.id, 64, 100, Buffer.from('VM start')))
      it.send(encodeReply(c.id + 77, 0, Buffer.from('whose?')))
      it.send(reply(c, Buffer.from('the reply')))
      it.send(reply(c, Buffer.from('the reply, again')))
    })
    await using connection = await JdwpConnection.over(peer, {
      onCommand: (packet) => events.push(String(packet.data)),
    })
    expect(await ask(connection, 1)).toEqual({ ok: true, value: Buffer.from('the reply') })
    expect(events).toEqual(['VM start'])
    await ask(connection, 1)
    expect(connection.strayReplies).toBe(4)
  })

  it('a command without a reply times out, and a late reply is dropped', async () => {
    const held: Buffer[] = []
    const peer = new MemoryPeer((c, it) => {
      if (c.command === 1) held.push(reply(c, Buffer.from('late')))
      else for (const one of [...held, reply(c, Buffer.alloc(0))]) it.send(one)
    })
    await using connection = await JdwpConnection.over(peer, { replyMs: 20 })
    await expect(ask(connection, 1)).rejects.toThrow(JdwpSilent)
    await expect(ask(connection, 1, Buffer.alloc(0), 5)).rejects.toThrow(/command 1\/1 within 5 ms/)
    expect((await ask(connection, 2)).ok).toBe(true)
    expect(connection.strayReplies).toBe(2)
  })

  it('an invocation without a reply ends the connection, since the JVM suspends threads when the method returns later', async () => {
    const peer = new MemoryPeer((c, it) => {
      if (c.command === 7) it.send(reply(c, SIZES))
    })
    const jvm = await JdwpTarget.over(peer)
    const other = jvm.virtualMachine.version()
    const [type, thread, method] = ['01', '02', '03'].map((it) => it.padStart(16, '0'))
    const invocation = { thread: thread as ThreadId, method: method as MethodId }
    const invoked = jvm.classType.invokeMethod(type as ClassId, invocation, { timeoutMs: 5 })
    await expect(invoked).rejects.toThrow(/ClassType.InvokeMethod within 5 ms$/)
    await expect(other).rejects.toThrow(JdwpSilent)
    expect(peer.destroyed).toBe(true)
    await jvm.dispose() // has no effect
  })

  it('an invalid reply fails only its command, and the connection continues', async () => {
    const peer = new MemoryPeer((c, it) => it.send(reply(c, c.command === 7 ? SIZES : Buffer.alloc(3))))
    const jvm = await JdwpTarget.over(peer)
    await expect(jvm.virtualMachine.version()).rejects.toThrow(
      /^malformed JDWP: VirtualMachine.Version: a value of 4 bytes where 3 are left$/,
    )
    await expect(jvm.virtualMachine.suspend()).rejects.toThrow(/3 bytes behind the last value/)
    expect(jvm.connection.lost).toBe(undefined)
    await jvm.connection.close()
  })
})

describe('sizes of ids', () => {
  it('ids are read with the sizes that the JVM has reported', async () => {
    const seen: string[] = []
    const peer = new MemoryPeer((c, it) => {
      const w = new DataWriter()
      if (c.command === 7) it.send(reply(c, sizes(2, 4, 3, 3, 8)))
      else {
        seen.push(c.data.toString('hex'))
        it.send(
          reply(c, w.int(1).bytes(Buffer.from('cafebabe', 'hex')).string('run').string('()V').int(9).done()),
        )
      }
    })
    const jvm = await JdwpTarget.over(peer)
    expect(await jvm.referenceType.methods('00000a' as TypeId)).toEqual({
      ...{ ok: true, value: [{ id: 'cafebabe', name: 'run', descriptor: '()V', modifiers: 9 }] },
    })
    expect(seen).toEqual(['00000a'])
    await expect(jvm.referenceType.methods('000000000000000a' as TypeId)).rejects.toThrow(RangeError)
    await jvm.connection.close()
  })

  it.each([
    [0, MalformedJdwp],
    [-1, MalformedJdwp],
    [9, MalformedJdwp],
    [2 ** 31 - 1, MalformedJdwp],
  ])('packets of %i bytes are refused, and the connection is closed', async (size, error) => {
    const peer = new MemoryPeer((c, it) => it.send(reply(c, sizes(8, 8, size, 8, 8))))
    await expect(JdwpTarget.over(peer)).rejects.toThrow(error)
    expect(peer.destroyed).toBe(true)
  })

  it('it is an error if the JVM does not report its id sizes', async () => {
    const peer = new MemoryPeer((c, it) => it.send(reply(c, Buffer.alloc(0), 112)))
    await expect(JdwpTarget.over(peer)).rejects.toThrow(JdwpRefused)
  })
})

describe('events of a JVM', () => {
  const start = Buffer.from('0200000001' + '5a' + '00000000' + '0000000000000001', 'hex')

  it('events that arrive before the id sizes are known are read when the sizes are known', async () => {
    const peer = new MemoryPeer((c, it) => {
      it.send(encodeCommand(1, 64, 100, start))
      it.send(reply(c, SIZES))
    })
    const jvm = await JdwpTarget.over(peer)
    expect(await jvm.events.next('VM_START')).toEqual({
      event: { kind: 'VM_START', request: 0, thread: '0000000000000001' },
      set: { suspendPolicy: 'ALL', events: [expect.anything()] },
    })
    await jvm.connection.close()
  })

  it('the connection is closed if too many events arrive before the id sizes are known', async () => {
    const peer = new MemoryPeer((_, it) => {
      for (let n = 0; n < 100; n++) it.send(encodeCommand(n, 64, 100, start))
    })
    await expect(JdwpTarget.over(peer)).rejects.toThrow(MalformedJdwp)
  })

  it('an event whose header announces a large size is refused before its data is buffered', async () => {
    const large = encodeCommand(1, 64, 100, Buffer.alloc(0))
    large.writeUInt32BE(MAX_EVENTS + 1)
    const peer = new MemoryPeer((c, it) => {
      it.send(reply(c, SIZES))
      if (c.command !== 7) it.send(large)
    })
    const jvm = await JdwpTarget.over(peer)
    await expect(jvm.virtualMachine.version()).rejects.toThrow(MalformedJdwp)
    await jvm.connection.closed
    expect(String(jvm.connection.lost)).toMatch(/a packet of 1048577 bytes$/)
    // Replies have no size limit.
    const answering = new MemoryPeer((c, it) => it.send(reply(c, Buffer.alloc(MAX_EVENTS))))
    await using connection = await JdwpConnection.over(answering)
    const answer = await ask(connection, 1)
    expect(answer.ok && answer.value.length + HEADER_BYTES).toBe(MAX_EVENTS + HEADER_BYTES)
  })

  it('events of an unknown kind are passed on with their suspend policy', async () => {
    const unknown = Buffer.from('0100000002' + 'c8' + '0102', 'hex')
    const peer = new MemoryPeer((c, it) => {
      it.send(reply(c, SIZES))
      it.send(encodeCommand(1, 199, 1, Buffer.alloc(5))) // a vendor-specific command
      it.send(encodeCommand(1, 64, 100, unknown))
    })
    const jvm = await JdwpTarget.over(peer)
    const heard = await new Promise((resolve) => jvm.events.listen(resolve))
    expect(heard).toEqual({
      suspendPolicy: 'EVENT_THREAD',
      events: [{ kind: 'UNKNOWN', code: 200, data: Buffer.of(1, 2) }],
    })
    await jvm.connection.close()
  })

  it('unreadable events end the connection, so that the JVM resumes its threads', async () => {
    const peer = new MemoryPeer((c, it) => {
      it.send(reply(c, SIZES))
      if (c.command !== 7) it.send(encodeCommand(1, 64, 100, Buffer.of(2, 0, 0, 0, 1, 90, 0)))
    })
    const jvm = await JdwpTarget.over(peer)
    const awaited = jvm.events.next('VM_START')
    await expect(jvm.virtualMachine.version()).rejects.toThrow(MalformedJdwp)
    await expect(awaited).rejects.toThrow(MalformedJdwp)
    await jvm.connection.closed
  })
})

describe('a packet with an implausible number of elements', () => {
  const listing = async (data: Buffer) => {
    const peer = new MemoryPeer((c, it) => it.send(reply(c, c.command === 7 ? sizes(1, 1, 1, 1, 1) : data)))
    return await JdwpTarget.over(peer)
  }
  const things = (n: number, before: readonly number[] = []): Buffer => {
    const data = Buffer.alloc(before.length + 4 + n)
    data.set(before)
    data.writeInt32BE(n, before.length)
    return data
  }

  it('too many one-byte ids are refused before memory is allocated', async () => {
    await using jvm = await listing(things(MAX_ELEMENTS + 1))
    await expect(jvm.virtualMachine.allThreads()).rejects.toThrow(
      /^malformed JDWP: VirtualMachine.AllThreads: more than 2097152 things in a packet$/,
    )
    expect(jvm.connection.lost).toBe(undefined)
  })

  it('too many booleans are refused before memory is allocated', async () => {
    const boolean = 0x5a
    await using jvm = await listing(things(MAX_ELEMENTS + 1, [boolean]))
    const region = jvm.arrayReference.getValues('01' as ArrayId, 0, 1)
    await expect(region).rejects.toThrow(/more than 2097152 things/)
  })

  it('too many nested lists are refused before memory is allocated', async () => {
    // Three lists of a million paths each, after an empty base directory.
    const one = Buffer.concat([Buffer.alloc(4), Buffer.alloc(0)])
    const million = Buffer.alloc(4 + 4 * (MAX_ELEMENTS / 2 + 1))
    million.writeInt32BE(MAX_ELEMENTS / 2 + 1)
    await using jvm = await listing(Buffer.concat([one, million, million]))
    await expect(jvm.virtualMachine.classPaths()).rejects.toThrow(/more than 2097152 things/)
  })
})

describe('a connection to a JVM', () => {
  it('if the JVM closes the connection, all commands without a reply fail', async () => {
    const peer = await startPeer(() => 'hang up')
    await using connection = await connect(peer.port)
    await expect(ask(connection, 1)).rejects.toThrow(JdwpLost)
    await expect(ask(connection, 1)).rejects.toThrow(JdwpLost)
  })

  it('invalid bytes end the connection', async () => {
    const peer = await startPeer((_, socket) => {
      socket.write(Buffer.alloc(16))
      return 'nothing'
    })
    await using connection = await connect(peer.port)
    await expect(ask(connection, 1)).rejects.toThrow(MalformedJdwp)
  })

  it('connecting fails if a program other than a JVM answers, or if no program answers', async () => {
    const web = await startPeer(() => 'nothing', 'HTTP/1.1 400 Bad Request')
    await expect(connect(web.port)).rejects.toThrow(/does not speak JDWP/)
    const half = await startPeer(() => 'nothing', 'JDWP-Hand')
    await expect(connect(half.port, { handshakeMs: 50 })).rejects.toThrow(/no handshake within/)
    const silent = await startPeer(() => 'nothing', '')
    await expect(connect(silent.port, { handshakeMs: 50 })).rejects.toThrow(/no handshake within/)
    await expect(connect(1)).rejects.toThrow(NoDebuggerPort)
    await expect(connect(70_000)).rejects.toThrow(NoDebuggerPort)
  })
})
