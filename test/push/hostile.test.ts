// Profile servers that are missing, failing, or another kind of server: the message, its delay, and the receivers of the token.

import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { debug } from '../../src/base/debug.ts'
import { parseLabels } from '../../src/push/identity.ts'
import { post, problemOf } from '../../src/push/post.ts'
import { push } from '../../src/push/push.ts'
import { credentials, parseStore } from '../../src/push/store.ts'
import { profileOf } from '../profile/trees.ts'
import { closedPort, fullPort, startStore, startTcp } from './stores.ts'

const PROFILE = profileOf('main 1x 10ns ( work 2x 54ns )')
/** Short timeouts for events that never happen. */
const BOUNDS = { idleMs: 150, wholeMs: 600, pauseMs: 1 }
/** Long timeouts for a busy machine. */
const LONG_TIMEOUTS = { idleMs: 20_000, wholeMs: 20_000, pauseMs: 1 }
const SECRET = 'ey-secret'
const OTLP = '/v1development/profiles'
/** Lines of the debug log. */
const logged: string[] = []
debug.push = (text) => logged.push(text)

interface Outcome {
  readonly filed?: string
  readonly error?: Error & { readonly exitCode: number; readonly hint: string }
  readonly told: readonly string[]
}

async function tried(
  url: string,
  bounds = LONG_TIMEOUTS,
  stop = new AbortController().signal,
  tell: (line: string) => void = () => {},
  env: Record<string, string> = {},
): Promise<Outcome> {
  const told: string[] = []
  const to = {
    store: parseStore(url),
    labels: parseLabels([]),
    credentials: credentials({ JFLUID_PUSH_TOKEN: SECRET, ...env }),
  }
  const hear = (line: string): void => {
    told.push(line)
    tell(line)
  }
  try {
    const filed = await push(PROFILE, to, hear, stop, bounds)
    return { filed, told }
  } catch (error) {
    const known = error as NonNullable<Outcome['error']>
    expect(known.exitCode, String(known.stack)).toBeTypeOf('number')
    expect(`${known.message} ${known.hint} ${told.join()}`).not.toContain(SECRET)
    return { error: known, told }
  } finally {
    expect(logged.join()).not.toContain(SECRET)
  }
}

/** Returns name, exit status and message of the error. */
async function wrong(...args: Parameters<typeof tried>): Promise<string> {
  const { error, filed } = await tried(...args)
  return error === undefined
    ? `it was filed as ${filed}`
    : `${error.name} ${error.exitCode}: ${error.message}`
}

const status = (code: number, text = '', headers: Record<string, string> = {}) =>
  startStore((response) => response.writeHead(code, { 'content-type': 'text/plain', ...headers }).end(text))

it('the debug log contains each request and each answer', async () => {
  const store = await status(503, `no room, ${SECRET}`)
  logged.length = 0
  await wrong(store.url)
  expect(logged.map((it) => it.replace(/after [\d.]+ ms/, 'after a while'))).toEqual(
    [1, 2].flatMap(() => [
      expect.stringMatching(`^POST to ${store.url}/ingest: \\d+ bytes in \\d+ pieces$`),
      expect.stringMatching(`^${store.url}/ingest: HTTP 503, \\d+ bytes after a while$`),
    ]),
  )
})

