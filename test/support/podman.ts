// Containers of a real engine, Podman as root, for tests of test:full. The machine needs the packages podman and runc.

import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JavaProcess, startProcess, temporaryDirectory } from './java-process.ts'
import type { Jdk } from './jdks.ts'

/** No test needs a network between containers, which would need more packages. */
export const NO_NETWORK = ['--network', 'none']

/** Without CAP_SYS_RESOURCE, a user cannot have the limits that an engine sets by default. */
export const LIMITS = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096']

/** The first runtime that works is used: Debian's crun refuses a machine with control groups of both versions. */
const RUNTIMES = [[], ['--runtime', 'runc'], ['--runtime', 'crun']]
let runtime: readonly string[] = []

export const podman = (...words: readonly string[]): SpawnSyncReturns<string> =>
  spawnSync('podman', [...runtime, ...words], { encoding: 'utf8', maxBuffer: 2 ** 26 })

export const startPodman = (...words: readonly string[]): JavaProcess =>
  startProcess('podman', [...runtime, ...words], { cwd: '/' })

/**
 * Returns a root directory for the lower layer of containers, with a Java runtime at /opt/jdk if given. /usr is a mount point: containers
 * share the machine's.
 */
export function rootWith(jdk?: Jdk): string {
  const root = temporaryDirectory('jfluid-root-')
  for (const folder of ['tmp', 'proc', 'dev', 'sys', 'run', 'etc', 'usr', 'opt/jdk', 'mnt', 'var/tmp'])
    mkdirSync(join(root, folder), { recursive: true })
  for (const link of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${link}`, join(root, link))
  // Mount points for files of the engine, which it cannot create in a root of another user.
  for (const file of ['run/.containerenv', 'etc/resolv.conf', 'etc/hosts', 'etc/hostname'])
    writeFileSync(join(root, file), '')
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\napp:x:1000:\n')
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\napp:x:1000:1000::/:/bin/sh\n')
  for (const part of jdk === undefined ? [] : ['bin', 'lib', 'conf', 'release'])
    cpSync(join(jdk?.home ?? '', part), join(root, 'opt/jdk', part), {
      recursive: true,
      dereference: true, // Debian has its configuration in /etc
      filter: (it) => !/src\.zip|ct\.sym/.test(it),
    })
  spawnSync('chmod', ['-R', 'a+rX', root])
  spawnSync('chmod', ['1777', join(root, 'tmp'), join(root, 'var/tmp')])
  return root
}

/** Returns the arguments for a container that is removed when its program ends. */
export const run = (root: string, options: readonly string[], ...program: readonly string[]): string[] => [
  ...[
    'run',
    '--rm',
    ...NO_NETWORK,
    ...LIMITS,
    '--volume',
    '/usr:/usr:ro',
    ...options,
    '--rootfs',
    `${root}:O`,
  ],
  ...program,
]

/** Chooses a runtime. Returns the reason for which no container can run here; empty if containers work. */
export function whyNoContainers(): string {
  const root = rootWith()
  const said: string[] = []
  for (runtime of RUNTIMES) {
    const { status, stderr, error } = podman(...run(root, [], 'true'))
    if (status === 0) return ''
    said.push(error?.message ?? stderr.trim())
  }
  return said.join('\n')
}

export interface Boxed {
  readonly name: string
  /** The Podman process, which forwards input and output of the program. */
  readonly outer: JavaProcess
  /** Process id of the JVM in this pid namespace. */
  readonly pid: number
}

let boxes = 0

/** Starts a program that prints "ready" in a named container, which is removed when `work` has ended. */
export async function boxed<T>(
  root: string,
  classes: string,
  options: readonly string[],
  work: (box: Boxed) => Promise<T>,
): Promise<T> {
  const name = `jfluid-trial-${process.pid}-${++boxes}`
  const program = ['/opt/jdk/bin/java', '-cp', '/mnt', 'fix.Ticker', '1', 'tiny']
  const words = run(root, ['--interactive', '--name', name, '--volume', `${classes}:/mnt:ro`, ...options])
  const outer = startPodman(...words, ...program)
  try {
    await outer.line(/^ready/)
    const { stdout } = podman('container', 'inspect', '--format', '{{.State.Pid}}', name)
    return await work({ name, outer, pid: Number(stdout) })
  } finally {
    podman('rm', '--force', '--time', '0', name)
    await outer.exit
  }
}
