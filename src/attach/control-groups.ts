// What the control groups of a process say: whether it is held, and where its limits are.
//
// A process of a container that is paused (docker pause) is held: it takes no signal and answers nothing until it is let go on, and its
// state in /proc does not tell: D or S.
//
//   version 2   <group>/cgroup.events    populated 1
//                                        frozen 1
//   version 1   <group>/freezer.state    FROZEN, also where a group above has been frozen
//
// The kernel's Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/freezer-subsystem.rst. Where the groups are not to be seen, as from another
// container, the function of the kernel tells that the process waits in.

import { dirname } from 'node:path'
import { textOf } from '../base/visible.ts'

/** The compiler may inline do_freezer_trap (version 2) into get_signal. Else a process waits there only when it is stopped, which its state shows. */
const WAITS_FROZEN: readonly string[] = ['do_freezer_trap', 'get_signal']

export function isFrozen(pid: number): boolean {
  const told = frozenFiles(textOf(`/proc/${pid}/cgroup`) ?? '')
    .map(textOf)
    .filter((it) => it !== undefined)
  if (told.length > 0) return told.some((it) => /^(?:FROZEN|FREEZING|frozen 1)$/m.test(it))
  return waitsFrozen(pid)
}

/** By its first thread, and of version 2 only: the first leaves threads in most of the places in which they wait. */
export function waitsFrozen(pid: number): boolean {
  return WAITS_FROZEN.includes(textOf(`/proc/${pid}/wchan`) ?? '')
}

/** Files that may tell, by the text of /proc/<pid>/cgroup; with both versions at once, the second has a directory of its own. */
export function frozenFiles(cgroup: string): string[] {
  return [...cgroup.matchAll(/^\d+:([^:\n]*):(\/.*)$/gm)].flatMap(([, controllers, path]) => {
    if (controllers === '')
      return ['', '/unified'].map((below) => `/sys/fs/cgroup${below}${path}/cgroup.events`)
    return controllers!.split(',').includes('freezer') ? [`/sys/fs/cgroup/freezer${path}/freezer.state`] : []
  })
}

// Where a process's limits are (the kernel's Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cgroups.rst).

/**
 * Directories where a limit of a process may be, from its lines of /proc/<pid>/cgroup: `0::/a/b` of version 2,
 * `8:pids:/a/b` of version 1. In a container the path may be the host's and lead nowhere, and the container's own group
 * be what is mounted: that is the last of them.
 *
 * @param controller  pids, cpu
 */
export function controlGroups(cgroup: string, controller: string): string[] {
  const groups: string[] = []
  for (const [, controllers, path] of cgroup.matchAll(/^\d+:([^:\n]*):(\/.*)$/gm)) {
    if (controllers !== '' && !controllers!.split(',').includes(controller)) continue
    if (path!.startsWith('/..')) continue // outside of our own namespace of groups
    const mounted = controllers === '' ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${controller}`
    for (let at = path!; at !== '/'; at = dirname(at)) groups.push(`${mounted}${at}`)
    groups.push(mounted)
  }
  return groups
}
