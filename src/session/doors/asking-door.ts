// The way into JVMs that are started with the agent option. A command may start any number of JVMs with the same option, so each JVM first
// asks the client whether it is profiled (`Invitation` in the agent). A profiled JVM gets a session directory of its own.
//
// The directory of the question has the socket, the token, and the error text of an agent that could not ask:
//   agent → client   token, process id, LF, command of the program, LF
//   client → agent   launch line of the session, LF; or LF alone if the JVM is not profiled
//   agent → client   if the session cannot begin, or if the answer comes too late: the reason. Then the agent closes the connection, also
//                    if the session has begun

import { timingSafeEqual } from 'node:crypto'
import * as fs from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { mainClassOf } from '../../attach/java-command.ts'
import { endsNow, readCommand, readTargetProcess } from '../../attach/target-process.ts'
import { debug } from '../../base/debug.ts'
import { LINK_CLOSED, type Link, LinkLost, LinkServer, newToken } from '../../wire/link.ts'
import { BUFFER_BYTES } from '../recorder/buffer-size.ts'
import { agentJar } from './agent-jar.ts'
import { CONNECT_TIMEOUT_MS, launchLine, type OpenDoor, startProblem, withToken } from './door.ts'
import { type StartJar, startJar } from './jar-path.ts'
import { ERROR, makeSessionDirectory, type SessionDirectory, SOCKET, TOKEN } from './session-directory.ts'
import { ERROR_INTERVAL_MS, opened, saidAtStart } from './start-door.ts'

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
   * @throws LinkLost if the JVM ends; AnsweredTooLate, SecurityManagerPresent, AgentDidNotConnect and others if the agent cannot start, or
   * has given up. The JVM then continues
   */
  open(): Promise<OpenDoor>
  /** Lets the JVM continue without a session. */
  decline(): void
}

export interface StartListener {
  /** Called for each JVM that asks. */
  asked(jvm: AskingJvm): void
  /** Called if an agent could not ask. Its JVM continues. @param pid  its process id; undefined if unknown */
  failed(pid: number | undefined, reason: string): void
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
    readQuestion(socket, token, (question) => listener.asked(askingJvm(question, jar)))
  })
  await listening(server, join(dir.inside, SOCKET))
  let seen = 0
  const look = setInterval(() => {
    const written = fs.statSync(join(dir.inside, ERROR), { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (written === seen) return
    seen = written
    const { pid, reason } = saidAtStart(dir)
    listener.failed(pid, reason ?? 'unknown error')
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

/**
 * Connection of a JVM that asks. After the question, the agent sends nothing but the reason why there is no session, and closes the
 * connection when its session has begun or has failed.
 */
interface Question {
  readonly socket: Socket
  readonly pid: number
  readonly command: string
  /** Returns the reason that has arrived so far; '' if there is none. */
  reason(): string
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>
}

/** Reads a question. A connection with another token is closed. */
function readQuestion(socket: Socket, token: string, asked: (question: Question) => void): void {
  let received = Buffer.alloc(0)
  let isAsked = false
  const lines = (): string[] => received.subarray(token.length).toString('utf8').split('\n')
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('data', (chunk: Buffer) => {
    if (received.length < MAX_QUESTION_BYTES + MAX_REASON_BYTES) received = Buffer.concat([received, chunk])
    if (isAsked) return
    const { length } = token
    if (received.length >= length && !timingSafeEqual(received.subarray(0, length), Buffer.from(token))) {
      socket.destroy()
      return
    }
    const [pid, command, ...rest] = lines()
    isAsked = rest.length > 0
    const reason = (): string => lines().slice(2).join('\n')
    if (isAsked) asked({ socket, pid: Number(pid), command: command!, reason, closed })
    else if (received.length > MAX_QUESTION_BYTES) socket.destroy()
  })
}

function askingJvm(question: Question, jar: StartJar): AskingJvm {
  const { command, pid, socket } = question
  return {
    pid,
    mainClass: mainClassOf(command, readCommand(pid).commandLine),
    open: () => open(question, jar),
    decline: () => {
      debug.attach?.(`JVM ${pid} is not profiled`)
      socket.end('\n')
    },
  }
}

async function open(question: Question, jar: StartJar): Promise<OpenDoor> {
  const { closed, pid, reason, socket } = question
  const target = readTargetProcess(pid)
  const dir = makeSessionDirectory(null, BUFFER_BYTES)
  let link: Link | null = null
  try {
    const token = newToken()
    const server = await LinkServer.listen(join(dir.inside, SOCKET), token)
    try {
      const over = new AbortController()
      void closed.then(() => {
        setTimeout(() => over.abort(), reason() === '' ? ARRIVAL_TIMEOUT_MS : 0).unref()
      })
      socket.write(`${withToken(launchLine(jar, dir), token)}\n`)
      link = await server.accept(CONNECT_TIMEOUT_MS, over.signal)
      // The session may fail after the agent has connected, for example because the JVM can create no thread.
      if (link !== null) await Promise.race([closed, sleep(CONNECT_TIMEOUT_MS, null, { ref: false })])
      if (link !== null && reason() === '') return { ...opened(link, dir), pid }
      if (reason() !== '') throw startProblem(pid, reason())
      const isEnded = target === undefined || (await endsNow(target))
      throw isEnded ? new LinkLost(LINK_CLOSED) : startProblem(pid, null)
    } finally {
      server.close()
    }
  } catch (error) {
    link?.close()
    socket.destroy()
    dir.remove()
    throw error
  }
}
