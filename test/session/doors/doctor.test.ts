// Findings of jfluid doctor for given facts. Collecting the facts from real JVMs is tested in test/live/doctor.jvm.test.ts.

import { describe, expect, it } from 'vitest'
import type { Client } from '../../../src/attach/admission.ts'
import { librariesIn, openAs } from '../../../src/attach/circumstances.ts'
import type { TargetProcess } from '../../../src/attach/target-process.ts'
import { type Evidence, type Finding, findingsOf, statusOf } from '../../../src/session/doors/doctor.ts'

const PROCESS: TargetProcess = {
  ...{ pid: 4711, threadGroup: 4711, nsPid: 4711, name: 'java', state: 'S' },
  ...{ uid: 1000, euid: 1000, gid: 100, egid: 100, catchesSigquit: true, ignoresSigquit: false },
  ...{ startTicks: 1, startedAt: 0, commandLine: ['java', 'Main'], executable: '/jdk/bin/java' },
  vmLibrary: { kind: 'hotspot', path: '/jdk/lib/server/libjvm.so' },
  isNativeImage: false,
  lostRuntime: false,
  perfDataName: 'hsperfdata_me/4711',
  hasJavaAgent: false,
  ownUsers: false,
  root: '/proc/4711/root',
}
const OWNER: Client = { uid: 1000, gid: 100 }
const MODULES = ['java.base', 'java.instrument', 'jdk.jfr']
const MIB = 1 << 20

interface Change {
  version?: string | undefined
  facts?: Partial<Evidence['facts']>
  circumstances?: Partial<Evidence['circumstances']>
  places?: Partial<Evidence['places']>
  buffer?: Partial<NonNullable<Evidence['places']['buffer']>>
  client?: Client
  memorySlowness?: number
}

function evidence(change: Change): Evidence {
  const version = 'version' in change ? change.version : '25.0.3'
  return {
    facts: {
      process: PROCESS,
      perf: { complete: true, attachSupported: true, loadedClasses: 2_000, unloadedClasses: 100 },
      ...{
        hasPerfFile: true,
        javaVersion: version,
        attachDisabledByOption: false,
        hasSocket: false,
        tmp: 'usable',
      },
      room: { threads: Number.POSITIVE_INFINITY, descriptors: 1000 },
      ...change.facts,
    },
    jvm: {
      ...{ pid: 4711, user: 'shop', uid: 1000, version, vm: 'OpenJDK 64-Bit Server VM' },
      ...{ mainClass: 'Main', command: 'Main', container: undefined, startedAt: 0, attachable: true },
    },
    client: change.client ?? OWNER,
    memorySlowness: change.memorySlowness ?? 1,
    circumstances: {
      ...{ otherNamespaces: [], options: [], modules: new Set(MODULES), libraries: new Set(['libjvm.so']) },
      ...{
        threads: new Set(['main']),
        threadCount: 20,
        openFile: () => undefined,
        clockSource: 'tsc',
        architecture: 'x64',
      },
      ...change.circumstances,
    },
    places: {
      ...{ jar: '/opt/jfluid.jar', jarSeen: true, hasMkfifo: true },
      buffer: {
        path: '/dev/shm',
        isShared: true,
        isWritable: true,
        free: 64 * MIB,
        most: 64 * MIB,
        ...change.buffer,
      },
      ...change.places,
    },
  }
}

/** Returns findings other than ok, as `level check`, with the exit status of a problem. */
function worries(change: Change): string[] {
  return findingsOf(evidence(change))
    .filter((it) => it.level !== 'ok')
    .map(({ level, check, exitCode = '' }) => `${level} ${check} ${exitCode}`.trim())
}

const only = (check: Finding['check'], change: Change): Finding[] =>
  findingsOf(evidence(change)).filter((it) => it.check === check)

