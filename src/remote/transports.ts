// Ways from a client to a proxy: an ssh process that the client starts, or TLS with a shared key.

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

/** Number of characters kept from the end of the error output of ssh. */
const MAX_ERROR_TEXT = 2000
const CONNECT_TIMEOUT_MS = 10_000
/** Maximum number of attempts to connect by TLS while the proxy closes the connection. */
const MAX_TRIES = 4
/** Delay after the first failed attempt. The delay after attempt n is n times as long. */
const RETRY_DELAY_MS = 200
/** Time limit for the rest of the error output after ssh has exited. */
const LAST_OUTPUT_TIMEOUT_MS = 200
/**
 * Makes ssh ignore Ctrl-C: Ctrl-C ends the recording, but the connection is still needed to fetch the profile. ssh does not handle a signal
 * that its parent ignores. ssh keeps the terminal, so that it can prompt for a password.
 */
const UNINTERRUPTED = 'trap "" INT QUIT; exec "$@"'
const REMOTE_COMMAND = 'jfluid proxy --stdio'

/**
 * Connects by ssh, which encrypts and prompts for passwords on the terminal.
 * @param env  JFLUID_SSH: the program to use instead of ssh; JFLUID_PROXY_COMMAND: the command to start on the other machine
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
          // A prompt would be invisible while a view uses the terminal.
          ...(isAgain ? ['-o', 'BatchMode=yes'] : []),
          ...(port === null ? [] : ['-p', String(port)]),
          ...['--', there, command],
        ],
        { stdio: ['pipe', 'pipe', 'pipe'], detached: isAgain },
      )
      const both = new ChildStream(child)
      let text = ''
      child.stderr.setEncoding('utf8').on('data', (more: string) => {
        text = (text + more).slice(-MAX_ERROR_TEXT)
      })
      const ended = new Promise<number | string | null>((resolve) => {
        child.once('exit', async (code, signal) => {
          // stderr stays open if ssh leaves a master process for later connections (ControlPersist).
          await Promise.race([once(child.stderr, 'close'), sleep(LAST_OUTPUT_TIMEOUT_MS)])
          resolve(code ?? signal)
        })
        child.once('error', () => resolve(null))
      })
      said.set(both, async () => {
        const status = await ended
        // Status 0 means that the client has ended ssh.
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

/**
 * A stream over the stdin and stdout of a child process. All output of the child is read, even if the child has exited or does not read its
 * input.
 */
class ChildStream extends Duplex {
  constructor(private readonly child: ChildProcessWithoutNullStreams) {
    super({ allowHalfOpen: false })
    child.stdout.on('data', (bytes: Buffer) => {
      if (!this.push(bytes)) child.stdout.pause()
    })
    child.stdout.once('end', () => this.push(null))
    child.stdin.on('error', () => {}) // the end of stdout reports the failure
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

/** Connects by TLS with a shared key and without certificates. */
export function tcpWay(address: RemoteAddress, key: Buffer): Way {
  const { where } = address
  const problems = new WeakMap<Duplex, JfluidError>()
  return {
    where,
    async connect(isAgain) {
      // A proxy with too many unauthenticated connections closes some of them. A reconnecting client tries again anyway.
      for (let tries = 1; ; tries++) {
        const connection = await connectOnce(address, key, problems)
        if (connection !== null) return connection
        if (isAgain || tries === MAX_TRIES) break
        await sleep(tries * RETRY_DELAY_MS)
      }
      throw new CannotReach(
        where,
        'the other end closed the connection',
        'Check that jfluid proxy --listen runs there. It closes connections if too many clients connect at once: try again.',
      )
    },
    problem: (connection) => Promise.resolve(problems.get(connection) ?? null),
  }
}

/**
 * Makes one attempt to connect.
 * @returns null if the proxy closed the connection before the client could show the key
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
      // There is no certificate: the shared key proves the identity.
      checkServerIdentity: () => undefined,
      pskCallback: () => ({ psk: key, identity: IDENTITY }),
    })
    const timer = setTimeout(() => {
      socket.destroy(
        Object.assign(new Error(`no answer for ${CONNECT_TIMEOUT_MS / 1000} s`), { code: 'ETIMEDOUT' }),
      )
    }, CONNECT_TIMEOUT_MS)
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
  return new CannotReach(where, reason, 'Check the address, and that jfluid proxy --listen runs there.')
}

const NO_MACHINE = 'the host name is unknown'
const NO_TLS = 'the program at this address does not use TLS'
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no program listens there',
  ENOTFOUND: NO_MACHINE,
  EAI_AGAIN: NO_MACHINE,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
}
