// JVMs in namespaces, with their own root, /tmp and users, like those of container runtimes. Created with unshare, so most need root.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JavaProcess, readableByAll, startProcess } from './java-process.ts'
import type { Jdk } from './jdks.ts'

export interface Contained {
  /** The started process, which receives input. It ends with the test, and then the JVM ends as well. */
  readonly outer: JavaProcess
  /** Process id of the JVM in this pid namespace. */
  readonly pid: number
  /** Whether the JVM runs. */
  runs(): boolean
  /** Returns the files of that client in the JVM's /tmp and /dev/shm. */
  left(client: number): string[]
}

export interface Surroundings {
  /** Options of unshare: namespaces. */
  readonly namespaces: readonly string[]
  /**
   * Shell command executed in the namespaces before the JVM, as the root user of the namespaces. With a mount namespace, the classes are
   * already bound to /mnt.
   */
  readonly setUp?: string
  /** Command prefix of `java`: chroot, setpriv. */
  readonly as?: readonly string[]
  /**
   * First of the 65,536 user ids of this machine to which the users of the namespace are mapped. The namespace's root is mapped to this id.
   */
  readonly usersFrom?: number
  /** User that starts all processes. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

export const PRIVATE =
  'mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /dev/shm && chmod 1777 /tmp /dev/shm'
/** A pid namespace with its own /proc. Its processes end with `unshare`. */
export const PIDS = ['--pid', '--fork', '--kill-child', '--mount-proc']

/** Returns the reason why namespaces cannot be created here; empty if they can be created. */
export function cannotContain(...namespaces: readonly string[]): string {
  const { status, stderr, error } = spawnSync('unshare', [...namespaces, 'true'], { encoding: 'utf8' })
  return status === 0 ? '' : (error?.message ?? stderr.trim())
}

/** @param classes  class path of the program, which prints "ready" */
export async function startContained(
  jdk: Jdk,
  classes: string,
  program: readonly string[],
  { namespaces, setUp = 'true', as = [], usersFrom, user }: Surroundings,
): Promise<Contained> {
  const readable = readableByAll(classes) // users in the container differ from the user of the tests
  const hasMounts = namespaces.some((it) => it === '--mount' || it === '--mount-proc')
  // Private mounts, independent of the machine's mounts: a mount inside is not visible outside.
  const bind = hasMounts ? `mount --make-rprivate / && mount --bind '${readable}' /mnt` : 'true'
  const java = [...as, jdk.java, '-cp', hasMounts ? '/mnt' : readable, ...program]
  const inside = ['sh', '-c', `${bind} && ${setUp} && exec "$@"`, 'sh', ...java]
  const unshare = ['unshare', ...namespaces, ...inside]
  const words =
    usersFrom === undefined
      ? unshare
      : // The root of a new user namespace is `nobody` until its mapping is written.
        ['unshare', '--user', '--keep-caps', 'sh', '-c', 'echo whose && read -r _ && exec "$@"', 'sh'].concat(
          [...['setpriv', '--reuid', '0', '--regid', '0', '--clear-groups'], ...unshare],
        )
  const outer = startProcess(words[0]!, words.slice(1), { cwd: '/', ...user })
  if (usersFrom !== undefined) {
    await outer.line(/^whose/)
    for (const map of ['gid_map', 'uid_map'])
      writeFileSync(`/proc/${outer.pid}/${map}`, `0 ${usersFrom} 65536`)
    outer.send('go')
  }
  await outer.line(/^ready/)
  const pid = innermost(outer.pid)
  const root = `/proc/${pid}/root`
  return {
    outer,
    pid,
    runs: () => outer.child.exitCode === null && childOf(outer.pid) === (pid === outer.pid ? 0 : pid),
    left: (client) => {
      // If these directories are shared with the machine, they also contain files of other processes.
      const ours = new RegExp(`^\\.(?:attach|jfluid)_pid${pidInside(pid)}$|^jfluid-\\d+-${client}-`)
      const names = (place: string) => namesIn(join(root, place)).filter((name) => ours.test(name))
      return ['tmp', 'dev/shm'].flatMap((place) => names(place).map((name) => `${place}/${name}`))
    },
  }
}

function pidInside(pid: number): string | undefined {
  return /^NSpid:.*\s(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
}

/** Returns the last process of a chain of parents and children. */
export function innermost(outer: number): number {
  let pid = outer
  for (let child = childOf(pid); child !== 0; child = childOf(pid)) pid = child
  return pid
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return [] // this root has no such directory
  }
}
