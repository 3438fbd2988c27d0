// Where client and agent meet: a directory, 0700, that both see, for the moments from attach to the
// start of recording. It holds the socket the agent connects to, the ring file, for an agent that is named on a command line
// the token it must show, for a JVM that does not see ours a copy of the agent, and what an agent that cannot start says.
//
// A client that is killed in those moments removes nothing, and neither does an agent that was not
// there yet. So the name says whose it is, and the next session removes what the dead have left:
//
//   jfluid-<pid namespace>-<pid>-<six random characters>
//   /tmp/.jfluid_pid<target>       the launch file for a sleeping agent; names a directory of these
//   .attach_pid<target>            in the target's working directory or /tmp, see handshake.ts
//
// Where root profiles another user's JVM the directory is given to that user, who may then put anything in place of it and of
// what is in it, at any moment. So it is reached through a handle, files are made and given away without their names
// being looked up twice, and what is not known is not removed.

import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { openDirectory, readRegular } from '../attach/regular-file.ts'
import type { TargetProcess } from '../attach/target-process.ts'
import { EX_CANTCREAT, JfluidError } from '../base/errors.ts'
import { freeBytes } from './recording-room.ts'

const SHARED_MEMORY = '/dev/shm'
const TEMPORARY = '/tmp'
const DIRECTORY = /^jfluid-(\d+)-(\d+)-\w{6}$/
const LAUNCH_FILE = /^\.jfluid_pid\d+(?:-\d+)?$/
/** A launch file has one line. */
const LAUNCH_BYTES = 4096
/** One without a directory in it is of a client that lives for so long. */
const WRITTEN_MS = 2_000

export const SOCKET = 'link'
export const RING = 'ring'
export const ERROR = 'error'
export const TOKEN = 'token'
/** A copy of the agent, for a JVM that does not see ours. */
export const JAR = 'agent.jar'
/** All that is ever in the directory of a session with an agent. */
const FILES = [SOCKET, TOKEN, JAR, RING, ERROR, `${ERROR}.part`]

export interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface SessionDirectory {
  /** As the target calls it. */
  readonly path: string
  /** As we reach it, until it is removed, whatever has taken the place of its name. */
  readonly inside: string
  /** Makes it another user's, with the files that are in it now. */
  giveTo(owner: Owner): void
  remove(): void
}

/** Whom files of ours must be given to, for the target to open them; undefined where it may anyway. */
export function ownerFor(target: TargetProcess): Owner | undefined {
  if (process.geteuid?.() !== 0 || target.euid === 0) return undefined
  return { uid: target.euid, gid: target.egid }
}

/** Neither place takes the directory. */
export class NoMeetingPlace extends JfluidError {
  readonly exitCode = EX_CANTCREAT
  readonly hint = 'Make one of them writable for the user jfluid runs as, with room for 17 MiB.'
  constructor(problems: readonly string[], options: ErrorOptions) {
    super(`no place to meet the JVM: ${problems.join('; ')}`, options)
  }
}

/**
 * Makes the directory, in shared memory if both sides see the same, there is room and it may be written; else in /tmp.
 *
 * @param target one whose attach socket answers; null if it is yet to be started and will see what we see
 * @param bytes  how much must be free in shared memory, to be preferred
 * @throws NoMeetingPlace
 */
export function makeSessionDirectory(target: TargetProcess | null, bytes = 0): SessionDirectory {
  removeLeftovers()
  if (target !== null) removeTriggers(target)
  const problems: string[] = []
  let cause: unknown
  for (const parent of preferred(target, bytes)) {
    try {
      return new Directory(mkdtempSync(join(parent, `jfluid-${pidNamespace()}-${process.pid}-`))) // 0700
    } catch (problem) {
      cause = problem
      problems.push(`${parent}: ${(problem as NodeJS.ErrnoException).code}`)
    }
  }
  throw new NoMeetingPlace(problems, { cause })
}

/** Best first. */
function preferred(target: TargetProcess | null, bytes: number): [string, ...string[]] {
  if (!bothSee(target, SHARED_MEMORY)) return [TEMPORARY]
  return freeBytes(SHARED_MEMORY) >= bytes ? [SHARED_MEMORY, TEMPORARY] : [TEMPORARY, SHARED_MEMORY]
}

class Directory implements SessionDirectory {
  readonly path: string
  readonly #handle: number
  #isGiven = false
  #isRemoved = false

  constructor(path: string) {
    this.path = path
    this.#handle = openDirectory(path)
  }

  get inside(): string {
    return `/proc/self/fd/${this.#handle}`
  }

  giveTo({ uid, gid }: Owner): void {
    // The files first: they are ours alone until the directory is not.
    for (const name of readdirSync(this.inside)) lchownSync(join(this.inside, name), uid, gid)
    this.#isGiven = true
    chownSync(this.inside, uid, gid)
  }

