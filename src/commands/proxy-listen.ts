// jfluid proxy --listen: clients that have its key come by TLS, until it is ended.

import { type AddressInfo, isIP } from 'node:net'
import { createServer } from 'node:tls'
import { EX_USAGE, JfluidError } from '../base/errors.ts'
import { ProxyCannotListen } from '../remote/errors.ts'
import type { Host } from '../remote/host.ts'
import { IDENTITY, keyInFile, keyOfEnvironment, newKey, TLS } from '../remote/key.ts'
import { say } from './say.ts'
import { signalStatus, stopSignal } from './signals.ts'

const LOOPBACK = '127.0.0.1'
/** Connections at a time; each session has one. */
const MOST_CONNECTIONS = 64

export class BadListenAddress extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Give a port, for this machine alone; or address:port, as 10.0.0.7:7071 or [::]:7071.'
  constructor(text: string) {
    super(`--listen does not take '${text}'`)
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
  host: (onEmpty: () => void) => Host,
): Promise<void> {
  const at = listenAddress(address)
  const { key, shown } = keyFor(keyFile)
  const sessions = host(() => {})
  const server = createServer(
    { ...TLS, pskCallback: (_, identity) => (identity === IDENTITY ? key : null) },
    (socket) => {
      socket.setNoDelay(true)
      sessions.welcome(socket)
    },
  )
  server.maxConnections = MOST_CONNECTIONS
  server.on('tlsClientError', (_, socket) => socket.destroy()) // it has no key, or another one
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new ProxyCannotListen(address, error.code ?? error.message)),
    )
    server.listen(at.port, at.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  say(
    `listening at ${at.host.includes(':') ? `[${at.host}]` : at.host}:${port}; Ctrl-C ends it and its sessions`,
  )
  say(shown)
  const stop = stopSignal()
  const signal = await stop.fired
  server.close()
  await sessions.close()
  stop.dispose()
  process.exit(signalStatus(signal))
}

function keyFor(file: string | undefined): { readonly key: Buffer; readonly shown: string } {
  if (file !== undefined) return { key: keyInFile(file), shown: `the key is in ${file}` }
  const given = keyOfEnvironment(process.env)
  if (given !== null) return { key: given, shown: 'the key is that of the environment' }
  const { text, key } = newKey()
  return { key, shown: `JFLUID_PROXY_KEY=${text}` }
}
