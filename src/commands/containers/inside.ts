// Which processes are those of a container: by its id in their control groups, or, where that does not tell, by their process namespace.

import { existsSync, readdirSync } from 'node:fs'
import { containerOf } from '../../attach/jvms.ts'
import { linkOf } from '../../base/visible.ts'

/** Whether a process of this machine is in the container, or the containers, that were asked for. */
export type IsInside = (pid: number) => boolean

/** Fewer digits of an id may be a name as well. */
const ID = /^[0-9a-f]{12,64}$/

/** An id, or the beginning of one that everybody shows. */
export function isId(name: string): boolean {
  return ID.test(name)
}

export const anyOf =
  (all: readonly IsInside[]): IsInside =>
  (pid) =>
    all.some((isInside) => isInside(pid))

/**
 * By what the control groups say; undefined if there is no process with that id in its own.
 *
 * @param name  an id, the first 12 of its digits or more, or a name where the control group has that
 */
export function insideNamed(name: string): IsInside | undefined {
  const isInside: IsInside = (pid) => {
    const id = containerOf(pid)?.id
    return id !== undefined && (id === name || (isId(name) && id.startsWith(name)))
  }
  const pids = readdirSync('/proc').filter((it) => /^\d+$/.test(it))
  return pids.some((pid) => isInside(Number(pid))) ? isInside : undefined
}

/** By its first process. */
export function insideOf(first: number): IsInside {
  const id = containerOf(first)?.id
  if (id !== undefined) return (pid) => containerOf(pid)?.id === id
  const its = namespace(first, 'pid')
  const isItsOwn = its !== undefined && its !== namespace('self', 'pid')
  return (pid) => pid === first || (isItsOwn && namespace(pid, 'pid') === its)
}

/**
 * Whether the first process of a container, as its engine calls it, is the one that we see by that number: the engine may be on another
 * machine, or we in a container.
 *
 * @param id  of the container
 */
export function isHere(first: number, id: string): boolean {
  if (!existsSync(`/proc/${first}`)) return false
  const itsId = containerOf(first)?.id
  if (itsId !== undefined) return itsId === id
  // All of them have mounts of their own. Those of others' processes we may not see: an attach will say so.
  const mounts = namespace(first, 'mnt')
  return mounts === undefined || mounts !== namespace('self', 'mnt')
}

/** Its name; undefined if we may not see it. */
function namespace(pid: number | 'self', kind: 'pid' | 'mnt'): string | undefined {
  return linkOf(`/proc/${pid}/ns/${kind}`)
}
