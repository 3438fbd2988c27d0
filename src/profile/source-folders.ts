// Finds the source file of a class below the folders of --source: in the folder itself, in the source roots of Maven, Gradle and plain
// layouts below it, and in its direct subfolders (modules). Class names come from a JVM or from a file and are not trusted: only regular
// files whose real path is below a given folder are read.

import { constants } from 'node:fs'
import { type FileHandle, open, readdir, readlink, realpath, stat } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { EX_NOINPUT, JfluidError } from '../base/errors.ts'

/** Thrown if the value of --source is not a readable folder. */
export class NoSourceFolder extends JfluidError {
  static sample = () => [new NoSourceFolder('src', 'ENOENT'), new NoSourceFolder('Main.java', 'ENOTDIR')]
  readonly exitCode = EX_NOINPUT
  readonly hint =
    'Give a folder with source files: --source src/main/java, or the folder of a project: --source .'
  constructor(folder: string, code: string) {
    const why = code === 'ENOENT' ? 'it does not exist' : code === 'ENOTDIR' ? 'it is not a folder' : code
    super(`cannot read the source folder '${folder}': ${why}`)
  }
}

/** A source file. */
export interface SourceText {
  /** Path for display. */
  readonly path: string
  readonly lines: readonly string[]
  /** Time of the last change of the file, ms since 1970. */
  readonly changedAt: number
}

/** Extensions of source files whose name is not known from the class file. */
const EXTENSIONS = ['java', 'kt', 'scala', 'groovy']
const LANGUAGES = ['java', 'kotlin', 'scala', 'groovy']
/** Folders in which no source roots are searched: output of build tools, and dependencies. */
const SKIPPED = new Set(['node_modules', 'target', 'build', 'out', 'bin', 'dist'])
/** Maximum depth of a source root below a given folder, and maximum number of folders that are searched for source roots. */
const MAX_DEPTH = 5
const MAX_FOLDERS = 5_000
/** Maximum size of a source file. */
const MAX_BYTES = 8 << 20

/** Returns the names that the source file of a class may have, as paths below a source root. Empty if the class name is no plain name. */
export function sourcePaths(className: string, sourceFile?: string): string[] {
  const parts = className.split('.')
  const simple = parts.pop() ?? ''
  const [outer = ''] = simple.split('$')
  const names =
    sourceFile !== undefined
      ? [sourceFile]
      : [
          ...EXTENSIONS.map((it) => `${outer}.${it}`),
          ...(/.Kt$/.test(outer) ? [`${outer.slice(0, -2)}.kt`] : []),
        ]
  return names
    .map((name) => [...parts, name])
    .filter((all) => all.every(isPlainName))
    .map((all) => all.join('/'))
}

function isPlainName(name: string): boolean {
  return !/^\.*$|[/\\\0]/.test(name)
}

export class SourceFolders {
  /** Source roots per folder, listed when a class is not in the folder itself. */
  readonly #roots = new Map<string, Promise<readonly string[]>>()

  private constructor(readonly folders: readonly string[]) {}

  /** @throws NoSourceFolder */
  static async open(folders: readonly string[]): Promise<SourceFolders> {
    for (const folder of folders) {
      const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
        throw new NoSourceFolder(folder, error.code ?? error.message)
      })
      if (!found.isDirectory()) throw new NoSourceFolder(folder, 'ENOTDIR')
    }
    return new SourceFolders(folders)
  }

  /**
   * Returns the source file of a class; null if no folder contains it.
   *
   * @param sourceFile  file name in the class file, if known
   * @param onRefused   receives the path of a file that is not read because its real path is outside of the folder
   */
  async find(
    className: string,
    sourceFile?: string,
    onRefused: (path: string) => void = () => {},
  ): Promise<SourceText | null> {
    const paths = sourcePaths(className, sourceFile)
    for (const folder of this.folders)
      for (const path of paths) {
        const found = await readBelow(folder, join(folder, path), onRefused)
        if (found !== null) return found
      }
    for (const folder of this.folders)
      for (const root of await this.#rootsOf(folder))
        for (const path of paths) {
          const found = await readBelow(folder, join(root, path), onRefused)
          if (found !== null) return found
        }
    return null
  }

  #rootsOf(folder: string): Promise<readonly string[]> {
    let roots = this.#roots.get(folder)
    if (roots === undefined) {
      roots = sourceRoots(folder)
      this.#roots.set(folder, roots)
    }
    return roots
  }
}

/** Returns the source roots below a folder: `src/main/java`, `src`, and the like, and the direct subfolders. */
async function sourceRoots(folder: string): Promise<string[]> {
  const byLayout: string[] = []
  const direct: string[] = []
  const pending = [{ path: folder, depth: 0 }]
  for (let at = 0; at < pending.length && at < MAX_FOLDERS; at++) {
    const { path, depth } = pending[at]!
    for (const name of await subfolders(path)) {
      const below = join(path, name)
      if (depth === 0) direct.push(below)
      if (name === 'src' || (LANGUAGES.includes(name) && isSourceSet(path))) byLayout.push(below)
      else if (depth + 1 < MAX_DEPTH || isSourceSet(below)) pending.push({ path: below, depth: depth + 1 })
      if (name === 'src') pending.push({ path: below, depth: depth + 1 })
    }
  }
  // A language's folder is more likely than `src` itself.
  return [...new Set([...byLayout.sort((a, b) => Number(isSrc(a)) - Number(isSrc(b))), ...direct])]
}

/** Returns whether the path ends with `src/main` or the folder of another source set. */
function isSourceSet(path: string): boolean {
  return resolve(path).split(sep).at(-2) === 'src'
}

function isSrc(path: string): boolean {
  return path.endsWith(`${sep}src`)
}

/** Returns the names of the subfolders; symbolic links are not followed. An unreadable folder has none. */
async function subfolders(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
  return entries
    .filter((it) => it.isDirectory() && !it.name.startsWith('.') && !SKIPPED.has(it.name))
    .map(({ name }) => name)
    .sort()
}

/** Reads a regular file if its real path is below the folder; null otherwise, and if there is no readable file. */
async function readBelow(
  folder: string,
  path: string,
  onRefused: (path: string) => void,
): Promise<SourceText | null> {
  let file: FileHandle | undefined
  try {
    const [top, real] = await Promise.all([realpath(folder), realpath(path)])
    const isOutside = (it: string): boolean => !it.startsWith(top.endsWith(sep) ? top : top + sep)
    if (isOutside(real)) {
      onRefused(path)
      return null
    }
    // O_NONBLOCK: opening a pipe does not wait for a writer.
    file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    // A directory of the path may have become a link since `realpath`.
    if (process.platform === 'linux' && isOutside(await readlink(`/proc/self/fd/${file.fd}`))) {
      onRefused(path)
      return null
    }
    const found = await file.stat()
    if (!found.isFile() || found.size > MAX_BYTES) return null
    const text = await file.readFile('utf8')
    return { path, lines: text.split(/\r\n|\n|\r/), changedAt: found.mtimeMs }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    return null
  } finally {
    await file?.close()
  }
}
