// Prepares a checkout for tests and the demo: installs packages and builds both parts. `npm test` and `npm run demo` run it, also in a
// clone in which neither `npm ci` nor `npm run build` has run.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

function run(...args) {
  const { status } = spawnSync('npm', args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(status ?? 70)
}

const changedAt = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0)

function newest(dir) {
  return Math.max(
    ...readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => changedAt(join(entry.parentPath, entry.name))),
  )
}

export function prepare() {
  const lock = changedAt(join(root, 'package-lock.json'))
  if (changedAt(join(root, 'node_modules', '.package-lock.json')) < lock) {
    console.error('jfluid: installing packages')
    run('ci', '--no-audit', '--no-fund', '--loglevel=error')
  }
  if (changedAt(join(root, 'dist', 'cli.js')) < newest(join(root, 'src'))) {
    console.error('jfluid: building the client')
    run('run', '--silent', 'build:ts')
  }
  if (changedAt(join(root, 'dist', 'agent', 'build-id')) < newest(join(root, 'backend-java'))) {
    console.error('jfluid: building the agent')
    run('run', '--silent', 'build:agent')
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) prepare()
