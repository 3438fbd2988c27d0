// Stores of profiles: parses an address, and builds the credentials.

import { BadPushCredentials, BadPushUrl } from './errors.ts'

/** Format and API of a store: pprof over Pyroscope's HTTP API, or OTLP. */
export type Protocol = 'pyroscope' | 'otlp'

export interface Store {
  readonly protocol: Protocol
  readonly url: URL
  /** Address for messages, without the query and other possible secrets. */
  readonly shown: string
}

export const INGEST_PATH = '/ingest'
/** OTLP 1.11.0, "OTLP/HTTP Request". The path contains `development` as long as the signal is in development. */
export const OTLP_PATH = '/v1development/profiles'
const OTLP_PREFIX = 'otlp+'

/**
 * Parses an address: `http://host:4040` is a Pyroscope, `otlp+http://host:4318` is any OTLP receiver. The protocol's path is appended
 * unless the address already ends with it. An address that ends with OTLP's path needs no prefix.
 *
 * @throws BadPushUrl
 */
export function parseStore(text: string): Store {
  const isMarked = text.toLowerCase().startsWith(OTLP_PREFIX)
  const plain = isMarked ? text.slice(OTLP_PREFIX.length) : text
  const url = URL.canParse(plain) ? new URL(plain) : null
  if (url === null) {
    const quoted = text.includes('@') ? 'it' : JSON.stringify(text.slice(0, 60).replace(/\?.*/s, '?…'))
    throw new BadPushUrl(`${quoted} is not a URL`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new BadPushUrl(`${JSON.stringify(url.protocol)} is neither http: nor https:`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new BadPushUrl(
      'the URL contains a user or a password, which all users of this machine could see',
      'Set JFLUID_PUSH_USER and JFLUID_PUSH_TOKEN in the environment instead.',
    )
  }
  url.hash = ''
  const path = url.pathname.replace(/\/+$/, '')
  const protocol: Protocol = isMarked || path.endsWith(OTLP_PATH) ? 'otlp' : 'pyroscope'
  const own = protocol === 'otlp' ? OTLP_PATH : INGEST_PATH
  url.pathname = path.endsWith(own) ? path : path + own
  return { protocol, url, shown: url.origin + url.pathname }
}

export interface Credentials {
  /** Headers of the request. */
  readonly headers: Readonly<Record<string, string>>
  readonly isTokenSet: boolean
  /** Secrets that only the store may read. The store's answer may repeat a secret. */
  readonly secrets: readonly string[]
}

type Environment = { readonly [name: string]: string | undefined }

/**
 * Reads the credentials from the environment. They are never on the command line, which all users of a machine can see. JFLUID_PUSH_TOKEN
 * is a bearer token (RFC 6750) or, with JFLUID_PUSH_USER, that user's password (RFC 7617), as in Grafana Cloud. JFLUID_PUSH_TENANT is
 * Pyroscope's X-Scope-OrgID.
 *
 * @throws BadPushCredentials
 */
export function credentials(env: Environment): Credentials {
  const token = given(env, 'JFLUID_PUSH_TOKEN')
  const user = given(env, 'JFLUID_PUSH_USER')
  const tenant = given(env, 'JFLUID_PUSH_TENANT')
  const headers: Record<string, string> = {}
  const basic = btoa(`${user}:${token ?? ''}`)
  if (user !== undefined) headers.authorization = `Basic ${basic}`
  else if (token !== undefined) headers.authorization = `Bearer ${token}`
  if (tenant !== undefined) headers['x-scope-orgid'] = tenant
  const secrets = [...(token === undefined ? [] : [token]), ...(user === undefined ? [] : [basic])]
  return { headers, isTokenSet: user !== undefined || token !== undefined, secrets }
}

/** Returns a variable. Only printable ASCII is allowed, since every server reads it the same way. */
function given(env: Environment, name: string): string | undefined {
  const value = env[name]
  if (value !== undefined && !/^[\x20-\x7e]+$/.test(value)) throw new BadPushCredentials(name)
  return value
}

/** Returns whether the connection is unencrypted and leaves this machine, so that others could read it. */
export function isOpen({ url }: Store): boolean {
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  return url.protocol === 'http:' && !isHere
}
