// A minimal Debian as the root directory of containers: the essential packages, and those that a test names. Made by debootstrap from the
// package sources of this machine, and kept in the cache.

import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { cacheDirectory } from './cache.ts'
import { temporaryDirectory } from './java-process.ts'

function output(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (status !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `${stdout}${stderr}`.trim()}`)
  return stdout
}

/** Returns a new root directory. */
export function minimalRoot(...packages: readonly string[]): string {
  const root = temporaryDirectory('jfluid-root-')
  output('tar', '-xpf', archived(packages), '-C', root)
  return root
}

/** Adds Node.js and npm of this machine to a root directory, in /usr/local, like the archives of nodejs.org. */
export function addNode(root: string): void {
  const npm = dirname(dirname(realpathSync(output('sh', '-c', 'command -v npm').trim())))
  cpSync(realpathSync(process.execPath), join(root, 'usr/local/bin/node'))
  cpSync(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, 'usr/local/bin', name))
}

/** Returns the archive of a root directory. */
function archived(packages: readonly string[]): string {
  const sources = output(
    'apt-get',
    'indextargets',
    '--format',
    '$(CODENAME) $(COMPONENT) $(SITE)',
    'Created-By: Packages',
  )
  const codename = output('sh', '-c', '. /etc/os-release && echo "$VERSION_CODENAME"').trim()
  const site = new RegExp(`^${codename} main (\\S+)$`, 'm').exec(sources)?.[1]
  if (site === undefined) throw new Error(`apt has no source for ${codename} main: ${sources}`)
  const cache = join(cacheDirectory(), 'roots')
  const file = join(cache, `${[codename, ...packages].join('+')}.tar`)
  if (existsSync(file)) return file
  mkdirSync(cache, { recursive: true })
  const aside = mkdtempSync(join(cache, '.making-'))
  try {
    const include = packages.length === 0 ? [] : [`--include=${packages.join(',')}`]
    output('debootstrap', '--variant=minbase', ...include, codename, join(aside, 'root'), site)
    rmSync(join(aside, 'root/var/cache/apt/archives'), { recursive: true, force: true })
    output('tar', '-cf', join(aside, 'root.tar'), '-C', join(aside, 'root'), '.')
    renameSync(join(aside, 'root.tar'), file)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  return file
}

/** Options of `podman run` with which npm in a minimal root can reach the registry that npm of this machine uses. */
export function npmOptions(): string[] {
  const of = (key: string) => output('npm', 'config', 'get', key).trim()
  const [cache, certificates] = [of('cache'), process.env.NODE_EXTRA_CA_CERTS]
  return [
    ...['--network', 'host', '--env', `npm_config_registry=${of('registry')}`],
    ...['--volume', `${cache}:/npm-cache:O`, '--env', 'npm_config_cache=/npm-cache'],
    ...['--env', 'npm_config_prefer_offline=true'],
    ...(certificates === undefined
      ? []
      : [
          '--volume',
          `${certificates}:/certificates.pem:ro`,
          '--env',
          'NODE_EXTRA_CA_CERTS=/certificates.pem',
        ]),
  ]
}
