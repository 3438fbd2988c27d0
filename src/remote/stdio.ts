// The proxy's end of an ssh connection. Each session runs in its own process, so the session survives the connection. The next connection
// finds the session by a socket in a directory that only this user can enter.

import { spawn } from 'node:child_process'
import { lstatSync, mkdirSync, rmdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { encodeFrame, FrameReader } from '../wire/frame.ts'
import { type ErrorFrame, errorFrame, ProxyCannotListen, SessionGone } from './errors.ts'
import type { Host, HostOptions } from './host.ts'
import { firstOf, MAX_HELLO_BYTES, readHello, refusal } from './protocol.ts'

/** Output of a session process once its socket accepts connections. */
const READY = 'ready\n'
const MAX_TRIES = 10

/**
 * Returns the directory for the sockets of this user's sessions, and creates it if needed.
 * @throws ProxyCannotListen if other users could enter the directory
 */
function socketDirectory(): string {
  const uid = process.getuid?.() ?? 0
  const path = join(tmpdir(), `jfluid-proxy-${uid}`)
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    const facts = lstatSync(path)
    if (facts.isDirectory() && facts.uid === uid && (facts.mode & 0o077) === 0) return path
  } catch (error) {
    throw new ProxyCannotListen(
      path,
      `jfluid cannot create the directory (${(error as NodeJS.ErrnoException).code})`,
    )
  }
  throw new ProxyCannotListen(path, 'other users own the directory, or may write to it')
}

/**
 * Runs the process of one session. The process ends when the session is over, or if no client has connected in time.
 * @param stopped  resolves when the process is to end earlier
 */
export async function serveSession(
  session: string,
  host: (told: Pick<HostOptions, 'onOpen' | 'onEmpty'>) => Host,
  graceMs: number,
  stopped: Promise<NodeJS.Signals>,
): Promise<void> {
  let close: () => void = () => {}
  const closed = new Promise<void>((resolve) => {
    close = resolve
  })
  // The timer is not cleared by the first connection, since that connection may not send a valid hello.
  const unused = setTimeout(close, graceMs)
  const sessions = host({ onOpen: () => clearTimeout(unused), onEmpty: close })
  const server = createServer((socket) => sessions.welcome(socket))
  const path = await listen(server, session)
  process.stdout.end(READY)
  const signal = await Promise.race([closed, stopped])
  clearTimeout(unused)
  server.close()
  if (signal !== undefined) await sessions.end(signal)
  removeSocket(path)
}

function removeSocket(path: string): void {
  rmSync(path, { force: true })
  try {
    rmdirSync(dirname(path))
  } catch (error) {
    // The directory still contains the sockets of other sessions, or another session has removed the directory.
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'ENOENT') throw error
  }
}

/**
 * Listens on the socket of the session.
 * @returns the path of the socket
 */
async function listen(server: Server, session: string): Promise<string> {
  for (let tries = 0; ; tries++) {
    const path = join(socketDirectory(), session)
    const code = await new Promise<string | undefined>((resolve) => {
      // This listener stays registered: the server also emits `error` when it cannot accept a connection, for example without free file
      // descriptors.
      server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      server.listen(path, () => resolve(undefined))
    })
    if (code === undefined) return path
    // Another session has just removed the directory, since it was the last session at that moment.
    if (code !== 'ENOENT' || tries === MAX_TRIES) throw new ProxyCannotListen(path, code)
  }
}

/**
 * Forwards data in both directions between this connection and the process of its session.
 * @param start  arguments that start this program as a session process, without the name of the session
 */
export async function bridge(
  input: Readable,
  output: Writable,
  version: string,
  start: readonly string[],
): Promise<void> {
  const first = await firstOf(input, new FrameReader(MAX_HELLO_BYTES))
  const hello = readHello(first?.messages?.[0] ?? [])
  if (first === null || hello === null) return
  const refuse = (error: ErrorFrame): void => void output.end(encodeFrame(['refused', ...error]))
  const wrong = refusal(hello, version)
  if (wrong !== null) return refuse(wrong)
  let socket: Socket
  try {
    if (!hello.again) await startSession(hello.session, start)
    socket = await reach(join(socketDirectory(), hello.session))
  } catch (error) {
    return refuse(errorFrame(error))
  }
  socket.write(first.bytes)
  socket.on('error', () => socket.destroy())
  output.on('error', () => socket.destroy())
  input.on('error', () => socket.destroy())
  input.once('end', () => socket.end())
  input.pipe(socket)
  socket.pipe(output)
  await new Promise<void>((resolve) => socket.once('close', resolve))
  input.destroy()
}

/** Returns the absolute path of the debug log's directory: a session process has another current directory. */
function debugDirectory(): string {
  return resolve(process.env.JFLUID_DEBUG_DIR || '.')
}

/**
 * Starts the process of a session.
 * @throws ProxyCannotListen with the error output of the process
 */
async function startSession(session: string, start: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [...start, session], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: '/',
    ...(process.env.JFLUID_DEBUG && { env: { ...process.env, JFLUID_DEBUG_DIR: debugDirectory() } }),
  })
  let said = ''
  let problem = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    problem = (problem + text).slice(-1000)
  })
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (said === READY) resolve()
    })
    child.once('error', (error) => reject(new ProxyCannotListen('its socket', error.message)))
    child.once('close', (code) =>
      reject(new ProxyCannotListen('its socket', problem.trim() || `it ended with ${code}`)),
    )
  })
  // The session process is independent from here on.
  child.stdout.destroy()
  child.stderr.destroy()
  child.unref()
}

/**
 * Connects to the process of a session.
 * @throws SessionGone if no process listens; ProxyCannotListen if the connection fails for another reason
 */
async function reach(path: string): Promise<Socket> {
  const socket = connect(path)
  return await new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code !== 'ECONNREFUSED' && code !== 'ENOENT')
        return reject(new ProxyCannotListen(path, `its session does not answer (${code})`))
      // The session process was killed and has left its socket behind.
      removeSocket(path)
      reject(new SessionGone())
    })
  })
}