describe('an idle agent inside the JVM', () => {
  const inside = (agentInside: Evidence['places']['agentInside'], ...options: string[]): Change => ({
    circumstances: { openFile: () => 'open', options },
    places: { agentInside },
  })
  const SHUT = '-XX:-EnableDynamicAgentLoading'

  it('an idle agent of this jfluid build is woken, and no other agent is loaded', () => {
    expect(worries(inside('ours', SHUT))).toEqual([])
    expect(only('session', inside('ours'))[0].text).toContain('its idle agent is used')
  })

  it('an idle agent of another jfluid build is reported, and the agent of this build is loaded in addition if permitted', () => {
    expect(only('session', inside('beside'))[0]).toMatchObject({
      level: 'ok',
      text: expect.stringContaining('the agent of this build is loaded in addition'),
    })
    expect(worries(inside('beside'))).toEqual(['note agent loading'])
    expect(worries(inside('beside', SHUT))).toEqual(['problem agent loading 69'])
    expect(worries(inside('foreign', '-XX:+EnableDynamicAgentLoading'))).toEqual(['problem session 69'])
  })

  it('an idle agent that was loaded at JVM startup avoids the loss of compiled code', () => {
    const circumstances = { options: ['-javaagent:/opt/jfluid-agent.jar'], openFile: () => 'open' as const }
    const change: Change = { version: '17.0.15', circumstances, places: { agentInside: 'ours' } }
    expect(worries(change)).toEqual([])
    expect(worries({ ...change, circumstances: { ...circumstances, options: [] } })).toEqual([
      'note redefinition',
    ])
  })

  it('an agent of another program may already have caused the loss of compiled code', () => {
    const text = (...libraries: string[]) =>
      only('redefinition', { version: '17.0.15', circumstances: { libraries: new Set(libraries) } })[0].text
    expect(text('libjvm.so')).toMatch(/\(JDK-8324241\)$/)
    expect(text('libjvm.so', 'libinstrument.so')).toMatch(/Another agent may have redefined a class already$/)
  })
})

