import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { frozenFiles, isFrozen, waitsFrozen } from '../../src/attach/frozen.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { freeze, freezers } from '../support/freezer.ts'
import { startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'

/** There it fails, rather than say nothing. */
const places = freezers()
if (places.length === 0) console.info('not tried: this system lets us freeze no control group')

it('it is looked for where control groups of both versions are', () => {
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

it('nobody is frozen who does something, or has ended', () => {
  for (const pid of [process.pid, 2 ** 22 + 1])
    expect([isFrozen(pid), waitsFrozen(pid)]).toEqual([false, false])
})

it.runIf(FULL)('there are control groups to be frozen', () => expect(places).not.toEqual([]))

describe.each(places)('in a control group of version $version that is frozen', (place) => {
  it('a process is frozen, by the group and, of version 2, by what it waits in', async () => {
    const target = startProcess('cat', [])
    const frozen = await freeze(place, target.pid)
    expect([isFrozen(target.pid), waitsFrozen(target.pid)]).toEqual([true, place.version === 2])
    frozen.thaw()
    await expect.poll(() => [isFrozen(target.pid), waitsFrozen(target.pid)]).toEqual([false, false])
  })

  // A JVM takes the same way whatever tells.
  if (!FULL && place !== places[0]) return
  forNewestJdk((jdk) => {
    it('a JVM is refused before anything is sent, and prints no threads when it goes on', async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1'])
      await java.line(/^ready/)
      const frozen = await freeze(place, java.pid)
      const record = ['record', `${java.pid}`, '--root', 'fix.Ticker.work', '--duration', '100ms', '--out']
      const file = join(temporaryDirectory(), 'p.jfluid')
      const { code, stderr } = await jfluid(...record, file)
      expect(code, stderr).toBe(STATUS.notNow)
      expect(stderr).toContain('it is paused (its control group is frozen)')
      expect(stderr).toContain('docker unpause')
      frozen.thaw()
      java.send('pause')
      await java.line(/^paused /)
      expect(java.stdout()).not.toContain('thread dump')
      java.send('resume')
      expect((await jfluid(...record, file)).code).toBe(0)
    })
  })
})
