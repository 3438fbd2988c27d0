// Errors of a push. Wrong options are reported before anything is recorded. No message contains a token or the query of an address, which
// may contain a token.

import {
  EX_NOHOST,
  EX_NOPERM,
  EX_PROTOCOL,
  EX_TEMPFAIL,
  EX_UNAVAILABLE,
  JfluidError,
  UsageError,
} from '../base/errors.ts'

/** The address is not a valid store address. */
export class BadPushUrl extends UsageError {
  static sample = () => new BadPushUrl('it has no host')
  constructor(
    why: string,
    readonly hint = 'Give the address of a profile server: http://pyroscope:4040, https://…, or otlp+http://collector:4318.',
  ) {
    super(`cannot push to this address: ${why}`)
  }
}

/** A label that a store would reject or misread. */
export class BadLabel extends UsageError {
  static sample = () => new BadLabel('region=eu,west', 'its value has a comma')
  readonly hint =
    'Write name=value: the name with letters, digits and _, the value without , { and }. Example: --label region=eu-west'
  constructor(label: string, why: string) {
    super(`--label ${JSON.stringify(label.slice(0, 40))} is not a label: ${why}`)
  }
}

/** An environment variable for the store has a value that is invalid in an HTTP header. */
export class BadPushCredentials extends UsageError {
  static sample = () => new BadPushCredentials('JFLUID_PUSH_TOKEN')
  readonly hint =
    'Set the variable to the value that the server expects, without a line end or other control characters, or unset it.'
  constructor(variable: string) {
    super(
      `cannot send the value of ${variable}: it is empty, or contains a character that an HTTP header cannot have`,
    )
  }
}

/** The store rejected the credentials: 401, 403, 407. */
export class PushNotAllowed extends JfluidError {
  static sample = () => new PushNotAllowed('http://pyroscope:4040', 401, '', false)
  readonly exitCode = EX_NOPERM
  readonly hint: string
  constructor(store: string, status: number, said: string, isTokenSet: boolean) {
    super(`${store} does not permit the push: HTTP ${status}${said}`)
    this.hint = isTokenSet
      ? 'Check JFLUID_PUSH_TOKEN, and JFLUID_PUSH_USER if the server needs a user.'
      : 'Set JFLUID_PUSH_TOKEN to the token of the server, and JFLUID_PUSH_USER if the server needs a user.'
  }
}

/** The host name cannot be resolved. */
export class PushHostUnknown extends JfluidError {
  static sample = () => new PushHostUnknown('pyroscope', 'ENOTFOUND')
  readonly exitCode = EX_NOHOST
  readonly hint = 'Check the name of the host, and that this machine can resolve it.'
  constructor(host: string, code: string) {
    super(`cannot resolve the host ${host} (${code})`)
  }
}

/** The store is temporarily unavailable: no connection, no answer, or a server error. */
export class PushUnavailable extends JfluidError {
  static sample = () => new PushUnavailable('http://pyroscope:4040', 'HTTP 503', true)
  readonly exitCode = EX_TEMPFAIL
  /**
   * @param retry    whether the same request may succeed soon
   * @param afterMs  delay that the store requested, in ms; null if none
   */
  constructor(
    store: string,
    what: string,
    readonly retry: boolean,
    readonly afterMs: number | null = null,
    readonly hint = 'Check that the server runs, then try again.',
  ) {
    super(`${store} did not accept the profile: ${what}`)
  }
}

/** The store rejects this profile, or does not serve the path of the address. */
export class PushRefused extends JfluidError {
  static sample = () => new PushRefused('http://pyroscope:4040', 'HTTP 422: exceeds the size limit')
  readonly exitCode = EX_UNAVAILABLE
  constructor(
    store: string,
    what: string,
    readonly hint = 'Find the reason in the message of the server, and in its log.',
  ) {
    super(`${store} refused the profile: ${what}`)
  }
}

/** The answer is not from a store, or not from a store that jfluid supports. */
export class PushNotUnderstood extends JfluidError {
  static sample = () => new PushNotUnderstood('http://pyroscope:4040', 'it answered with a web page')
  readonly exitCode = EX_PROTOCOL
  constructor(
    store: string,
    what: string,
    readonly hint = 'Check the host and the port of the address, and whether it begins with http or https.',
  ) {
    super(`${store} is not a profile server: ${what}`)
  }
}

/** Reasons why the store did not accept the profile. */
export type PushProblem = PushNotAllowed | PushHostUnknown | PushUnavailable | PushRefused | PushNotUnderstood
