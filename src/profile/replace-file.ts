// A file that is written whole or not at all.

import type { Stats } from 'node:fs'
import * as fsp from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { errorCode, PLANTED } from './errors.ts'
import { removeLeftBehind, temporaryName } from './temporary-name.ts'

/**
 * Has `write` write a file so that `path` holds either what it held before or all of the new: a temporary file beside
 * it, synced, then renamed. Readable by its owner only, since names and times of a service are nobody else's business.
 * What a killed process of ours has left of an earlier attempt is removed before, as it may fill the disk.
 *
 * A device or pipe (`/dev/stdout`) is written to in place; renaming over it would replace it.
 *
 * @throws the system's errors, and what `write` throws; the temporary file is gone then
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
 * Whether `replaceFile` could begin now. What it would need later, room above all, is not known before.
 *
 * @returns whether it is a device or a pipe
 * @throws the system's errors
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

/** Links of a chain that are followed, as systems do. */
const MOST_LINKS = 40
/** Of a directory: only who owns an entry, or the directory, may remove it. */
const STICKY = 0o1000

interface Target {
  readonly path: string
  /** A device or a pipe. */
  readonly special: boolean
  /** For `open`: what was looked at is what is opened. */
  readonly noFollow: number
}

/**
 * Follows symbolic links to what is there, or is to be, and lets a link stay one. None of them, and no pipe, is another user's in
 * a directory where anybody may put one (`/tmp`): what is checked there cannot be exchanged afterwards by anybody else, and a
 * name that was free or a file is not followed. So it does not take `fs.protected_symlinks`. Directories on the way are taken
 * as they are.
 */
async function targetOf(path: string): Promise<Target> {
  const { end, found } = await endOfLinks(path)
  if (found === undefined) {
    // What `/dev/stdout` leads to, as `/proc/1/fd/pipe:[7]`, has no path that could be looked at.
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

/** @returns and what there is, which is no link; undefined if there is nothing */
async function endOfLinks(path: string): Promise<{ end: string; found: Stats | undefined }> {
  let end = path
  for (let links = 0; links < MOST_LINKS; links++) {
    const found = await ifThere(fsp.lstat(end))
    if (found === undefined || !found.isSymbolicLink()) return { end, found }
    const above = await fsp.realpath(dirname(end)) // what a relative link is relative to
    await refusePlanted(found, above)
    end = resolve(above, await fsp.readlink(join(above, basename(end))))
  }
  throw failure('ELOOP')
}

/** As the kernel does if it has been told to. */
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

/** Makes the rename last through a power failure; file systems that cannot are not an error. */
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