describe('a store that refuses', () => {
  it.each([401, 403])('a refusal is not retried: %i', async (code) => {
    const store = await status(code, 'no such tenant\n')
    expect(await wrong(store.url)).toBe(
      `PushNotAllowed 77: ${store.url}/ingest does not permit the push: HTTP ${code}: no such tenant`,
    )
    expect(store.received).toHaveLength(1)
  })

  it.each([
    [400, 'PushRefused 69'],
    [404, 'PushRefused 69'],
    [413, 'PushRefused 69'],
    [422, 'PushRefused 69'],
  ])('the refusal of a store is quoted in one line without control characters: %i', async (code, name) => {
    const store = await status(code, `outside of \x1b[31mthe\r\n window ${'x'.repeat(5000)}`)
    const message = await wrong(store.url)
    expect(message).toMatch(
      `${name}: ${store.url}/ingest refused the profile: HTTP ${code}: outside of ?[31mthe?? window xxx`,
    )
    expect(message.length).toBeLessThan(450)
    expect(store.received).toHaveLength(1)
  })

  // The message of Pyroscope 2.2, which repeats all labels before the reason.
  const LABELS = `{__name__="time", ${Array.from({ length: 20 }, (_, at) => `l${at}="value"`).join(', ')}}`
  const escaped = (text: string) => text.replaceAll(/[()]/g, '\\$&')
  const SERIES = 'push series with index 0 and id 7 failed'
  it.each([
    ['is outside of ingestion window (profile timestamp: 2026)', 422, '-validation.reject-older-than'],
    ['exceeds the samples count limit (actual: 17000, limit: 16000)', 422, '--max-contexts'],
    ['exceeds the size limit (actual: 9, limit: 8)', 400, '--max-contexts'],
    ['has 37 label names; limit 30', 422, 'fewer labels'],
  ])('the reason at the end of a long refusal is quoted: %s', async (why, code, advice) => {
    const text = `${SERIES}: invalid_argument: profile with labels '${LABELS}' ${why}`
    const connect = await status(code, JSON.stringify({ code: 'unknown', message: text }))
    const { error } = await tried(connect.url)
    expect(error!.message).toMatch(new RegExp(`: HTTP ${code}: ${SERIES}: .+ … .+' ${escaped(why)}$`))
    expect(error!.hint).toContain(advice)
    const otlp = await tried((await status(code, text)).url + OTLP)
    expect(otlp.error!.message).toMatch(
      new RegExp(`${escaped(why)}; it may have accepted other parts of the profile$`),
    )
    expect(otlp.error!.hint).toContain(`${advice}`)
    expect(otlp.error!.hint).toMatch(
      / Over http:\/\/ the server accepts a profile completely or not at all\.$/,
    )
  })

  it('a reason for refusal in an OTLP message is quoted', async () => {
    // google.rpc.Status: 1 code, 2 message.
    const said = Buffer.from('proto: wrong wireType = 2 for field LinkIndex')
    const answer = Buffer.concat([Buffer.of(8, 3, 18, said.length), said])
    const store = await startStore((response) =>
      response.writeHead(400, { 'content-type': 'application/x-protobuf' }).end(answer),
    )
    const { error } = await tried(store.url + OTLP)
    expect(error!.message).toMatch(
      /refused the profile: HTTP 400: proto: wrong wireType = 2 for field LinkIndex$/,
    )
    expect(error!.hint).toContain('another version of OTLP profiles')
  })

  it.each([
    ['application/x-protobuf', Buffer.of(255, 255)],
    ['application/x-protobuf', Buffer.of(16, 3)],
    ['text/html', Buffer.from('<p>')],
  ])('a refusal that cannot be decoded is reported by its HTTP status: %s', async (type, body) => {
    const store = await startStore((response) => response.writeHead(400, { 'content-type': type }).end(body))
    expect(await wrong(store.url + OTLP)).toBe(
      `PushRefused 69: ${store.url}${OTLP} refused the profile: HTTP 400`,
    )
  })

  it.each(['{"message":', '{"message":7}', '{}'])(
    'a refusal that is not a Connect error is quoted unchanged: %s',
    async (text) => {
      const store = await status(400, text)
      expect(await wrong(store.url)).toBe(
        `PushRefused 69: ${store.url}/ingest refused the profile: HTTP 400: ${text}`,
      )
    },
  )

  it('a store that does not know the path for profiles is reported', async () => {
    const { error } = await tried((await status(404, '404 page not found\n')).url + OTLP)
    expect(error!.hint).toContain('--feature-gates=service.profilesSupport')
  })

  it.each([401, 422])('a refusal that repeats the token is quoted without the token: %i', async (code) => {
    const store = await startStore((response, _, { headers, url }) => {
      const said = `${headers.authorization} is wrong, and so is ${url.searchParams.get('key')}`
      response.writeHead(code, { 'content-type': 'text/plain' }).end(said)
    })
    const url = `${store.url}?key=${SECRET}%20too`
    expect(await wrong(url)).toMatch(/: Bearer \*\*\* is wrong, and so is \*\*\*$/)
    const { error } = await tried(url, LONG_TIMEOUTS, undefined, undefined, { JFLUID_PUSH_USER: '42' })
    expect(error!.message).toMatch(/: Basic \*\*\* is wrong, and so is \*\*\*$/)
  })
})

