// The proxy's end of an ssh connection. A session outlives it: it is in a process of its own, which the next connection finds by
// a socket in a directory that only this user can enter.

import { spawn } from 'node:child_process'
import { lstatSync, mkdirSync, rmdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { encodeFrame, FrameReader } from '../wire/frame.ts'
import { type ErrorFrame, errorFrame, ProxyCannotListen, SessionGone } from './errors.ts'
import type { Host, HostOptions } from './host.ts'
import { firstOf, MOST_HELLO_BYTES, readHello, refusal } from './protocol.ts'

/** What a process that is started for a session says when it can be reached. */
const READY = 'ready\n'
const MOST_TRIES = 10

/**
 * The directory of the sockets of this user's sessions.
 *
 * @throws ProxyCannotListen if others could enter it
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
      `the directory cannot be made (${(error as NodeJS.ErrnoException).code})`,
    )
  }
  throw new ProxyCannotListen(path, 'other users own the directory, or may write to it')
}

/**
 * The process of one session: it can be reached until there is none, or nobody has come.
 *
 * @param stopped  resolves when it is to end before that
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
  // Not at the first connection: it may say nothing, or nothing of ours.
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
    // Of other sessions; or the last of these has removed it.
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'ENOENT') throw error
  }
}

/** @returns the path of the socket */
async function listen(server: Server, session: string): Promise<string> {
  for (let tries = 0; ; tries++) {
    const path = join(socketDirectory(), session)
    const code = await new Promise<string | undefined>((resolve) => {
      // Heard for good: one that cannot be accepted later, for want of descriptors say, comes again.
      server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      server.listen(path, () => resolve(undefined))
    })
    if (code === undefined) return path
    // The last session of others may have taken the directory along.
    if (code !== 'ENOENT' || tries === MOST_TRIES) throw new ProxyCannotListen(path, code)
  }
}

/**
 * Hands what comes to the session that it is for, and back.
 *
 * @param start  arguments that start this program as the process of a session, but for its name
 */
export async function bridge(
  input: Readable,
  output: Writable,
  version: string,
  start: readonly string[],
): Promise<void> {
  const first = await firstOf(input, new FrameReader(MOST_HELLO_BYTES))
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

/** Where our own debug log is: the process of a session has another current folder. */
function debugDirectory(): string {
  return resolve(process.env.JFLUID_DEBUG_DIR || '.')
}

/** @throws ProxyCannotListen, with what the process says */
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
  // It is on its own from here on.
  child.stdout.destroy()
  child.stderr.destroy()
  child.unref()
}

/** @throws SessionGone if nobody is there; ProxyCannotListen if that is not known */
async function reach(path: string): Promise<Socket> {
  const socket = connect(path)
  return await new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code !== 'ECONNREFUSED' && code !== 'ENOENT')
        return reject(new ProxyCannotListen(path, `its session is not reached (${code})`))
      // It was killed: what it could not remove is of no use to anybody.
      removeSocket(path)
      reject(new SessionGone())
    })
  })
}
