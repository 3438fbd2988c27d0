// Where client and agent meet: a directory, 0700, that both see, for the moments from attach to the
// start of recording. It holds the socket the agent connects to and the ring file.
//
// A client that is killed in those moments removes nothing, and neither does an agent that was not
// there yet. So the name says whose it is, and the next session removes what the dead have left:
//
//   jfluid-<pid namespace>-<pid>-<six random characters>
//   /tmp/.jfluid_pid<target>       the launch file for a sleeping agent; names a directory of these
//   .attach_pid<target>            in the target's working directory or /tmp, see handshake.ts

import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import type { TargetProcess } from '../attach/target-process.ts'
import { freeBytes } from './recording-room.ts'

const SHARED_MEMORY = '/dev/shm'
const TEMPORARY = '/tmp'
const DIRECTORY = /^jfluid-(\d+)-(\d+)-\w{6}$/
const LAUNCH_FILE = /^\.jfluid_pid\d+$/

/**
 * Makes the directory, in shared memory if both sides see the same, else in /tmp.
 *
 * @param target one whose attach socket answers; null if it is yet to be started and will see what we see
 * @param bytes  how much must be free in shared memory, to be preferred
 */
export function makeSessionDirectory(target: TargetProcess | null, bytes = 0): string {
  removeLeftovers()
  if (target !== null) removeTriggers(target)
  const shared = bothSee(target, SHARED_MEMORY) && (bytes === 0 || freeBytes(SHARED_MEMORY) >= bytes)
  const parent = shared ? SHARED_MEMORY : TEMPORARY
  return mkdtempSync(join(parent, `jfluid-${pidNamespace()}-${process.pid}-`)) // 0700
}

/**
 * Where the directory would be made, and whether the target sees the same there.
 */
export function meetingPlace(target: TargetProcess): { readonly path: string; readonly isShared: boolean } {
  if (bothSee(target, SHARED_MEMORY)) return { path: SHARED_MEMORY, isShared: true }
  return { path: TEMPORARY, isShared: bothSee(target, TEMPORARY) }
}

export function removeSessionDirectory(dir: string): void {
  rmSync(dir, { recursive: true, force: true })
}

/** @param path as both sides write it */
function bothSee(target: TargetProcess | null, path: string): boolean {
  try {
    const ours = statSync(path)
    if (target === null || target.root === '') return ours.isDirectory()
    const theirs = statSync(`${target.root}${path}`)
    return ours.dev === theirs.dev && ours.ino === theirs.ino
  } catch {
    return false
  }
}

/** Removes what clients of ours that were killed have left behind. Never fails. */
export function removeLeftovers(): void {
  const namespace = pidNamespace()
  for (const parent of [SHARED_MEMORY, TEMPORARY]) {
    for (const name of namesIn(parent)) {
      const [, itsNamespace, pid] = DIRECTORY.exec(name) ?? []
      if (pid !== undefined && itsNamespace === namespace && !existsSync(`/proc/${pid}`)) {
        remove(join(parent, name))
      }
    }
  }
  for (const name of namesIn(TEMPORARY)) {
    if (LAUNCH_FILE.test(name)) removeIfStale(join(TEMPORARY, name))
  }
}

/** A launch file is written after its session's directory and removed before it. */
function removeIfStale(launchFile: string): void {
  try {
    const dir = /;dir=([^;]+);/.exec(readFileSync(launchFile, 'utf8'))?.[1]
    if (dir !== undefined && !existsSync(dir)) remove(launchFile)
  } catch {
    // Another user's, or gone already.
  }
}

/** A trigger file has done its work once the attach socket answers, whoever wrote it. */
function removeTriggers({ pid, root, nsPid }: TargetProcess): void {
  for (const dir of [`/proc/${pid}/cwd`, `${root}${TEMPORARY}`]) {
    const trigger = join(dir, `.attach_pid${nsPid}`)
    try {
      const found = lstatSync(trigger)
      if (found.isFile() && found.size === 0) remove(trigger)
    } catch {
      // None there, as it should be, or not ours to see.
    }
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // Another user's: theirs to remove.
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

/** A process id means nothing outside its namespace, and /dev/shm can be shared by several. */
export function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'
  } catch {
    return '0'
  }
}
