// Where jfluid lies. A module of the build is in another directory than its source.

import { existsSync, readFileSync } from 'node:fs'

/** Of the directory that package.json is in, with a `/` at its end. */
export const packageRoot: URL = nearestPackage(new URL('.', import.meta.url))

function nearestPackage(directory: URL): URL {
  if (existsSync(new URL('package.json', directory))) return directory
  const above = new URL('..', directory)
  if (above.href === directory.href) throw new Error(`no package.json above ${import.meta.url}`)
  return nearestPackage(above)
}

/** Which jfluid this is. */
export function packageVersion(): string {
  const text = readFileSync(new URL('package.json', packageRoot), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** What the build has made. Code that runs from its sources, as in tests, has this from the latest build. */
export const builtFile = (path: string): URL => new URL(`dist/${path}`, packageRoot)