describe('doctor for a JVM that permits an attach', () => {
  it('for a JVM of JDK 25 that permits an attach, doctor warns only about agent loading', () => {
    expect(worries({})).toEqual(['note agent loading'])
    expect(worries({ circumstances: { options: ['-XX:+EnableDynamicAgentLoading'] } })).toEqual([])
  })

  it.each([
    ['17.0.15', ['note redefinition']],
    ['21.0.1', ['note agent loading', 'note redefinition']],
    ['26', ['note agent loading']],
    ['12.0.2', ['note jdk', 'note redefinition']],
    ['23', ['note jdk', 'note agent loading']],
    ['28', ['note jdk', 'note agent loading']],
    [undefined, ['note jdk']],
  ])('for a JVM of version %s, doctor reports the expected notes', (version, expected) => {
    expect(worries({ version })).toEqual(expected)
  })

  it('for a JVM that permits an attach, doctor reports the number of loaded classes and the pause of a redefinition', () => {
    expect(only('classes', {})).toEqual([
      { check: 'classes', level: 'ok', text: '1,900 loaded; a redefinition stops the JVM for at least 2 ms' },
    ])
    const perf = { complete: true, attachSupported: true, loadedClasses: 20_000, compilations: 10_000 }
    expect(only('classes', { facts: { perf } })).toEqual([
      {
        ...{ check: 'classes', level: 'ok' },
        text: '20,000 loaded, so --scheme auto selects adaptive; a redefinition stops the JVM for 17 to 45 ms, depending on the amount of compiled code',
      },
    ])
    const [slow] = only('classes', { facts: { perf }, memorySlowness: 2 })
    expect([slow.level, slow.text]).toEqual(['ok', expect.stringContaining('for 33 to 89 ms')])
    // The level depends on the upper bound of the estimate, which is 50 to 133 ms.
    expect(only('classes', { facts: { perf }, memorySlowness: 3 })[0].level).toBe('note')
    const huge = { ...perf, loadedClasses: 200_000 }
    const [{ level, hint }] = only('classes', { facts: { perf: huge } })
    expect([level, hint]).toEqual([
      'note',
      expect.stringContaining('at most 20 % longer, and at most 250 ms'),
    ])
    expect(only('classes', { facts: { perf: undefined } })[0]).toMatchObject({ level: 'note' })
  })

  it('doctor reports facts as unknown if the JVM belongs to another user or has no counters', () => {
    const circumstances = { otherNamespaces: undefined, modules: undefined, libraries: undefined }
    const facts = { perf: undefined, hasPerfFile: true }
    expect(worries({ version: undefined, facts, circumstances })).toEqual([
      ...['note jdk', 'note container', 'note java.instrument', 'note other agents', 'note classes'],
    ])
    expect(only('classes', { facts })[0].text).toContain('no permission to read its counters')
    expect(only('classes', { facts: { perf: undefined, hasPerfFile: false } })[0].text).toContain(
      'has no counters',
    )
  })

  it('for a JVM that permits an attach, doctor reports the free metaspace', () => {
    const perf = { complete: true, attachSupported: true, loadedClasses: 100, metaspaceCommitted: 100 * MIB }
    const of = (vmArguments: string) => only('metaspace', { facts: { perf: { ...perf, vmArguments } } })
    const ok = { check: 'metaspace', level: 'ok' }
    expect(of('-Xmx1g -XX:MaxMetaspaceSize=256m -ea')).toEqual([
      { ...ok, text: '100 MiB of at most 256 MiB in use' },
    ])
    expect(of('-XX:MaxMetaspaceSize=120m')[0]).toMatchObject({ level: 'note' })
    expect(of('-Xmx1g')).toEqual([{ ...ok, text: '100 MiB in use; no limit' }])
    expect(of(`-Da=${'b'.repeat(1100)}`)).toEqual([
      { ...ok, text: '100 MiB in use; the limit is unknown until jfluid attaches' },
    ])
    expect(only('metaspace', {})).toEqual([])
  })

  it('for a JVM that permits an attach, doctor reports the processor load and its effect if code must be recompiled', () => {
    const perfOf = (compilations: number) => ({
      ...{ complete: true, attachSupported: true, loadedClasses: 2_000, unloadedClasses: 100 },
      compilations,
    })
    const of = (
      used: number,
      version: string,
      compilations = 20_000,
      libraries: ReadonlySet<string> | undefined = new Set(['libjvm.so']),
    ) =>
      findingsOf({
        ...evidence({ version, circumstances: { libraries }, facts: { perf: perfOf(compilations) } }),
        processors: { used, most: 2, idle: 2 - used, ours: 0 },
      })
        .filter((it) => it.check === 'processors')
        .map(({ level, text }) => `${level} ${text}`)
    expect(of(0.2, '17.0.1')).toEqual(['ok the JVM uses 0.2 of 2 processors; 1.8 are idle'])
    expect(of(0.4, '17.0.1')).toEqual([
      'note the JVM uses 0.4 of 2 processors; 1.6 are idle: requests are delayed while the JVM recompiles discarded code',
    ])
    expect(of(0.4, '17.0.1', 1_500)).toEqual(['ok the JVM uses 0.4 of 2 processors; 1.6 are idle'])
    // In this case an attach does not ask the user, because a Java agent may already have redefined a class.
    expect(of(0.4, '17.0.1', 20_000, new Set(['libjvm.so', 'libinstrument.so']))).toEqual([
      'ok the JVM uses 0.4 of 2 processors; 1.6 are idle',
    ])
    expect(of(0.4, '25.0.1')).toEqual(['ok the JVM uses 0.4 of 2 processors; 1.6 are idle'])
    expect(of(1.9, '25.0.1')).toEqual([
      'note the JVM uses 1.9 of 2 processors; 0.1 are idle: samples are taken late',
    ])
    expect(only('processors', {})).toEqual([])
  })

  it('for a JVM that permits an attach, doctor reports whether virtual threads are in use, on JDKs that support them', () => {
    const threads = new Set(['main', 'VirtualThread-u'])
    expect(only('threads', { circumstances: { threads } })[0].text).toContain('and virtual threads')
    expect(only('threads', {})[0].text).toContain('no virtual threads')
    expect(only('threads', { version: '17.0.1', circumstances: { threads } })[0].text).toBe(
      '20 platform threads',
    )
  })

  it('for a JVM that permits an attach, doctor lists other agents without their arguments', () => {
    const options = ['-javaagent:/opt/apm.jar=key=secret', '-agentlib:jdwp=transport=dt_socket']
    const [found] = only('other agents', { circumstances: { options } })
    expect(found.text).toMatch(/^-javaagent:\/opt\/apm.jar, -agentlib:jdwp: /)
    const libraries = new Set(['libjvm.so', 'libinstrument.so'])
    expect(only('other agents', { circumstances: { libraries } })[0].text).toContain('loaded at run time')
  })

  it('for a JVM that permits an attach, doctor notes a container, a slow clock source, and sampling by thread dumps if the JVM has no flight recorder', () => {
    const circumstances = {
      otherNamespaces: ['pid', 'mnt'] as const,
      clockSource: 'hpet',
      modules: new Set(['java.base', 'java.instrument']),
    }
    expect(worries({ version: '24', circumstances })).toEqual([
      ...['note jdk', 'note container', 'note agent loading', 'note clock'],
    ])
    const [sampling] = only('sampling', { version: '24', circumstances })
    expect(sampling.text).toBe('by thread dumps, because the JVM has no flight recorder')
  })
})

