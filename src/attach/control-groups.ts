// Where a process's limits are (the kernel's Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cgroups.rst).

import { dirname } from 'node:path'

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
