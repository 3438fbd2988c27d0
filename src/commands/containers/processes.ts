// Determines the processes of a container: by its id in their control groups, otherwise by their process namespace.

import { existsSync, readdirSync } from 'node:fs'
import { containerOf } from '../../attach/jvms.ts'
import { linkOf } from '../../base/visible.ts'

/** Returns whether a process of this machine is in one of the requested containers. */
export type IsInside = (pid: number) => boolean

/** Pattern of an id. A text with fewer than 12 digits may be a name. */
const ID = /^[0-9a-f]{12,64}$/

/** Whether the text is an id, or an abbreviated id as container tools print it. */
export function isId(name: string): boolean {
  return ID.test(name)
}

export const anyOf =
  (all: readonly IsInside[]): IsInside =>
  (pid) =>
    all.some((isInside) => isInside(pid))

/**
 * Returns a matcher for processes, by their control groups; undefined if no process has that id in its control group.
 *
 * @param name  an id, at least its first 12 digits, or a name if the control group contains names
 */
export function insideNamed(name: string): IsInside | undefined {
  const isInside: IsInside = (pid) => {
    const id = containerOf(pid)?.id
    return id !== undefined && (id === name || (isId(name) && id.startsWith(name)))
  }
  const pids = readdirSync('/proc').filter((it) => /^\d+$/.test(it))
  return pids.some((pid) => isInside(Number(pid))) ? isInside : undefined
}

/** Returns a matcher for the processes of a container. @param first  first process of the container */
export function insideOf(first: number): IsInside {
  const id = containerOf(first)?.id
  if (id !== undefined) return (pid) => containerOf(pid)?.id === id
  const its = namespace(first, 'pid')
  const isItsOwn = its !== undefined && its !== namespace('self', 'pid')
  return (pid) => pid === first || (isItsOwn && namespace(pid, 'pid') === its)
}

/**
 * Whether the process id that an engine reports for a container refers to a process on this machine. The engine may be on another machine,
 * or jfluid may run in a container.
 *
 * @param id  id of the container
 */
export function isHere(first: number, id: string): boolean {
  if (!existsSync(`/proc/${first}`)) return false
  const itsId = containerOf(first)?.id
  if (itsId !== undefined) return itsId === id
  // Every container has its own mount namespace. If the namespace is not readable for lack of permission, the attach will report that.
  const mounts = namespace(first, 'mnt')
  return mounts === undefined || mounts !== namespace('self', 'mnt')
}

/** Name of the namespace; undefined for lack of permission. */
function namespace(pid: number | 'self', kind: 'pid' | 'mnt'): string | undefined {
  return linkOf(`/proc/${pid}/ns/${kind}`)
}
