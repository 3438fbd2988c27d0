// Collects from /proc, hsperfdata and the target's options what `admission.ts` decides on.
//
// Reads only. Everything is looked up in the target's own root and under its own pid, so a JVM in
// a container is found where it believes itself to be.

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

/** Neither a `release` file nor one with arguments comes near it. */
const TEXT_BYTES = 1 << 20

/** What can be learned about `pid` without its help; `undefined` when there is no such process. */
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
 * A value of the `release` file of the runtime that libjvm.so is mapped from: <home>/lib/server/libjvm.so, and up to JDK 8
 * <home>/lib/amd64/server/libjvm.so with a home of the runtime inside that of the JDK.
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
      // None there, or not ours to read.
    }
  }
  return undefined
}

/**
 * A handle of the target's /tmp, to be closed by the caller. In a root that is not ours a link is not followed: an absolute one would
 * lead into ours, where root would write what was meant for the target.
 *
 * @throws the system's errors
 */
export function openTmp({ root }: Pick<TargetProcess, 'root'>): number {
  const path = `${root}/tmp`
  return isOurRoot(root) ? fs.openSync(path, O_PATH | fs.constants.O_DIRECTORY) : openDirectory(path)
}

/** Whether it begins where ours does; what is mounted further down may differ. */
export function isOurRoot(root: string): boolean {
  if (root === '') return true
  const [theirs, ours] = [fs.statSync(`${root}/`), fs.statSync('/')]
  return theirs.dev === ours.dev && theirs.ino === ours.ino
}

/** Who may write there is not looked at: only the JVM itself knows all its rights. */
function stateOfTmp(process: TargetProcess): TmpState {
  let tmp: number
  try {
    tmp = openTmp(process)
  } catch (problem) {
    switch ((problem as NodeJS.ErrnoException).code) {
      case 'ENOENT':
        return stillRuns(process) ? 'missing' : 'usable' // one that ends is told elsewhere
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

/** Path, as we reach it, of the socket that the target's attach listener binds. */
export function socketPath({ root, nsPid }: TargetProcess): string {
  return `${root}/tmp/.java_pid${nsPid}`
}

/** Owner of the attach socket, or `undefined` when there is none (a link or a file is none). */
export function socketOwner(process: TargetProcess): number | undefined {
  const found = atSocketPath(process)
  return found?.isSocket() ? found.uid : undefined
}

/** Whether there is an attach socket (perhaps a dead one) that the target's user, or root, made. */
export function hasOwnSocket(process: TargetProcess): boolean {
  const owner = socketOwner(process)
  return owner === process.euid || owner === 0
}

/** Owner of whatever lies where the JVM would bind its socket, and is neither its user's nor such a socket. */
export function foreignAtSocketPath(process: TargetProcess): number | undefined {
  const found = atSocketPath(process)
  if (found === undefined || found.uid === process.euid) return undefined
  return found.isSocket() && found.uid === 0 ? undefined : found.uid
}

function atSocketPath(process: TargetProcess): fs.Stats | undefined {
  return ifVisible(() => inTmp(process, (tmp) => fs.lstatSync(join(tmp, socketName(process)))))
}

/**
 * Connects to the socket of the attach listener, in the target's /tmp as `openTmp` finds it.
 *
 * @param user  as whom; one that may not go through /proc/<pid>/root himself
 * @throws the system's errors, where there is no /tmp or it is a link
 */
export function connectToListener(process: TargetProcess, user?: User): Socket {
  // It is connected, or not, before `connect` returns.
  return inTmp(process, (tmp) => actingAs(user, () => connect(join(tmp, socketName(process)))))
}

const socketName = ({ nsPid }: TargetProcess): string => `.java_pid${nsPid}`

/** @param work  is given the target's /tmp as we reach it, for as long as it takes */
function inTmp<T>(process: TargetProcess, work: (tmp: string) => T): T {
  const tmp = openTmp(process)
  try {
    return work(`/proc/self/fd/${tmp}`)
  } finally {
    fs.closeSync(tmp)
  }
}

/**
 * Removes what lies where it would bind its socket.
 *
 * @throws the system's errors
 */
export function removeSocket(process: TargetProcess): void {
  inTmp(process, (tmp) => fs.unlinkSync(join(tmp, socketName(process))))
}

/**
 * What keeps it from making a socket in its /tmp, as far as owner and mode tell; undefined if they do not. A list of rights, or a capability,
 * may say otherwise: not to be asked before it has failed to.
 */
export function tmpClosedTo(process: TargetProcess): string | undefined {
  const { euid, egid } = process
  const found = ifVisible(() => inTmp(process, (tmp) => fs.statSync(tmp)))
  if (found === undefined || euid === 0 || (found.mode & 0o002) !== 0) return undefined
  const { uid, gid, mode } = found
  if (uid === euid ? (mode & 0o200) !== 0 : (mode & 0o020) !== 0) return undefined
  return `its /tmp is of uid ${uid} and gid ${gid}, mode ${(mode & 0o7777).toString(8)}, and it runs as uid ${euid} and gid ${egid}`
}

/** Options of the JVM in the order in which HotSpot applies them, so that the last one wins. */
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

/** Words of a `java @file`, as far as the file is still there. */
function argumentFile(process: TargetProcess, name: string): string[] {
  try {
    const path = isAbsolute(name) ? name : `${fs.readlinkSync(`/proc/${process.pid}/cwd`)}/${name}`
    return splitArguments(textOf(`${process.root}${path}`))
  } catch {
    return []
  }
}

/** @throws the system's errors; where there is something else than a file it is empty */
function textOf(path: string): string {
  return readRegular(path, { mostBytes: TEXT_BYTES })?.toString('utf8') ?? ''
}
