// Opens files that another user may have created: in a world-writable directory, or below the root directory of a target. The target's user
// may change such files while root reads them.
// A file is first checked through an O_PATH handle, which does not open the file: opening a pipe may block, and opening a device may have
// side effects. The file is then opened through this handle, so that no other file can replace the checked file before the open.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** Open flag of a handle that shows only the file's type and location. The handle cannot be used to read the file. */
export const O_PATH = 0o10000000

export interface FileLimits {
  /** Required owner, if only that user is trusted. Symbolic links are then not followed. */
  readonly owner?: number
  /** Maximum number of bytes to read from the beginning of the file. */
  readonly mostBytes: number
}

/**
 * Opens a regular file for reading.
 *
 * @returns a descriptor; `undefined` for any other kind of file, and if the owner is not `owner`
 * @throws the system's errors
 */
export function openRegular(path: string, owner?: number): number | undefined {
  const handle = openSync(path, owner === undefined ? O_PATH : O_PATH | constants.O_NOFOLLOW)
  try {
    const found = fstatSync(handle)
    if (!found.isFile() || (owner !== undefined && found.uid !== owner)) return undefined
    return openSync(`/proc/self/fd/${handle}`, constants.O_RDONLY)
  } finally {
    closeSync(handle)
  }
}

/**
 * Reads a regular file. Returns `undefined` for any other kind of file, and if the owner is not `owner`.
 *
 * @throws the system's errors
 */
export function readRegular(path: string, { owner, mostBytes }: FileLimits): Buffer | undefined {
  const file = openRegular(path, owner)
  if (file === undefined) return undefined
  try {
    const bytes = Buffer.alloc(Math.min(fstatSync(file).size, mostBytes))
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(file)
  }
}

/**
 * Opens a handle of a directory that is not a symbolic link. `/proc/self/fd/<handle>` continues to refer to this directory, even if its
 * name changes.
 *
 * @throws the system's errors
 */
export function openDirectory(path: string): number {
  return openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW)
}

/**
 * Opens a directory in another root directory. Follows no symbolic link: an absolute link would lead into jfluid's own root directory.
 *
 * @param path  absolute path in that root
 * @throws the system's errors
 */
export function openBelow(root: string, path: string): number {
  let handle = openSync(`${root}/`, O_PATH | constants.O_DIRECTORY)
  for (const name of path.split('/').filter(Boolean)) {
    const above = handle
    try {
      handle = openDirectory(`/proc/self/fd/${above}/${name}`)
    } finally {
      closeSync(above)
    }
  }
  return handle
}
