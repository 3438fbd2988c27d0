// Commands of HotSpot's attach protocol over the socket that `handshake.ts` opened.
//
//   request   "1" NUL operation NUL argument NUL argument NUL argument NUL
//             "2" NUL size NUL operation " streaming=0" NUL arguments, each with a NUL (version 2; size: bytes after the NUL of the size)
//   reply     decimal code, newline, then text until the JVM closes the connection
//
// One connection carries one command. Code 0 means that the operation ran. The text reports whether the operation *succeeded*; its format
// differs between JDKs. Every HotSpot supports version 1.
//
// From JDK 25 on a JVM writes a reply to the socket while it produces the reply (JDK-8319055). A thread dump is produced while all threads
// are stopped, so they stay stopped until the client has read the dump. In version 2, `streaming=0` prevents this (decision 134).

import { existsSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { debug, msText } from '../base/debug.ts'
import {
  EX_CONFIG,
  EX_PROTOCOL,
  EX_SOFTWARE,
  EX_TEMPFAIL,
  EX_UNAVAILABLE,
  JfluidError,
  UsageError,
} from '../base/errors.ts'
import { jvmText } from '../base/jvm-text.ts'
import { afterOwnTime } from '../base/own-time.ts'
import { isStopped, NoSuchProcess, TargetStopped } from './admission.ts'
import type { AttachConnection } from './handshake.ts'
import { connectToListener, isOurRoot } from './target-facts.ts'
import { endsNow, readTargetProcess } from './target-process.ts'
import { userToBe } from './target-user.ts'
import { afterWork, LISTENER, lookAt, MAX_WORK_MS } from './work.ts'

// Limits from attachListener.hpp: name_length_max, arg_length_max, arg_count_max.
const MAX_OPERATION_BYTES = 16
const MAX_ARGUMENT_BYTES = 1024
const MAX_ARGUMENTS = 3

/** Maximum length of a reply. Replies are text for users; the longest is a heap histogram. */
const MAX_REPLY_BYTES = 64 << 20

/** An argument that the attach protocol cannot carry. */
export class ArgumentRefused extends UsageError {
  static sample = () => new ArgumentRefused('load', 'argument 3 has 1201 bytes, the limit is 1024')
  readonly hint = 'Install jfluid in a directory with a short path of ASCII letters and digits.'
  constructor(operation: string, problem: string) {
    super(`attach command ${operation}: ${problem}`)
  }
}

/** The JVM accepted the connection but did not answer the command in time. */
export class CommandTimeout extends JfluidError {
  static sample = () => [new CommandTimeout('load', 10_000), new CommandTimeout('load', MAX_WORK_MS, true)]
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  /** @param works  whether the JVM was still executing the command */
  constructor(operation: string, waitedMs: number, works = false) {
    super(
      `attach command ${operation}: no answer within ${waitedMs} ms${works ? ', although the JVM works on it' : ''}`,
    )
    this.hint = works
      ? 'Try again when the machine is less busy, or run the program without -Xcomp. The JVM still executes the command.'
      : 'Try again when the JVM is less busy. The JVM may still execute the command.'
  }
}

/** The connection failed, or the received bytes are not an attach reply. */
export class AttachProtocolError extends JfluidError {
  static sample = () => new AttachProtocolError('load', 'the JVM closed the connection')
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'Run jfluid as the user and the group of the JVM, and check that the JVM is alive.'
  constructor(operation: string, problem: string, options?: ErrorOptions) {
    super(`attach command ${operation}: ${problem}`, options)
  }
}

export interface AttachReply {
  /** Code of the reply: 0 if the operation ran, otherwise JNI_ERR (-1), or 101 for an unknown protocol version. */
  code: number
  /** Text after the code, decoded as UTF-8. */
  text: string
  bytes: Buffer
}

const COMMAND_TIMEOUT_MS = 10_000
/** Maximum time between the removal of a JVM's attach socket and the end of the JVM. */
const SHUTDOWN_TIMEOUT_MS = 10_000
/** Interval between attempts to connect while the JVM's listen backlog (five connections) is full. */
const CONNECT_RETRY_INTERVAL_MS = 10

export interface CommandOptions {
  /**
   * Time limit from the connect to the last byte of the reply, in ms. Default: 10,000. The load of an agent has up to MAX_WORK_MS while the
   * JVM works on it, if its process is known.
   */
  timeoutMs?: number
  /** Aborting stops the wait for the reply; the JVM may still execute the command. */
  signal?: AbortSignal
}

/** Operations that may stop all threads of the JVM while it produces the reply. */
const STOPPING_OPERATIONS: ReadonlySet<string> = new Set(['threaddump', 'jcmd'])
/** Whether a JVM writes replies while it produces them. */
const streaming = new WeakMap<AttachSocket, boolean>()

/**
 * Returns the request in the form with which the JVM stops its threads only while it produces the reply, and not until the reply is read.
 */
async function requestTo(
  to: string | AttachSocket,
  operation: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<Buffer> {
  if (typeof to === 'string' || !STOPPING_OPERATIONS.has(operation)) return encodeRequest(operation, args)
  let streams = streaming.get(to)
  if (streams === undefined) {
    // JDK 24 answers "2", JDK 23 and older do not know the operation; both first produce the whole reply.
    const { timeoutMs = COMMAND_TIMEOUT_MS } = options
    const { code, text } = await attachCommand(to, 'getversion', ['options'], {
      ...options,
      timeoutMs: timeoutMs / 2, // the command itself gets the remaining time
    })
    streams = code === 0 && /^2 (?:\S*,)?streaming\b/.test(text)
    streaming.set(to, streams)
  }
  return streams ? encodeUnstreamed(operation, args) : encodeRequest(operation, args)
}

/** Encodes a request of version 1. Missing arguments are sent as empty strings: HotSpot waits for all three arguments. */
export function encodeRequest(operation: string, args: readonly string[]): Buffer {
  const words = checkedWords(operation, args)
  while (words.length < 1 + MAX_ARGUMENTS) words.push('')
  return Buffer.from(['1', ...words, ''].join('\0'))
}

/** Encodes a request of version 2 whose reply the JVM produces completely before it writes the reply to the socket. */
export function encodeUnstreamed(operation: string, args: readonly string[]): Buffer {
  const [name, ...rest] = checkedWords(operation, args)
  const words = Buffer.from([`${name} streaming=0`, ...rest, ''].join('\0'))
  return Buffer.concat([Buffer.from(`2\0${words.length}\0`), words])
}

/** @throws ArgumentRefused */
function checkedWords(operation: string, args: readonly string[]): string[] {
  if (args.length > MAX_ARGUMENTS) {
    throw new ArgumentRefused(operation, `${args.length} arguments, the protocol has ${MAX_ARGUMENTS}`)
  }
  const words = [operation, ...args]
  for (const [index, word] of words.entries()) {
    const limit = index === 0 ? MAX_OPERATION_BYTES : MAX_ARGUMENT_BYTES
    const length = Buffer.byteLength(word)
    if (word.includes('\0'))
      throw new ArgumentRefused(operation, `argument ${index} contains a NUL character`)
    if (length > limit) {
      throw new ArgumentRefused(operation, `argument ${index} has ${length} bytes, the limit is ${limit}`)
    }
  }
  return words
}

/** Splits a complete reply into code and text. */
export function decodeReply(operation: string, bytes: Buffer): AttachReply {
  const newline = bytes.indexOf(0x0a)
  const code = bytes.toString('latin1', 0, newline < 0 ? Math.min(bytes.length, 40) : newline)
  if (!/^-?\d{1,10}$/.test(code)) {
    const what =
      bytes.length === 0 ? 'closed without an answer' : `answered ${JSON.stringify(code)} instead of a code`
    throw new AttachProtocolError(operation, `the JVM ${what}`)
  }
  const rest = bytes.subarray(newline < 0 ? bytes.length : newline + 1)
  return { code: Number(code), text: jvmText(rest), bytes: rest }
}

/** The socket on which a JVM listens, and its process. */
export type AttachSocket = Pick<AttachConnection, 'socketPath' | 'target'>

/**
 * Runs one attach operation.
 *
 * @param to  the JVM's socket, or only its path: jfluid then connects as the current user
 * @throws ArgumentRefused before any byte is sent
 * @throws CommandTimeout, AttachProtocolError, or the abort reason of `signal` if `signal` was aborted before the reply was complete
 */
export async function attachCommand(
  to: string | AttachSocket,
  operation: string,
  args: readonly string[] = [],
  options: CommandOptions = {},
): Promise<AttachReply> {
  const { timeoutMs = COMMAND_TIMEOUT_MS, signal } = options
  signal?.throwIfAborted()
  const begun = performance.now()
  const giveUp = begun + timeoutMs
  const request = await requestTo(to, operation, args, options)
  // The request for the version took at most half of the time, unless this process was stopped.
  const limitMs = Math.max(timeoutMs / 2, giveUp - performance.now())
  const tooLate = () => new CommandTimeout(operation, timeoutMs)
  const alarm = (late: (problem: CommandTimeout) => void): (() => void) => {
    if (operation !== 'load' || options.timeoutMs !== undefined || typeof to === 'string')
      return afterOwnTime(limitMs, () => late(tooLate()))
    const look = () => lookAt(to.target.pid, LISTENER)
    return afterWork(timeoutMs, look, (waitedMs, works) =>
      late(new CommandTimeout(operation, waitedMs, works)),
    )
  }
  for (;;) {
    const bytes = await exchange(to, operation, request, alarm, signal)
    if (bytes !== null) {
      const reply = decodeReply(operation, bytes)
      // Only the name of a jcmd command is logged: the arguments of other operations may contain a session token.
      debug.attach?.(
        `command ${operation}${operation === 'jcmd' ? ` ${args[0]?.split(' ', 1)}` : ''}: code ${reply.code}, ${bytes.length} bytes after ${msText(performance.now() - begun)}`,
      )
      return reply
    }
    if (performance.now() > giveUp) throw tooLate()
    await sleep(CONNECT_RETRY_INTERVAL_MS)
  }
}

/**
 * @param alarm  starts the time limit; returns a function that ends it
 * @returns the reply; null if the JVM's queue of clients is full
 */
async function exchange(
  to: string | AttachSocket,
  operation: string,
  request: Buffer,
  alarm: (late: (problem: CommandTimeout) => void) => () => void,
  signal: AbortSignal | undefined,
): Promise<Buffer | null> {
  signal?.throwIfAborted()
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let socket: Socket
    try {
      socket = connectTo(to)
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      throw new AttachProtocolError(operation, `connection failed (${code})`, { cause })
    }
    socket.once('connect', () => socket.write(request))
    const answered = alarm((problem) => socket.destroy(problem))
    const leave = () =>
      socket.destroy(new AttachProtocolError(operation, 'the connection was closed before the answer'))
    signal?.addEventListener('abort', leave)
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_REPLY_BYTES) {
        socket.destroy(
          new AttachProtocolError(operation, `the reply is longer than ${MAX_REPLY_BYTES} bytes`),
        )
      }
    })
    socket.on('error', (problem: NodeJS.ErrnoException) => {
      answered()
      // A JVM that rejects the user closes the connection without a read, which causes a reset. A reset may also follow a complete reply.
      const { code } = problem
      if ((code === 'ECONNRESET' || code === 'EPIPE') && size > 0) resolve(Buffer.concat(chunks))
      else if (problem instanceof JfluidError) reject(problem)
      else if (code === 'EAGAIN') resolve(null)
      else reject(new AttachProtocolError(operation, `connection failed (${code})`, { cause: problem }))
    })
    socket.on('close', () => {
      answered()
      signal?.removeEventListener('abort', leave)
      resolve(Buffer.concat(chunks))
    })
  })
}

