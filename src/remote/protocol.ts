// What a client and a proxy say to each other: frames of `wire/frame.ts`, whose body is an array.
//
//     client → proxy                                      proxy → client
//     ['hello', PROTOCOL, version, session, again]        ['hello', PROTOCOL, version]  or  ['refused', …error]
//     [id, open, operation, arguments as JSON]            [id, true, result]            or  [id, false, …error]
//     [0]                                                 [0]
//
// `session` is a name that the client has made up, 128 random bits: who knows it goes on with that session, by any connection. `again` says
// that it must be there already. Requests are numbered from 1; a client that has lost its connection asks once more what it has no
// answer to, by the same numbers, and each is done once. `open` are the numbers of all that have none, this one among them: answers
// to others are forgotten. [0] asks whether anybody is there.

import type { Readable } from 'node:stream'
import type { FrameReader } from '../wire/frame.ts'
import { Malformed } from '../wire/unpack.ts'
import { type ErrorFrame, errorFrame, OtherProxyVersion } from './errors.ts'

export const PROTOCOL = 5

/** Of a hello: what is longer is something else, a greeting of a shell say. */
export const MOST_HELLO_BYTES = 4096
/** Of a request: options, and a name to change. */
export const MOST_REQUEST_BYTES = 1 << 20
/** Of an answer; a profile comes in pieces. */
export const MOST_ANSWER_BYTES = 64 << 20
export const PIECE_BYTES = 64 << 10
/** Of which pieces are asked for: this is the profile in the end, those so far are numbered from 1. */
export const FINISHED = 0
/** And this what was recorded before the roots were to be changed, where that would be lost otherwise. */
export const BEFORE = -1
/** Requests that have no answer, at a time: a client has further ones wait. */
export const MOST_OPEN = 64

/** From one look whether the other end is there to the next. */
export const PULSE_MS = 3000
/** A connection on which nothing has come for so long is none. */
export const SILENCE_MS = 15_000
/** How long a session waits for its client to come back. */
export const GRACE_MS = 60_000

const SESSION = /^[0-9a-f]{32}$/

export interface First {
  /** Null if it is no frame. */
  readonly messages: unknown[][] | null
  readonly bytes: Buffer
}

/** What comes first by a connection, which is paused then; null if it ends before. */
export function firstOf(connection: Readable, reader: FrameReader): Promise<First | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const done = (messages: unknown[][] | null): void => {
      connection.off('data', onData)
      connection.pause()
      resolve({ messages, bytes: Buffer.concat(chunks) })
    }
    const onData = (bytes: Buffer): void => {
      chunks.push(bytes)
      try {
        const messages = reader.push(bytes)
        if (messages.length > 0) done(messages)
      } catch (error) {
        if (error instanceof Malformed) done(null)
        else reject(error)
      }
    }
    connection.on('data', onData)
    connection.once('close', () => resolve(null))
  })
}

export interface Hello {
  readonly protocol: number
  readonly version: string
  readonly session: string
  readonly again: boolean
}

/** @returns null if it is none */
export function readHello(message: readonly unknown[]): Hello | null {
  const [word, protocol, version, session, again] = message
  if (word !== 'hello' || typeof protocol !== 'number' || typeof version !== 'string') return null
  if (typeof session !== 'string' || !SESSION.test(session) || typeof again !== 'boolean') return null
  return { protocol, version, session, again }
}

/** @returns why this proxy does not speak with that client; null if it does */
export function refusal(hello: Hello, version: string): ErrorFrame | null {
  if (hello.protocol === PROTOCOL && hello.version === version) return null
  return errorFrame(
    new OtherProxyVersion(described(version, PROTOCOL), described(hello.version, hello.protocol)),
  )
}

export function described(version: string, protocol: number): string {
  return `${version} (protocol ${protocol})`
}
