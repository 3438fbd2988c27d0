// Files that somebody else may have put there: in a directory that all may write to, or in the root of a target whose user
// may do there what he likes, while root looks.
//
// What is opened is looked at first, through a handle that opens nothing: a pipe would be waited for, and a device may
// begin to do something. The file itself is opened through that handle, so that nothing can take its place in between.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** A handle that tells what it is of, and where it is; nothing can be read through it. */
export const O_PATH = 0o10000000

export interface FileLimits {
  /** Whose file it must be, where only that user's is believed. A symbolic link is not followed then. */
  readonly owner?: number
  /** Of a longer file the beginning is read. */
  readonly mostBytes: number
}

/**
 * Opens a regular file, to be read.
 *
 * @returns a descriptor; `undefined` for anything else, and a file of anybody but `owner`
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
 * The bytes of a regular file; `undefined` where there is none that is believed.
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
 * A handle of a directory that is no symbolic link, and through which it is reached wherever its name leads meanwhile:
 * `/proc/self/fd/<handle>`.
 *
 * @throws the system's errors
 */
export function openDirectory(path: string): number {
  return openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW)
}

/**
 * The same for a directory of a root that is not ours, where no link on the way is followed: an absolute one would lead into our root.
 *
 * @param path  absolute, in that root
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
