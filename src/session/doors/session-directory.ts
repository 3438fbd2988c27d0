// The session directory (mode 0700), which both client and agent can see from attach to the start of recording. It holds the socket or the
// named pipes to which the agent connects, and the event buffer file. Depending on the kind of start, it also holds the token, a copy of
// the jar, and the error text of an agent that could not start.
// If client and target see the same /dev/shm or /tmp, the directory is made there. Otherwise it is made in the target's root directory (the
// target may run in a container, with a private /tmp, or in a chroot).
// If the client is killed in this phase, neither the client nor the agent can remove the files. So the name of the directory contains the
// client's process id, and the next session removes the files of dead clients:
//   jfluid-<pid namespace>-<pid>-<six random characters>
//   /tmp/.jfluid_pid<target>       the launch file for a sleeping agent; contains the path of a session directory
//   .attach_pid<target>            in the target's working directory or /tmp, see handshake.ts
// If root profiles a JVM of another user, the directory is given to that user, who may then replace it or its files at any moment. So the
// directory is accessed through a handle. Files are created and given to the user without looking up their names twice, and files with
// unknown names are not removed.

import * as fs from 'node:fs'
import { basename, join } from 'node:path'
import { O_PATH, openBelow, openDirectory, readRegular } from '../../attach/regular-file.ts'
import { isOurRoot, openTmp } from '../../attach/target-facts.ts'
import type { TargetProcess } from '../../attach/target-process.ts'
import { actingAs, userToBe } from '../../attach/target-user.ts'
import { EX_CANTCREAT, JfluidError } from '../../base/errors.ts'
import { ifVisible, linkOf, namesIn } from '../../base/visible.ts'
import { freeBytes } from '../sampling/recording-room.ts'
import { FROM_AGENT, TO_AGENT } from './pipes.ts'

const SHARED_MEMORY = '/dev/shm'
const TEMPORARY = '/tmp'
const DIRECTORY = /^jfluid-(\d+)-(\d+)-\w{6}$/
const LAUNCH_FILE = /^\.jfluid_pid\d+(?:-\d+)?$/
/** Maximum size of a launch file, which has one line. */
const MAX_LAUNCH_BYTES = 4096
/** Time for which a launch file without a directory name counts as in use, since its writer may not have finished. */
const WRITE_TIMEOUT_MS = 2_000

export const SOCKET = 'link'
export const RING = 'ring'
export const ERROR = 'error'
export const TOKEN = 'token'
export const DIRECTIVES = 'directives'
/** File name of the agent jar. A target keeps the jar open under this name until it ends, even after the file is unlinked. */
export const AGENT = 'jfluid-agent.jar'
/** Maximum depth of nested directories: a repository of flight recordings contains one directory per JVM. */
const MAX_DEPTH = 2
/** Names of all files in a session directory that may be given to another user. */
const FILES = [SOCKET, TO_AGENT, FROM_AGENT, TOKEN, AGENT, RING, ERROR, `${ERROR}.part`, DIRECTIVES]

export interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface SessionDirectory {
  /** Path as seen by the target. */
  readonly path: string
  /** Path as seen by this process. It stays valid until the directory is removed, even if the directory is renamed or replaced. */
  readonly inside: string
  /** Makes another user the owner of the directory and of its current files. */
  giveTo(owner: Owner): void
  /**
   * Creates a file.
   * @param owner  owner of the new file
   * @throws NoMeetingPlace if the file system is full
   */
  put(name: string, bytes: Uint8Array, owner: Owner | undefined): void
  remove(): void
}

/** Returns the user to whom files that the target must open are given. Undefined if the target can open files of this process. */
export function ownerFor(target: TargetProcess): Owner | undefined {
  if (process.geteuid?.() !== 0 || target.euid === 0) return undefined
  return { uid: target.euid, gid: target.egid }
}

