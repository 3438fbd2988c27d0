// The session directory (mode 0700), which both client and agent can see from attach to the start of recording. It holds the agent's socket
// and the event buffer file. Depending on the kind of start, it also holds the token, a copy of the jar, and the error text of an agent
// that could not start.
// If both sides see the same /dev/shm or /tmp, the directory is made there. Otherwise it is made in the target's root (a container, a
// private /tmp, a chroot).
// A client that is killed in this phase cannot remove its files, and an agent that has not started cannot either. So the name contains the
// owner, and the next session removes the files of dead clients:
//   jfluid-<pid namespace>-<pid>-<six random characters>
//   /tmp/.jfluid_pid<target>       the launch file for a sleeping agent; contains the path of a session directory
//   .attach_pid<target>            in the target's working directory or /tmp, see handshake.ts
// If root profiles a JVM of another user, the directory is given to that user, who may then replace it or its files at any moment. So the
// directory is accessed through a handle, files are created and given away without a second lookup of their names, and unknown files are
// not removed.

import * as fs from 'node:fs'
import { basename, join } from 'node:path'
import { O_PATH, openBelow, openDirectory, readRegular } from '../../attach/regular-file.ts'
import { isOurRoot, openTmp } from '../../attach/target-facts.ts'
import type { TargetProcess } from '../../attach/target-process.ts'
import { actingAs, userToBe } from '../../attach/target-user.ts'
import { EX_CANTCREAT, JfluidError } from '../../base/errors.ts'
import { ifVisible, linkOf, namesIn } from '../../base/visible.ts'
import { freeBytes } from '../sampling/recording-room.ts'

const SHARED_MEMORY = '/dev/shm'
const TEMPORARY = '/tmp'
const DIRECTORY = /^jfluid-(\d+)-(\d+)-\w{6}$/
const LAUNCH_FILE = /^\.jfluid_pid\d+(?:-\d+)?$/
/** Maximum size of a launch file, which has one line. */
const MAX_LAUNCH_BYTES = 4096
/** A launch file that names no directory counts as in use for this time. */
const WRITE_TIMEOUT_MS = 2_000

export const SOCKET = 'link'
export const RING = 'ring'
export const ERROR = 'error'
export const TOKEN = 'token'
export const DIRECTIVES = 'directives'
/** Name under which a target keeps the jar open until it ends, even after the file is unlinked. */
export const AGENT = 'jfluid-agent.jar'
/** Depth of directories: a repository of recordings has one directory per JVM. */
const MAX_DEPTH = 2
/** All file names that occur in a directory that may be given to another user. */
const FILES = [SOCKET, TOKEN, AGENT, RING, ERROR, `${ERROR}.part`, DIRECTIVES]

export interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface SessionDirectory {
  /** Path as seen by the target. */
  readonly path: string
  /** Path for this process. It stays valid until removal, even if the directory is renamed or replaced. */
  readonly inside: string
  /** Makes another user the owner of the directory and of the files that are in it now. */
  giveTo(owner: Owner): void
  /**
   * Creates a file.
   * @param owner  owner of the new file
   * @throws NoMeetingPlace if there is no space
   */
  put(name: string, bytes: Uint8Array, owner: Owner | undefined): void
  remove(): void
}

/** Returns the owner for files that the target must open. Undefined if the target can open files of this process. */
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
 * Creates the directory: in shared memory if both sides see the same one, with enough space and write permission; else in /tmp; else in
 * these places of the target's root.
 * @param target a JVM whose attach socket answers; null for a JVM that jfluid will start in its own root
 * @param bytes  free space needed
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
    // Checked before the agent is loaded, since a loaded agent stays. Blocks reserved for root count, too.
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
  /** Whether both sides see the same directory. If not, it is in the target's root. */
  readonly isShared: boolean
  /** Number of free bytes. */
  readonly free: number
  /** Number of free bytes for root, including reserved blocks. */
  readonly most: number
}

