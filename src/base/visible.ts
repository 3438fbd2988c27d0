// Reads files that may not exist or may be unreadable, such as files of other processes in /proc.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Returns the content of a file; undefined if the file does not exist or is unreadable. */
export function textOf(path: string): string | undefined {
  return ifVisible(() => readFileSync(path, 'utf8'))
}

/** Returns the target of a symbolic link; undefined if the link does not exist or is unreadable. */
export function linkOf(path: string): string | undefined {
  return ifVisible(() => readlinkSync(path))
}

/** Returns the names in a directory; undefined if the directory does not exist or is unreadable. */
export function namesIn(directory: string): string[] | undefined {
  return ifVisible(() => readdirSync(directory))
}

/** Returns the result of `look`, which makes only a system call; undefined if it throws, since then the file is not visible. */
export function ifVisible<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
