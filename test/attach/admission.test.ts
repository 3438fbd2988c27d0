import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { attachProblem, type Client, type TargetFacts } from '../../src/attach/admission.ts'
import type { TargetProcess } from '../../src/attach/target-process.ts'

const PROCESS: TargetProcess = {
  pid: 4711,
  threadGroup: 4711,
  nsPid: 4711,
  name: 'java',
  state: 'S',
  uid: 1000,
  euid: 1000,
  gid: 100,
  egid: 100,
  catchesSigquit: true,
  ignoresSigquit: false,
  startTicks: 1,
  startedAt: 0,
  commandLine: ['java', 'Main'],
  executable: '/jdk/bin/java',
  vmLibrary: { kind: 'hotspot', path: '/jdk/lib/server/libjvm.so' },
  lostRuntime: false,
  perfDataMapped: true,
  hasJavaAgent: false,
  root: '/proc/4711/root',
  ownUsers: false,
}
const OWNER: Client = { uid: 1000, gid: 100 }
const ROOT: Client = { uid: 0, gid: 0 }

interface Change extends Partial<Omit<TargetFacts, 'process'>> {
  process?: Partial<TargetProcess>
}

const facts = ({ process, ...rest }: Change = {}): TargetFacts => ({
  process: { ...PROCESS, ...process },
  perf: { complete: true, attachSupported: true },
  hasPerfFile: true,
  javaVersion: '25.0.3',
  attachDisabledByOption: false,
  hasSocket: false,
  tmp: 'usable',
  room: { threads: Number.POSITIVE_INFINITY, descriptors: 1000 },
  ...rest,
})

/** Name and exit status of the refusal, or `welcome`. */
const verdict = (change: Change, client: Client = OWNER): string => {
  const problem = attachProblem(facts(change), client)
  return problem === undefined ? 'welcome' : `${problem.name} ${problem.exitCode}`
}

describe('an attach is refused', () => {
  it.each<[string, Change, string]>([
    ['by a thread of a process', { process: { threadGroup: 4700 } }, 'NoSuchProcess 68'],
    ['by a zombie', { process: { state: 'Z' } }, 'NoSuchProcess 68'],
    ['by another program', { process: { vmLibrary: null }, perf: undefined }, 'NotJvm 69'],
    ['by OpenJ9', { process: { vmLibrary: { kind: 'openj9', path: '/x' } } }, 'NotHotSpot 69'],
    ['by JDK 8', { javaVersion: '1.8.0_392' }, 'JdkTooOld 69'],
    ['by JDK 11', { javaVersion: '11.0.21' }, 'JdkTooOld 69'],
    ['by the last before 17', { javaVersion: '16.0.2' }, 'JdkTooOld 69'],
    ['to others than the owner', { process: { euid: 1001 } }, 'NotOwner 77'],
    ['to another group, as HotSpot does', { process: { egid: 101 } }, 'NotOwner 77'],
    ['when hsperfdata says so', { perf: { complete: true, attachSupported: false } }, 'AttachDisabled 78'],
    ['when only the options say so', { perf: undefined, attachDisabledByOption: true }, 'AttachDisabled 78'],
    ['when it is stopped', { process: { state: 'T' } }, 'TargetStopped 75'],
    ['when it is traced', { process: { state: 't' }, hasSocket: true }, 'TargetStopped 75'],
    ['when SIGQUIT would kill it', { process: { catchesSigquit: false } }, 'SigquitNotCaught 69'],
    ['when its JDK was replaced', { process: { lostRuntime: true } }, 'RuntimeReplaced 69'],
    ['when it has no /tmp', { tmp: 'missing' }, 'NoSocketPlace 78'],
    ['when its /tmp is read-only', { tmp: 'read-only' }, 'NoSocketPlace 78'],
    ['when we may not enter its root', { tmp: 'hidden', hasSocket: true }, 'RootHidden 77'],
    ['when it gets no thread', { room: { threads: 7, descriptors: 1000 } }, 'NoThreadsLeft 75'],
    ['when it gets no file', { room: { threads: 8, descriptors: 23 } }, 'NoDescriptorsLeft 75'],
    ['when SIGQUIT is ignored', { process: { ignoresSigquit: true } }, 'SigquitNotCaught 69'],
  ])('%s', (_, change, expected) => {
    assert.equal(verdict(change), expected)
  })

  it("a refused attach shows what to do: a container's user is unknown outside, root may attach", () => {
    const hint = (ownUsers: boolean) =>
      attachProblem(facts({ process: { euid: 100_000, ownUsers } }), OWNER)?.hint
    assert.equal(hint(false), "Run jfluid as the owner: sudo -u '#100000' jfluid attach 4711")
    assert.match(hint(true) ?? '', /^Run jfluid as root: sudo jfluid attach 4711 /)
  })

  it('a refused attach shows the reason to fix first', () => {
    const everything: Change = {
      process: { euid: 1001, state: 'T', catchesSigquit: false },
      perf: { complete: true, attachSupported: false },
    }
    assert.equal(verdict(everything), 'NotOwner 77')
    assert.equal(verdict(everything, ROOT), 'AttachDisabled 78')
  })
})

