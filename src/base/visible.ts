// Reads files that may not exist or may be unreadable, such as those of other processes.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** @returns undefined if the file does not exist or is unreadable */
export function textOf(path: string): string | undefined {
  return ifVisible(() => readFileSync(path, 'utf8'))
}

/** Returns the target of a symbolic link; undefined if it does not exist or is unreadable. */
export function linkOf(path: string): string | undefined {
  return ifVisible(() => readlinkSync(path))
}

/** Returns the names in a directory; undefined if it does not exist or is unreadable. */
export function namesIn(directory: string): string[] | undefined {
  return ifVisible(() => readdirSync(directory))
}

/** @param look  makes a system call only: any exception means that the file is not visible */
export function ifVisible<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