/** @throws the operating system's errors if the target has ended */
function connectTo(to: string | AttachSocket): Socket {
  if (typeof to === 'string') return connect(to)
  const { target } = to
  const user = userToBe(target)
  if (user === undefined && isOurRoot(target.root)) return connect(to.socketPath)
  // The JVM reads the user of the peer at the moment of the connect.
  return connectToListener(target, user)
}

/** The JVM could not load the Java agent. Each subclass has its own hint for the user. */
export abstract class AgentLoadError extends JfluidError {
  constructor(
    readonly pid: number,
    problem: string,
  ) {
    super(`JVM ${pid} did not load the agent: ${problem}`)
  }
}

/** Dynamic loading is off because of -XX:-EnableDynamicAgentLoading. From JDK 21 on, a JDK may also have this default. */
export class DynamicLoadingDisabled extends AgentLoadError {
  static sample = () => new DynamicLoadingDisabled(4711)
  readonly exitCode = EX_CONFIG
  readonly hint =
    'Restart the program with -XX:+EnableDynamicAgentLoading, or with the option that jfluid agent-path prints, or under jfluid: jfluid run -- java …'
  constructor(pid: number) {
    super(pid, 'dynamic agent loading is disabled (-XX:-EnableDynamicAgentLoading)')
  }
}

