// The key that a proxy and its clients share if they do not use ssh: 256 random bits in base64url.
// The connection uses TLS 1.2 with this key and with ephemeral keys (ECDHE-PSK, RFC 7905 and 5489). A recorded connection therefore stays
// unreadable even if the key leaks later. Node.js does not support pre-shared keys with TLS 1.3.

import { randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { NoProxyKey } from './errors.ts'

export const TLS = {
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
} as const satisfies ConnectionOptions

/** Identity name that TLS requires with the key. It is not secret. */
export const IDENTITY = 'jfluid'
const KEY_BYTES = 32
const FORM = /^[A-Za-z0-9_-]{43}$/
/** Maximum size of a key file: the key and a line break fit. */
const MAX_FILE_BYTES = 64

/**
 * Reads the key from JFLUID_PROXY_KEY, or from the file named by JFLUID_PROXY_KEY_FILE. The command line is not used, since other users can
 * read it.
 * @returns null if neither variable is set
 * @throws NoProxyKey if the key is not valid
 */
export function keyOfEnvironment(env: NodeJS.ProcessEnv): Buffer | null {
  if (env.JFLUID_PROXY_KEY) return keyOf(env.JFLUID_PROXY_KEY, 'JFLUID_PROXY_KEY')
  return env.JFLUID_PROXY_KEY_FILE ? keyOfFile(env.JFLUID_PROXY_KEY_FILE) : null
}

/**
 * Reads the key from a file.
 * @throws NoProxyKey if the file has another owner, is a link, is accessible to other users, or contains no key
 */
export function keyOfFile(path: string): Buffer {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    throw new NoProxyKey(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  try {
    const facts = fstatSync(file)
    if (!facts.isFile() || facts.size > MAX_FILE_BYTES)
      throw new NoProxyKey(`${path} is not a file with a key`)
    if (facts.uid !== process.geteuid?.()) throw new NoProxyKey(`${path} belongs to another user`)
    if ((facts.mode & 0o077) !== 0) throw new NoProxyKey(`other users can read ${path} (chmod 600)`)
    return keyOf(readFileSync(file, 'latin1'), path)
  } finally {
    closeSync(file)
  }
}

/**
 * Creates a key in a file that only its owner can read. If the file exists, returns the key in it.
 * @throws NoProxyKey
 */
export function keyInFile(path: string): Buffer {
  const { text, key } = newKey()
  try {
    writeFileSync(path, `${text}\n`, { flag: 'wx', mode: 0o600 })
    return key
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return keyOfFile(path)
    throw new NoProxyKey(`${path} cannot be written (${code})`)
  }
}

export function newKey(): { readonly text: string; readonly key: Buffer } {
  const key = randomBytes(KEY_BYTES)
  return { text: key.toString('base64url'), key }
}

function keyOf(text: string, where: string): Buffer {
  if (!FORM.test(text.trim()))
    throw new NoProxyKey(`${where} does not contain a key, which has 43 letters, digits, - and _`)
  return Buffer.from(text.trim(), 'base64url')
}
