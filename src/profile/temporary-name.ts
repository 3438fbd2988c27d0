// Names of hidden temporary files, which are renamed after a write. A name identifies the writing process, so that the file of a killed
// process is recognized as abandoned:
//
//   .p.jfluid.d41f09ab-00001267-9f3c02d7.tmp
//     |        |        |        random
//     |        |        process id, in hex
//     |        scope of the process id: hash of the machine's boot id and of the process id namespace
//     name of the final file; a long name is truncated

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { lstat, readdir, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { AUTOSAVE_ENDING } from './autosaved.ts'

/** Maximum length of a file name in bytes. */
const MAX_NAME_BYTES = 255
/**
 * Age in ms at which a temporary file counts as abandoned. Applies to files of another machine or an earlier boot, since jfluid cannot
 * check their processes. No write pauses for a whole day.
 */
const ABANDONED_AFTER_DURATION_MS = 24 * 3600 * 1000

const HEX_DIGITS = 8
const AFTER = /^\.([0-9a-f]{8})-([0-9a-f]{8})-[0-9a-f]{8}\.tmp$/
const AFTER_LENGTH = '.'.length + 3 * HEX_DIGITS + 2 + '.tmp'.length

/** Returns a new random name for a temporary file that will be renamed to `name`. */
export function temporaryName(name: string): string {
  const pid = process.pid.toString(16).padStart(HEX_DIGITS, '0')
  return `.${stemOf(name)}.${here()}-${pid}-${randomBytes(HEX_DIGITS / 2).toString('hex')}.tmp`
}

function stemOf(name: string): string {
  const bytes = Buffer.from(name).subarray(0, MAX_NAME_BYTES - '.'.length - AFTER_LENGTH)
  return bytes.toString().replace(/\ufffd+$/, '')
}

/** Scope of process ids on systems without /proc. */
const NOWHERE = '0'.repeat(HEX_DIGITS)

let knownHere: string | undefined

function here(): string {
  knownHere ??= hashOfHere()
  return knownHere
}

function hashOfHere(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    const ids = readlinkSync('/proc/self/ns/pid')
    return createHash('sha256').update(`${boot} ${ids}`).digest('hex').slice(0, HEX_DIGITS)
  } catch {
    return NOWHERE
  }
}

/**
 * Removes abandoned temporary files of `path` and of its autosave file. A file is abandoned if it belongs to this user and its process has
 * ended. If the process cannot be checked: if the file was not modified for a day.
 * Best effort: errors are ignored, since the pending write is more important.
 */
export async function removeLeftBehind(path: string): Promise<void> {
  const directory = dirname(path)
  const name = basename(path)
  const names = await readdir(directory).catch(() => [])
  for (const each of names) {
    const owner = ownerOf(each, name)
    if (owner === undefined) continue
    const isKnown = owner.where === here() && owner.where !== NOWHERE
    if (isKnown && isAlive(owner.pid)) continue
    const file = join(directory, each)
    const found = await lstat(file).catch(() => undefined)
    if (found === undefined || !found.isFile() || found.uid !== process.geteuid?.()) continue
    if (!isKnown && Date.now() - found.mtimeMs < ABANDONED_AFTER_DURATION_MS) continue
    await unlink(file).catch(() => {})
  }
}

/** Returns the process that wrote a temporary file; undefined if the file is not a temporary file of `name`. */
function ownerOf(temporary: string, name: string): { where: string; pid: number } | undefined {
  const after = AFTER.exec(temporary.slice(-AFTER_LENGTH))
  if (after === null || !temporary.startsWith('.')) return undefined
  const stem = temporary.slice(1, -AFTER_LENGTH)
  const autosaved = `${name}${AUTOSAVE_ENDING}`
  const isOurs =
    stem === stemOf(name) || (stem.startsWith(autosaved) && /^(?:\.\d+)?$/.test(stem.slice(autosaved.length)))
  return isOurs ? { where: after[1]!, pid: Number.parseInt(after[2]!, 16) } : undefined
}

/** Returns whether a process is alive, even if it belongs to another user. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