describe('a store that fails temporarily', () => {
  it('a push to a store that fails temporarily is tried once more', async () => {
    const store = await startStore((response, nth) => response.writeHead(nth === 1 ? 503 : 200).end())
    const { filed, told } = await tried(store.url)
    expect(filed).toBe('com.acme.Main{pid=4711,mode=exact}')
    expect(told).toEqual([
      `${store.url}/ingest did not accept the profile: HTTP 503; trying once more in 0.001 s`,
    ])
    const [first, second] = store.received
    expect(second!.body).toEqual(first!.body)
  })

  it.each([
    [429, '', 2],
    [503, '', 2],
    [429, OTLP, 2],
    [502, OTLP, 2],
    [503, OTLP, 2],
    [504, OTLP, 2],
    // A server with this answer may have stored the profile. A Pyroscope that receives a profile twice adds both.
    [500, '', 1],
    [502, '', 1],
    [504, '', 1],
    [500, OTLP, 1],
  ])(
    'a push is retried once if it is certain that the store has not stored the profile, otherwise never: %i %s',
    async (code, path, requests) => {
      const store = await status(code)
      expect(await wrong(store.url + path)).toBe(
        `PushUnavailable 75: ${store.url}${path || '/ingest'} did not accept the profile: HTTP ${code}`,
      )
      expect(store.received).toHaveLength(requests)
    },
  )

  it('a partial OTLP push is not retried, since Pyroscope would count it twice', async () => {
    const text =
      'push series with index 1 and id 7 failed: resource_exhausted: push rate limit (4.0 MiB) exceeded'
    const parts = await status(429, text)
    const { error } = await tried(parts.url + OTLP)
    expect(error).toMatchObject({ name: 'PushUnavailable', exitCode: 75 })
    expect(error!.message).toMatch(/it may have accepted other parts of the profile$/)
    expect(error!.hint).toContain('-distributor.ingestion-rate-limit-mb')
    expect(parts.received).toHaveLength(1)
    const whole = await status(429, text)
    await tried(whole.url)
    expect(whole.received).toHaveLength(2)
  })

  it('Retry-After of a store is respected up to a limit', async () => {
    const soon = await status(503, '', { 'retry-after': '0' })
    await tried(soon.url)
    expect(soon.received).toHaveLength(2)
    const late = await status(503, '', { 'retry-after': '3600' })
    await tried(late.url)
    expect(late.received).toHaveLength(1)
    const then = await status(503, '', { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() })
    await tried(then.url)
    expect(then.received).toHaveLength(1)
  })

  it('a push to an unreachable store is tried twice', async () => {
    const { error, told } = await tried(await closedPort())
    expect(error).toMatchObject({ name: 'PushUnavailable', exitCode: 75 })
    expect(error!.message).toMatch(/no program listens at 127\.0\.0\.1:\d+$/)
    expect(told).toHaveLength(1)
  })

  it('it is reported if the host name of a store has no address', async () => {
    expect(await wrong('http://jfluid-no-such-host.invalid')).toMatch(
      /^(PushHostUnknown 68: cannot resolve the host|PushUnavailable 75: .* the name) jfluid-no-such-host\.invalid (cannot be resolved now )?\(E\w+\)$/,
    )
  })

  it('a temporary name server failure is reported', () => {
    const code = (name: string) => Object.assign(new Error(name), { code: name })
    const url = new URL('http://store:4040')
    expect(problemOf(code('ENOTFOUND'), url, 'store')).toMatchObject({ name: 'PushHostUnknown' })
    expect(problemOf(code('EAI_AGAIN'), url, 'store')).toMatchObject({
      ...{ name: 'PushUnavailable', exitCode: 75, retry: true },
    })
  })
})

