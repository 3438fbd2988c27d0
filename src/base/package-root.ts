// Location of the jfluid package. It is searched in the parent directories of this module, since built modules and source modules are in
// different directories.

import { existsSync, readFileSync } from 'node:fs'

/** URL of the directory of package.json, with a trailing `/`. */
export const packageRoot: URL = nearestPackage(new URL('.', import.meta.url))

function nearestPackage(directory: URL): URL {
  if (existsSync(new URL('package.json', directory))) return directory
  const above = new URL('..', directory)
  if (above.href === directory.href) throw new Error(`no package.json above ${import.meta.url}`)
  return nearestPackage(above)
}

/** Returns the version of jfluid. */
export function packageVersion(): string {
  const text = readFileSync(new URL('package.json', packageRoot), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** Returns the URL of a built file. Tests run from the sources, and use the files of the latest build. */
export const builtFile = (path: string): URL => new URL(`dist/${path}`, packageRoot)