/** Thrown if no place is suitable for the directory. */
export class NoMeetingPlace extends JfluidError {
  static sample = () => new NoMeetingPlace(['/dev/shm: ENOSPC', '/tmp: EROFS'], {})
  readonly exitCode = EX_CANTCREAT
  readonly hint =
    'Make one of these directories writable for the user that jfluid runs as, with 17 MiB free. In a container: docker run --shm-size 128m, or --tmpfs /tmp.'
  constructor(problems: readonly string[], options: ErrorOptions) {
    super(`no directory can be shared with the JVM: ${problems.join('; ')}`, options)
  }
}

/**
 * Creates the directory in the first place that both client and target see and that has enough space and write permission: /dev/shm, then
 * /tmp. If neither fits, uses /dev/shm or /tmp in the target's root directory.
 * @param target a JVM whose attach socket answers; null for a JVM that jfluid will start in its own root
 * @param bytes  number of free bytes that are needed
 * @throws NoMeetingPlace
 */
export function makeSessionDirectory(target: TargetProcess | null, bytes = 0): SessionDirectory {
  removeLeftovers()
  if (target !== null) {
    removeTriggers(target)
    removeLeftoversIn(target)
  }
  const problems: string[] = []
  let cause: unknown
  for (const place of preferred(target, bytes)) {
    const name = place.isShared ? place.path : `${place.path} of the JVM`
    // The space is checked before the agent is loaded, since a loaded agent stays. Blocks reserved for root count as free.
    if (place.most < bytes) {
      problems.push(`${name}: ${Math.floor(place.most / 2 ** 20)} MiB are free`)
      continue
    }
    try {
      return Directory.make(place, target)
    } catch (problem) {
      cause = problem
      const { code, message } = problem as NodeJS.ErrnoException
      problems.push(`${name}: ${code ?? message}`)
    }
  }
  throw new NoMeetingPlace(problems, { cause })
}

/** A place where a directory may be made. */
export interface Place {
  /** Path as seen by the target. */
  readonly path: string
  /** Whether client and target see the same directory. If they do not, the directory is in the target's root. */
  readonly isShared: boolean
  /** Number of free bytes. */
  readonly free: number
  /** Number of free bytes for root, including reserved blocks. */
  readonly most: number
}

/** Returns the places, best first: places with enough space, then places without; in each group, shared places come first. */
function preferred(target: TargetProcess | null, bytes: number): Place[] {
  const paths = [SHARED_MEMORY, TEMPORARY]
  const shared = paths.filter((path) => bothSee(target, path))
  const places = shared.map((path): Place => ({ path, isShared: true, ...roomIn(path) }))
  if (target !== null) {
    for (const path of paths) {
      if (shared.includes(path)) continue
      const room = withHandle(target, path, roomIn)
      if (room !== undefined) places.push({ path, isShared: false, ...room })
    }
  }
  const hasRoom = ({ free }: Place): boolean => free >= bytes
  return [...places.filter(hasRoom), ...places.filter((it) => !hasRoom(it))]
}

function roomIn(path: string): Pick<Place, 'free' | 'most'> {
  return { free: freeBytes(path), most: freeBytes(path, 'bfree') }
}

/** Runs `work` with a directory of the target's root. Returns undefined if the directory does not exist, or cannot be entered. */
function withHandle<T>(target: TargetProcess, path: string, work: (inside: string) => T): T | undefined {
  let handle: number
  try {
    handle = openBelow(target.root, path)
  } catch {
    return undefined
  }
  try {
    return work(`/proc/self/fd/${handle}`)
  } finally {
    fs.closeSync(handle)
  }
}

class Directory implements SessionDirectory {
  readonly path: string
  readonly #handle: number
  #isRemoved = false

  static make({ path, isShared }: Place, target: TargetProcess | null): Directory {
    const user = target === null ? undefined : userToBe(target)
    const parent =
      target === null || isShared
        ? fs.openSync(path, O_PATH | fs.constants.O_DIRECTORY)
        : openBelow(target.root, path)
    try {
      const prefix = `/proc/self/fd/${parent}/jfluid-${pidNamespace()}-${process.pid}-`
      const made = actingAs(user, () => fs.mkdtempSync(prefix)) // mkdtemp sets mode 0700
      // In another root directory, the root user of the target may have the user id of this process.
      return new Directory(path, parent, basename(made), !isShared || user !== undefined)
    } catch (problem) {
      fs.closeSync(parent)
      throw problem
    }
  }