  remove(): void {
    if (this.#isRemoved) return
    this.#isRemoved = true
    if (this.#isGiven) emptyKnown(this.inside)
    closeSync(this.#handle)
    if (this.#isGiven) removeEmpty(this.path)
    else rmSync(this.path, { recursive: true, force: true })
  }
}

/** Of a directory that may be another user's: the entries that ours have, whatever they are now. */
function emptyKnown(inside: string): void {
  for (const name of FILES) {
    try {
      unlinkSync(join(inside, name))
    } catch {
      // None there, or no file: that user's own.
    }
  }
}

function removeEmpty(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // Gone, or something else is in it: that user's own.
  }
}

/**
 * Where the directory would be made, and whether the target sees the same there.
 */
export function meetingPlace(
  target: TargetProcess,
  bytes: number,
): { readonly path: string; readonly isShared: boolean } {
  const places = preferred(target, bytes)
  const path = places.find(isWritable) ?? places[0]
  return { path, isShared: path === SHARED_MEMORY || bothSee(target, TEMPORARY) }
}

export function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
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

/**
 * Removes what clients of ours that were killed have left behind. Never fails, and waits for nothing, whatever others have put there.
 *
 * @param places  where directories are; launch files are in the last
 * @returns what was there and is not any more
 */
export function removeLeftovers(places: readonly string[] = [SHARED_MEMORY, TEMPORARY]): string[] {
  const removed: string[] = []
  const namespace = pidNamespace()
  for (const parent of places) {
    for (const name of namesIn(parent)) {
      const [, itsNamespace, pid] = DIRECTORY.exec(name) ?? []
      if (pid !== undefined && itsNamespace === namespace && !existsSync(`/proc/${pid}`)) {
        const path = join(parent, name)
        removeLeft(path)
        if (!isThere(path)) removed.push(path)
      }
    }
  }
  const temporary = places.at(-1)!
  for (const name of namesIn(temporary)) {
    if (!LAUNCH_FILE.test(name)) continue
    if (removeIfStale(join(temporary, name))) removed.push(join(temporary, name))
  }
  return removed
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** A directory that is ours with all that is in it; as root, of another user's what was ours. */
function removeLeft(path: string): void {
  try {
    const handle = openDirectory(path)
    try {
      if (fstatSync(handle).uid === process.geteuid?.()) rmSync(path, { recursive: true, force: true })
      else emptyKnown(`/proc/self/fd/${handle}`)
    } finally {
      closeSync(handle)
    }
    removeEmpty(path)
  } catch {
    // No directory, or another user's: theirs to remove.
  }
}

/**
 * A launch file is written after its session's directory and removed before it.
 *
 * @returns whether it was stale, and is gone
 */
function removeIfStale(launchFile: string): boolean {
  try {
    const self = process.geteuid!()
    const owner = self === 0 ? lstatSync(launchFile).uid : self
    const { dir, isFresh } = readLaunchFile(launchFile, [owner])
    const isStale = dir === undefined ? owner === self && !isFresh : !existsSync(dir)
    if (isStale) unlinkSync(launchFile)
    return isStale
  } catch {
    return false // another user's, or gone already
  }
}

interface LaunchFile {
  readonly line: string
  /** The session directory that it leads to; undefined where it is being written, ends a session, or its writer was killed at that. */
  readonly dir: string | undefined
  /** Written in the last few seconds. */
  readonly isFresh: boolean
}

/**
 * @param believed  owners
 * @throws if there is none, or it is another user's
 */
function readLaunchFile(launchFile: string, believed: readonly number[]): LaunchFile {
  const { uid: owner, mtimeMs } = lstatSync(launchFile)
  if (!believed.includes(owner)) throw new Error(`${launchFile} is of user ${owner}`)
  const line = readRegular(launchFile, { owner, mostBytes: LAUNCH_BYTES })?.toString('utf8') ?? ''
  const age = Date.now() - mtimeMs
  return { line, dir: /;dir=([^;]+);/.exec(line)?.[1], isFresh: age >= 0 && age < WRITTEN_MS }
}

/** Users whose launch files the agent of a target believes. */
export function believedBy({ euid }: TargetProcess): number[] {
  return [0, euid, process.geteuid!()]
}

/** @param believed  owners */
export function launchFileHas(launchFile: string, line: string, believed: number[]): boolean {
  try {
    return readLaunchFile(launchFile, believed).line === line
  } catch {
    return false // there is none, or it is another user's
  }
}

/**
 * Whether a client that lives has put it there, and waits for the agent to read it.
 *
 * @param believed  owners
 */
export function isLaunchFileInUse(launchFile: string, believed: number[]): boolean {
  try {
    const { dir, isFresh } = readLaunchFile(launchFile, believed)
    if (dir === undefined) return isFresh
    const [, namespace, pid] = DIRECTORY.exec(basename(dir)) ?? []
    return existsSync(dir) && (namespace !== pidNamespace() || existsSync(`/proc/${pid}`))
  } catch {
    return false // there is none, or it is another user's
  }
}

/**
 * Takes a launch file away that is not in use. Another client may put its own there at any moment: that goes back.
 *
 * @param believed  owners
 */
export function removeLaunchFile(launchFile: string, believed: number[]): void {
  const taken = `${launchFile}-${process.pid}`
  renameSync(launchFile, taken)
  try {
    if (isLaunchFileInUse(taken, believed)) linkSync(taken, launchFile)
  } finally {
    rmSync(taken, { force: true })
  }
}

/** A trigger file has done its work once the attach socket answers, whoever wrote it. */
export function removeTriggers({ pid, root, nsPid }: TargetProcess): void {
  for (const dir of [`/proc/${pid}/cwd`, `${root}${TEMPORARY}`]) {
    const trigger = join(dir, `.attach_pid${nsPid}`)
    try {
      const found = lstatSync(trigger)
      if (found.isFile() && found.size === 0) unlinkSync(trigger)
    } catch {
      // None there, as it should be, or not ours to see.
    }
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
