// Sends one POST in bounded time and memory, for any behaviour of the server. Uses Node's HTTP client, since fetch has no timeout, and
// either follows redirects or hides the targets of redirects.

import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { debug, msText } from '../base/debug.ts'
import { clean } from '../profile/text.ts'
import {
  PushHostUnknown,
  PushNotUnderstood,
  type PushProblem,
  PushRefused,
  PushUnavailable,
} from './errors.ts'

export interface Request {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: readonly Uint8Array[]
}

/** A request with a body that is generated while it is read. */
export interface Draft extends Omit<Request, 'body'> {
  readonly body: Iterable<Uint8Array>
}

export interface Answer {
  readonly status: number
  /** Content-Type, without parameters. */
  readonly type: string
  readonly location: string | null
  /** Retry-After, in ms. */
  readonly afterMs: number | null
  readonly body: Uint8Array
}

export interface Bounds {
  /** Maximum time without progress. Also the maximum time to open the connection. */
  readonly idleMs: number
  /** Maximum time for one attempt, redirects included. */
  readonly wholeMs: number
}

export const BOUNDS: Bounds = { idleMs: 10_000, wholeMs: 60_000 }

/** Maximum number of bytes read of an answer. OTLP 1.11.0 allows 4 MiB. */
const MAX_ANSWER_BYTES = 1 << 20
/**
 * Number of characters shown from the beginning and the end of the store's message. A message may repeat all labels in its middle and state
 * the reason at its end.
 */
const SAID_FIRST = 100
const SAID_LAST = 200
/** Bytes per write to the socket; small enough to observe progress. */
const CHUNK_BYTES = 1 << 16

/**
 * @param shown  name of the store in messages
 * @param stop   aborts the request
 * @param until  end of the attempt by `performance.now()`; earlier requests may belong to the same attempt
 * @throws PushHostUnknown, PushUnavailable, PushNotUnderstood
 */
export function post(
  request: Request,
  shown: string,
  stop: AbortSignal,
  bounds = BOUNDS,
  until = performance.now() + bounds.wholeMs,
): Promise<Answer> {
  const { url, headers, body } = request
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const isSecure = url.protocol === 'https:'
    const send = isSecure ? httpsRequest : httpRequest
    const length = body.reduce((sum, piece) => sum + piece.length, 0)
    const outgoing = send(url, {
      method: 'POST',
      agent: false, // a separate connection, which ends with the answer
      headers: { 'user-agent': 'jfluid', accept: '*/*', ...headers, 'content-length': length },
    })
    debug.push?.(`POST to ${shown}: ${length} bytes in ${body.length} pieces`)
    const over = (how: string): void => {
      debug.push?.(`${shown}: ${how} after ${msText(performance.now() - begun)}`)
      clearTimeout(deadline)
      clearTimeout(connecting)
      stop.removeEventListener('abort', stopped)
      outgoing.destroy()
    }
    const fail = (problem: Error): void => {
      over(problem.message)
      reject(problem)
    }
    const tooLong = (ms: number, what: string): void =>
      fail(new PushUnavailable(shown, `${what} within ${seconds(ms)}`, false))
    const deadline = setTimeout(
      () => tooLong(bounds.wholeMs, 'the push was not completed'),
      Math.max(0, until - performance.now()),
    )
    // The timeout of a request begins only when it is connected. So the connect needs its own timer: its packets may be dropped.
    const connecting = setTimeout(() => tooLong(bounds.idleMs, 'no connection'), bounds.idleMs)
    const stopped = (): void => fail(new PushUnavailable(shown, 'the push was interrupted', false))
    outgoing.on('error', (error: NodeJS.ErrnoException) => fail(problemOf(error, url, shown)))
    if (stop.aborted) return stopped()
    stop.addEventListener('abort', stopped)
    outgoing.setTimeout(bounds.idleMs, () => tooLong(bounds.idleMs, 'no answer'))
    outgoing.on('socket', (socket) => {
      socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(connecting))
    })
    outgoing.on('response', (incoming) => {
      readAnswer(incoming, shown).then((answer) => {
        over(`HTTP ${answer.status}, ${answer.body.length} bytes`)
        resolve(answer)
      }, fail)
    })
    void sendPieces(body, outgoing)
  })
}