  private constructor(
    place: string,
    /** Handle of the parent directory. */
    private readonly parent: number,
    name: string,
    private isGiven: boolean,
  ) {
    this.path = join(place, name)
    this.#handle = openDirectory(`/proc/self/fd/${parent}/${name}`)
  }

  get inside(): string {
    return `/proc/self/fd/${this.#handle}`
  }

  giveTo({ uid, gid }: Owner): void {
    // The files are given to the user first, while the directory is still private. If root acted as that user, the directory belongs to the
    // user from the beginning. So the owner of an unexpected file with one of these names (such as a hard link to another file of root) is
    // not changed.
    for (const name of fs.readdirSync(this.inside)) {
      if (FILES.includes(name)) giveFile(join(this.inside, name), uid, gid)
    }
    this.isGiven = true
    fs.chownSync(this.inside, uid, gid)
  }

  put(name: string, bytes: Uint8Array, owner: Owner | undefined): void {
    const path = join(this.inside, name)
    let file: number | undefined
    try {
      file = fs.openSync(path, NEW_FILE, 0o600)
      fs.writeFileSync(file, bytes)
      if (owner !== undefined) fs.fchownSync(file, owner.uid, owner.gid)
    } catch (cause) {
      if (file !== undefined) fs.rmSync(path, { force: true })
      throw new NoMeetingPlace([`${this.path}: ${(cause as NodeJS.ErrnoException).code}`], { cause })
    } finally {
      if (file !== undefined) fs.closeSync(file)
    }
  }

