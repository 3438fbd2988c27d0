// The hidden files that a write goes to before it is renamed. Their names say whose they are, so that one whose process
// was killed in the middle is known to be nobody's:
//
//   .p.jfluid.d41f09ab-00001267-9f3c02d7.tmp
//     |        |        |        random
//     |        |        process id, in hex
//     |        where that id holds: hash of this boot of the machine and of the namespace of process ids
//     the file that it was to become; of a long name, as much as there is room for

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { lstat, readdir, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { AUTOSAVE_ENDING } from './autosaved.ts'

/** Bytes of a name that file systems take. */
const LONGEST_NAME = 255
/** Nobody who still writes has paused for so long: of another machine, or of an earlier boot, nothing more is known. */
const ABANDONED_MS = 24 * 3600 * 1000

const HEX_DIGITS = 8
const AFTER = /^\.([0-9a-f]{8})-([0-9a-f]{8})-[0-9a-f]{8}\.tmp$/
const AFTER_LENGTH = '.'.length + 3 * HEX_DIGITS + 2 + '.tmp'.length

/** Of a file that is to become `name`; another one each time. */
export function temporaryName(name: string): string {
  const pid = process.pid.toString(16).padStart(HEX_DIGITS, '0')
  return `.${stemOf(name)}.${here()}-${pid}-${randomBytes(HEX_DIGITS / 2).toString('hex')}.tmp`
}

function stemOf(name: string): string {
  const bytes = Buffer.from(name).subarray(0, LONGEST_NAME - '.'.length - AFTER_LENGTH)
  return bytes.toString().replace(/\ufffd+$/, '')
}

/** Where there is no /proc to tell. */
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
 * Removes temporary files of `path`, and of what was autosaved for it, that nobody will finish: this user's own, by a process
 * that has ended, or untouched for a day where that cannot be known.
 *
 * What cannot be looked at or removed stays: it is in nobody's way, and what is to be written is more important.
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
    if (!isKnown && Date.now() - found.mtimeMs < ABANDONED_MS) continue
    await unlink(file).catch(() => {})
  }
}

/** Undefined for what is no temporary file of `name`. */
function ownerOf(temporary: string, name: string): { where: string; pid: number } | undefined {
  const after = AFTER.exec(temporary.slice(-AFTER_LENGTH))
  if (after === null || !temporary.startsWith('.')) return undefined
  const stem = temporary.slice(1, -AFTER_LENGTH)
  const autosaved = `${name}${AUTOSAVE_ENDING}`
  const isOurs =
    stem === stemOf(name) || (stem.startsWith(autosaved) && /^(?:\.\d+)?$/.test(stem.slice(autosaved.length)))
  return isOurs ? { where: after[1]!, pid: Number.parseInt(after[2]!, 16) } : undefined
}

/** One that is another user's is alive, too. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