it('on a processor other than x86-64, doctor names the clock System.nanoTime, and does not worry about its clock source', () => {
  const circumstances = { architecture: 'arm64', clockSource: 'arch_sys_counter' }
  expect(only('clock', { circumstances })).toMatchObject([
    { level: 'ok', text: 'System.nanoTime, because the architecture arm64 is not x86-64' },
  ])
})

it('doctor notes that a processor or a release is not tested, and names those that are', () => {
  const on = (architecture: string) => only('architecture', { circumstances: { architecture } })[0]!
  expect(on('x64')).toMatchObject({ level: 'ok', text: 'x86-64' })
  expect(on('arm64')).toMatchObject({
    level: 'note',
    text: expect.stringMatching(/arm64, only on x86-64; .* emulation/),
  })
  expect(on('riscv64')).toMatchObject({
    level: 'note',
    text: expect.stringMatching(/riscv64, only on x86-64$/),
  })
  expect(only('jdk', { version: '22.0.1' })[0]!.text).toMatch(/not tested .* JDK 11, 17, 21, 25, 26 and 27$/)
})

it('doctor refuses a JVM without UNIX sockets if the command mkfifo is missing, and notes it if the version is unknown', () => {
  const places = { hasMkfifo: false }
  expect(worries({ version: '11.0.13', places })).toContain('problem named pipes 72')
  expect(only('named pipes', { version: '11.0.13', places })[0]!.hint).toContain('Install the command mkfifo')
  expect(worries({ version: undefined, places })).toEqual(['note jdk', 'note named pipes'])
  expect(only('named pipes', { version: '11.0.13' })).toMatchObject([{ level: 'ok' }])
  expect(only('named pipes', { version: '17.0.1', places })).toEqual([])
})

it('a JVM in another file system gets a copy of the agent and its own buffer directory', () => {
  const apart = { places: { jarSeen: false }, buffer: { isShared: false, path: '/tmp' } }
  expect(worries(apart)).toEqual(['note agent loading'])
  expect(only('agent jar', apart)[0].text).toContain('cannot read /opt/jfluid.jar: jfluid puts a copy')
  expect(only('buffer', apart)[0].text).toContain('in /tmp of the JVM (not shared with jfluid)')
})

