// Files that may have gone, or are not ours to see: those of other processes above all.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** @returns undefined where there is none, or none that we may read */
export function textOf(path: string): string | undefined {
  return ifVisible(() => readFileSync(path, 'utf8'))
}

/** What a symbolic link leads to; undefined likewise. */
export function linkOf(path: string): string | undefined {
  return ifVisible(() => readlinkSync(path))
}

/** Names in a directory; undefined likewise. */
export function namesIn(directory: string): string[] | undefined {
  return ifVisible(() => readdirSync(directory))
}

/** @param look  asks the system alone: whatever it throws means that there is nothing to be seen */
export function ifVisible<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
