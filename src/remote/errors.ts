// Errors of the communication between two machines. Client and proxy use these errors.

import {
  EX_IOERR,
  EX_NOHOST,
  EX_NOPERM,
  EX_PROTOCOL,
  EX_SOFTWARE,
  EX_TEMPFAIL,
  EX_UNAVAILABLE,
  JfluidError,
  UsageError,
} from '../base/errors.ts'

/** Form in which an error is sent between client and proxy: name, message, hint, exit status. */
export type ErrorFrame = readonly [name: string, message: string, hint: string, exitCode: number]

export class BadAddress extends UsageError {
  static sample = () => new BadAddress('ssh://', 'it has no host')
  readonly hint = 'Give ssh://[user@]host[:port]/<pid or main class>, or tcp://host:port/<pid or main class>.'
  constructor(text: string, problem: string) {
    super(`'${text}' is not an address of a JVM: ${problem}`)
  }
}

/** The JVM is on another machine, and the command or option works only with JVMs on this machine. */
export class JvmElsewhere extends UsageError {
  static sample = () => new JvmElsewhere('ssh://shop-7/4711', 'doctor', 'ssh shop-7')
  readonly hint: string
  /**
   * @param what   the command or the option
   * @param login  the command that opens a shell on the other machine; null if it is not known
   */
  constructor(text: string, what: string, login: string | null) {
    super(`'${text}' is a JVM on another machine, and ${what} works only on this machine`)
    const how = login === null ? '' : ` (${login})`
    this.hint = `Run the command on that machine${how}. Only attach and record accept such an address.`
  }
}

/** An option needs files or processes of this machine, so it cannot be used with a JVM on another machine. */
export class NotFromAfar extends UsageError {
  static sample = () => new NotFromAfar('--profiler')
  readonly hint = 'Leave the option out, or run jfluid on the machine of the JVM.'
  constructor(option: string) {
    super(`${option} does not work for a JVM on another machine`)
  }
}

/** The connection failed before the first message: no proxy answers, or the machine refuses access. */
export class CannotReach extends JfluidError {
  static sample = () => new CannotReach('ssh shop-7', 'ssh ended with 127', 'Install jfluid there.')
  readonly exitCode = EX_NOHOST
  readonly hint: string
  readonly reason: string
  constructor(where: string, reason: string, hint: string) {
    super(`cannot connect to a proxy (${where}): ${reason}`)
    this.reason = reason
    this.hint = hint
  }
}

/** The two ends of a TLS connection have different keys, or the other end has no key. */
export class WrongProxyKey extends JfluidError {
  static sample = () => new WrongProxyKey('tcp://shop-7:7071')
  readonly exitCode = EX_NOPERM
  readonly hint =
    'Set JFLUID_PROXY_KEY, or JFLUID_PROXY_KEY_FILE, to the key that jfluid proxy --listen has printed there.'
  constructor(where: string) {
    super(`the proxy at ${where} does not accept this key`)
  }
}

export class NoProxyKey extends UsageError {
  static sample = () => new NoProxyKey('/etc/jfluid/key can be read by others: chmod 600')
  readonly hint =
    'Set JFLUID_PROXY_KEY to the key that jfluid proxy --listen has printed, or JFLUID_PROXY_KEY_FILE to a file with that key.'
  constructor(problem: string) {
    super(`no key for the proxy: ${problem}`)
  }
}

/** The other end does not speak the protocol of the proxy. */
export class NotAProxy extends JfluidError {
  static sample = () => new NotAProxy('ssh shop-7', 'it sent "Welcome to shop-7"')
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'Check that jfluid proxy is started there, and that no login script prints anything.'
  constructor(where: string, what: string) {
    super(`no jfluid proxy answers at ${where}: ${what}`)
  }
}

export class OtherProxyVersion extends JfluidError {
  static sample = () => new OtherProxyVersion('0.2.0', '0.1.0')
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'Install the same version of jfluid on both machines.'
  constructor(there: string, here: string) {
    super(`the proxy has jfluid version ${there}, and this is version ${here}`)
  }
}

/** The session of a reconnecting client is over: the proxy has ended, or the client reconnected too late. */
export class SessionGone extends JfluidError {
  static sample = () => new SessionGone()
  readonly exitCode = EX_IOERR
  readonly hint = 'Attach again. The JVM has its original code again: a session detaches when its proxy ends.'
  constructor() {
    super('the session has ended in the proxy')
  }
}

/** The proxy has reached its maximum number of sessions, or is ending. */
export class ProxyTakesNoMore extends JfluidError {
  static sample = () => new ProxyTakesNoMore('it has 64 sessions')
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Try again in a minute, or end another session of the proxy.'
  constructor(why: string) {
    super(`the proxy accepts no further session: ${why}`)
  }
}

/** The connection is lost, and reconnecting has failed. */
export class ProxyLost extends JfluidError {
  static sample = () => new ProxyLost('ssh shop-7', 'this side closed it')
  readonly exitCode = EX_IOERR
  readonly hint =
    'Attach again when the machine can be reached. Without a client the proxy detaches from its JVM after some time.'
  constructor(where: string, reason: string) {
    super(`the connection to the proxy (${where}) was lost: ${reason}`)
  }
}

/** An error that the proxy reports. Message, hint and exit status are the same as on the terminal of the proxy. */
export class ProxySays extends JfluidError {
  readonly exitCode: number
  readonly hint: string
  readonly #name: string
  constructor([name, message, hint, exitCode]: ErrorFrame) {
    super(message)
    this.#name = name
    this.hint = hint
    this.exitCode = exitCode
  }

  override get name(): string {
    return this.#name
  }

  /** Returns the error with more text added to its message. */
  with(more: string): ErrorFrame {
    return [this.#name, `${this.message}; ${more}`, this.hint, this.exitCode]
  }
}

/** The proxy cannot open its socket, or cannot create the directory or files that it needs. */
export class ProxyCannotListen extends JfluidError {
  static sample = () => new ProxyCannotListen('127.0.0.1:7071', 'EADDRINUSE', 'Choose another port.')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint: string
  constructor(
    where: string,
    reason: string,
    hint = 'Make yourself the owner of the directory, with mode 0700, or set TMPDIR to a directory that you own.',
  ) {
    super(`the proxy cannot listen at ${where}: ${reason}`)
    this.hint = hint
  }
}

export function errorFrame(error: unknown): ErrorFrame {
  if (error instanceof JfluidError) return [error.name, error.message, error.hint, error.exitCode]
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return ['Error', `internal error of the proxy: ${what}`, 'Report it.', EX_SOFTWARE]
}

/**
 * Parses an error frame.
 * @returns null if the values are not an error frame
 */
export function readErrorFrame(values: readonly unknown[]): ErrorFrame | null {
  const [name, message, hint, exitCode] = values
  if (typeof name !== 'string' || typeof message !== 'string' || typeof hint !== 'string') return null
  if (typeof exitCode !== 'number' || !Number.isInteger(exitCode) || exitCode < 1 || exitCode > 255)
    return null
  return [name, message, hint, exitCode]
}