  remove(): void {
    if (this.#isRemoved) return
    this.#isRemoved = true
    if (this.isGiven) emptyKnown(this.inside)
    else empty(this.inside)
    fs.closeSync(this.#handle)
    removeEmpty(`/proc/self/fd/${this.parent}/${basename(this.path)}`)
    fs.closeSync(this.parent)
  }
}

const NEW_FILE = fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_WRONLY | fs.constants.O_NOFOLLOW

/** Opens a file and changes its owner. If the file was replaced or has several hard links, its owner stays unchanged. */
function giveFile(path: string, uid: number, gid: number): void {
  const handle = fs.openSync(path, O_PATH | fs.constants.O_NOFOLLOW)
  try {
    const { nlink } = fs.fstatSync(handle)
    if (nlink === 1) fs.chownSync(`/proc/self/fd/${handle}`, uid, gid)
  } finally {
    fs.closeSync(handle)
  }
}

/** Removes only the entries with known names from a directory that may belong to another user. */
function emptyKnown(inside: string): void {
  for (const name of FILES) {
    try {
      fs.unlinkSync(join(inside, name))
    } catch {
      // The entry does not exist, or is a directory of that user.
    }
  }
}

/**
 * Empties a directory of the own user, up to the depth of a recording repository. Subdirectories are opened by handles, without following
 * links, since root in a container that shares the directory may replace names by links at any moment. `rmSync` does not do this.
 */
function empty(inside: string, depth = 0): void {
  for (const name of fs.readdirSync(inside)) {
    const path = join(inside, name)
    try {
      fs.unlinkSync(path)
    } catch {
      if (depth < MAX_DEPTH && withDirectory(path, (handle) => empty(handle, depth + 1))) removeEmpty(path)
    }
  }
}

/** @returns whether the path is a directory and not a link */
function withDirectory(path: string, work: (inside: string) => void): boolean {
  let handle: number
  try {
    handle = openDirectory(path)
  } catch {
    return false
  }
  try {
    work(`/proc/self/fd/${handle}`)
  } finally {
    fs.closeSync(handle)
  }
  return true
}

function removeEmpty(path: string): void {
  try {
    fs.rmdirSync(path)
  } catch {
    // The directory does not exist any more, or contains other files of that user.
  }
}

/** Returns the place where the directory would be made. Undefined if the target has no place that this process can enter. */
export function meetingPlace(
  target: TargetProcess,
  bytes: number,
): (Place & { readonly isWritable: boolean }) | undefined {
  const places = preferred(target, bytes).map((place) => {
    const { path } = place
    const writable = place.isShared ? isWritable(path) : withHandle(target, path, isWritable)
    return { ...place, isWritable: writable ?? false }
  })
  return places.find((it) => it.isWritable) ?? places[0]
}

export function isWritable(directory: string): boolean {
  try {
    fs.accessSync(directory, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Returns whether client and target see the same directory. @param path  path in the root directory of the client and of the target */
function bothSee(target: TargetProcess | null, path: string): boolean {
  try {
    const ours = fs.statSync(path)
    if (target === null || target.root === '') return ours.isDirectory()
    const isSame = (at: string): boolean => {
      const theirs = fs.statSync(at)
      return ours.dev === theirs.dev && ours.ino === theirs.ino
    }
    // If both have the same root directory, /tmp may be a link.
    if (isOurRoot(target.root)) return isSame(`${target.root}${path}`)
    return withHandle(target, path, isSame) ?? false
  } catch {
    return false
  }
}

/**
 * Removes files left by killed clients. Never throws and never blocks, whatever files other users have created there.
 * @param places  directories to search; launch files are in the last directory
 * @param root    root directory for the paths in launch files
 * @returns the removed paths
 */
export function removeLeftovers(places: readonly string[] = [SHARED_MEMORY, TEMPORARY], root = ''): string[] {
  const removed: string[] = []
  const namespace = pidNamespace()
  for (const parent of places) {
    for (const name of namesIn(parent) ?? []) {
      const [, itsNamespace, pid] = DIRECTORY.exec(name) ?? []
      if (pid !== undefined && itsNamespace === namespace && !fs.existsSync(`/proc/${pid}`)) {
        const path = join(parent, name)
        removeLeft(path, root === '')
        if (!isThere(path)) removed.push(path)
      }
    }
  }
  const temporary = places.at(-1)!
  for (const name of namesIn(temporary) ?? []) {
    if (!LAUNCH_FILE.test(name)) continue
    if (removeIfStale(join(temporary, name), root)) removed.push(join(temporary, name))
  }
  return removed
}

/** Like `removeLeftovers`, in the root directory of the target. Returns paths as seen by the target. */
export function removeLeftoversIn(target: TargetProcess): string[] {
  const removed: string[] = []
  for (const path of [SHARED_MEMORY, TEMPORARY]) {
    if (bothSee(target, path)) continue
    withHandle(target, path, (inside) => {
      for (const it of removeLeftovers([inside], target.root)) removed.push(join(path, basename(it)))
    })
  }
  return removed
}

function isThere(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/**
 * Removes a directory with all its files if it belongs to the own user. As root, removes only known files from a directory of another user.
 * @param isOurRoot  whether the path is in the own root directory. In another root, another root user may have the own user id
 */
function removeLeft(path: string, isOurRoot: boolean): void {
  try {
    const handle = openDirectory(path)
    try {
      const inside = `/proc/self/fd/${handle}`
      if (isThere(join(inside, AGENT)) && isNamedByProcess(path)) return
      if (isOurRoot && fs.fstatSync(handle).uid === process.geteuid?.()) empty(inside)
      else emptyKnown(inside)
    } finally {
      fs.closeSync(handle)
    }
    removeEmpty(path)
  } catch {
    // There is no such directory, or it belongs to another user.
  }
}

/**
 * Returns whether a process has the directory's name in its command line or environment. A JVM that this process starts may load the agent
 * from the directory.
 */
export function isNamedByProcess(path: string): boolean {
  const name = basename(path)
  const names = (pid: string, file: string): boolean => {
    return ifVisible(() => fs.readFileSync(`/proc/${pid}/${file}`).includes(name)) ?? false
  }
  return (namesIn('/proc') ?? []).some(
    (pid) => /^\d+$/.test(pid) && (names(pid, 'cmdline') || names(pid, 'environ')),
  )
}

/**
 * Removes a launch file if its session directory does not exist. A launch file is created after its directory and removed before it.
 * @returns whether the file was removed
 */
function removeIfStale(launchFile: string, root: string): boolean {
  try {
    const self = process.geteuid!()
    const owner = self === 0 ? fs.lstatSync(launchFile).uid : self
    const { dir, isFresh } = readLaunchFile(launchFile, [owner])
    const isStale = dir === undefined ? owner === self && !isFresh : !fs.existsSync(`${root}${dir}`)
    if (isStale) fs.unlinkSync(launchFile)
    return isStale
  } catch {
    return false // the file belongs to another user, or is already gone
  }
}

interface LaunchFile {
  readonly line: string
  /** Session directory named in the file. Undefined if the file is being written, requests the end of a session, or is incomplete. */
  readonly dir: string | undefined
  /** Whether the file was written within the last few seconds. */
  readonly isFresh: boolean
}

/**
 * Reads the launch file.
 * @param believed  user ids of trusted owners
 * @throws if the file does not exist, or if it belongs to another user
 */
function readLaunchFile(launchFile: string, believed: readonly number[]): LaunchFile {
  const { uid: owner, mtimeMs } = fs.lstatSync(launchFile)
  if (!believed.includes(owner)) throw new Error(`${launchFile} is of user ${owner}`)
  const line = readRegular(launchFile, { owner, mostBytes: MAX_LAUNCH_BYTES })?.toString('utf8') ?? ''
  const age = Date.now() - mtimeMs
  return { line, dir: /;dir=([^;]+);/.exec(line)?.[1], isFresh: age >= 0 && age < WRITE_TIMEOUT_MS }
}

/** Returns the users whose launch files the agent of a target trusts. */
export function believedBy({ euid }: TargetProcess): number[] {
  return [0, euid, process.geteuid!()]
}

/**
 * Returns whether the launch file contains this line.
 * @param believed  user ids of trusted owners
 */
export function launchFileHas(launchFile: string, line: string, believed: number[]): boolean {
  try {
    return readLaunchFile(launchFile, believed).line === line
  } catch {
    return false // there is no file, or it belongs to another user
  }
}

/**
 * Returns whether the launch file belongs to a living client that waits for the agent to read the file.
 * @param believed  user ids of trusted owners
 * @param root      root directory of the target
 */
export function isLaunchFileInUse(launchFile: string, believed: number[], root: string): boolean {
  try {
    const { dir, isFresh } = readLaunchFile(launchFile, believed)
    if (dir === undefined) return isFresh
    const [, namespace, pid] = DIRECTORY.exec(basename(dir)) ?? []
    return fs.existsSync(`${root}${dir}`) && (namespace !== pidNamespace() || fs.existsSync(`/proc/${pid}`))
  } catch {
    return false // there is no file, or it belongs to another user
  }
}

/**
 * Removes a launch file that is not in use. If another client has just created its own file, that file is restored.
 * @param believed  user ids of trusted owners
 */
export function removeLaunchFile(launchFile: string, believed: number[], root: string): void {
  const taken = `${launchFile}-${process.pid}`
  fs.renameSync(launchFile, taken)
  try {
    if (isLaunchFileInUse(taken, believed, root)) fs.linkSync(taken, launchFile)
  } finally {
    fs.rmSync(taken, { force: true })
  }
}

/** Removes the attach trigger file. Once the attach socket answers, the file is not needed, even if another process created it. */
export function removeTriggers(target: TargetProcess): void {
  const { pid, nsPid } = target
  const remove = (dir: string): void => {
    const trigger = join(dir, `.attach_pid${nsPid}`)
    try {
      const found = fs.lstatSync(trigger)
      if (found.isFile() && found.size === 0) fs.unlinkSync(trigger)
    } catch {
      // Normally the file does not exist. Or it is not visible to this process.
    }
  }
  remove(`/proc/${pid}/cwd`)
  try {
    const tmp = openTmp(target)
    try {
      remove(`/proc/self/fd/${tmp}`)
    } finally {
      fs.closeSync(tmp)
    }
  } catch {
    // The target has no /tmp, or this process cannot open it.
  }
}

/** Returns the id of the pid namespace. A process id is unique only within its namespace, and several namespaces may share /dev/shm. */
export function pidNamespace(): string {
  return /\d+/.exec(linkOf('/proc/self/ns/pid') ?? '')?.[0] ?? '0'
}
