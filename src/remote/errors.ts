// What can go wrong between two machines, on either of them.

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

/** An error as it crosses the wire: name, message, hint, exit status. */
export type ErrorFrame = readonly [name: string, message: string, hint: string, exitCode: number]

export class BadAddress extends UsageError {
  static sample = () => new BadAddress('ssh://', 'it has no host')
  readonly hint = 'Give ssh://[user@]host[:port]/<pid or main class>, or tcp://host:port/<pid or main class>.'
  constructor(text: string, problem: string) {
    super(`'${text}' is no address of a JVM: ${problem}`)
  }
}

/** Most commands look at JVMs of their own machine. */
export class JvmElsewhere extends UsageError {
  static sample = () => new JvmElsewhere('ssh://shop-7/4711', 'doctor', 'ssh shop-7')
  readonly hint: string
  /**
   * @param what   the command or the option
   * @param login  words that open a shell there; null if they are not known
   */
  constructor(text: string, what: string, login: string | null) {
    super(`'${text}' is a JVM of another machine, and ${what} is for those of this one`)
    const how = login === null ? '' : ` (${login})`
    this.hint = `Run it on that machine${how}; from here, attach and record take the address in place of a process id.`
  }
}

/** What needs files of this machine, or its processes, cannot be asked of another. */
export class NotFromAfar extends UsageError {
  static sample = () => new NotFromAfar('--profiler')
  readonly hint = 'Leave it out, or run jfluid on the machine of the JVM.'
  constructor(option: string) {
    super(`${option} is not for a JVM on another machine`)
  }
}

/** There is nobody, or nobody who lets us in, before a word has been said. */
export class CannotReach extends JfluidError {
  static sample = () => new CannotReach('ssh shop-7', 'ssh ended with 127', 'Install jfluid there.')
  readonly exitCode = EX_NOHOST
  readonly hint: string
  readonly reason: string
  constructor(where: string, reason: string, hint: string) {
    super(`cannot reach a proxy by ${where}: ${reason}`)
    this.reason = reason
    this.hint = hint
  }
}

/** The two ends of a TLS connection have different keys, or the other end has none. */
export class WrongProxyKey extends JfluidError {
  static sample = () => new WrongProxyKey('tcp://shop-7:7071')
  readonly exitCode = EX_NOPERM
  readonly hint =
    'Give the key that `jfluid proxy --listen` has shown there, by JFLUID_PROXY_KEY or JFLUID_PROXY_KEY_FILE.'
  constructor(where: string) {
    super(`the proxy at ${where} does not take this key`)
  }
}

export class NoProxyKey extends UsageError {
  static sample = () => new NoProxyKey('/home/ann/key can be read by others: chmod 600')
  readonly hint =
    'Set JFLUID_PROXY_KEY to what `jfluid proxy --listen` has shown, or JFLUID_PROXY_KEY_FILE to a file with it.'
  constructor(problem: string) {
    super(`there is no key for the proxy: ${problem}`)
  }
}

/** Whoever answers speaks otherwise. */
export class NotAProxy extends JfluidError {
  static sample = () => new NotAProxy('ssh shop-7', 'it says "Welcome to shop-7"')
  readonly exitCode = EX_PROTOCOL
  readonly hint =
    'Check that what is started there is `jfluid proxy`, and that nothing else writes to its output, as a login script might.'
  constructor(where: string, what: string) {
    super(`what answers by ${where} is no jfluid proxy: ${what}`)
  }
}

export class OtherProxyVersion extends JfluidError {
  static sample = () => new OtherProxyVersion('0.2.0', '0.1.0')
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'Install the same jfluid on both machines.'
  constructor(there: string, here: string) {
    super(`the proxy is jfluid ${there}, and this is jfluid ${here}`)
  }
}

/** The session that was asked for again is over: the proxy has ended, or has waited long enough. */
export class SessionGone extends JfluidError {
  static sample = () => new SessionGone()
  readonly exitCode = EX_IOERR
  readonly hint = 'Attach again. The JVM has its own code back: a session ends with its proxy.'
  constructor() {
    super('the proxy knows nothing of this session any more')
  }
}

/** It has as many sessions as it takes, or is on its way out. */
export class ProxyTakesNoMore extends JfluidError {
  static sample = () => new ProxyTakesNoMore('it has 64')
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Try again in a minute, or end a session there.'
  constructor(why: string) {
    super(`the proxy takes no further session: ${why}`)
  }
}

/** The connection has gone, and does not come back. */
export class ProxyLost extends JfluidError {
  static sample = () => new ProxyLost('ssh shop-7', 'it has been closed')
  readonly exitCode = EX_IOERR
  readonly hint =
    'Attach again when the machine can be reached. A proxy that is not reached leaves its JVM by itself after some time.'
  constructor(where: string, reason: string) {
    super(`the connection by ${where} was lost: ${reason}`)
  }
}

/** What the proxy says; it has the message, the hint and the status that its own terminal would have got. */
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

  /** The same, where we have something to add. */
  with(more: string): ErrorFrame {
    return [this.#name, `${this.message}; ${more}`, this.hint, this.exitCode]
  }
}

/** A proxy that cannot listen, or keep what it needs. */
export class ProxyCannotListen extends JfluidError {
  static sample = () => new ProxyCannotListen('127.0.0.1:7071', 'EADDRINUSE', 'Choose another port.')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint: string
  constructor(
    where: string,
    reason: string,
    hint = 'Make the directory of the socket your own, mode 0700, or set TMPDIR to one that is.',
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

/** @returns null if it is none */
export function readErrorFrame(values: readonly unknown[]): ErrorFrame | null {
  const [name, message, hint, exitCode] = values
  if (typeof name !== 'string' || typeof message !== 'string' || typeof hint !== 'string') return null
  if (typeof exitCode !== 'number' || !Number.isInteger(exitCode) || exitCode < 1 || exitCode > 255)
    return null
  return [name, message, hint, exitCode]
}
