// Errors. If the JVM refuses a command, the refusal is a result and not an exception, since refusals are normal: for example, a class can
// be unloaded between two commands. If the connection fails, or the peer has another protocol, an exception is thrown.

import {
  EX_NOHOST,
  EX_PROTOCOL,
  EX_SOFTWARE,
  EX_TEMPFAIL,
  EX_UNAVAILABLE,
  JfluidError,
} from '../base/errors.ts'
import { ERRORS, type ErrorName, namesOf } from './constants.ts'

/** The result of a command. */
export type Result<T> = { readonly ok: true; readonly value: T } | Refusal

/** A refusal by the JVM. */
export interface Refusal {
  readonly ok: false
  /** Name of the error in JDWP.Error; `ERROR_<number>` for an unknown number. */
  readonly error: ErrorName | `ERROR_${number}`
  readonly code: number
}

const ERROR_NAMES = namesOf(ERRORS)

/** @param code  error code of a reply; not 0 */
export function refusal(code: number): Refusal {
  return { ok: false, error: ERROR_NAMES.get(code) ?? `ERROR_${code}`, code }
}

/**
 * Returns the value, or throws the refusal.
 *
 * @param what  description of the command, for the message
 * @throws JdwpRefused
 */
export function granted<T>(result: Result<T>, what: string): T {
  if (!result.ok) throw new JdwpRefused(what, result)
  return result.value
}

/** Error if the JVM has refused a command whose result is required. */
export class JdwpRefused extends JfluidError {
  static sample = () => new JdwpRefused('EventRequest.Set', { ok: false, error: 'NOT_IMPLEMENTED', code: 99 })
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Find the error in the JDWP specification: the JVM does not have this capability or this object.'
  readonly refusal: Refusal
  constructor(what: string, refused: Refusal) {
    super(`the JVM refused the debugger command ${what}: ${refused.error} (${refused.code})`)
    this.refusal = refused
  }
}

/** Error if no process answers at the address, or if the answer is not the handshake. */
export class NoDebuggerPort extends JfluidError {
  static sample = () => new NoDebuggerPort('10.0.0.7', 5005, 'connect ECONNREFUSED')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Start the JVM with -agentlib:jdwp=transport=dt_socket,server=y,suspend=n and disconnect other debuggers.'
  constructor(host: string, port: number, problem: string) {
    super(`no debugger connection at ${host}:${port}: ${problem}`)
  }
}

/** Error if the port is in use, or if the user has no permission to use the port. */
export class CannotListen extends JfluidError {
  static sample = () => new CannotListen('10.0.0.7', 5005, 'listen EADDRINUSE')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Choose another port, or give none to use a free one.'
  constructor(host: string, port: number, problem: string) {
    super(`cannot wait for a JVM at ${host}:${port}: ${problem}`)
  }
}

/** Error if no JVM has connected within the timeout. */
export class NoJvmCame extends JfluidError {
  static sample = () => new NoJvmCame('10.0.0.7', 5005, 'none came, in 30000 ms')
  readonly exitCode = EX_NOHOST
  readonly hint: string
  constructor(host: string, port: number, problem: string) {
    super(`no JVM has connected to ${host}:${port}: ${problem}`)
    this.hint = `Start the JVM with -agentlib:jdwp=transport=dt_socket,server=n,address=${host}:${port}.`
  }
}

/** Error if the connection ended while a reply or event was expected. */
export class JdwpLost extends JfluidError {
  static sample = () => new JdwpLost('the JVM closed it')
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'Check whether the JVM still runs.'
  constructor(problem: string) {
    super(`the debugger connection was lost: ${problem}`)
  }
}

/**
 * Error if the JVM has not answered within the timeout. The connection stays open, and a late answer is dropped. But if the command was an
 * invocation, the connection ends, since the JVM suspends threads when the invoked method returns. When the connection ends, HotSpot
 * resumes all threads.
 */
export class JdwpSilent extends JfluidError {
  static sample = () => new JdwpSilent('VirtualMachine.AllClasses', 30_000)
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Check whether the JVM is stopped, or too busy to run its debugger thread.'
  constructor(what: string, waitedMs: number) {
    super(`the JVM did not answer the debugger command ${what} within ${waitedMs} ms`)
  }
}

/** Error if the received bytes violate JDWP. */
export class MalformedJdwp extends JfluidError {
  static sample = () => new MalformedJdwp('a packet of 3 bytes')
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'Check that the address belongs to a JVM that was started with -agentlib:jdwp.'
  constructor(problem: string) {
    super(`malformed JDWP: ${problem}`)
  }
}

/** Error if too many events were not consumed. The connection ends, so that the JVM resumes its threads. */
export class EventsNotTaken extends JfluidError {
  static sample = () => new EventsNotTaken(100_000, 4_200_000)
  readonly exitCode = EX_SOFTWARE
  readonly hint = 'Add listeners for the requested events, or request fewer events.'
  constructor(held: number, bytes: number) {
    super(`${held} debugger events of ${bytes} bytes are queued, and no listener reads them`)
  }
}
