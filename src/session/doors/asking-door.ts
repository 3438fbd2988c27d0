// The way into JVMs that are started with the agent option. A command may start any number of JVMs with the same option, so each JVM first
// asks the client whether it is profiled (`Invitation` in the agent). A profiled JVM gets a session directory of its own.
//
// The directory of the question has the socket, the token, and the error text of an agent that could not ask:
//   agent → client   token, process id, LF, command of the program, LF
//   client → agent   launch line of the session, LF; or LF alone if the JVM is not profiled
//   agent → client   if the session cannot begin: the reason. Then the agent closes the connection, also if the session has begun

import { timingSafeEqual } from 'node:crypto'
import * as fs from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { mainClassOf } from '../../attach/java-command.ts'
import { readCommand } from '../../attach/target-process.ts'
import { debug } from '../../base/debug.ts'
import { LINK_CLOSED, LinkLost, LinkServer, newToken } from '../../wire/link.ts'
import { BUFFER_BYTES } from '../recorder/buffer-size.ts'
import { agentJar } from './agent-jar.ts'
import { CONNECT_TIMEOUT_MS, launchLine, type OpenDoor, saidBy, startProblem, withToken } from './door.ts'
import { type StartJar, startJar } from './jar-path.ts'
import { ERROR, makeSessionDirectory, type SessionDirectory, SOCKET, TOKEN } from './session-directory.ts'
import { ERROR_INTERVAL_MS, opened } from './start-door.ts'

/** Maximum time from the end of the question to the arrival of the session's connection, which the agent opened before. */
const ARRIVAL_TIMEOUT_MS = 1000
/** Maximum length of a question. The agent sends at most 2,048 characters of the command. */
const MAX_QUESTION_BYTES = 16 << 10
/** Maximum length of the reason that an agent sends. */
const MAX_REASON_BYTES = 64 << 10

/** A JVM that asks whether it is profiled. Its main() is held back until an answer. */
export interface AskingJvm {
  readonly pid: number
  /** Main class, or file name of the jar; undefined if unknown. */
  readonly mainClass: string | undefined
  /**
   * Begins a session, and waits until its agent has connected.
   * @throws LinkLost if the JVM ends; SecurityManagerPresent, AgentDidNotConnect and others if the agent cannot start. The JVM continues
   */
  open(): Promise<OpenDoor>
  /** Lets the JVM continue without a session. */
  decline(): void
}

export interface StartListener {
  /** Called for each JVM that asks. */
  asked(jvm: AskingJvm): void
  /** Called if an agent could not ask. Its JVM continues. */
  failed(reason: string): void
}

/** The door for JVMs that will be started with `option` on their command line. */
export interface AskingDoor {
  /** `-javaagent:…`; must precede all other JVM options. */
  readonly option: string
  /** Stops the answers, and removes the files. */
  leave(): void
}

export async function askingDoor(listener: StartListener): Promise<AskingDoor> {
  const jar = startJar(agentJar(), { isForAllUsers: true })
  let dir: SessionDirectory | undefined
  try {
    dir = makeSessionDirectory(null)
    debug.attach?.(`way in: -javaagent:${jar.path} at the start of JVMs; directory ${dir.path}`)
    return await askingDoorIn(dir, jar, listener)
  } catch (error) {
    dir?.remove()
    jar.leave()
    throw error
  }
}

async function askingDoorIn(
  dir: SessionDirectory,
  jar: StartJar,
  listener: StartListener,
): Promise<AskingDoor> {
  // All users can read a command line, but not a file in this directory.
  const token = newToken()
  fs.writeFileSync(join(dir.inside, TOKEN), token, { mode: 0o600, flag: 'wx' })
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    readQuestion(socket, token, (pid, command) => listener.asked(askingJvm(socket, jar, pid, command)))
  })
  await listening(server, join(dir.inside, SOCKET))
  let seen = 0
  const look = setInterval(() => {
    const written = fs.statSync(join(dir.inside, ERROR), { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (written === seen) return
    seen = written
    listener.failed(saidBy(dir, process.geteuid!()) ?? 'unknown error')
  }, ERROR_INTERVAL_MS)
  look.unref()
  return {
    option: `-javaagent:${jar.path}=${launchLine(jar, dir)};ask=1`,
    leave() {
      clearInterval(look)
      server.close()
      for (const socket of sockets) socket.destroy()
      dir.remove()
      jar.leave()
    },
  }
}

async function listening(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  // If a connection cannot be accepted, for example because no file descriptor is free, it is closed. Its JVM continues without a session.
  server.on('error', () => {})
}

/** Reads a question. A connection with another token is closed. */
function readQuestion(socket: Socket, token: string, asked: (pid: number, command: string) => void): void {
  let received = Buffer.alloc(0)
  const take = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk])
    const { length } = token
    if (received.length >= length && !timingSafeEqual(received.subarray(0, length), Buffer.from(token))) {
      socket.destroy()
      return
    }
    const lines = received.subarray(length).toString('utf8').split('\n')
    if (lines.length < 3) {
      if (received.length > MAX_QUESTION_BYTES) socket.destroy()
      return
    }
    socket.off('data', take)
    asked(Number(lines[0]), lines[1]!)
  }
  socket.on('data', take)
}

function askingJvm(socket: Socket, jar: StartJar, pid: number, command: string): AskingJvm {
  return {
    pid,
    mainClass: mainClassOf(command, readCommand(pid).commandLine),
    open: () => open(socket, jar, pid),
    decline: () => {
      debug.attach?.(`JVM ${pid} is not profiled`)
      socket.end('\n')
    },
  }
}

async function open(socket: Socket, jar: StartJar, pid: number): Promise<OpenDoor> {
  const dir = makeSessionDirectory(null, BUFFER_BYTES)
  try {
    const token = newToken()
    const server = await LinkServer.listen(join(dir.inside, SOCKET), token)
    try {
      const failed = new AbortController()
      let reason = ''
      socket.on('data', (chunk: Buffer) => {
        if (reason.length < MAX_REASON_BYTES) reason += chunk.toString('utf8')
      })
      const closed = (): void => {
        setTimeout(() => failed.abort(), reason === '' ? ARRIVAL_TIMEOUT_MS : 0).unref()
      }
      if (socket.destroyed) closed()
      else socket.on('close', closed)
      socket.write(`${withToken(launchLine(jar, dir), token)}\n`)
      const link = await server.accept(CONNECT_TIMEOUT_MS, failed.signal)
      if (link !== null) return opened(link, dir)
      throw reason === '' ? new LinkLost(LINK_CLOSED) : startProblem(pid, reason)
    } finally {
      server.close()
    }
  } catch (error) {
    socket.destroy()
    dir.remove()
    throw error
  }
}
