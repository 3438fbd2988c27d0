// Where client and agent meet: a directory, 0700, that both see, for the moments from attach to the
// start of recording. It holds the socket the agent connects to, the ring file, for an agent that is named on a command line
// the token it must show, for one whose jar the target does not see a copy of that, and what an agent that cannot start says.
//
// Where both see the same /dev/shm or /tmp, it is there; else it is made in the target's root (a container, a private /tmp, a chroot).
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
/** A launch file has one line. */
const LAUNCH_BYTES = 4096
/** One without a directory in it is of a client that lives for so long. */
const WRITTEN_MS = 2_000

export const SOCKET = 'link'
export const RING = 'ring'
export const ERROR = 'error'
export const TOKEN = 'token'
export const DIRECTIVES = 'directives'
/** A target that is attached to has it open for good, by this name, and no longer linked. */
export const AGENT = 'jfluid-agent.jar'
/** A repository of recordings has a directory for each JVM. */
const DEEPEST = 2
/** All that is ever in a directory that may be given to another user. */
const FILES = [SOCKET, TOKEN, AGENT, RING, ERROR, `${ERROR}.part`, DIRECTIVES]

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
  /**
   * A new file in it.
   *
   * @param owner  whose it is to be
   * @throws NoMeetingPlace if there is no room for it
   */
  put(name: string, bytes: Uint8Array, owner: Owner | undefined): void
  remove(): void
}

/** Whom files of ours must be given to, for the target to open them; undefined where it may anyway. */
export function ownerFor(target: TargetProcess): Owner | undefined {
  if (process.geteuid?.() !== 0 || target.euid === 0) return undefined
  return { uid: target.euid, gid: target.egid }
}

/** No place takes the directory. */
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
 * Makes the directory, in shared memory if both sides see the same, there is room and it may be written; else in /tmp; else there in the
 * target's root.
 *
 * @param target one whose attach socket answers; null if it is yet to be started and will see what we see
 * @param bytes  how much should be free there
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
    // Before the agent is loaded, which stays there. What is kept back for root may be had.
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

/** Where a directory may be made. */
export interface Place {
  /** As the target calls it. */
  readonly path: string
  /** Both sides see the same there; else it is in the target's root. */
  readonly isShared: boolean
  /** Bytes. */
  readonly free: number
  /** The same for root, who may have some that others may not. */
  readonly most: number
}

/** Best first: the nearest with room, then those without. */
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

/** Does something with a directory of the target's root, as we reach it; undefined where there is none, or it is not ours to enter. */
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
      const made = actingAs(user, () => fs.mkdtempSync(prefix)) // 0700
      // In a root that is not ours its root may be who we are.
      return new Directory(path, parent, basename(made), !isShared || user !== undefined)
    } catch (problem) {
      fs.closeSync(parent)
      throw problem
    }
  }

  private constructor(
    place: string,
    /** Of what it is in, and of itself. */
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
    // The files first: they are ours alone until the directory is not. It may be the target's from the beginning, where root has been that
    // user to make it: what else has that name, as a link to a file of ours that is elsewhere, is not given away.
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

/** As it is when it is looked at: nothing that takes its place, and none that has another name as well. */
function giveFile(path: string, uid: number, gid: number): void {
  const handle = fs.openSync(path, O_PATH | fs.constants.O_NOFOLLOW)
  try {
    const { nlink } = fs.fstatSync(handle)
    if (nlink === 1) fs.chownSync(`/proc/self/fd/${handle}`, uid, gid)
  } finally {
    fs.closeSync(handle)
  }
}

/** Of a directory that may be another user's: the entries that ours have, whatever they are now. */
function emptyKnown(inside: string): void {
  for (const name of FILES) {
    try {
      fs.unlinkSync(join(inside, name))
    } catch {
      // None there, or no file: that user's own.
    }
  }
}

/**
 * Of one that is ours: all entries, as deep as a repository of recordings has any. Each directory is gone through by a handle that is of no
 * link, as `rmSync` does not: who shares our directories and is root, too, in a container, may have names lead elsewhere at any moment.
 */
function empty(inside: string, depth = 0): void {
  for (const name of fs.readdirSync(inside)) {
    const path = join(inside, name)
    try {
      fs.unlinkSync(path)
    } catch {
      if (depth < DEEPEST && withDirectory(path, (handle) => empty(handle, depth + 1))) removeEmpty(path)
    }
  }
}

/** @returns whether it is a directory, and no link; it may have been changed in the middle of it */
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
    // Gone, or something else is in it: that user's own.
  }
}

/** Where the directory would be made; undefined where the target has no such place that we may enter. */
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

/** @param path as both sides write it */
function bothSee(target: TargetProcess | null, path: string): boolean {
  try {
    const ours = fs.statSync(path)
    if (target === null || target.root === '') return ours.isDirectory()
    const isSame = (at: string): boolean => {
      const theirs = fs.statSync(at)
      return ours.dev === theirs.dev && ours.ino === theirs.ino
    }
    // In our own root /tmp may be a link.
    if (isOurRoot(target.root)) return isSame(`${target.root}${path}`)
    return withHandle(target, path, isSame) ?? false
  } catch {
    return false
  }
}

/**
 * Removes what clients of ours that were killed have left behind. Never fails, and waits for nothing, whatever others have put there.
 *
 * @param places  where directories are; launch files are in the last
 * @param root    in which launch files mean what they say
 * @returns what was there and is not any more
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

/** The same in a root that is the target's, as it calls them. */
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
 * A directory that is ours with all that is in it; as root, of another user's what was ours.
 *
 * @param isOurRoot  else its root may be who we are
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
    // No directory, or another user's: theirs to remove.
  }
}

/** Whether a process has the directory's name in its command line or its environment: a JVM that it starts may read the agent there. */
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
 * A launch file is written after its session's directory and removed before it.
 *
 * @returns whether it was stale, and is gone
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
  const { uid: owner, mtimeMs } = fs.lstatSync(launchFile)
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
 * @param root      that of the target, whose launch file it is
 */
export function isLaunchFileInUse(launchFile: string, believed: number[], root: string): boolean {
  try {
    const { dir, isFresh } = readLaunchFile(launchFile, believed)
    if (dir === undefined) return isFresh
    const [, namespace, pid] = DIRECTORY.exec(basename(dir)) ?? []
    return fs.existsSync(`${root}${dir}`) && (namespace !== pidNamespace() || fs.existsSync(`/proc/${pid}`))
  } catch {
    return false // there is none, or it is another user's
  }
}

/**
 * Takes a launch file away that is not in use. Another client may put its own there at any moment: that goes back.
 *
 * @param believed  owners
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

/** A trigger file has done its work once the attach socket answers, whoever wrote it. */
export function removeTriggers(target: TargetProcess): void {
  const { pid, nsPid } = target
  const remove = (dir: string): void => {
    const trigger = join(dir, `.attach_pid${nsPid}`)
    try {
      const found = fs.lstatSync(trigger)
      if (found.isFile() && found.size === 0) fs.unlinkSync(trigger)
    } catch {
      // None there, as it should be, or not ours to see.
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
    // It has none, or it is not ours to enter.
  }
}

/** A process id means nothing outside its namespace, and /dev/shm can be shared by several. */
export function pidNamespace(): string {
  return /\d+/.exec(linkOf('/proc/self/ns/pid') ?? '')?.[0] ?? '0'
}