describe('a store that does not answer, or answers or reads slowly', () => {
  it('a push to a store that never answers times out', async () => {
    const hung = await startTcp(() => {})
    expect(await wrong(hung, BOUNDS)).toMatch(/^PushUnavailable 75: .*no answer within 0\.15 s$/)
  })

  it('a push to a store that answers byte by byte times out', async () => {
    const url = await startTcp((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
      const timer = setInterval(() => socket.write('x'), 20)
      socket.once('close', () => clearInterval(timer))
    })
    expect(await wrong(url, { ...LONG_TIMEOUTS, wholeMs: 600 })).toMatch(
      /^PushUnavailable 75: .*the push was not completed within 0\.6 s$/,
    )
  })

  it('a push to a store that redirects slowly times out', async () => {
    const store = await startStore((response) => {
      setTimeout(() => response.writeHead(307, { location: '/ingest' }).end(), 250)
    })
    expect(await wrong(store.url, { ...LONG_TIMEOUTS, wholeMs: 600 })).toMatch(
      /the push was not completed within 0\.6 s$/,
    )
  })

  it('a push whose packets are dropped times out', async () => {
    expect(await wrong(await fullPort(), BOUNDS)).toMatch(/no connection within 0\.15 s$/)
  })

  it('a push times out if the store does not answer the TLS handshake', async () => {
    const hung = await startTcp(() => {})
    expect(await wrong(hung.replace('http:', 'https:'), BOUNDS)).toMatch(/no connection within 0\.15 s$/)
  })

  /** Returns a body of 64 MiB, more than the socket buffers hold, and the number of bytes read from it. */
  function large(): { body: Uint8Array[]; asked: () => number } {
    const pieces = Array.from({ length: 64 }, () => PIECE)
    let asked = 0
    const counted = function* (): Generator<Uint8Array> {
      for (let at = 0; at < pieces.length; at++, asked++) yield pieces[at]!
    }
    return { body: Object.assign(pieces, { [Symbol.iterator]: counted }), asked: () => asked }
  }
  const PIECE = new Uint8Array(1 << 20)
  const posted = (url: string, body: readonly Uint8Array[], bounds: typeof BOUNDS) =>
    post({ url: new URL(url), headers: {}, body }, url, new AbortController().signal, bounds)

  it('a push times out if the store does not read a large profile to its end', async () => {
    const url = await startTcp((socket) => socket.pause())
    const { body, asked } = large()
    await expect(posted(url, body, { ...LONG_TIMEOUTS, idleMs: 150 })).rejects.toThrow(
      /no answer within 0\.15 s$/,
    )
    expect(asked()).toBeLessThan(60)
  })

  it('a push to a store that reads a large profile slowly does not time out while the store reads', async () => {
    const warnings: Error[] = []
    const warned = (warning: Error) => warnings.push(warning)
    process.on('warning', warned)
    const store = await startStore()
    const { body } = large()
    expect((await posted(store.url, body, LONG_TIMEOUTS)).status).toBe(200)
    await new Promise((resolve) => setImmediate(resolve)) // warnings are emitted in the next tick
    process.off('warning', warned)
    expect(store.received[0]!.body).toHaveLength(64 << 20)
    expect(warnings).toEqual([])
  })

  it('the user can cancel a push at once', async () => {
    const stop = new AbortController()
    const url = await startTcp(() => stop.abort())
    expect(await wrong(url, LONG_TIMEOUTS, stop.signal)).toMatch(
      /PushUnavailable 75: .*the push was interrupted$/,
    )
    expect(await wrong(url, LONG_TIMEOUTS, stop.signal)).toMatch(/the push was interrupted$/)
  })

  it('the user can cancel a push while it waits for the next attempt', async () => {
    const stop = new AbortController()
    const store = await status(503)
    const bounds = { ...LONG_TIMEOUTS, pauseMs: 60_000 }
    const outcome = await tried(store.url, bounds, stop.signal, (line) => {
      expect(line).toMatch(/HTTP 503; trying once more in 60 s$/)
      setImmediate(() => stop.abort()) // the push is then in its pause
    })
    expect(outcome.error).toMatchObject({ name: 'PushUnavailable' })
    expect(outcome.error!.message).toMatch(/the push was interrupted$/)
    expect(store.received).toHaveLength(1)
  })
})

