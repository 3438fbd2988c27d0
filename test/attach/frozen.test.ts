// Detection of frozen processes, and the files that are read for it.

import { expect, it } from 'vitest'
import { frozenFiles, isFrozen, waitsFrozen } from '../../src/attach/control-groups.ts'

it('the files that show whether a process is frozen are found for control groups of version 1 and version 2', () => {
  expect(frozenFiles('0::/system.slice/docker-3f.scope\n')).toEqual([
    '/sys/fs/cgroup/system.slice/docker-3f.scope/cgroup.events',
    '/sys/fs/cgroup/unified/system.slice/docker-3f.scope/cgroup.events',
  ])
  expect(frozenFiles('8:pids:/a\n6:freezer:/docker/3f\n4:cpu,freezer:/b\n')).toEqual([
    '/sys/fs/cgroup/freezer/docker/3f/freezer.state',
    '/sys/fs/cgroup/freezer/b/freezer.state',
  ])
  expect(frozenFiles('nonsense')).toEqual([])
})

it('a running process and an ended process are not reported as frozen', () => {
  for (const pid of [process.pid, 2 ** 22 + 1])
    expect([isFrozen(pid), waitsFrozen(pid)]).toEqual([false, false])
})
