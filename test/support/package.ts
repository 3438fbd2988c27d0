// The npm package of this checkout. It is built already, and is not built again, because other tests use the build at the same time.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from './java-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Returns the path of the file that `npm pack` writes. */
export function packed(): string {
  const place = temporaryDirectory('jfluid-package-')
  const options = ['--ignore-scripts', '--silent', '--pack-destination', place]
  const name = execFileSync('npm', ['pack', ...options], { cwd: root, encoding: 'utf8' }).trim()
  return join(place, name)
}

/** Unpacks the package without a registry: its dependencies are links to those of this checkout. Returns its directory. */
export function unpacked(): string {
  const modules = join(temporaryDirectory('jfluid-package-'), 'node_modules')
  const directory = join(modules, 'jfluid')
  mkdirSync(directory, { recursive: true })
  execFileSync('tar', ['-xzf', packed(), '-C', directory, '--strip-components=1'])
  for (const name of readdirSync(join(root, 'node_modules')).filter((it) => !it.startsWith('.')))
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  return directory
}