describe('servers that are not a store', () => {
  it('a connection that the server closes before it answers is reported', async () => {
    const url = await startTcp((socket) => socket.destroy())
    expect(await wrong(url)).toMatch(/^PushUnavailable 75: .*closed the connection without an answer$/)
  })

  it('a connection that the server closes during its answer is reported', async () => {
    const url = await startTcp((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxx'))
    expect(await wrong(url)).toMatch(/^PushUnavailable 75: .*ended in the middle$/)
  })

  it('an answer in a protocol other than HTTP is reported', async () => {
    const url = await startTcp((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'))
    expect(await wrong(url)).toMatch(/^PushNotUnderstood 76: .*its answer is not HTTP$/)
  })

  it('a server without TLS is reported', async () => {
    const url = await startTcp((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    expect(await wrong(url.replace('http:', 'https:'))).toMatch(
      /^PushNotUnderstood 76: .*no secure connection/,
    )
  })

  it('an endless answer is cut off', async () => {
    let sent = 0
    const store = await startStore((response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1 << 16))) sent += 1 << 16
      }
      response.writeHead(200).on('drain', more)
      more()
    })
    expect(await wrong(store.url)).toMatch(/^PushNotUnderstood 76: .*longer than 1048576 bytes$/)
    expect(sent).toBeLessThan(64 << 20)
  })

  it('a web page as an answer is reported', async () => {
    const store = await status(200, '<html>', { 'content-type': 'text/html; charset=utf-8' })
    expect(await wrong(store.url)).toMatch(/^PushNotUnderstood 76: .*web page$/)
  })

  it.each([
    ['text/plain', 'OK', 'text/plain: OK'],
    ['application/json; charset=utf-8', '{"status":"UP"}', 'application/json: {"status":"UP"}'],
    ['', 'OK', 'something else: OK'],
  ])(
    'a server that answers 200 to every request is not accepted as a store: %s',
    async (type, text, what) => {
      const store = await startStore((response) => {
        response.writeHead(200, type === '' ? {} : { 'content-type': type }).end(text)
      })
      expect(await wrong(store.url)).toBe(
        `PushNotUnderstood 76: ${store.url}/ingest is not a profile server: HTTP 200 with no text was expected, not with ${what}`,
      )
      expect(await wrong(store.url + OTLP)).toMatch(/HTTP 200 with a message of OTLP was expected, not with /)
    },
  )
})

describe('a store that redirects', () => {
  const to = (location: string, code = 307) =>
    startStore((response) => response.writeHead(code, { location }).end())

  it('a redirect to another host is not followed, so that no other host gets profile and token', async () => {
    const other = await startStore()
    const store = await to(`${other.url}/ingest?token=x`)
    const { error } = await tried(store.url)
    expect(error).toMatchObject({ name: 'PushNotUnderstood', exitCode: 76 })
    expect(error!.message).toContain(`it redirects to ${other.url}/ingest, to which jfluid sends no profile`)
    expect(other.received).toHaveLength(0)
    const repeating = await to(`${other.url}/of/${SECRET}`)
    expect(await wrong(repeating.url)).toContain(`${other.url}/of/***, to which`)
  })

  it('a redirect on the same host is followed with the whole request', async () => {
    const store = await startStore((response, _, { url }) =>
      url.pathname === '/ingest'
        ? response.writeHead(308, { location: '/new/ingest?a=b' }).end()
        : response.end(),
    )
    expect((await tried(store.url)).filed).toBeDefined()
    const [first, second] = store.received
    expect(second!.url.pathname).toBe('/new/ingest')
    expect(second!.body).toEqual(first!.body)
    expect(second!.headers.authorization).toBe(`Bearer ${SECRET}`)
  })

  it.each([
    ['a loop of redirects', '/ingest', 307, 4, /too many redirects/],
    ['a change of the request to GET', '/other', 302, 1, /to which jfluid sends no profile$/],
    ['a redirect to the same address', '', 307, 4, /too many redirects/],
    ['a redirect to an invalid address', 'http://', 307, 1, /HTTP 307 without the address of the redirect$/],
    ['a redirect to a file', 'file:///etc/passwd', 307, 1, /to which jfluid sends no profile$/],
  ])('an invalid redirect ends the push with an error: %s', async (_, location, code, requests, message) => {
    const store = await to(location, code)
    const { error } = await tried(store.url)
    expect(error).toMatchObject({ name: 'PushNotUnderstood', exitCode: 76 })
    expect(error!.message).toMatch(message)
    expect(store.received).toHaveLength(requests)
  })
})

describe('the answer of an OTLP store', () => {
  const answered = async (body: Uint8Array | string, type = 'application/x-protobuf'): Promise<Outcome> => {
    const store = await startStore((response) => response.writeHead(200, { 'content-type': type }).end(body))
    return await tried(store.url + OTLP)
  }
  const text = (said: string) => [0x12, said.length, ...Buffer.from(said)]
  const partial = (...bytes: number[]) => Uint8Array.of(0x0a, bytes.length, ...bytes)

  it('an empty OTLP answer, or an empty partial success, is a success', async () => {
    expect((await answered('')).filed).toBeDefined()
    expect((await answered(partial())).filed).toBeDefined()
  })

  it('an OTLP answer with rejected profiles is an error', async () => {
    const { error } = await answered(partial(0x08, 2, ...text('too old')))
    expect(error).toMatchObject({ name: 'PushRefused', exitCode: 69 })
    expect(error!.message).toMatch(/it rejected 2 profiles: too old$/)
  })

  it('an OTLP answer with a message is shown', async () => {
    const { filed, told } = await answered(partial(...text('slow \x1bdown')))
    expect(filed).toBeDefined()
    expect(told.at(-1)).toMatch(/ says: slow \?down$/)
  })

  it.each([
    ['a varint without an end', Uint8Array.of(0x0a, 0xff)],
    ['a field longer than the answer', Uint8Array.of(0x0a, 9, 1)],
    ['a field of an unknown type', Uint8Array.of(0x0b)],
    ['unexpected fields in a partial success', partial(0x0a, 1, 1, 0x10, 1)],
    ['a varint of eleven bytes', Uint8Array.of(...Array.from({ length: 11 }, () => 0xff))],
  ])('an invalid OTLP answer is reported: %s', async (_, body) => {
    expect((await answered(body)).error).toMatchObject({ name: 'PushNotUnderstood', exitCode: 76 })
  })

  it('an OTLP store that does not know the path for profiles is reported', async () => {
    const store = await status(404)
    const { error } = await tried(store.url + OTLP)
    expect(error).toMatchObject({
      name: 'PushRefused',
      hint: expect.stringContaining('/v1development/profiles') as string,
    })
  })
})

it('each request has its own connection, and no connection stays open', async () => {
  const closed: Promise<unknown>[] = []
  const url = await startTcp((socket) => {
    closed.push(once(socket, 'close'))
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
  })
  expect((await tried(url)).filed).toBeDefined()
  await Promise.all(closed)
  expect(closed).toHaveLength(1)
})
