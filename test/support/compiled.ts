// A cache of what javac makes: many tests run the same program, and javac takes as long as what they try. It lies outside the
// checkout, so that it survives `npm ci`, under a hash of all that javac reads. An entry never changes.

import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { cacheDirectory } from './cache.ts'
import type { Jdk } from './jdks.ts'

const CACHE = join(cacheDirectory(), 'classes')

/** After a week without use. */
const KEPT_MS = 7 * 24 * 3_600_000

export interface Compilation {
  readonly jdk: Pick<Jdk, 'javac' | 'full'>
  /** Without the directory that the class files go to. Sources may be among them. */
  readonly options: readonly string[]
  /** By name. */
  readonly sources: ReadonlyMap<string, string>
}

/**
 * Puts class files into a directory.
 *
 * @param compile  makes them in the directory that it is given
 * @param cache    where they are kept
 */
export async function compiledOnce(
  compilation: Compilation,
  directory: string,
  compile: (directory: string) => Promise<void>,
  cache = CACHE,
): Promise<void> {
  const kept = await compiledClasses(compilation, compile, cache)
  if (kept === null) await compile(directory)
  else cpSync(kept, directory, { recursive: true })
}

/**
 * The same without a copy.
 *
 * @returns their directory in the cache, to be read only; null if javac reads something that the key does not cover
 */
export async function compiledClasses(
  compilation: Compilation,
  compile: (directory: string) => Promise<void>,
  cache = CACHE,
): Promise<string | null> {
  const key = keyOf(compilation)
  if (key === null) return null
  const kept = join(cache, key)
  if (!existsSync(kept)) {
    mkdirSync(cache, { recursive: true })
    forgetUnused(cache)
    const aside = mkdtempSync(join(cache, '.compiling-'))
    try {
      await compile(aside)
      rename(aside, kept)
    } finally {
      rmSync(aside, { recursive: true, force: true })
    }
  }
  const now = new Date()
  utimesSync(kept, now, now)
  return kept
}

/** Programs change, and some are other ones each time. */
function forgetUnused(cache: string): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name)
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Number.POSITIVE_INFINITY }
    if (Date.now() - mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}

/** Another run may have been there first, with the same. */
function rename(aside: string, kept: string): void {
  try {
    renameSync(aside, kept)
  } catch (error) {
    if (!existsSync(kept)) throw error
  }
}

/** Null where javac reads something else, too: a class path, or a processor. */
function keyOf({ jdk, options, sources }: Compilation): string | null {
  const hash = createHash('sha256')
  const add = (...parts: readonly string[]): void => void hash.update(JSON.stringify(parts))
  add(jdk.javac, jdk.full)
  for (const option of options) {
    if (option.endsWith('.java')) add('source', basename(option), readFileSync(option, 'utf8'))
    else if (/path$|^-cp$|^-proc|^@|^-d$|^-s$|^-h$|^--patch-module|=\//.test(option) || existsSync(option))
      return null
    else add('option', option)
  }
  for (const [name, text] of sources) add('source', name, text)
  return hash.digest('hex')
}
