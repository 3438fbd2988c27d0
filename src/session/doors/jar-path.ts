// Path of the agent's jar for a JVM: the installed jar if the JVM can load it, otherwise a copy. The path of the copy works with every
// locale, and the copy exists as long as a process may start JVMs with it.
// With the locale C, a JVM misreads a path that is not ASCII and does not find the file: with -javaagent it ends, with attach it prints a
// stack trace. Other characters are special: `=` and `;` in agent options, spaces and quotes in JAVA_TOOL_OPTIONS.

import { chmodSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TargetProcess } from '../../attach/target-process.ts'
import { ifVisible, textOf } from '../../base/visible.ts'
import type { AgentJar } from './agent-jar.ts'
import { AGENT, isNamedByProcess, makeSessionDirectory } from './session-directory.ts'

/** ASCII characters without a special meaning in a command line, an agent option or JAVA_TOOL_OPTIONS. */
const PLAIN = /^[!#-&(-:<>-~]+$/
/** Maximum length of the path. HotSpot accepts 1,023 bytes in an attach command, which contains the path twice and a session directory. */
const MAX_PATH_LENGTH = 400

export function isPlainPath(path: string): boolean {
  return PLAIN.test(path) && path.length <= MAX_PATH_LENGTH
}

/** A jar that is passed to a JVM at its start. */
export interface StartJar extends AgentJar {
  /** Removes the copy, unless a running process may still start JVMs with it. In that case a later session removes it. */
  leave(): void
}

/**
 * Returns a jar whose path has only PLAIN characters. If the installed jar has another path, makes a copy.
 * @param isForAllUsers  whether JVMs of other users may get the path. If they cannot read the installed jar, makes a copy
 * @throws NoMeetingPlace if there is no space for the copy
 */
export function startJar(jar: AgentJar, { isForAllUsers = false } = {}): StartJar {
  if (isPlainPath(jar.path) && (!isForAllUsers || mayRead(jar.path, OTHERS)))
    return { ...jar, leave: () => {} }
  const bytes = readFileSync(jar.path)
  const dir = makeSessionDirectory(null, bytes.length)
  try {
    dir.put(AGENT, bytes, undefined)
    // The program may start JVMs as other users, and a JVM ends if it cannot read the jar. So all users may read it.
    chmodSync(join(dir.inside, AGENT), 0o444)
    chmodSync(dir.inside, 0o711)
  } catch (problem) {
    dir.remove()
    throw problem
  }
  const leave = (): void => {
    if (!isNamedByProcess(dir.path)) dir.remove()
  }
  return { ...jar, path: join(dir.path, AGENT), leave }
}

const READ = 4
const ENTER = 1

interface User {
  readonly uid: number
  readonly groups: readonly number[]
}

/** A user with only the permissions that every user has. */
const OTHERS: User = { uid: -1, groups: [] }

/** Returns whether a path can be passed to the target, names the same file in the target's root, and is readable for the target. */
export function seesJar(target: TargetProcess, path: string): boolean {
  if (!isPlainPath(path)) return false
  const { pid, root, euid, egid, ownUsers } = target
  // In a separate user namespace, the target's root user has only the permissions that every user has.
  const user = { uid: ownUsers && euid === 0 ? -1 : euid, groups: [egid, ...groupsOf(pid)] }
  return isSame(path, `${root}${path}`) && mayRead(path, user)
}

/** Returns the supplementary groups of a process. */
function groupsOf(pid: number): number[] {
  const status = textOf(`/proc/${pid}/status`) ?? '' // empty if the process has ended, which other checks report
  const line = /^Groups:(.*)$/m.exec(status)?.[1] ?? ''
  return line.trim().split(/\s+/).filter(Boolean).map(Number)
}

function isSame(ours: string, theirs: string): boolean {
  const [a, b] = [ours, theirs].map((path) => ifVisible(() => statSync(path)))
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino
}

/** Checks the mode bits of a file and of its parent directories. Access control lists are ignored. */
function mayRead(path: string, user: User): boolean {
  if (user.uid === 0) return true
  if (!allows(path, user, READ)) return false
  for (let at = dirname(path); ; at = dirname(at)) {
    if (!allows(at, user, ENTER)) return false
    if (at === dirname(at)) return true
  }
}

function allows(path: string, { uid, groups }: User, bit: number): boolean {
  const found = ifVisible(() => statSync(path))
  if (found === undefined) return false
  const shift = found.uid === uid ? 6 : groups.includes(found.gid) ? 3 : 0
  return ((found.mode >> shift) & bit) !== 0
}
