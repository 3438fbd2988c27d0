// A cache of class files: many tests run the same program, and javac takes as long as a test. The cache is outside the
// checkout, so that it survives `npm ci`, keyed by a hash of all inputs of javac. An entry never changes.

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

/** Entries are removed after a week without use. */
const KEPT_MS = 7 * 24 * 3_600_000

export interface Compilation {
  readonly jdk: Pick<Jdk, 'javac' | 'full'>
  /** Options of javac, without the output directory. Sources may be among the options. */
  readonly options: readonly string[]
  /** Texts of the sources, keyed by name. */
  readonly sources: ReadonlyMap<string, string>
}

/**
 * Puts class files into a directory.
 *
 * @param compile  creates the class files in the given directory
 * @param cache    directory of the cache
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
 * Compiles like `compiledOnce`, but without a copy.
 *
 * @returns the directory in the cache, which must not be changed; null if javac reads inputs that the key does not cover
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

/** Removes entries that were not used for a week, since programs change and generated programs differ each time. */
function forgetUnused(cache: string): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name)
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Number.POSITIVE_INFINITY }
    if (Date.now() - mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}

/** Renames the entry. Another run may have created the same entry first. */
function rename(aside: string, kept: string): void {
  try {
    renameSync(aside, kept)
  } catch (error) {
    if (!existsSync(kept)) throw error
  }
}

/** Returns the key of a compilation; null if javac has further inputs: a class path, or an annotation processor. */
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
