// Connects to a JVM that listens for a debugger: `-agentlib:jdwp=transport=dt_socket,server=y`. Explains failures.
// HotSpot's JDWP agent serves one debugger at a time and closes its listening socket while a debugger is connected. So a port that refuses
// connections may still be the right port.

import { connect as connectSocket, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { isStopped, TargetStopped } from '../../attach/admission.ts'
import { readTargetProcess } from '../../attach/target-process.ts'
import { EX_NOHOST, EX_PROTOCOL, EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import { OLDEST_JDK } from '../../base/jdk-releases.ts'
import { textOf as fileText, linkOf, namesIn } from '../../base/visible.ts'
import { granted, JdwpTarget, type Version } from '../../jdwp-client/index.ts'

/** Address at which a JVM listens for a debugger. */
export interface DebuggerAddress {
  readonly host: string
  readonly port: number
}

export const textOf = ({ host, port }: DebuggerAddress): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

/** Time limit for each step: the TCP connection, and the handshake. */
const CONNECT_TIMEOUT_MS = 5000
/** Time for which a refused connection is retried. After a debugger has disconnected, HotSpot needs a moment until it listens again. */
const REFUSED_TIMEOUT_MS = 1000
/** Delay between two attempts to connect to a port that refuses. */
const RETRY_DELAY_MS = 50
/** Time limit for the JVM's reply to a command. */
const REPLY_TIMEOUT_MS = 10_000

/** Thrown if the machine cannot be reached, or if no process listens at the port. */
export class NobodyAtPort extends JfluidError {
  static sample = () => new NobodyAtPort({ host: '10.0.0.7', port: 5005 }, 'connect ECONNREFUSED')
  readonly exitCode = EX_NOHOST
  readonly hint =
    'Use the address that the JVM printed after "Listening for transport dt_socket at address", and disconnect other debuggers.'
  constructor(address: DebuggerAddress, problem: string) {
    super(`no JVM accepts a debugger at ${textOf(address)}: ${problem}`)
  }
}

/** Thrown if another program listens at the port, or if the JVM does not accept a debugger now. */
export class NotDebuggerPort extends JfluidError {
  static sample = () => new NotDebuggerPort({ host: '10.0.0.7', port: 5005 }, 'it does not speak JDWP')
  readonly exitCode = EX_PROTOCOL
  readonly hint =
    'Use the address in the option -agentlib:jdwp=… of the JVM. Disconnect other debuggers, and check that allow=… of that option includes this machine.'
  constructor(address: DebuggerAddress, problem: string) {
    super(`no JVM answers as a debug port at ${textOf(address)}: ${problem}`)
  }
}

/** Thrown if another debugger is connected: a JVM accepts one debugger at a time. */
export class DebuggerConnected extends JfluidError {
  static sample = () => new DebuggerConnected({ host: '10.0.0.7', port: 5005 })
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Disconnect the debugger, then try again: a JVM accepts one debugger at a time.'
  constructor(address: DebuggerAddress) {
    super(`another debugger is connected to the JVM at ${textOf(address)}`)
  }
}

/** Thrown if the JVM is not HotSpot, or is too old for the agent. */
export class UnfitJvm extends JfluidError {
  static sample = () =>
    new UnfitJvm({ host: '10.0.0.7', port: 5005 }, { vmName: 'Eclipse OpenJ9 VM', vmVersion: '17.0.4' })
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = `Run the program on HotSpot ${OLDEST_JDK} or newer to profile it.`
  constructor(address: DebuggerAddress, { vmName, vmVersion }: Pick<Version, 'vmName' | 'vmVersion'>) {
    super(`the JVM at ${textOf(address)} is ${vmName} ${vmVersion}, which jfluid does not support`)
  }
}

/** A JVM to which jfluid is connected as the debugger. */
export interface DebuggedJvm {
  readonly jvm: JdwpTarget
  readonly address: DebuggerAddress
  readonly version: Version
  /** Local address and port of the connection. The JVM's machine can reach jfluid at this address. */
  readonly local: { readonly address: string; readonly port: number }
  /** Address of the JVM's end of the connection. */
  readonly remote: string
}

/**
 * Connects as a debugger. The caller must `dispose` of `jvm`; this resumes all threads and frees the port.
 * @throws NobodyAtPort, NotDebuggerPort, TargetStopped, DebuggerConnected, UnfitJvm, and errors of the protocol
 */
export async function openDebuggerPort(address: DebuggerAddress): Promise<DebuggedJvm> {
  const socket = await listening(address)
  const local = { address: socket.localAddress ?? '', port: socket.localPort ?? 0 }
  const remote = socket.remoteAddress ?? ''
  let jvm: JdwpTarget
  try {
    jvm = await JdwpTarget.over(socket, { handshakeMs: CONNECT_TIMEOUT_MS, replyMs: REPLY_TIMEOUT_MS })
  } catch (problem) {
    throw handshakeProblem(address, local.port, problem)
  }
  try {
    const version = granted(await jvm.virtualMachine.version(), 'its version')
    if (version.major < OLDEST_JDK || !isHotSpot(version)) throw new UnfitJvm(address, version)
    return { jvm, address, version, local, remote }
  } catch (problem) {
    await jvm.dispose()
    throw problem
  }
}

/** Recognises HotSpot by the same VM names as `attach/hsperfdata.ts`, for example "OpenJDK 64-Bit Server VM". */
const isHotSpot = ({ vmName }: Version): boolean => /HotSpot|(?:Server|Client|Minimal) VM/.test(vmName)

async function listening(address: DebuggerAddress): Promise<Socket> {
  for (const until = performance.now() + REFUSED_TIMEOUT_MS; ; await pause(RETRY_DELAY_MS)) {
    try {
      return await connected(address)
    } catch (problem) {
      const isRefused = isCode(problem, 'ECONNREFUSED')
      if (isRefused && performance.now() < until) continue
      if (problem instanceof JfluidError) throw problem
      if (isRefused && isServed(address)) throw new DebuggerConnected(address)
      throw new NobodyAtPort(address, (problem as Error).message)
    }
  }
}

const isCode = (problem: unknown, code: string): boolean =>
  problem instanceof Error && (problem as NodeJS.ErrnoException).code === code

/** @throws the socket error, or NobodyAtPort after the time limit */
function connected(address: DebuggerAddress): Promise<Socket> {
  const socket = connectSocket({ host: address.host, port: address.port, noDelay: true })
  return new Promise((resolve, reject) => {
    const fail = (problem: Error): void => {
      clearTimeout(alarm)
      socket.destroy()
      reject(problem)
    }
    const alarm = setTimeout(
      () => fail(new NobodyAtPort(address, `no answer within ${CONNECT_TIMEOUT_MS} ms`)),
      CONNECT_TIMEOUT_MS,
    )
    socket.on('error', fail)
    socket.once('connect', () => {
      clearTimeout(alarm)
      resolve(socket)
    })
  })
}

/** Explains a missing handshake: the TCP connection was established, but the process has not answered `JDWP-Handshake`. */
function handshakeProblem(address: DebuggerAddress, ours: number, problem: unknown): unknown {
  if (!(problem instanceof Error)) return problem
  const pid = processCalled(address, ours)
  const called = pid === null ? undefined : readTargetProcess(pid)
  if (called?.vmLibrary != null && isStopped(called.state)) return new TargetStopped(called.pid, called.state)
  return new NotDebuggerPort(address, problem.message)
}

// /proc/net/tcp: `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …`. An address has the IP
// address and the port in hexadecimal. A connection that no process has accepted yet has no inode.
const ESTABLISHED = '01'
const LISTEN = '0A'

interface Row {
  /** Address in hexadecimal, as in /proc/net/tcp. */
  readonly localAddress: string
  readonly local: number
  readonly remote: number
  readonly state: string
  readonly inode: string
}

function connections(): Row[] {
  return ['tcp', 'tcp6'].flatMap((name) => {
    const text = fileText(`/proc/self/net/${name}`) ?? '' // empty if this protocol is not available
    return text
      .split('\n')
      .slice(1, -1)
      .map((line) => {
        const [, local = '', remote = '', state = '', , , , , , inode = ''] = line.trim().split(/\s+/)
        const localAddress = local.slice(0, local.indexOf(':'))
        return { localAddress, local: portOf(local), remote: portOf(remote), state, inode }
      })
  })
}

const portOf = (address: string): number => Number.parseInt(address.slice(-4), 16)

/** Returns whether a process of this machine has an open connection at the port. Called if no process listens at the port. */
function isServed({ port }: DebuggerAddress): boolean {
  return connections().some((it) => it.local === port && it.state === ESTABLISHED)
}

/**
 * Returns the process of this machine that has the other end of the debugger's connection. Null if no process of this machine has it, or
 * if that process cannot be inspected.
 */
export function processServing({ address, local }: DebuggedJvm): number | null {
  return processWith(endsOf(address, local.port))
}

/**
 * Returns the process that has accepted the connection. If no process has accepted the connection, returns the process that listens at
 * the port.
 */
function processCalled(address: DebuggerAddress, ours: number): number | null {
  const ends = endsOf(address, ours)
  const isListener = (it: Row): boolean =>
    it.state === LISTEN &&
    it.local === address.port &&
    ends.some(({ localAddress }) => localAddress === it.localAddress || /^0+$/.test(it.localAddress))
  return processWith(ends) ?? processWith(connections().filter(isListener))
}

/** Returns the rows for the JVM's end of the connection. The list is empty if the connection leads to another machine. */
function endsOf({ port }: DebuggerAddress, ours: number): Row[] {
  return connections().filter((it) => it.local === port && it.remote === ours)
}

function processWith(rows: readonly Row[]): number | null {
  const sockets = new Set(rows.filter(({ inode }) => inode !== '0').map(({ inode }) => `socket:[${inode}]`))
  if (sockets.size === 0) return null
  const pids = (namesIn('/proc') ?? []).filter((name) => /^\d+$/.test(name))
  const found = pids.find((pid) =>
    namesIn(`/proc/${pid}/fd`)?.some((fd) => sockets.has(linkOf(`/proc/${pid}/fd/${fd}`) ?? '')),
  )
  return found === undefined ? null : Number(found)
}
