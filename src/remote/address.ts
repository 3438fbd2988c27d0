// Address of a JVM on another machine: ssh://[user@]host[:port]/<pid or main class> or tcp://host:port/<pid or main class>.

import { BadAddress } from './errors.ts'

export interface RemoteAddress {
  readonly by: 'ssh' | 'tcp'
  readonly user: string | null
  readonly host: string
  /** Port number. Null if ssh chooses the port. */
  readonly port: number | null
  /** A process id or a main class, as the command line of the proxy accepts it. An empty string requests a list of the JVMs. */
  readonly target: string
  /** The address without the target, as shown in error messages. */
  readonly where: string
}

const FORM = /^(ssh|tcp):\/\/(?:([^@/]*)@)?(\[[^\]/]*\]|[^:/@[\]]*)(?::([^/]*))?(?:\/(.*))?$/

/** Returns whether the text begins like a remote address. */
export function isRemote(text: string): boolean {
  return /^(ssh|tcp):\/\//.test(text)
}

/**
 * Parses a remote address.
 * @returns null if the text is not a remote address, but a process id or a main class
 * @throws BadAddress
 */
export function remoteAddress(text: string): RemoteAddress | null {
  if (!isRemote(text)) return null
  const found = FORM.exec(text)
  if (found === null)
    throw new BadAddress(text, 'it does not have the form ssh://host/pid or tcp://host:port/pid')
  const [, by, user, bracketed, portText, target] = found
  const host = bracketed!.replace(/^\[(.*)\]$/, '$1')
  if (host === '') throw new BadAddress(text, 'it has no host')
  // ssh would parse a name that begins with '-' as an option.
  if (host.startsWith('-') || user?.startsWith('-') === true)
    throw new BadAddress(text, "a name begins with '-'")
  if (user?.includes(':') === true)
    throw new BadAddress(
      `${by}://${user.slice(0, user.indexOf(':'))}:…@${host}`,
      'it contains a password, which all users of this machine could read; ssh asks for it',
    )
  if (user === '') throw new BadAddress(text, 'the name of the user is empty')
  const port = portText === undefined ? null : Number(portText)
  if (port !== null && !(/^\d{1,5}$/.test(portText!) && port >= 1 && port <= 65535))
    throw new BadAddress(text, `'${portText}' is not a port`)
  if (by === 'tcp' && port === null) throw new BadAddress(text, 'tcp needs a port')
  if (by === 'tcp' && user !== undefined) throw new BadAddress(text, 'an address with tcp has no user')
  return {
    by: by as 'ssh' | 'tcp',
    user: user ?? null,
    host,
    port,
    target: target ?? '',
    where: text.slice(0, text.indexOf('/', 6) < 0 ? undefined : text.indexOf('/', 6)),
  }
}

/** Returns `[user@]host`, as ssh expects it. */
export function loginName({ user, host }: RemoteAddress): string {
  return user === null ? host : `${user}@${host}`
}

/** Returns the command that opens a shell on the machine, or null if the address does not use ssh. */
export function loginTo(address: RemoteAddress): string | null {
  const { by, port } = address
  if (by !== 'ssh') return null
  return ['ssh', ...(port === null ? [] : ['-p', String(port)]), loginName(address)].join(' ')
}
