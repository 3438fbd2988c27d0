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

/**
 * Returns a root directory in the cache. It is the lower layer of containers (`--rootfs <root>:O`), so tests can share it; they must not
 * write to it.
 */
export function minimalRoot(...packages: readonly string[]): string {
  const codename = output('sh', '-c', '. /etc/os-release && echo "$VERSION_CODENAME"').trim()
  const cache = join(cacheDirectory(), 'roots')
  const root = join(cache, [codename, ...packages].join('+'))
  if (existsSync(root)) return root
  mkdirSync(cache, { recursive: true })
  const aside = mkdtempSync(join(cache, '.making-'))
  try {
    const include = packages.length === 0 ? [] : [`--include=${packages.join(',')}`]
    output('debootstrap', '--variant=minbase', ...include, codename, join(aside, 'root'), siteOf(codename))
    rmSync(join(aside, 'root/var/cache/apt/archives'), { recursive: true, force: true })
    renameSync(join(aside, 'root'), root)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  return root
}

/** Returns the address from which this machine installs packages. */
function siteOf(codename: string): string {
  const words = ['indextargets', '--format', '$(CODENAME) $(COMPONENT) $(SITE)', 'Created-By: Packages']
  const sources = output('apt-get', ...words)
  const site = new RegExp(`^${codename} main (\\S+)$`, 'm').exec(sources)?.[1]
  if (site === undefined) throw new Error(`apt has no source for ${codename} main: ${sources}`)
  return site
}

/** Returns options of `podman run` that add Node.js and npm of this machine, in /usr/local, like the archives of nodejs.org. */
export function nodeOptions(): string[] {
  const npm = dirname(dirname(realpathSync(output('sh', '-c', 'command -v npm').trim())))
  const prefix = temporaryDirectory('jfluid-node-')
  cpSync(realpathSync(process.execPath), join(prefix, 'bin/node'))
  cpSync(npm, join(prefix, 'lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(prefix, 'bin', name))
  output('chmod', '-R', 'a+rX', prefix)
  return ['--volume', `${prefix}:/usr/local:O`]
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
