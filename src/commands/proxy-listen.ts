// jfluid proxy --listen: accepts clients with the key over TLS, until the proxy is stopped.

import { type AddressInfo, isIP } from 'node:net'
import { createServer } from 'node:tls'
import { debug } from '../base/debug.ts'
import { UsageError } from '../base/errors.ts'
import { errorFrame, ProxyCannotListen } from '../remote/errors.ts'
import type { Host, HostOptions } from '../remote/host.ts'
import { IDENTITY, keyInFile, keyOfEnvironment, newKey, TLS } from '../remote/key.ts'
import { Strangers } from '../remote/strangers.ts'
import { say } from './say.ts'
import { signalStatus, stopSignal } from './signals.ts'

const LOOPBACK = '127.0.0.1'
/** Maximum number of concurrent authenticated connections. Each session has one connection, and briefly a second connection. */
const MAX_CONNECTIONS = 128
const HANDSHAKE_TIMEOUT_MS = 10_000

export class BadListenAddress extends UsageError {
  static sample = () => new BadListenAddress('localhost:port')
  readonly hint =
    'Give a port, for clients on this machine, or address:port, for example 10.0.0.7:7071 or [::]:7071.'
  constructor(text: string) {
    super(`--listen '${text}' is not a port or an address`)
  }
}

/** @throws BadListenAddress */
export function listenAddress(text: string): { readonly host: string; readonly port: number } {
  const found = /^(?:(.+):)?(\d{1,5})$/.exec(text)
  const host = (found?.[1] ?? LOOPBACK).replace(/^\[(.*)\]$/, '$1')
  const port = Number(found?.[2])
  if (found === null || port > 65535 || isIP(host) === 0) throw new BadListenAddress(text)
  return { host, port }
}

/** @throws BadListenAddress, ProxyCannotListen, NoProxyKey */
export async function listenForClients(
  address: string,
  keyFile: string | undefined,
  host: (told: Pick<HostOptions, 'onProblem'>) => Host,
): Promise<void> {
  const at = listenAddress(address)
  const { key, shown } = keyFor(keyFile)
  const sessions = host({
    onProblem: (error) => say(`a session did not end normally: ${errorFrame(error)[1]}`),
  })
  const strangers = new Strangers()
  let clients = 0
  const server = createServer(
    {
      ...TLS,
      pskCallback: (_, identity) => (identity === IDENTITY ? key : null),
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    },
    (socket) => {
      strangers.leave(socket)
      clients++
      debug.remote?.(`a client has connected with the key; there are ${clients}`)
      socket.once('close', () => clients--)
      socket.setNoDelay(true)
      if (clients > MAX_CONNECTIONS) socket.destroy()
      else sessions.welcome(socket)
    },
  )
  server.on('connection', (socket) => strangers.come(socket))
  server.on('tlsClientError', ({ message }, socket) => {
    debug.remote?.(`a connection without the key: ${message}`)
    socket.destroy()
  })
  await new Promise<void>((resolve, reject) => {
    const onError = ({ code = '', message }: NodeJS.ErrnoException): void => {
      const reason = REASONS[code] ?? (code || message)
      reject(new ProxyCannotListen(address, reason, 'Use another address or port with --listen.'))
    }
    server.once('error', onError)
    server.listen(at.port, at.host, () => {
      server.off('error', onError)
      resolve()
    })
  })
  // A connection that cannot be accepted, for example for lack of descriptors, does not end any session.
  server.on('error', (error) => say(`a connection was not taken: ${error.message}`))
  const { port } = server.address() as AddressInfo
  const shownHost = at.host.includes(':') ? `[${at.host}]` : at.host
  say(`listening at ${shownHost}:${port}; Ctrl-C ends the proxy and its sessions`)
  say(shown)
  const stop = stopSignal()
  const signal = await stop.fired
  server.close()
  const waiting = sessions.clients
  if (waiting > 0)
    say(
      `sending the recorded profiles to ${waiting === 1 ? 'a client' : `${waiting} clients`}; Ctrl-C again ends the proxy immediately`,
    )
  await sessions.end(signal)
  stop.dispose()
  process.exit(signalStatus(signal))
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses this port',
  EADDRNOTAVAIL: 'this machine does not have this address',
  EACCES: 'this user is not allowed to use this port',
}

function keyFor(file: string | undefined): { readonly key: Buffer; readonly shown: string } {
  if (file !== undefined) return { key: keyInFile(file), shown: `the key is in ${file}` }
  const given = keyOfEnvironment(process.env)
  if (given !== null) return { key: given, shown: 'the key was read from the environment' }
  const { text, key } = newKey()
  return { key, shown: `JFLUID_PROXY_KEY=${text}` }
}
