// Whether the target can load the agent from where it is installed; else it is given a copy.

import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { TargetProcess } from '../../attach/target-process.ts'
import { ifVisible, textOf } from '../../base/visible.ts'
import { isPlainPath } from './plain-jar.ts'

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