describe('an attach is allowed', () => {
  it.each<[string, Change]>([
    ['to the owner', {}],
    ['to the oldest JDK that will do', { javaVersion: '17' }],
    ['to a JDK to come', { javaVersion: '27-ea' }],
    ['to a JVM that does not say what it is', { javaVersion: undefined }],
    ['to one whose version says nothing', { javaVersion: 'internal' }],
    ['to a JVM without hsperfdata', { perf: undefined, hasPerfFile: false }],
    ['to a statically linked JVM, which has no libjvm', { process: { vmLibrary: null } }],
    ['to one that has just what it takes', { room: { threads: 8, descriptors: 24 } }],
    ['to one whose /tmp is read-only now, through its socket', { tmp: 'read-only', hasSocket: true }],
    ['to an -Xrs JVM through its socket', { process: { catchesSigquit: false }, hasSocket: true }],
  ])('%s', (_, change) => {
    assert.equal(verdict(change), 'welcome')
  })

  it('root may attach to the JVM of any user', () => {
    assert.equal(verdict({}, ROOT), 'welcome')
  })

  it('hsperfdata takes precedence over the options', () => {
    assert.equal(verdict({ attachDisabledByOption: true }), 'welcome')
  })
})

describe('a process that may not be inspected', () => {
  const unseen: Partial<TargetProcess> = { vmLibrary: undefined, euid: 1001 }

  it('a process that may not be inspected is refused because of its owner', () => {
    assert.equal(verdict({ process: unseen, perf: undefined, hasPerfFile: true }), 'NotOwner 77')
    assert.equal(verdict({ process: unseen, perf: undefined, hasPerfFile: false }), 'NotOwner 77')
  })
})

describe('a program that cannot be identified, even by root', () => {
  const hidden: Partial<TargetProcess> = {
    vmLibrary: undefined,
    executable: undefined,
    catchesSigquit: false,
  }
  const unseen = { perf: undefined, hasPerfFile: false }

  it('an unidentified program is not a JVM: it gets no signal, and no hint about -Xrs', () => {
    const init: Change = { process: { ...hidden, commandLine: ['/sbin/init', '--x'] }, ...unseen }
    assert.equal(verdict(init, ROOT), 'NotJvm 69')
    assert.match(attachProblem(facts(init), ROOT)?.message ?? '', /: \/sbin\/init is not a JVM$/)
    assert.equal(verdict({ ...init, process: { ...init.process, catchesSigquit: true } }, ROOT), 'NotJvm 69')
  })

  it('an unidentified program is a JVM by its name, hsperfdata or socket', () => {
    assert.equal(verdict({ process: hidden, ...unseen }, ROOT), 'SigquitNotCaught 69')
    const other = { ...hidden, commandLine: ['/opt/server'] }
    assert.equal(verdict({ process: other, perf: undefined, hasPerfFile: true }, ROOT), 'SigquitNotCaught 69')
    assert.equal(verdict({ process: other, ...unseen, hasSocket: true }, ROOT), 'welcome')
  })
})

describe('texts of refusals', () => {
  it('a refusal names both users, and how to become the right one', () => {
    const problem = attachProblem(facts({ process: { euid: 1001 } }), OWNER)
    assert.equal(
      problem?.message,
      'cannot attach to JVM 4711: the process belongs to uid 1001, and jfluid runs as uid 1000',
    )
    assert.equal(problem?.hint, "Run jfluid as the owner: sudo -u '#1001' jfluid attach 4711")
    assert.equal(problem?.reason, 'belongs to uid 1001')
  })

  it('a refusal names both groups if only these differ', () => {
    const problem = attachProblem(facts({ process: { egid: 101 } }), OWNER)
    assert.match(problem?.message ?? '', /belongs to group 101, and jfluid runs as group 100$/)
    assert.equal(problem?.hint, "Run jfluid as the owner: sudo -u '#1000' -g '#101' jfluid attach 4711")
  })
})
