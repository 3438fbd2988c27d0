// Collects the facts that `admission.ts` needs from /proc, hsperfdata and the target's options.
// Read-only. All paths are resolved in the target's own root and with its own pid, so this also works for a JVM in a container.

import * as fs from 'node:fs'
import { connect, type Socket } from 'node:net'
import { dirname, isAbsolute, join } from 'node:path'
import { ifVisible } from '../base/visible.ts'
import type { TargetFacts, TmpState } from './admission.ts'
import { findPerfData } from './hsperfdata.ts'
import { booleanFlag, parseJavaCommand, splitArguments } from './java-command.ts'
import { O_PATH, openDirectory, readRegular } from './regular-file.ts'
import { readRoom } from './room.ts'
import { readEnvironment, readTargetProcess, stillRuns, type TargetProcess } from './target-process.ts'
import { actingAs, type User } from './target-user.ts'

/** Maximum file size read. `release` files and argument files are far smaller. */
const MAX_TEXT_BYTES = 1 << 20

/** Collects the facts about `pid` without any action of that process; `undefined` if there is no such process. */
export function readTargetFacts(pid: number): TargetFacts | undefined {
  const process = readTargetProcess(pid)
  if (process === undefined) return undefined
  const file = findPerfData(process)
  const perf = file?.facts
  return {
    process,
    perf,
    hasPerfFile: file !== undefined,
    javaVersion: perf?.javaVersion ?? releaseValue(process, 'JAVA_VERSION'),
    attachDisabledByOption:
      perf?.attachSupported === undefined &&
      booleanFlag(optionsOf(process), 'DisableAttachMechanism') === true,
    hasSocket: hasOwnSocket(process),
    tmp: stateOfTmp(process),
    room: readRoom(process),
  }
}

/**
 * Returns a value from the file <home>/release, where <home>/lib/server/libjvm.so is the mapped library. Up to JDK 8 the library is
 * <home>/lib/amd64/server/libjvm.so, and <home> is the runtime's directory inside the JDK.
 */
export function releaseValue({ root, vmLibrary }: TargetProcess, name: string): string | undefined {
  if (!vmLibrary) return undefined
  let home = dirname(dirname(vmLibrary.path))
  for (let above = 0; above < 3; above++) {
    home = dirname(home)
    try {
      const release = textOf(`${root}${home}/release`)
      if (release.includes('JAVA_VERSION=')) return new RegExp(`^${name}="([^"]*)"`, 'm').exec(release)?.[1]
    } catch {
      // The file is missing or unreadable.
    }
  }
  return undefined
}

/**
 * Opens a handle of the target's /tmp; the caller must close it. In another root directory jfluid follows no link: an absolute link would
 * lead into jfluid's own root directory, and jfluid would write there as root.
 *
 * @throws the system's errors
 */
export function openTmp({ root }: Pick<TargetProcess, 'root'>): number {
  const path = `${root}/tmp`
  return isOurRoot(root) ? fs.openSync(path, O_PATH | fs.constants.O_DIRECTORY) : openDirectory(path)
}

/** Returns whether `root` is the same directory as jfluid's own root. Mounts below the root may differ. */
export function isOurRoot(root: string): boolean {
  if (root === '') return true
  const [theirs, ours] = [fs.statSync(`${root}/`), fs.statSync('/')]
  return theirs.dev === ours.dev && theirs.ino === ours.ino
}

/** Returns the state of the target's /tmp. Does not check the write permission: only the kernel knows all rights of the JVM. */
function stateOfTmp(process: TargetProcess): TmpState {
  let tmp: number
  try {
    tmp = openTmp(process)
  } catch (problem) {
    switch ((problem as NodeJS.ErrnoException).code) {
      case 'ENOENT':
        return stillRuns(process) ? 'missing' : 'usable' // another check reports that the process has ended
      case 'ENOTDIR':
        return 'a link'
      case 'EACCES':
        return process.root === '' ? 'usable' : 'hidden'
      default:
        return 'usable'
    }
  }
  try {
    fs.accessSync(`/proc/self/fd/${tmp}`, fs.constants.W_OK)
    return 'usable'
  } catch (problem) {
    return (problem as NodeJS.ErrnoException).code === 'EROFS' ? 'read-only' : 'usable'
  } finally {
    fs.closeSync(tmp)
  }
}

