// Reads the control groups of a process: whether it is frozen, and the locations of its limits.
// A process in a paused container (docker pause) is frozen: until the container is resumed, the process handles no signal and answers no
// request. The state of a frozen process in /proc stays D or S.
//
//   version 2   <group>/cgroup.events    populated 1
//                                        frozen 1
//   version 1   <group>/freezer.state    FROZEN, also if an ancestor group is frozen
//
// See the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/freezer-subsystem.rst. From another container the group files may
// be invisible. The kernel function in which the process waits then shows whether the process is frozen.

import { dirname } from 'node:path'
import { textOf } from '../base/visible.ts'

/**
 * Kernel functions in which a frozen process waits. The compiler may inline do_freezer_trap (version 2) into get_signal. Otherwise only a
 * stopped process waits in get_signal, and its state shows that it is stopped.
 */
const WAITS_FROZEN: readonly string[] = ['do_freezer_trap', 'get_signal']

export function isFrozen(pid: number): boolean {
  const told = frozenFiles(textOf(`/proc/${pid}/cgroup`) ?? '')
    .map(textOf)
    .filter((it) => it !== undefined)
  if (told.length > 0) return told.some((it) => /^(?:FROZEN|FREEZING|frozen 1)$/m.test(it))
  return waitsFrozen(pid)
}

/** Checks the first thread. Works only for version 2: under version 1 most frozen threads stay in their previous wait function. */
export function waitsFrozen(pid: number): boolean {
  return WAITS_FROZEN.includes(textOf(`/proc/${pid}/wchan`) ?? '')
}

/**
 * Returns the files that may contain the freezer state, from the text of /proc/<pid>/cgroup. If both versions are mounted, version 2 has
 * its own directory.
 */
export function frozenFiles(cgroup: string): string[] {
  return [...cgroup.matchAll(/^\d+:([^:\n]*):(\/.*)$/gm)].flatMap(([, controllers, path]) => {
    if (controllers === '')
      return ['', '/unified'].map((below) => `/sys/fs/cgroup${below}${path}/cgroup.events`)
    return controllers!.split(',').includes('freezer') ? [`/sys/fs/cgroup/freezer${path}/freezer.state`] : []
  })
}

// Locations of a process's limits (the kernel's Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cgroups.rst).

/**
 * Returns the directories that may contain a limit of a process, from the lines of /proc/<pid>/cgroup: `0::/a/b` in version 2,
 * `8:pids:/a/b` in version 1. In a container this path may be the host's path, which does not exist there. The container's own group is
 * then the mount point itself, the last directory of the list.
 *
 * @param controller  name of the controller, such as pids or cpu
 */
export function controlGroups(cgroup: string, controller: string): string[] {
  const groups: string[] = []
  for (const [, controllers, path] of cgroup.matchAll(/^\d+:([^:\n]*):(\/.*)$/gm)) {
    if (controllers !== '' && !controllers!.split(',').includes(controller)) continue
    if (path!.startsWith('/..')) continue // outside jfluid's cgroup namespace
    const mounted = controllers === '' ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${controller}`
    for (let at = path!; at !== '/'; at = dirname(at)) groups.push(`${mounted}${at}`)
    groups.push(mounted)
  }
  return groups
}
