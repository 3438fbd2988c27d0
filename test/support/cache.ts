// Files downloaded by full tests, kept outside the repository and keyed by checksum: `$XDG_CACHE_HOME/jfluid` or `~/.cache/jfluid`.
// A second run needs neither the network nor the download tool. Copies are written to a temporary name and renamed, so two test runs may
// download the same file at once.

import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export { cacheDirectory } from './cache-directory.mjs'

export interface Fetched {
  /** Name in error messages. */
  readonly what: string
  /** File name in the cache. */
  readonly name: string
  /** SHA-256 of the file, in hexadecimal. */
  readonly sha256: string
  /** Downloads the file into a directory, and returns its path. */
  fetch(directory: string): Promise<string>
}

/**
 * Returns the path of the file in the cache. Downloads the file if it is missing or has another checksum.
 *
 * @param cache  directory of the cache; created if missing
 * @throws errors of `fetch`, or Error if the downloaded file has another checksum
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

/** Returns the checksum of a file; null if the file does not exist. */
function checksum(file: string): string | null {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex')
  } catch {
    return null
  }
}
