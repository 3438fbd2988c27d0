import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import {
  findVmLibrary,
  hasLostRuntime,
  hasReleasedMemory,
  isExiting,
  mappedPerfData,
  mountOfTmp,
  parseCommandLine,
  parseCpuMs,
  parseEnvironment,
  parseStartTicks,
  parseStatus,
  readTargetProcess,
  stillRuns,
} from '../../src/attach/target-process.ts'
import { startProcess } from '../support/java-process.ts'

const STATUS = `Name:	java
Umask:	0022
State:	S (sleeping)
Tgid:	4711
Pid:	4711
Uid:	1000	1001	1001	1001
Gid:	100	101	101	101
NSpid:	4711	17	7
SigIgn:	0000000000000000
SigCgt:	2000000181005ccf
`

describe('the file /proc/<pid>/status', () => {
  it('owner, state and innermost process id are read from /proc/<pid>/status', () => {
    assert.deepEqual(parseStatus(STATUS), {
      name: 'java',
      state: 'S',
      threadGroup: 4711,
      nsPid: 7,
      uid: 1000,
      euid: 1001,
      gid: 100,
      egid: 101,
      catchesSigquit: true, // …ccf ends in binary 1111: signals 1 to 4; SIGQUIT is 3
      ignoresSigquit: false,
    })
  })

  it('SIGQUIT is caught if bit 2 of the mask SigCgt is set', () => {
    const caught = (mask: string) =>
      parseStatus(STATUS.replace(/^SigCgt.*/m, `SigCgt:	${mask}`))?.catchesSigquit
    assert.equal(caught('0000000000000004'), true)
    assert.equal(caught('fffffffffffffffb'), false)
  })

  it('without NSpid (Linux before 4.1) the innermost process id is the outer process id', () => {
    assert.equal(parseStatus(STATUS.replace(/^NSpid.*\n/m, ''))?.nsPid, 4711)
  })

  it('no data are returned for an incomplete /proc/<pid>/status', () => {
    assert.equal(parseStatus(''), undefined)
    assert.equal(parseStatus(STATUS.slice(0, 60)), undefined)
  })
})

describe('the file /proc/<pid>/stat', () => {
  const stat = (name: string) => `42 (${name}) S 1 42 42 0 -1 4194560 1 0 0 0 2 1 0 0 20 0 1 0 987654 10 20`

  it('the start time is read from field 22 of /proc/<pid>/stat', () => {
    assert.equal(parseStartTicks(stat('java')), 987654)
  })

  it('a program name that looks like fields of /proc/<pid>/stat does not disturb the start time', () => {
    assert.equal(parseStartTicks(stat('a) S 1 (b')), 987654)
  })

  it('/proc/<pid>/stat shows whether a process has released its memory and whether it is exiting', () => {
    assert.equal(hasReleasedMemory(stat('java')), false)
    assert.equal(hasReleasedMemory(stat('java').replace(/ 10 20$/, ' 0 0')), true)
    assert.equal(hasReleasedMemory(''), false)
    const flags = (value: number) => stat('java').replace('4194560', String(value))
    assert.equal(isExiting(flags(0x400100)), false)
    assert.equal(isExiting(flags(0x400104)), true)
    assert.equal(isExiting(flags(0x400100).replace(/ 10 20$/, ' 0 0')), true)
    assert.equal(isExiting(flags(0x208040).replace(/ 10 20$/, ' 0 0')), false, 'a thread of the kernel')
  })

  it('the start time is unknown if /proc/<pid>/stat is invalid', () => {
    assert.equal(parseStartTicks(''), undefined)
    assert.equal(parseStartTicks('42 (java'), undefined)
  })
})

describe('the files /proc/<pid>/cmdline and /proc/<pid>/environ', () => {
  it('arguments in /proc/<pid>/cmdline may be empty or contain blanks', () => {
    assert.deepEqual(parseCommandLine('java\0-cp\0\0Main\0a b\0'), ['java', '-cp', '', 'Main', 'a b'])
    assert.deepEqual(parseCommandLine(''), [])
  })

  it('the name of an environment variable ends at the first equals sign', () => {
    const variables = parseEnvironment('HOME=/\0OPTS=-Da=b\0broken\0')
    assert.deepEqual(
      [...variables],
      [
        ['HOME', '/'],
        ['OPTS', '-Da=b'],
      ],
    )
  })
})