/** Sends the body at the pace of the socket. Stops if the socket is closed: its `error` event reports the reason. */
async function sendPieces(body: readonly Uint8Array[], out: ReturnType<typeof httpRequest>): Promise<void> {
  for (const piece of body) {
    for (let at = 0; at < piece.length; at += CHUNK_BYTES) {
      if (out.destroyed) return
      if (out.write(piece.subarray(at, at + CHUNK_BYTES))) continue
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          out.off('drain', goOn).off('close', goOn)
          resolve()
        }
        out.on('drain', goOn).on('close', goOn)
      })
    }
  }
  if (!out.destroyed) out.end()
}

function readAnswer(incoming: IncomingMessage, shown: string): Promise<Answer> {
  const chunks: Buffer[] = []
  let bytes = 0
  return new Promise((resolve, reject) => {
    const cut = (what: string): void => reject(new PushUnavailable(shown, what, false))
    incoming.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > MAX_ANSWER_BYTES) {
        reject(new PushNotUnderstood(shown, `its answer is longer than ${MAX_ANSWER_BYTES} bytes`))
      }
    })
    incoming.on('error', () => cut('its answer ended in the middle'))
    incoming.on('end', () =>
      resolve({
        status: incoming.statusCode ?? 0,
        type: (incoming.headers['content-type'] ?? '').replace(/;.*/s, '').trim().toLowerCase(),
        location: incoming.headers.location ?? null,
        afterMs: retryAfter(incoming.headers['retry-after']),
        body: Buffer.concat(chunks, bytes),
      }),
    )
  })
}

/** Parses Retry-After: seconds or a date (RFC 9110, 10.2.3). */
function retryAfter(text: string | undefined): number | null {
  if (text === undefined) return null
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/**
 * Formats a store's message as one safe line for a terminal; a long text is cut in the middle.
 *
 * @param secrets  secrets in the request, which the store may repeat
 */
export function saidIn(text: Uint8Array, secrets: readonly string[]): string {
  const said = clean(without(secrets, new TextDecoder().decode(text)).trim())
  if (said.length <= SAID_FIRST + SAID_LAST) return said
  return `${said.slice(0, SAID_FIRST)} … ${said.slice(-SAID_LAST)}`
}

export function without(secrets: readonly string[], text: string): string {
  // Longest first: a token may be part of another secret.
  return secrets
    .toSorted((a, b) => b.length - a.length)
    .reduce((left, secret) => left.replaceAll(secret, '***'), text)
}

/** Converts a connection error. */
export function problemOf(error: NodeJS.ErrnoException, { host, hostname }: URL, shown: string): PushProblem {
  const code = error.code ?? error.message
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_NODATA':
      return new PushHostUnknown(hostname, code)
    case 'EAI_AGAIN':
      return new PushUnavailable(shown, `the name ${hostname} cannot be resolved now (${code})`, true)
    case 'ECONNREFUSED':
      return new PushUnavailable(shown, `no program listens at ${host}`, true)
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return new PushUnavailable(shown, `no network route to ${host} (${code})`, true)
    case 'ECONNRESET':
    case 'EPIPE':
      // The store may have stored the profile: a retry could duplicate it.
      return new PushUnavailable(shown, 'it closed the connection without an answer', false)
    case 'ETIMEDOUT':
      return new PushUnavailable(shown, `no connection to ${host}`, false)
    default:
      if (code.startsWith('HPE_')) return new PushNotUnderstood(shown, 'its answer is not HTTP')
      if (/^(CERT_|ERR_TLS|ERR_SSL|EPROTO|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_)/.test(code)) {
        return new PushNotUnderstood(
          shown,
          `no secure connection is possible (${code})`,
          'Check that the server uses https. For a certificate of your own authority set NODE_EXTRA_CA_CERTS=<file>.',
        )
      }
      return new PushRefused(shown, `the connection failed (${code})`)
  }
}

function seconds(ms: number): string {
  return `${ms / 1000} s`
}
