// Atomic writes of files.

import type { Stats } from 'node:fs'
import * as fsp from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { errorCode, PLANTED } from './errors.ts'
import { removeLeftBehind, temporaryName } from './temporary-name.ts'

/**
 * Writes a file atomically with `write`: `path` contains either its previous content or the complete new content. The data are written
 * to a temporary file in the same directory, which is synced and then renamed. The file is readable only by its owner, since it contains
 * names and times of a service. Temporary files of killed processes are removed first, since they may fill the disk.
 * The data of a device or pipe (`/dev/stdout`) are written in place, since a rename would replace the device or pipe.
 * @throws errors of the system and of `write`, after the temporary file is removed
 */
export async function replaceFile(
  path: string,
  write: (handle: fsp.FileHandle) => Promise<void>,
): Promise<void> {
  const target = await targetOf(path)
  if (target.special) await writeSpecial(target, write)
  else await replace(target.path, write)
}

/**
 * Checks whether `replaceFile` could start now. Later failures, such as a full disk, are not detected.
 * @returns whether the path is a device or a pipe
 * @throws errors of the system
 */
export async function probeFile(path: string): Promise<boolean> {
  const target = await targetOf(path)
  if (target.special) {
    await fsp.access(target.path, fsp.constants.W_OK)
    return true
  }
  await removeLeftBehind(target.path)
  const probe = join(dirname(target.path), temporaryName(basename(target.path)))
  const handle = await fsp.open(probe, 'wx', 0o600)
  await handle.close()
  await fsp.unlink(probe)
  return false
}

/** Maximum length of a chain of symbolic links, as in operating systems. */
const MAX_LINKS = 40
/** Sticky bit of a directory: an entry can only be removed by the owner of the entry or of the directory. */
const STICKY = 0o1000

interface Target {
  readonly path: string
  /** A device or a pipe. */
  readonly special: boolean
  /** Flag for `open`, O_NOFOLLOW or 0. The flag rejects a link that was created between check and open. */
  readonly noFollow: number
}

/**
 * Resolves symbolic links to an existing or future file; the links themselves are kept. In a directory writable by all users (`/tmp`),
 * links and pipes of other users are rejected. Other users cannot replace a checked entry in such a directory. A free name or a regular
 * file is opened without following links. `fs.protected_symlinks` is therefore not required. Parent directories are not checked.
 */
async function targetOf(path: string): Promise<Target> {
  const { end, found } = await endOfLinks(path)
  if (found === undefined) {
    // The target of `/dev/stdout`, such as `/proc/1/fd/pipe:[7]`, has no path that could be checked.
    const isLed = resolve(path) !== end && !(await isShared(dirname(end)))
    const there = isLed ? await ifThere(fsp.stat(path)) : undefined
    if (there === undefined || there.isFile()) return { path: end, special: false, noFollow: 0 }
    return { path, special: true, noFollow: 0 }
  }
  if (found.isDirectory()) throw failure('EISDIR')
  if (found.isFile()) return { path: end, special: false, noFollow: 0 }
  await refusePlanted(found, dirname(end))
  return { path: end, special: true, noFollow: fsp.constants.O_NOFOLLOW }
}

/** Follows a chain of symbolic links. @returns the path at its end, and the status of the file at this path; undefined if it is missing */
async function endOfLinks(path: string): Promise<{ end: string; found: Stats | undefined }> {
  let end = path
  for (let links = 0; links < MAX_LINKS; links++) {
    const found = await ifThere(fsp.lstat(end))
    if (found === undefined || !found.isSymbolicLink()) return { end, found }
    const above = await fsp.realpath(dirname(end)) // a relative link is relative to this directory
    await refusePlanted(found, above)
    end = resolve(above, await fsp.readlink(join(above, basename(end))))
  }
  throw failure('ELOOP')
}

/** Rejects a link or pipe of another user, by the rule of the kernel's `fs.protected_symlinks`. */
async function refusePlanted({ uid }: Stats, directory: string): Promise<void> {
  const above = await fsp.stat(directory)
  if (isOpenToAll(above) && uid !== process.geteuid?.() && uid !== above.uid) throw failure(PLANTED)
}

async function isShared(directory: string): Promise<boolean> {
  const above = await ifThere(fsp.stat(directory))
  return above !== undefined && isOpenToAll(above)
}

function isOpenToAll({ mode }: Stats): boolean {
  return (mode & fsp.constants.S_IWOTH) !== 0 && (mode & STICKY) !== 0
}

async function ifThere(looking: Promise<Stats>): Promise<Stats | undefined> {
  try {
    return await looking
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}

async function writeSpecial(
  { path, noFollow }: Target,
  write: (handle: fsp.FileHandle) => Promise<void>,
): Promise<void> {
  const handle = await fsp.open(path, fsp.constants.O_WRONLY | noFollow)
  try {
    await write(handle)
  } finally {
    await handle.close()
  }
}

async function replace(path: string, write: (handle: fsp.FileHandle) => Promise<void>): Promise<void> {
  await removeLeftBehind(path)
  const temporary = join(dirname(path), temporaryName(basename(path)))
  const handle = await fsp.open(temporary, 'wx', 0o600)
  try {
    await writeAndSync(handle, write)
    await fsp.rename(temporary, path)
  } catch (error) {
    await fsp.unlink(temporary).catch(() => {})
    throw error
  }
  await syncDirectory(dirname(path))
}

async function writeAndSync(
  handle: fsp.FileHandle,
  write: (handle: fsp.FileHandle) => Promise<void>,
): Promise<void> {
  try {
    await write(handle)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes the rename durable across a power failure, if the file system supports it. */
async function syncDirectory(path: string): Promise<void> {
  try {
    const handle = await fsp.open(path, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch {}
}
