// Writes jfluid-linux-<processor>.tar.gz: jfluid with Node.js, for machines without Node.js.
//
//   npm run bundle [-- <folder for the file>]
//
//   jfluid-linux-x64/bin/jfluid      launcher.sh
//     bin/jfluid-ci                  link to ci/jfluid-ci.sh, which uses the launcher
//     lib/jfluid/                    the files of `npm pack`
//     lib/jfluid/node_modules/       the packages in package-lock.json that jfluid needs at run time
//     lib/jfluid/node, node-LICENSE  the Node.js that runs this script
//     share/                         manual page, completion for bash, zsh and fish, where the shells look for them
//
// The folders are those of /usr/local, so the archive can be unpacked there without its first folder. Order, times and owners of the files
// are fixed.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from '../../test/support/prepare.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')

export const PLATFORM = `linux-${process.arch}`
export const BUNDLE = `jfluid-${PLATFORM}`

/** npm gives the files of a package this time of modification, in seconds since 1970. */
export const MODIFIED = 499162500

/** Libraries of the C and C++ runtimes. Node.js from nodejs.org needs no others; packages of distributions often do. */
const RUNTIME = /^(?:linux-vdso|ld-linux.*|lib(?:c|m|dl|rt|pthread|stdc\+\+|gcc_s|atomic))\.so\.\d+$/

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 * @returns {string} standard output
 */
export function run(program, args, options = {}) {
  const { status, stdout, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  })
  if (status !== 0)
    throw new Error(`${program} ${args[0]} failed: ${error?.message ?? `exit code ${status}`}`)
  return String(stdout)
}

/**
 * Returns the loader and the libraries of a program, from the output of `ldd`.
 *
 * @param {string} output
 * @returns {{ loader: string, libraries: string[] }} paths
 */
export function parseLdd(output) {
  const missing = /^\s*(\S+) => not found$/m.exec(output)
  if (missing !== null) throw new Error(`${missing[1]} is not installed`)
  const loader = /^\s*(\/\S+) \(0x/m.exec(output)?.[1]
  if (loader === undefined) throw new Error(`no loader in the output of ldd: ${output}`)
  const libraries = [...output.matchAll(/^\s*\S+ => (\/\S+) \(0x/gm)].map(([, path]) => path)
  return { loader, libraries }
}

/** @param {string} program */
export const needsOf = (program) => parseLdd(run('ldd', [program]))

/**
 * Lets all users read, and the owner write, independent of the umask.
 *
 * @param {string} folder
 */
export function setModes(folder) {
  run('chmod', ['-R', 'u=rwX,go=rX', folder])
}

/**
 * Writes files into an archive. Their order, times and owners do not depend on the machine.
 *
 * @param {string} folder
 * @param {readonly string[]} names  files and folders in `folder`
 * @param {string} file  compressed if the name ends with gz
 */
export function archive(folder, names, file) {
  const same = ['--sort=name', `--mtime=@${MODIFIED}`, '--owner=0', '--group=0', '--numeric-owner']
  const packed = file.endsWith('gz') ? ['--use-compress-program=gzip -n'] : []
  run('tar', [...packed, '--format=gnu', ...same, '-cf', resolve(file), '-C', folder, ...names])
}

/** @param {{ libraries: string[] }} needs  of this Node.js */
function checkNode(needs) {
  const others = needs.libraries
    .map((it) => it.slice(it.lastIndexOf('/') + 1))
    .filter((it) => !RUNTIME.test(it))
  if (others.length === 0) return
  throw new Error(
    `this Node.js (${process.execPath}) needs ${others.join(', ')}, which other machines may not have. Use Node.js from nodejs.org`,
  )
}

/** Returns the licence of this Node.js, which must accompany its program. */
function nodeLicence(program) {
  const prefix = dirname(dirname(program))
  const places = [
    join(prefix, 'LICENSE'),
    join(prefix, 'share/doc/nodejs/LICENSE'),
    join(prefix, 'share/doc/node/LICENSE'),
  ]
  const place = places.find(existsSync)
  if (place === undefined) throw new Error(`the licence of Node.js is in none of ${places.join(', ')}`)
  return place
}

/**
 * Makes the folder that the archive contains.
 *
 * @param {string} folder  created
 */
export function stage(folder) {
  const node = realpathSync(process.execPath)
  const needs = needsOf(node)
  checkNode(needs)
  const lib = join(folder, 'lib/jfluid')
  mkdirSync(lib, { recursive: true })
  mkdirSync(join(folder, 'bin'))

  // The build is up to date. Without --ignore-scripts, `npm pack` would build again.
  const quiet = ['--ignore-scripts', '--silent']
  const packed = run('npm', ['pack', ...quiet, '--pack-destination', folder], { cwd: root }).trim()
  run('tar', ['-xzf', join(folder, packed), '-C', lib, '--strip-components=1'])
  rmSync(join(folder, packed))
  copyFileSync(join(root, 'package-lock.json'), join(lib, 'package-lock.json'))
  run('npm', ['ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund', ...quiet], { cwd: lib })
  // The second file names the registry.
  for (const it of ['package-lock.json', 'node_modules/.package-lock.json', 'node_modules/.bin'])
    rmSync(join(lib, it), { recursive: true, force: true })

  copyFileSync(node, join(lib, 'node'))
  copyFileSync(nodeLicence(node), join(lib, 'node-LICENSE'))
  const launcher = join(folder, 'bin/jfluid')
  writeFileSync(
    launcher,
    readFileSync(join(here, 'launcher.sh'), 'utf8').replaceAll('@LOADER@', needs.loader),
  )
  for (const it of [launcher, join(lib, 'node')]) chmodSync(it, 0o755)
  symlinkSync('../lib/jfluid/ci/jfluid-ci.sh', join(folder, 'bin/jfluid-ci'))

  const share = (path, text) => {
    mkdirSync(join(folder, 'share', dirname(path)), { recursive: true })
    writeFileSync(join(folder, 'share', path), text)
  }
  share('man/man1/jfluid.1', readFileSync(join(lib, 'dist/jfluid.1')))
  for (const [shell, path] of [
    ['bash', 'bash-completion/completions/jfluid'],
    ['zsh', 'zsh/site-functions/_jfluid'],
    ['fish', 'fish/vendor_completions.d/jfluid.fish'],
  ])
    share(path, run(launcher, ['completion', shell]))
  setModes(folder)
}

/**
 * Calls `work` with an empty folder, which is removed afterwards.
 *
 * @template T
 * @param {(folder: string) => T} work
 * @returns {T}
 */
export function withFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'jfluid-bundle-'))
  try {
    return work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {string} file */
export function sizeOf(file) {
  return `${file}: ${(statSync(file).size / 2 ** 20).toFixed(1)} MiB, with Node.js ${process.versions.node}`
}

/** @param {() => void} work */
export function asCommand(work) {
  try {
    prepare()
    work()
  } catch (error) {
    console.error(`jfluid: ${error.message}`)
    process.exitCode = 1
  }
}

/**
 * @param {string} out  folder
 * @returns {string} path of the archive
 */
export function bundle(out) {
  const file = join(out, `${BUNDLE}.tar.gz`)
  withFolder((folder) => {
    stage(join(folder, BUNDLE))
    archive(folder, [BUNDLE], file)
  })
  return file
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  asCommand(() => console.log(sizeOf(bundle(process.argv[2] ?? '.'))))
}
