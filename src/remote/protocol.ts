// Messages between client and proxy: frames of `wire/frame.ts` whose body is an array.
//     client → proxy                                      proxy → client
//     ['hello', PROTOCOL, version, session, again]        ['hello', PROTOCOL, version]  or  ['refused', …error]
//     [id, open, operation, arguments as JSON]            [id, true, result]            or  [id, false, …error]
//     [0]                                                 [0]
// `session` is a random name of 128 bits that the client has chosen. Any connection that sends this name continues the session. `again`
// means that the session must already exist.
// Requests are numbered from 1. After a reconnection the client repeats its unanswered requests with their old numbers, and the proxy
// executes each request once. `open` lists the numbers of all unanswered requests, including this request. The proxy discards all other
// answers.
// [0] is a pulse: it checks that the other end is alive.

import type { Readable } from 'node:stream'
import type { FrameReader } from '../wire/frame.ts'
import { Malformed } from '../wire/unpack.ts'
import { type ErrorFrame, errorFrame, OtherProxyVersion } from './errors.ts'

export const PROTOCOL = 6

/** Maximum size of a hello. A longer first message is not a hello, but for example the greeting of a shell. */
export const MAX_HELLO_BYTES = 4096
/** Maximum size of a request. Requests contain options or a name. */
export const MAX_REQUEST_BYTES = 1 << 20
/** Maximum size of an answer. Profiles are sent in pieces. */
export const MAX_ANSWER_BYTES = 64 << 20
export const PIECE_BYTES = 64 << 10
/** Number of the final profile, used to request its pieces. Intermediate profiles are numbered from 1. */
export const FINISHED = 0
/** Number of the profile from before the last change of the roots. Exists only if the change would otherwise lose that profile. */
export const BEFORE = -1
/** Maximum number of unanswered requests. The client queues further requests. */
export const MAX_OPEN_REQUESTS = 64

/** Interval between two pulses. */
export const PULSE_INTERVAL_MS = 3000
/** A connection without data for this time counts as lost. */
export const SILENCE_TIMEOUT_MS = 15_000
/** Time for which a session waits for its client to reconnect. */
export const GRACE_DURATION_MS = 60_000

const SESSION = /^[0-9a-f]{32}$/

export interface First {
  /** Decoded messages. Null if the data is not a valid frame. */
  readonly messages: unknown[][] | null
  readonly bytes: Buffer
}

/**
 * Reads the first messages of a connection, and then pauses the connection.
 * @returns null if the connection ends before its first message
 */
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

/**
 * Parses a hello.
 * @returns null if the message is not a hello
 */
export function readHello(message: readonly unknown[]): Hello | null {
  const [word, protocol, version, session, again] = message
  if (word !== 'hello' || typeof protocol !== 'number' || typeof version !== 'string') return null
  if (typeof session !== 'string' || !SESSION.test(session) || typeof again !== 'boolean') return null
  return { protocol, version, session, again }
}

/**
 * Compares the versions of client and proxy.
 * @returns the reason for refusing the client; null if the versions match
 */
export function refusal(hello: Hello, version: string): ErrorFrame | null {
  if (hello.protocol === PROTOCOL && hello.version === version) return null
  return errorFrame(
    new OtherProxyVersion(described(version, PROTOCOL), described(hello.version, hello.protocol)),
  )
}

export function described(version: string, protocol: number): string {
  return `${version} (protocol ${protocol})`
}