/** Returns the places, best first: places with enough space before the others, and shared places first in each group. */
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
      // In another root, the target's root user may have our user id.
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
    // The files are given away first, while the directory is still private. The directory may belong to the target from the beginning, if
    // root acted as that user. So an unexpected file with one of these names, such as a hard link to another file of ours, is not given
    // away.
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

/** Changes the owner of the file that was opened. The owner of a replaced file, or of a file with several names, stays unchanged. */
function giveFile(path: string, uid: number, gid: number): void {
  const handle = fs.openSync(path, O_PATH | fs.constants.O_NOFOLLOW)
  try {
    const { nlink } = fs.fstatSync(handle)
    if (nlink === 1) fs.chownSync(`/proc/self/fd/${handle}`, uid, gid)
  } finally {
    fs.closeSync(handle)
  }
}

/** Empties a directory that may belong to another user: removes only entries with known names. */
function emptyKnown(inside: string): void {
  for (const name of FILES) {
    try {
      fs.unlinkSync(join(inside, name))
    } catch {
      // There is no such entry, or it is a directory of that user.
    }
  }
}

/**
 * Empties a directory of our own, as deep as a recording repository. Each subdirectory is opened by a handle that is not a link. `rmSync`
 * does not do this, and root in a container that shares the directory may redirect names at any moment.
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
    // The directory is gone, or contains files of that user.
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

/** @param path path in the root of either side */
function bothSee(target: TargetProcess | null, path: string): boolean {
  try {
    const ours = fs.statSync(path)
    if (target === null || target.root === '') return ours.isDirectory()
    const isSame = (at: string): boolean => {
      const theirs = fs.statSync(at)
      return ours.dev === theirs.dev && ours.ino === theirs.ino
    }
    // In our own root, /tmp may be a link.
    if (isOurRoot(target.root)) return isSame(`${target.root}${path}`)
    return withHandle(target, path, isSame) ?? false
  } catch {
    return false
  }
}

/**
 * Removes files left by killed clients. Never fails and never blocks, whatever other users have put there.
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

/** Like `removeLeftovers`, in the root of the target. Returns paths as seen by the target. */
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
 * Removes a directory with all its files if it is our own. As root, removes only known files from a directory of another user.
 * @param isOurRoot  if false, the root user of that root may have our user id
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
 * Returns whether a process has the directory's name in its command line or environment. A JVM that it starts may load the agent from
 * there.
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
 * Removes a launch file whose session directory is gone. A launch file is created after its directory and removed before it.
 * @returns whether the file was stale and is removed
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
  /** The session directory named in the file. Undefined if the file is being written, if it ends a session, or if its writer was killed. */
  readonly dir: string | undefined
  /** Whether the file was written within the last few seconds. */
  readonly isFresh: boolean
}

/**
 * @param believed  trusted owners
 * @throws if there is no file, or if it belongs to another user
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
 * @param believed  trusted owners
 */
export function launchFileHas(launchFile: string, line: string, believed: number[]): boolean {
  try {
    return readLaunchFile(launchFile, believed).line === line
  } catch {
    return false // there is no file, or it belongs to another user
  }
}

/**
 * Returns whether the launch file belongs to a living client that waits for the agent to read it.
 * @param believed  trusted owners
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
 * @param believed  trusted owners
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

/** Removes the attach trigger file. It is not needed once the attach socket answers, even if another process created it. */
export function removeTriggers(target: TargetProcess): void {
  const { pid, nsPid } = target
  const remove = (dir: string): void => {
    const trigger = join(dir, `.attach_pid${nsPid}`)
    try {
      const found = fs.lstatSync(trigger)
      if (found.isFile() && found.size === 0) fs.unlinkSync(trigger)
    } catch {
      // Normally the file does not exist; or it is not visible.
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
    // The target has no /tmp, or it cannot be entered.
  }
}

/** Returns the id of the pid namespace. A process id is unique only within its namespace, and several namespaces may share /dev/shm. */
export function pidNamespace(): string {
  return /\d+/.exec(linkOf('/proc/self/ns/pid') ?? '')?.[0] ?? '0'
}
