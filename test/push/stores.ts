// Test profile servers: HTTP servers on this machine that keep the received data, and send the answers that a test defines.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'
import { gunzipSync } from 'node:zlib'
import { Profile as Message } from 'pprof-format'
import { onTestFinished } from 'vitest'

export interface Received {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface Store {
  /** "http://127.0.0.1:40123" */
  readonly url: string
  readonly received: readonly Received[]
}

/** Answers 200 with an empty body, like Pyroscope, unless the test defines another answer. */
export async function startStore(
  answer: (response: ServerResponse, nth: number, request: Received) => void = (response) => response.end(),
): Promise<Store> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    const { method = '', url = '', headers } = request
    const each = { method, url: new URL(url, 'http://store'), headers, body }
    answer(response, received.push(each), each)
  })
  return { url: await listen(server), received }
}

/** Passes each new connection to `meet`. */
export async function startTcp(meet: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}) // the client may close the connection at any time
    meet(socket)
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  return await listen(server)
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/**
 * A port that drops new connections: its process is stopped, and its accept queue is full. Linux then drops a SYN
 * (tcp_conn_request).
 */
export async function fullPort(): Promise<string> {
  const script = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    console.log(this.address().port)
  })`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  child.kill('SIGSTOP')
  const port = Number(line)
  const callers = Array.from({ length: 8 }, () => connect(port, '127.0.0.1'))
  onTestFinished(() => {
    for (const socket of callers) socket.destroy()
  })
  // The accept queue is full; the other connections keep trying.
  let connected = 0
  await new Promise<void>((resolve) => {
    for (const socket of callers)
      socket.on('error', () => {}).once('connect', () => ++connected === 2 && resolve())
  })
  return `http://127.0.0.1:${port}`
}

/** Returns a port without a listener. */
export async function closedPort(): Promise<string> {
  const server = createTcpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

export interface Ingested {
  readonly config: { readonly [type: string]: Readonly<Record<string, unknown>> }
  /** "calls/count" */
  readonly types: readonly string[]
  /** Methods from the top node down, and the values. */
  readonly samples: readonly { readonly stack: readonly string[]; readonly values: readonly number[] }[]
}

/** Reads a form sent to `/ingest`, with the form parser of Node's fetch and with pprof-format. */
export async function ingested({ headers, body }: Received): Promise<Ingested> {
  const type = headers['content-type'] ?? ''
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  const [profile, config] = ['profile', 'sample_type_config'].map((name) => form.get(name))
  if (!(profile instanceof File) || !(config instanceof File)) throw new Error('the form has no such files')
  const message = Message.decode(gunzipSync(await profile.arrayBuffer()))
  const text = (at: number | bigint) => message.stringTable.strings[Number(at)]!
  const functions = new Map(message.function.map((it) => [it.id, text(it.name)]))
  const locations = new Map(message.location.map(({ id, line }) => [id, functions.get(line[0]!.functionId)!]))
  return {
    config: JSON.parse(await config.text()) as Ingested['config'],
    types: message.sampleType.map((it) => `${text(it.type)}/${text(it.unit)}`),
    samples: message.sample.map(({ locationId, value }) => ({
      stack: locationId.map((id) => locations.get(id)!).reverse(),
      values: value.map((it) => Number(BigInt.asIntN(64, BigInt(it)))),
    })),
  }
}
