// Which JVM of which machine: ssh://[user@]host[:port]/<pid or main class>, tcp://host:port/<pid or main class>.

import { BadAddress } from './errors.ts'

export interface RemoteAddress {
  readonly by: 'ssh' | 'tcp'
  readonly user: string | null
  readonly host: string
  /** Null where ssh knows it. */
  readonly port: number | null
  /** A process id or a main class, as the proxy's own command line takes it; '' to be told which there are. */
  readonly target: string
  /** As errors call the machine: without the target. */
  readonly where: string
}

const FORM = /^(ssh|tcp):\/\/(?:([^@/]*)@)?(\[[^\]/]*\]|[^:/@[\]]*)(?::([^/]*))?(?:\/(.*))?$/

/** Whether it looks like one. */
export function isRemote(text: string): boolean {
  return /^(ssh|tcp):\/\//.test(text)
}

/**
 * @returns null if it does not look like one: a process id, a main class
 * @throws BadAddress
 */
export function remoteAddress(text: string): RemoteAddress | null {
  if (!isRemote(text)) return null
  const found = FORM.exec(text)
  if (found === null) throw new BadAddress(text, 'it has not the form ssh://host/pid or tcp://host:port/pid')
  const [, by, user, bracketed, portText, target] = found
  const host = bracketed!.replace(/^\[(.*)\]$/, '$1')
  if (host === '') throw new BadAddress(text, 'it has no host')
  // ssh would take it for an option.
  if (host.startsWith('-') || user?.startsWith('-') === true)
    throw new BadAddress(text, "a name begins with '-'")
  if (user?.includes(':') === true)
    throw new BadAddress(
      `${by}://${user.slice(0, user.indexOf(':'))}:…@${host}`,
      'a password in it could be read by all users of this machine; ssh asks for it',
    )
  if (user === '') throw new BadAddress(text, 'its user has no name')
  const port = portText === undefined ? null : Number(portText)
  if (port !== null && !(/^\d{1,5}$/.test(portText!) && port >= 1 && port <= 65535))
    throw new BadAddress(text, `'${portText}' is no port`)
  if (by === 'tcp' && port === null) throw new BadAddress(text, 'tcp needs a port')
  if (by === 'tcp' && user !== undefined) throw new BadAddress(text, 'tcp knows no users')
  return {
    by: by as 'ssh' | 'tcp',
    user: user ?? null,
    host,
    port,
    target: target ?? '',
    where: text.slice(0, text.indexOf('/', 6) < 0 ? undefined : text.indexOf('/', 6)),
  }
}

/** As ssh has it. */
export function loginName({ user, host }: RemoteAddress): string {
  return user === null ? host : `${user}@${host}`
}

/** Words that open a shell there; null where no ssh is known to lead there. */
export function loginTo(address: RemoteAddress): string | null {
  const { by, port } = address
  if (by !== 'ssh') return null
  return ['ssh', ...(port === null ? [] : ['-p', String(port)]), loginName(address)].join(' ')
}