/** Returns the path of the target's attach socket, as jfluid sees it. */
export function socketPath({ root, nsPid }: TargetProcess): string {
  return `${root}/tmp/.java_pid${nsPid}`
}

/** Returns the owner of the attach socket, or `undefined` if there is none. A link or a regular file is not a socket. */
export function socketOwner(process: TargetProcess): number | undefined {
  const found = atSocketPath(process)
  return found?.isSocket() ? found.uid : undefined
}

/** Returns whether there is an attach socket, possibly dead, of the target's user or of root. */
export function hasOwnSocket(process: TargetProcess): boolean {
  const owner = socketOwner(process)
  return owner === process.euid || owner === 0
}

/** Returns the owner of the file at the socket's path; undefined if it is the target's user, or if the file is a socket of root. */
export function foreignAtSocketPath(process: TargetProcess): number | undefined {
  const found = atSocketPath(process)
  if (found === undefined || found.uid === process.euid) return undefined
  return found.isSocket() && found.uid === 0 ? undefined : found.uid
}

function atSocketPath(process: TargetProcess): fs.Stats | undefined {
  return ifVisible(() => inTmp(process, (tmp) => fs.lstatSync(join(tmp, socketName(process)))))
}

/**
 * Connects to the socket of the attach listener, in the /tmp directory that `openTmp` opens.
 *
 * @param user  user to connect as; this user may be unable to enter /proc/<pid>/root
 * @throws the system's errors, if there is no /tmp or it is a link
 */
export function connectToListener(process: TargetProcess, user?: User): Socket {
  // `connect` on a UNIX socket completes or fails before it returns.
  return inTmp(process, (tmp) => actingAs(user, () => connect(join(tmp, socketName(process)))))
}

const socketName = ({ nsPid }: TargetProcess): string => `.java_pid${nsPid}`

/** @param work  receives the path of the target's /tmp as jfluid sees it, valid until `work` returns */
function inTmp<T>(process: TargetProcess, work: (tmp: string) => T): T {
  const tmp = openTmp(process)
  try {
    return work(`/proc/self/fd/${tmp}`)
  } finally {
    fs.closeSync(tmp)
  }
}

/**
 * Removes the file at the path where the JVM would bind its socket.
 *
 * @throws the system's errors
 */
export function removeSocket(process: TargetProcess): void {
  inTmp(process, (tmp) => fs.unlinkSync(join(tmp, socketName(process))))
}

/**
 * Returns why the owner and mode of the target's /tmp forbid a new socket there; undefined if they permit it. An ACL or a capability may
 * override owner and mode, so this function is called only after a failed attempt.
 */
export function tmpClosedTo(process: TargetProcess): string | undefined {
  const { euid, egid } = process
  const found = ifVisible(() => inTmp(process, (tmp) => fs.statSync(tmp)))
  if (found === undefined || euid === 0 || (found.mode & 0o002) !== 0) return undefined
  const { uid, gid, mode } = found
  if (uid === euid ? (mode & 0o200) !== 0 : (mode & 0o020) !== 0) return undefined
  return `its /tmp is of uid ${uid} and gid ${gid}, mode ${(mode & 0o7777).toString(8)}, and it runs as uid ${euid} and gid ${egid}`
}

/** Returns the JVM's options in the order in which HotSpot applies them: the last option takes effect. */
export function optionsOf(process: TargetProcess): string[] {
  const environment = readEnvironment(process.pid)
  const words = (name: string) => splitArguments(environment.get(name) ?? '')
  const { options } = parseJavaCommand(process.commandLine)
  return [
    ...words('JAVA_TOOL_OPTIONS'),
    ...[...words('JDK_JAVA_OPTIONS'), ...options].flatMap((option) =>
      option.startsWith('@') ? argumentFile(process, option.slice(1)) : [option],
    ),
    ...words('_JAVA_OPTIONS'),
  ]
}

/** Returns the words of an argument file (`java @file`); empty if the file no longer exists. */
function argumentFile(process: TargetProcess, name: string): string[] {
  try {
    const path = isAbsolute(name) ? name : `${fs.readlinkSync(`/proc/${process.pid}/cwd`)}/${name}`
    return splitArguments(textOf(`${process.root}${path}`))
  } catch {
    return []
  }
}

/** @throws the system's errors. Returns '' if the path is not a regular file */
function textOf(path: string): string {
  return readRegular(path, { mostBytes: MAX_TEXT_BYTES })?.toString('utf8') ?? ''
}