describe('the file /proc/<pid>/maps', () => {
  const line = (path: string) => `7f00-7f10 r-xp 00000000 08:01 123                        ${path}\n`
  const hotspot = line('/usr/lib/jvm/java 17/lib/server/libjvm.so')

  it('a process that maps libjvm.so is a HotSpot JVM', () => {
    assert.deepEqual(findVmLibrary(line('/usr/lib/libc.so.6') + hotspot), {
      kind: 'hotspot',
      path: '/usr/lib/jvm/java 17/lib/server/libjvm.so',
    })
  })

  it('a process that also maps libj9vm is an OpenJ9 JVM', () => {
    const j9 = hotspot + line('/opt/ibm/lib/default/libj9vm29.so')
    assert.equal(findVmLibrary(j9)?.kind, 'openj9')
    assert.equal(findVmLibrary(line('/opt/ibm/lib/default/libj9vm29.so'))?.kind, 'openj9')
  })

  it('a process counts as a HotSpot JVM even if the files of its JDK were replaced', () => {
    assert.equal(
      findVmLibrary(line('/jdk/lib/server/libjvm.so (deleted)'))?.path,
      '/jdk/lib/server/libjvm.so',
    )
  })

  it('after the JDK files of a JVM were replaced, an attach is possible only if the required libraries are already loaded', () => {
    const gone = line('/jdk/lib/server/libjvm.so (deleted)')
    const loaded = ['libinstrument', 'libzip', 'libnet', 'libnio'].map((it) =>
      line(`/jdk/lib/${it}.so (deleted)`),
    )
    assert.equal(hasLostRuntime(hotspot), false)
    assert.equal(hasLostRuntime(gone), true)
    assert.equal(hasLostRuntime(gone + loaded.slice(1).join('')), true)
    assert.equal(hasLostRuntime(gone + loaded.join('')), false)
  })

  it('library names that only resemble libjvm.so are ignored', () => {
    assert.equal(findVmLibrary(line('/x/libjvm.so.txt') + line('/x/mylibjvm.so')), undefined)
  })

  it('a mapped hsperfdata file is used only if its name is the process id and the file still exists', () => {
    assert.equal(mappedPerfData(line('/tmp/hsperfdata_root/7'), 7), 'hsperfdata_root/7')
    assert.equal(mappedPerfData(line('/tmp/hsperfdata_root/77'), 7), null)
    assert.equal(mappedPerfData(line('/tmp/hsperfdata_root/7 (deleted)'), 7), null)
  })
})

describe('the mount at /tmp', () => {
  const mounts = (...lines: string[]): string => lines.map((it) => `${it} rw - tmpfs tmpfs rw\n`).join('')
  const root = '27 1 254:0 / /'

  it('the mount at /tmp is the last mount at that path, or the root mount if no mount is at that path', () => {
    assert.equal(mountOfTmp(mounts(root, '22 27 0:21 / /proc', '29 27 0:8 /tmp /mnt')), '254:0 /tmp')
    assert.equal(
      mountOfTmp(mounts(root, '30 27 0:9 / /tmp', '31 30 0:9 /mine /tmp', '32 31 0:9 / /tmp/a')),
      '0:9 /mine',
    )
    // A mount of the machine at a deeper path.
    assert.notEqual(mountOfTmp(mounts('31 27 0:9 / /')), mountOfTmp(mounts(root, '31 27 0:9 / /srv')))
  })

  it('two mount namespaces that share /tmp have the same mount at /tmp; a private /tmp is another mount', () => {
    const tmp = '31 27 0:9 / /tmp'
    assert.equal(mountOfTmp(mounts('527 501 254:0 / /')), mountOfTmp(mounts(root)))
    assert.equal(mountOfTmp(mounts('527 501 254:0 / /', '531 527 0:9 / /tmp')), mountOfTmp(mounts(root, tmp)))
    // /tmp is mounted on itself, as by ReadWritePaths=/tmp.
    assert.equal(mountOfTmp(mounts('527 501 254:0 / /', '531 527 254:0 /tmp /tmp')), mountOfTmp(mounts(root)))
    // /tmp is mounted as by systemd's PrivateTmp, on a disk and in memory.
    for (const own of ['531 527 254:0 /tmp/systemd-private-a/tmp /tmp', '531 527 0:77 / /tmp'])
      assert.notEqual(mountOfTmp(mounts('527 501 254:0 / /', own)), mountOfTmp(mounts(root, tmp)))
  })

  it('the mount at /tmp is unknown in a chroot without a root mount', () => {
    assert.equal(mountOfTmp(''), undefined)
    assert.equal(mountOfTmp(mounts('22 27 0:21 / /proc')), undefined)
  })
})

describe('data that is read about a real process', () => {
  it('process data are read for the process that runs the test', () => {
    const self = readTargetProcess(process.pid)
    assert.ok(self !== undefined)
    assert.equal(self.euid, process.geteuid?.())
    assert.equal(self.executable, process.execPath)
    assert.equal(self.vmLibrary, null)
    const age = Date.now() - self.startedAt
    assert.ok(Math.abs(age / 1000 - process.uptime()) < 5, `started ${age} ms ago`)
    assert.equal(stillRuns(self), true)
    assert.equal(
      stillRuns({ ...self, startTicks: self.startTicks - 1 }),
      false,
      'an earlier one with that pid',
    )
  })

  it('a process that has ended is detected', async () => {
    const sleeper = startProcess('sleep', ['60'])
    const facts = readTargetProcess(sleeper.pid)
    assert.ok(facts !== undefined && stillRuns(facts))
    await sleeper.kill()
    assert.equal(readTargetProcess(sleeper.pid), undefined)
    assert.equal(stillRuns(facts), false)
  })
})

it('processor time is the sum of user and system time, even if the program name contains blanks or parentheses', () => {
  // Fields 14 and 15: 150 and 25 ticks of 10 ms.
  const stat = `4711 (a) b (c) S ${Array.from({ length: 10 }, (_, i) => i).join(' ')} 150 25 7 8`
  assert.equal(parseCpuMs(stat), 1750)
  assert.equal(parseCpuMs(''), undefined)
})
