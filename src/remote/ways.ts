// How a client gets to a proxy: by an ssh that it starts, or by TLS with a key that both have.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { basename } from 'node:path'
import { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { JfluidError } from '../base/errors.ts'
import { loginName, loginTo, type RemoteAddress } from './address.ts'
import type { Way } from './caller.ts'
import { CannotReach, WrongProxyKey } from './errors.ts'
import { IDENTITY, TLS } from './key.ts'

/** Of what ssh and the shell there say, the end. */
const MOST_SAID = 2000
const CONNECT_MS = 10_000
/** By TLS, where the proxy hangs up. */
const MOST_TRIES = 4
/** After the first; after the others as many times as much. */
const PAUSE_MS = 200
/** From the end of ssh to that of what it says. */
const LAST_WORDS_MS = 200
/** Ctrl-C ends the recording, and not the way to its profile: ssh heeds that it is to be ignored. It keeps the terminal, to ask for a password. */
const UNINTERRUPTED = 'trap "" INT QUIT; exec "$@"'
const REMOTE_COMMAND = 'jfluid proxy --stdio'

/**
 * By ssh, which knows both machines, encrypts, and asks for what it needs on the terminal itself.
 *
 * @param env  JFLUID_SSH: the program, in place of ssh; JFLUID_PROXY_COMMAND: what is started there
 */
export function sshWay(address: RemoteAddress, env: NodeJS.ProcessEnv): Way {
  const program = env.JFLUID_SSH || 'ssh'
  const command = env.JFLUID_PROXY_COMMAND || REMOTE_COMMAND
  const { port, where } = address
  const there = loginName(address)
  const said = new WeakMap<Duplex, () => Promise<JfluidError | null>>()
  return {
    where,
    mayAsk: true,
    connect(isAgain) {
      const child = spawn(
        'sh',
        [
          ...['-c', UNINTERRUPTED, 'sh', program, '-T'],
          // Nobody could see what it asks while a view has the terminal.
          ...(isAgain ? ['-o', 'BatchMode=yes'] : []),
          ...(port === null ? [] : ['-p', String(port)]),
          ...['--', there, command],
        ],
        { stdio: ['pipe', 'pipe', 'pipe'], detached: isAgain },
      )
      const both = new ChildStream(child)
      let text = ''
      child.stderr.setEncoding('utf8').on('data', (more: string) => {
        text = (text + more).slice(-MOST_SAID)
      })
      const ended = new Promise<number | string | null>((resolve) => {
        child.once('exit', async (code, signal) => {
          // A master that ssh leaves behind for later connections (ControlPersist) keeps it open.
          await Promise.race([once(child.stderr, 'close'), sleep(LAST_WORDS_MS)])
          resolve(code ?? signal)
        })
        child.once('error', () => resolve(null))
      })
      said.set(both, async () => {
        const status = await ended
        // 0: it was us who ended it.
        if (status === 0 || status === null) return null
        const last = text.trim().split('\n').slice(-3).join('; ')
        return new CannotReach(
          where,
          `${basename(program)} ended with ${status}${last === '' ? '' : `: ${last}`}`,
          status === 127
            ? 'Install jfluid on that machine, or set JFLUID_PROXY_COMMAND to the command that starts its proxy there.'
            : `Run the command yourself: ${[loginTo(address), command.replace('--stdio', '--help')].join(' ')}`,
        )
      })
      return Promise.resolve(both)
    },
    problem: async (connection) => (await said.get(connection)?.()) ?? null,
  }
}

/** What goes to a child and what comes of it. All that it has said is read, also where it has ended meanwhile, or takes nothing. */
class ChildStream extends Duplex {
  constructor(private readonly child: ChildProcessWithoutNullStreams) {
    super({ allowHalfOpen: false })
    child.stdout.on('data', (bytes: Buffer) => {
      if (!this.push(bytes)) child.stdout.pause()
    })
    child.stdout.once('end', () => this.push(null))
    child.stdin.on('error', () => {}) // the end of what it says tells
    child.once('error', () => this.destroy())
  }

  override _read(): void {
    this.child.stdout.resume()
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: () => void): void {
    this.child.stdin.write(bytes, () => done())
  }

  override _final(done: () => void): void {
    this.child.stdin.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.child.kill()
    done(error)
  }
}

/** By TLS with a key that both ends have, and no certificates. */
export function tcpWay(address: RemoteAddress, key: Buffer): Way {
  const { where } = address
  const problems = new WeakMap<Duplex, JfluidError>()
  return {
    where,
    async connect(isAgain) {
      // A proxy that is called by too many hangs up on any that have not shown the key yet. Whoever comes again is tried again anyway.
      for (let tries = 1; ; tries++) {
        const connection = await connectOnce(address, key, problems)
        if (connection !== null) return connection
        if (isAgain || tries === MOST_TRIES) break
        await sleep(tries * PAUSE_MS)
      }
      throw new CannotReach(
        where,
        'the other end closed the connection',
        'Check that jfluid proxy --listen runs there. If too many clients connect at once it closes connections: try again.',
      )
    },
    problem: (connection) => Promise.resolve(problems.get(connection) ?? null),
  }
}

/**
 * @returns null if it was taken, and closed before the key could be shown
 * @throws CannotReach, WrongProxyKey
 */
function connectOnce(
  { host, port, where }: RemoteAddress,
  key: Buffer,
  problems: WeakMap<Duplex, JfluidError>,
): Promise<Duplex | null> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connectTls({
      ...TLS,
      host,
      port: port ?? 0,
      // There is no certificate: who has the key is the one.
      checkServerIdentity: () => undefined,
      pskCallback: () => ({ psk: key, identity: IDENTITY }),
    })
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error(`no answer for ${CONNECT_MS / 1000} s`), { code: 'ETIMEDOUT' }))
    }, CONNECT_MS)
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const problem = problemOf(error, where)
      problems.set(socket, problem)
      if (error.code === 'ECONNRESET') resolve(null)
      else reject(problem)
    })
    socket.once('close', () => {
      clearTimeout(timer)
      resolve(null)
    })
    socket.once('secureConnect', () => {
      clearTimeout(timer)
      socket.setNoDelay(true)
      resolve(socket)
    })
  })
}

function problemOf(error: NodeJS.ErrnoException, where: string): JfluidError {
  const { code = '' } = error
  if (/BAD_RECORD_MAC|DECRYPT|UNKNOWN_PSK/.test(code)) return new WrongProxyKey(where)
  const reason = REASONS[code] ?? error.message.trim()
  return new CannotReach(where, reason, 'Check the address, and that `jfluid proxy --listen` runs there.')
}

const NO_MACHINE = 'no machine of that name is known'
const NO_TLS = 'what answers there does not speak TLS'
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ENOTFOUND: NO_MACHINE,
  EAI_AGAIN: NO_MACHINE,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
}