/** The runtime image lacks the module java.instrument. */
export class InstrumentModuleMissing extends AgentLoadError {
  static sample = () => new InstrumentModuleMissing(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Run the program on a runtime with the module java.instrument (jlink --add-modules …).'
  constructor(pid: number) {
    super(pid, 'its runtime image has no module java.instrument')
  }
}

/** Code 100: the JVM cannot read the jar, or the jar has no Agent-Class. */
export class AgentJarRefused extends AgentLoadError {
  static sample = () => new AgentJarRefused(4711, '/opt/jfluid/dist/agent/jfluid-agent.jar')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Check that the user of the JVM can read the file. If the file is damaged, build it again: npm run build:agent'
  constructor(pid: number, jar: string) {
    super(pid, `${jar} cannot be read by the JVM, or is not an agent jar (return code 100)`)
  }
}

/** Code 101: the system class loader does not support adding a jar. */
export class AgentNotOnClassPath extends AgentLoadError {
  static sample = () => new AgentNotOnClassPath(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Start the program under jfluid (jfluid run -- java …), or without -Djava.system.class.loader.'
  constructor(pid: number) {
    super(pid, 'its system class loader does not accept a jar (return code 101)')
  }
}

/** Code 102: agentmain threw an exception. */
export class AgentStartFailed extends AgentLoadError {
  static sample = () => new AgentStartFailed(4711)
  readonly exitCode = EX_SOFTWARE
  readonly hint = 'Look for the exception in the error output of the program, and report it.'
  constructor(pid: number) {
    super(pid, 'the agent failed to start (return code 102)')
  }
}

/** The load failed with any other reply. The message contains the JVM's own text. */
export class AgentNotLoaded extends AgentLoadError {
  static sample = () => new AgentNotLoaded(4711, 'it returned code 7')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Look for the reason in the error output of the program.'
}

/**
 * Interprets the reply of `load`.
 * HotSpot 9 and newer print `return code: <n>`, HotSpot 8 prints `<n>`. If the load fails before the agent's own code runs, the code is -1
 * (or 0, from 21 on) and a sentence or a stack trace follows.
 *
 * @returns `undefined` when the agent is loaded
 */
export function agentLoadProblem(
  pid: number,
  jar: string,
  { code, text }: Pick<AttachReply, 'code' | 'text'>,
): AgentLoadError | undefined {
  const returned = /^(?:return code: )?(-?\d+)\s*$/.exec(text)?.[1]
  if (code === 0 && returned !== undefined) {
    switch (Number(returned)) {
      case 0:
        return undefined
      case 100:
        return new AgentJarRefused(pid, jar)
      case 101:
        return new AgentNotOnClassPath(pid)
      case 102:
        return new AgentStartFailed(pid)
      default:
        return new AgentNotLoaded(pid, `it returned code ${returned}`)
    }
  }
  if (/Dynamic agent loading is not enabled/.test(text)) return new DynamicLoadingDisabled(pid)
  if (/java\.instrument (?:not found|may be missing)|instrument was not loaded/.test(text)) {
    return new InstrumentModuleMissing(pid)
  }
  const sentence = text.trim().split('\n', 1)[0]
  return new AgentNotLoaded(pid, sentence === '' ? `the JVM gave no reason (code ${code})` : sentence)
}

/**
 * Matches the replies of a JVM in its first milliseconds, with any code: its module layer does not exist yet, or JVMTI's live phase has not
 * begun (`prims/jvmtiAgent.cpp`, from 21 on). A JVM with such a reply has loaded no agent.
 */
const TOO_YOUNG = /^java\.lang\.NullPointerException|only permitted in the live phase/

/** Time after which the load of an agent is slow. It usually takes less than half a second. */
const SLOW_LOAD_MS = 3_000

/**
 * Loads a Java agent. Returns when its `agentmain` has returned.
 *
 * @param jar      absolute path in the *target's* file system
 * @param options  passed to `agentmain`; together with the path at most 1,023 bytes
 * @param onSlow   called if the load takes longer than SLOW_LOAD_MS
 * @throws one of the AgentLoadErrors above, or an error of `attachCommand`
 */
export async function loadAgent(
  connection: AttachConnection,
  jar: string,
  options = '',
  limits?: CommandOptions,
  onSlow: () => void = () => {},
): Promise<void> {
  const slow = setTimeout(onSlow, SLOW_LOAD_MS)
  try {
    await loadedAgent(connection, jar, options, limits)
  } finally {
    clearTimeout(slow)
  }
}

async function loadedAgent(
  connection: AttachConnection,
  jar: string,
  options: string,
  limits: CommandOptions | undefined,
): Promise<void> {
  if (jar.includes('=')) {
    throw new ArgumentRefused('load', `the path of the agent contains "=", where HotSpot ends it: ${jar}`)
  }
  const load = () => run(connection, 'load', ['instrument', 'false', `${jar}=${options}`], limits)
  const giveUp = performance.now() + (limits?.timeoutMs ?? COMMAND_TIMEOUT_MS)
  let reply = await load()
  while (TOO_YOUNG.test(reply.text) && performance.now() < giveUp) {
    debug.attach?.('the JVM is too young to load an agent: trying again')
    await sleep(20)
    reply = await load()
  }
  const problem = agentLoadProblem(connection.pid, jar, reply)
  if (problem !== undefined) throw problem
}

/** Returns the JVM's agent properties. A loaded agent sets a property there, so that later clients find the agent. */
export const agentProperties = (connection: AttachConnection) => properties(connection, 'agentProperties')

/** Returns the JVM's system properties. */
export const systemProperties = (connection: AttachConnection) => properties(connection, 'properties')

async function properties(connection: AttachConnection, operation: string): Promise<Map<string, string>> {
  const { code, text, bytes } = await run(connection, operation, [])
  if (code !== 0) throw new AttachProtocolError(operation, `code ${code}: ${text.trim()}`)
  return parseProperties(bytes.toString('latin1')) // Properties.store writes ISO 8859-1
}

/**
 * Runs a command in the JVM.
 *
 * @throws NoSuchProcess or TargetStopped if the JVM has ended or is stopped; the abort reason of the signal; otherwise the errors of
 *         `attachCommand`
 */
export async function run(
  connection: AttachConnection,
  operation: string,
  args: readonly string[],
  limits?: CommandOptions,
): Promise<AttachReply> {
  const { pid, socketPath, target } = connection
  try {
    return await attachCommand(connection, operation, args, limits)
  } catch (problem) {
    limits?.signal?.throwIfAborted()
    // When a JVM ends, its socket is reset or missing. The error to report is then the end of the process. A JVM removes its socket early
    // in its shutdown. The rest of the shutdown may be slow: it stops threads and releases the heap.
    const withinMs = existsSync(socketPath) ? undefined : SHUTDOWN_TIMEOUT_MS
    if (problem instanceof AttachProtocolError && (await endsNow(target, withinMs))) {
      throw new NoSuchProcess(pid, 'has ended')
    }
    const state = problem instanceof CommandTimeout ? readTargetProcess(pid)?.state : undefined
    if (isStopped(state)) throw new TargetStopped(pid, state)
    throw problem
  }
}

const ESCAPES: Record<string, string> = { t: '\t', n: '\n', r: '\r', f: '\f' }

/** Parses the output of `java.util.Properties.store` by the rules of `Properties.load`. */
export function parseProperties(text: string): Map<string, string> {
  const properties = new Map<string, string>()
  const lines = text.split(/\r\n|\r|\n/)
  for (let at = 0; at < lines.length; at++) {
    let line = lines[at].replace(/^[ \t\f]+/, '')
    if (line === '' || line[0] === '#' || line[0] === '!') continue
    // An odd number of backslashes at the end continues the line.
    while (/(?<!\\)(?:\\\\)*\\$/.test(line)) {
      line = line.slice(0, -1) + (lines[++at] ?? '').replace(/^[ \t\f]+/, '')
    }
    const key = /^(?:[^\\=: \t\f]|\\.)*/.exec(line)?.[0] ?? ''
    const value = line.slice(key.length).replace(/^[ \t\f]*[=:]?[ \t\f]*/, '')
    properties.set(unescapeProperty(key), unescapeProperty(value))
  }
  return properties
}

function unescapeProperty(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_, unicode: string | undefined, char: string) =>
    unicode !== undefined ? String.fromCharCode(Number.parseInt(unicode, 16)) : (ESCAPES[char] ?? char),
  )
}
