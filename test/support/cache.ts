// Files that full tests fetch, kept outside the repository under their checksum: `$XDG_CACHE_HOME/jfluid` or `~/.cache/jfluid`.
// A second run needs neither network nor the tool that fetches. Copies are written aside and renamed, so two test runs may
// fetch the same file at once.

import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

export function cacheDirectory(): string {
  return join(process.env.XDG_CACHE_HOME || join(home() ?? tmpdir(), '.cache'), 'jfluid')
}

/** Null for a user without an entry and without HOME. */
function home(): string | null {
  try {
    return homedir()
  } catch {
    return null
  }
}

export interface Fetched {
  /** As errors name it. */
  readonly what: string
  /** In the cache. */
  readonly name: string
  /** SHA-256 of the file, in hexadecimal. */
  readonly sha256: string
  /** Puts it into a directory, and says where. */
  fetch(directory: string): Promise<string>
}

/**
 * Path of the file in the cache, fetched if it is not there or is not what it should be.
 *
 * @param cache  the directory to keep it in; made if missing
 * @throws what `fetch` throws, Error if what it has fetched has another checksum
 */
export async function cachedFile({ what, name, sha256, fetch }: Fetched, cache: string): Promise<string> {
  const file = join(cache, name)
  if (checksum(file) === sha256) return file
  mkdirSync(cache, { recursive: true })
  const aside = mkdtempSync(join(cache, '.fetching-'))
  try {
    const copy = await fetch(aside)
    const found = checksum(copy)
    if (found !== sha256) throw new Error(`${what} has SHA-256 ${found}, not ${sha256}`)
    renameSync(copy, file)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  return file
}

/** Null if there is no such file. */
function checksum(file: string): string | null {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex')
  } catch {
    return null
  }
}
