// JVMs as container runtimes start them: in namespaces, with a root, a /tmp and users of their own. Made by unshare, so most of it takes root.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JavaProcess, readableByAll, startProcess } from './java-process.ts'
import type { Jdk } from './jdks.ts'

export interface Contained {
  /** What we have started and talk to; it ends with the test, and the JVM with it. */
  readonly outer: JavaProcess
  /** Of the JVM, as seen from here. */
  readonly pid: number
  /** Whether the JVM runs. */
  runs(): boolean
  /** What lies in its /tmp and /dev/shm of that client, or was put there for it. */
  left(client: number): string[]
}

export interface Surroundings {
  /** Options of unshare: namespaces. */
  readonly namespaces: readonly string[]
  /**
   * A line of shell that is run in them before the JVM, as their root; the classes are bound to /mnt already where there is a mount
   * namespace. */
  readonly setUp?: string
  /** Words before `java`: chroot, setpriv. */
  readonly as?: readonly string[]
  /** Its users are 65,536 of ours from this one on; its root is the first of them. */
  readonly usersFrom?: number
  /** As whom all of it is started. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

export const PRIVATE =
  'mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /dev/shm && chmod 1777 /tmp /dev/shm'
/** A process namespace with a /proc that is its own; what is in it ends with `unshare`. */
export const PIDS = ['--pid', '--fork', '--kill-child', '--mount-proc']

/** Why namespaces cannot be made here; empty if they can. */
export function cannotContain(...namespaces: readonly string[]): string {
  const { status, stderr, error } = spawnSync('unshare', [...namespaces, 'true'], { encoding: 'utf8' })
  return status === 0 ? '' : (error?.message ?? stderr.trim())
}

/** @param classes  with the program, which prints "ready" */
export async function startContained(
  jdk: Jdk,
  classes: string,
  program: readonly string[],
  { namespaces, setUp = 'true', as = [], usersFrom, user }: Surroundings,
): Promise<Contained> {
  const readable = readableByAll(classes) // its users are others than we
  const hasMounts = namespaces.some((it) => it === '--mount' || it === '--mount-proc')
  // Whatever the machine's mounts are: what is mounted in there is not mounted outside.
  const bind = hasMounts ? `mount --make-rprivate / && mount --bind '${readable}' /mnt` : 'true'
  const java = [...as, jdk.java, '-cp', hasMounts ? '/mnt' : readable, ...program]
  const inside = ['sh', '-c', `${bind} && ${setUp} && exec "$@"`, 'sh', ...java]
  const unshare = ['unshare', ...namespaces, ...inside]
  const words =
    usersFrom === undefined
      ? unshare
      : // Its root is nobody until we have said who.
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
      // Where they are those of the machine, there are others' too.
      const ours = new RegExp(`^\\.(?:attach|jfluid)_pid${pidInside(pid)}$|^jfluid-\\d+-${client}-`)
      const names = (place: string) => namesIn(join(root, place)).filter((name) => ours.test(name))
      return ['tmp', 'dev/shm'].flatMap((place) => names(place).map((name) => `${place}/${name}`))
    },
  }
}

function pidInside(pid: number): string | undefined {
  return /^NSpid:.*\s(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
}

/** What is at the end of a chain of processes that wait for each other. */
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
    return [] // a root without such a place
  }
}
