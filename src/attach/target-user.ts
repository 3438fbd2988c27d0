// Handles a JVM in another user namespace: uid 100000 here may be root in its container.
// The host's root user does not exist in that namespace. The JVM would refuse a connection from root (SO_PEERCRED), and a file system
// mounted there rejects files of unknown users (EOVERFLOW). So for these steps jfluid switches from root to the host's uid of the JVM.

import type { TargetProcess } from './target-process.ts'

export interface User {
  readonly uid: number
  readonly gid: number
}

/** Returns the user that root must switch to for this target; undefined if no switch is needed. */
export function userToBe({
  euid,
  egid,
  ownUsers,
}: Pick<TargetProcess, 'euid' | 'egid' | 'ownUsers'>): User | undefined {
  return ownUsers && process.geteuid?.() === 0 && euid !== 0 ? { uid: euid, gid: egid } : undefined
}

/**
 * Runs `work` as another user. `work` must be synchronous: all threads of this process have that user's rights until it returns.
 * Descriptors that root opened earlier remain usable.
 * @param user  undefined: no switch
 */
export function actingAs<T>(user: User | undefined, work: () => T): T {
  if (user === undefined) return work()
  const [uid, gid] = [process.geteuid!(), process.getegid!()]
  process.setegid!(user.gid) // the group first: setegid needs root
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
