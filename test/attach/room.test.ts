import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, it } from 'vitest'
import { controlGroups } from '../../src/attach/control-groups.ts'
import { readRoom, softLimit } from '../../src/attach/room.ts'

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max processes             95000                96000                processes
Max open files            1024                 1048576              files
`

describe('thread and file limits of a process', () => {
  it('the soft limits of a process are read', () => {
    assert.equal(softLimit(LIMITS, 'Max processes'), 95_000)
    assert.equal(softLimit(LIMITS, 'Max open files'), 1024)
  })

  it('a missing or unlimited limit of a process is infinite', () => {
    assert.equal(softLimit(LIMITS, 'Max cpu time'), Number.POSITIVE_INFINITY)
    assert.equal(softLimit('', 'Max processes'), Number.POSITIVE_INFINITY)
  })
})

describe('control groups that may limit threads', () => {
  it('with control groups of version 2, all parent groups may limit threads', () => {
    assert.deepEqual(controlGroups('0::/system.slice/shop.service\n', 'pids'), [
      '/sys/fs/cgroup/system.slice/shop.service',
      '/sys/fs/cgroup/system.slice',
      '/sys/fs/cgroup',
    ])
  })

  it('with control groups of version 1, only groups of the pids controller may limit threads', () => {
    assert.deepEqual(
      controlGroups('12:cpu,cpuacct:/docker/1f\n8:pids:/docker/1f\n1:name=systemd:/docker/1f\n', 'pids'),
      ['/sys/fs/cgroup/pids/docker/1f', '/sys/fs/cgroup/pids/docker', '/sys/fs/cgroup/pids'],
    )
  })

  it("control groups outside jfluid's own container are ignored", () => {
    assert.deepEqual(controlGroups('0::/../5e\n', 'pids'), [])
  })
})

describe('available threads and descriptors', () => {
  it('available threads and descriptors are computed for a running process', () => {
    const before = readdirSync('/proc/self/fd').length
    const { descriptors, threads } = readRoom({ pid: process.pid, uid: 1 })
    assert.ok(descriptors === Number.POSITIVE_INFINITY || descriptors > before)
    assert.ok(threads > 100)
  })

  it('for an ended process, available threads are limited only by the machine, and available descriptors are unlimited', () => {
    const { descriptors, threads } = readRoom({ pid: 2 ** 30, uid: 0 })
    assert.equal(descriptors, Number.POSITIVE_INFINITY)
    assert.ok(threads > 100)
  })
})