describe('doctor for a JVM that refuses an attach', () => {
  it.each<[string, Change, string]>([
    ['the JVM runs on JDK 8', { version: '1.8.0_392' }, 'jdk 69'],
    ['the JVM runs on JDK 8', { version: '1.8.0_392' }, 'jdk 69'],
    [
      'the JVM runs on JDK 11 and belongs to another user',
      { version: '1.8.0_392', client: { uid: 7, gid: 7 } },
      'jdk 69',
    ],
    ['the JVM belongs to another user', { client: { uid: 7, gid: 7 } }, 'attach 77'],
    [
      'attach is disabled',
      { facts: { perf: { complete: true, attachSupported: false, loadedClasses: 1 } } },
      'attach 78',
    ],
    [
      'agent loading is disabled',
      { circumstances: { options: ['-XX:-EnableDynamicAgentLoading'] } },
      'agent loading 78',
    ],
    [
      'the JVM has no java.instrument',
      { circumstances: { modules: new Set(['java.base', 'jdk.jfr']) } },
      'java.instrument 69',
    ],
    ['the agent jar is missing', { places: { jar: null } }, 'agent jar 72'],
    ['another session is active', { circumstances: { threads: new Set(['jfluid-agent']) } }, 'session 75'],
    ['there is no room for the buffer', { buffer: { free: 10 * MIB } }, 'buffer 73'],
    ['the buffer directory is not writable', { buffer: { isWritable: false } }, 'buffer 73'],
    ['no buffer directory is accessible', { places: { buffer: undefined } }, 'buffer 73'],
    ['/tmp is read-only for the JVM', { facts: { tmp: 'read-only' } }, 'attach 78'],
  ])('doctor reports one problem: %s', (_, change, expected) => {
    const problems = worries(change).filter((it) => it.startsWith('problem'))
    expect(problems).toEqual([`problem ${expected}`])
    expect(statusOf(findingsOf(evidence(change)))).toBe(Number(expected.split(' ').at(-1)))
  })

  it.each([
    ['-Djava.security.manager', 'java.lang.SecurityManager'],
    ['-Djava.security.manager=default', 'java.lang.SecurityManager'],
    ['-Djava.security.manager=com.foo.Own', 'com.foo.Own'],
  ])('%s is reported as a problem on JDKs with a security manager', (option, name) => {
    const circumstances = { options: [option] }
    const [found] = only('security manager', { version: '17.0.1', circumstances })
    expect(found).toMatchObject({ level: 'problem', exitCode: 69 })
    expect(found.text).toContain(name)
    expect(only('security manager', { version: '24', circumstances })).toEqual([])
  })

  it('doctor reports neither -Djava.security.manager=disallow nor an option that a later option overrides', () => {
    const options = ['-Djava.security.manager', '-Djava.security.manager=disallow']
    expect(only('security manager', { version: '21', circumstances: { options } })[0].level).toBe('ok')
  })

  it('each reported problem has a hint', () => {
    const all = findingsOf(
      evidence({
        client: { uid: 7, gid: 7 },
        circumstances: { options: ['-XX:-EnableDynamicAgentLoading'], modules: new Set() },
        buffer: { free: 0 },
      }),
    ).filter((it) => it.level === 'problem')
    expect(all.length).toBe(4)
    for (const { hint } of all) expect(hint).toMatch(/\S/)
    // The first problem is the one that an attach would detect first.
    expect(statusOf(all)).toBe(77)
  })
})

it('an earlier attach of jfluid is detected, even if the agent jar has been replaced', () => {
  const told = (openFile: 'open' | 'deleted' | undefined) =>
    only('session', { circumstances: { openFile: () => openFile } })[0]
  expect(told(undefined).text).toBe('jfluid has not been attached before')
  expect(told('open').text).toBe('jfluid was attached before: its idle agent is used')
  expect(told('deleted')).toMatchObject({ level: 'ok' })
  expect(told('deleted').text).toContain('deleted or replaced since')

  const jar = '/opt/jfluid/dist/agent/jfluid-agent.jar'
  expect(openAs('jfluid-agent.jar', ['socket:[7]', jar])).toBe('open')
  expect(openAs('jfluid-agent.jar', ['socket:[7]', `${jar} (deleted)`])).toBe('deleted')
  expect(openAs('jfluid-agent.jar', [`${jar} (deleted)`, jar])).toBe('open')
  expect(openAs('jfluid-agent.jar', ['/opt/my-jfluid-agent.jar', '/opt/app.jar (deleted)'])).toBe(undefined)
})

it('loaded native libraries are listed by file name, even if the file has been replaced', () => {
  const maps = [
    '7f00-7f01 r-xp 00000000 fe:00 1  /jdk/lib/server/libjvm.so',
    '7f02-7f03 r-xp 00000000 fe:00 2  /jdk/lib/libinstrument.so (deleted)',
    '7f04-7f05 r-xp 00000000 fe:00 3  /usr/lib/libc.so.6',
    '7f06-7f07 rw-p 00000000 00:00 0  [heap]',
  ].join('\n')
  expect([...librariesIn(maps)]).toEqual(['libjvm.so', 'libinstrument.so', 'libc.so.6'])
})
