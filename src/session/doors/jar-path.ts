// Where a JVM finds the agent's jar: whether it can load it from where it is installed, and else a copy at a path that a JVM can be told of
// whatever its locale is, for as long as something may start with it.
//
// Where the locale is C, a JVM takes a path that is not ASCII for another one, which is not there: it ends (-javaagent), or prints a stack trace
// (attach). What is behind `=` are options of the agent, which `;` separates; JAVA_TOOL_OPTIONS is split at blanks, and has quotes.

import { chmodSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TargetProcess } from '../../attach/target-process.ts'
import { ifVisible, textOf } from '../../base/visible.ts'
import type { AgentJar } from './agent-jar.ts'
import { AGENT, isNamedByProcess, makeSessionDirectory } from './session-directory.ts'

/** Characters of ASCII that stand for themselves everywhere. */
const PLAIN = /^[!#-&(-:<>-~]+$/
/** Of a path: HotSpot takes 1,023 bytes with an attach command, in which the path stands twice, and a session directory. */
const LONGEST = 400

export function isPlainPath(path: string): boolean {
  return PLAIN.test(path) && path.length <= LONGEST
}

/** A jar to start JVMs with. */
export interface StartJar extends AgentJar {
  /** Removes what was made for it, unless a process may still start JVMs with it: then a later session does. */
  leave(): void
}

/** @throws NoMeetingPlace if a copy has to be made, and there is no room for it */
export function startJar(jar: AgentJar): StartJar {
  if (isPlainPath(jar.path)) return { ...jar, leave: () => {} }
  const bytes = readFileSync(jar.path)
  const dir = makeSessionDirectory(null, bytes.length)
  try {
    dir.put(AGENT, bytes, undefined)
    // The program may start JVMs as other users, too: they would end if they could not read it.
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

/** Whether the target can be told of this path of ours, finds the same file there, and may read it. */
export function seesJar(target: TargetProcess, path: string): boolean {
  if (!isPlainPath(path)) return false
  const { pid, root, euid, egid, ownUsers } = target
  // Of a user of its own, what others may read is what it may.
  const user = { uid: ownUsers && euid === 0 ? -1 : euid, groups: [egid, ...groupsOf(pid)] }
  return isSame(path, `${root}${path}`) && mayRead(path, user)
}

/** Supplementary ones. */
function groupsOf(pid: number): number[] {
  const status = textOf(`/proc/${pid}/status`) ?? '' // it has gone, which somebody else will tell
  const line = /^Groups:(.*)$/m.exec(status)?.[1] ?? ''
  return line.trim().split(/\s+/).filter(Boolean).map(Number)
}

function isSame(ours: string, theirs: string): boolean {
  const [a, b] = [ours, theirs].map((path) => ifVisible(() => statSync(path)))
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino
}

/** By the mode bits of a file and of the directories above it; access control lists are not looked at. */
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
