// A recorded conversation with a real JVM, and a JVM that replays it. `conversation.json.gz` was recorded with
// JDK 25. JFLUID_WRITE_GOLDEN=1 records it again. The file contains the program's directory, so set XDG_CACHE_HOME to a
// directory whose name may be published.

import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { granted, type JdwpTarget, type Result } from '../../src/jdwp-client/index.ts'
import { HANDSHAKE } from '../../src/jdwp-client/packet.ts'
import { asksOf, type Things } from './asks.ts'
import { lookUp, standInCall } from './known.ts'
import { packetsOf } from './memory-peer.ts'

/** The sender, and the bytes as hex digits. */
export type Piece = readonly [from: 'us' | 'jvm', bytes: string]

export interface Recording {
  readonly pieces: readonly Piece[]
  /** Decoded replies, keyed by command. */
  readonly outcomes: Readonly<Record<string, string>>
  readonly things: Things
}

const FILE = join(import.meta.dirname, 'conversation.json.gz')

export function readRecording(): Recording {
  return JSON.parse(gunzipSync(readFileSync(FILE)).toString()) as Recording
}

export function writeRecording(recording: Recording): void {
  writeFileSync(FILE, gzipSync(JSON.stringify(recording), { level: 9 }))
}

/** Returns a connection whose bytes are recorded. */
export function recordedConnection(port: number, pieces: Piece[]): Duplex {
  const socket = connect(port, '127.0.0.1')
  const tee = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _, done) => {
      pieces.push(['us', chunk.toString('hex')])
      socket.write(chunk, done)
    },
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (chunk: Buffer) => {
    pieces.push(['jvm', chunk.toString('hex')])
    tee.push(chunk)
  })
  socket.on('close', () => tee.push(null))
  socket.on('error', (error) => tee.destroy(error))
  return tee
}

/**
 * Simulates the JVM of a recording: sends its recorded bytes if it receives the client's recorded bytes. `cut` returns the maximum length
 * of a piece.
 */
export function replayed(pieces: readonly Piece[], cut: () => number): Duplex {
  let at = 0
  const speak = (): void => {
    for (; pieces[at]?.[0] === 'jvm'; at++) {
      const bytes = Buffer.from(pieces[at]![1], 'hex')
      for (let from = 0; from < bytes.length; ) {
        const to = from + cut()
        stream.push(bytes.subarray(from, to))
        from = to
      }
    }
    if (at === pieces.length) stream.push(null)
  }
  const stream = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _, done) => {
      if (chunk.toString('hex') !== pieces[at]?.[1]) {
        done(new Error(`piece ${at} was ${pieces[at]}, and is ${chunk.toString('hex')}`))
        return
      }
      at++
      done()
      speak()
    },
  })
  return stream
}

/** Sends every command once, in order, then disconnects. */
export async function converse(
  jvm: JdwpTarget,
  program: Parameters<typeof standInCall>[2],
): Promise<Omit<Recording, 'pieces'>> {
  const known = await lookUp(jvm)
  const stand = await standInCall(jvm, known, program)
  const value = async (name: string): Promise<never> => {
    const found = await known.value(name)
    if (!('id' in found) || found.id === null) throw new Error(`${name} is ${found.tag}`)
    return found.id as never
  }
  const things: Things = {
    ...{ type: known.program, shape: known.shape, arrayType: known.ints, sides: known.sides },
    ...{ method: known.method('call'), constructorOf: known.method('<init>'), plus: known.method('plus') },
    statics: [
      'aByte',
      'aShort',
      'anInt',
      'aLong',
      'aFloat',
      'aDouble',
      'aChar',
      'aBoolean',
      'text',
      'nothing',
    ]
      .concat(['thread', 'group', 'loader', 'type', 'ints', 'object'])
      .map((name) => known.field(name)),
    ...{ number: known.field('number'), watched: known.field('watched') },
    ...{
      object: await value('object'),
      throwable: await value('poison'),
      string: await value('text'),
      array: await value('ints'),
    },
    ...{ thread: stand.thread, otherThread: await value('worker'), group: await value('group') },
    ...{ loader: await value('loader'), classObject: await value('type'), frame: stand.frame.id },
    module: granted(await jvm.referenceType.module(known.program), 'a module'),
  }
  const outcomes: Record<string, string> = {}
  for (const [name, ask] of asksOf(jvm, things)) outcomes[name] = shown(await ask())
  await jvm.dispose()
  await stand.answer
  return { outcomes, things }
}

/** Returns a shortened result: its beginning and its length. */
export function shown(result: Result<unknown>): string {
  if (!result.ok) return result.error
  const text =
    JSON.stringify(result.value, (_, it: unknown) => {
      if (typeof it === 'bigint') return `${it}n`
      if (ArrayBuffer.isView(it)) return Buffer.from(it.buffer, it.byteOffset, it.byteLength).toString('hex')
      return it
    }) ?? 'done'
  return text.length > 200 ? `${text.slice(0, 200)}… ${text.length}` : text
}

/** Returns the answers of the JVM, keyed by `set/command`, and its events. */
export function answersOf({ pieces }: Recording) {
  const bytes = (who: string): Buffer =>
    Buffer.from(
      pieces
        .filter(([from]) => from === who)
        .map(([, hex]) => hex)
        .join(''),
      'hex',
    ).subarray(HANDSHAKE.length)
  const asked = new Map(
    packetsOf(bytes('us')).map((it) => [it.id, it.kind === 'command' ? `${it.set}/${it.command}` : '']),
  )
  const replies = new Map<string, Buffer>()
  const events: Buffer[] = []
  for (const packet of packetsOf(bytes('jvm'))) {
    if (packet.kind === 'command') events.push(packet.data)
    else if (packet.error === 0) replies.set(asked.get(packet.id)!, packet.data)
  }
  return { replies, events }
}
