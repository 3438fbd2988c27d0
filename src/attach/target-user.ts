// Root at a JVM whose users are not ours: in a container with a user namespace, uid 100000 here may be its root.
//
// To such a JVM our root is nobody: it would refuse our connection (SO_PEERCRED), and a file system that was mounted in there takes no
// file of a user that it does not know (EOVERFLOW). So for these few steps root is the JVM's user, as the kernel sees it.

import type { TargetProcess } from './target-process.ts'

export interface User {
  readonly uid: number
  readonly gid: number
}

/** Whom root must be for a while, to be known in there; undefined where we may stay who we are. */
export function userToBe({
  euid,
  egid,
  ownUsers,
}: Pick<TargetProcess, 'euid' | 'egid' | 'ownUsers'>): User | undefined {
  return ownUsers && process.geteuid?.() === 0 && euid !== 0 ? { uid: euid, gid: egid } : undefined
}

/**
 * Does something as that user. It must not wait for anything: all threads of this process are that user's meanwhile, and may do only what
 * he may. What is reached through a handle that root has opened before is still reached.
 *
 * @param user  undefined: as whom we are
 */
export function actingAs<T>(user: User | undefined, work: () => T): T {
  if (user === undefined) return work()
  const [uid, gid] = [process.geteuid!(), process.getegid!()]
  process.setegid!(user.gid) // first: afterwards we may not
  try {
    process.seteuid!(user.uid)
    try {
      return work()
    } finally {
      process.seteuid!(uid)
    }
  } finally {
    process.setegid!(gid)
  }
}
