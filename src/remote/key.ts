// The key that a proxy and its clients share where they have no ssh: 256 random bits, in base64url.
//
// TLS 1.2 with it and with keys that are made for each connection (ECDHE-PSK, RFC 7905 and 5489): who has recorded a connection cannot read it
// when the key becomes known. Node.js has no such keys for TLS 1.3.

import { randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { NoProxyKey } from './errors.ts'

export const TLS = {
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
} as const satisfies ConnectionOptions

/** What the key is for; no secret. */
export const IDENTITY = 'jfluid'
const KEY_BYTES = 32
const FORM = /^[A-Za-z0-9_-]{43}$/
/** Behind the key a file may have a line's end, and no more. */
const MOST_FILE_BYTES = 64

/**
 * The key of the environment: of JFLUID_PROXY_KEY, or of the file that JFLUID_PROXY_KEY_FILE names. Not of the command line, which others can read.
 *
 * @returns null if there is none
 * @throws NoProxyKey if it is none
 */
export function keyOfEnvironment(env: NodeJS.ProcessEnv): Buffer | null {
  if (env.JFLUID_PROXY_KEY) return keyOf(env.JFLUID_PROXY_KEY, 'JFLUID_PROXY_KEY')
  return env.JFLUID_PROXY_KEY_FILE ? keyOfFile(env.JFLUID_PROXY_KEY_FILE) : null
}

/** @throws NoProxyKey: of others, a link, open to others, or no key in it */
export function keyOfFile(path: string): Buffer {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    throw new NoProxyKey(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  try {
    const facts = fstatSync(file)
    if (!facts.isFile() || facts.size > MOST_FILE_BYTES)
      throw new NoProxyKey(`${path} is not a file with a key`)
    if (facts.uid !== process.geteuid?.()) throw new NoProxyKey(`${path} belongs to another user`)
    if ((facts.mode & 0o077) !== 0) throw new NoProxyKey(`other users can read ${path} (chmod 600)`)
    return keyOf(readFileSync(file, 'latin1'), path)
  } finally {
    closeSync(file)
  }
}

/**
 * A new key, in a file that only its owner can read; that file's own if there is one.
 *
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
  if (!FORM.test(text.trim())) throw new NoProxyKey(`${where} holds none: it is 43 letters, digits, - and _`)
  return Buffer.from(text.trim(), 'base64url')
}
