import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import {
  attachProblem,
  type Client,
  NotOwner,
  RootHidden,
  type TargetFacts,
} from '../../src/attach/admission.ts'
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
  isNativeImage: false,
  lostRuntime: false,
  perfDataName: 'hsperfdata_me/4711',
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

/** Returns the name and exit status of the refusal, or `welcome`. */
const verdict = (change: Change, client: Client = OWNER): string => {
  const problem = attachProblem(facts(change), client)
  return problem === undefined ? 'welcome' : `${problem.name} ${problem.exitCode}`
}

describe('an attach is refused', () => {
  it.each<[string, Change, string]>([
    ['for the id of a thread', { process: { threadGroup: 4700 } }, 'NoSuchProcess 68'],
    ['for a zombie process', { process: { state: 'Z' } }, 'NoSuchProcess 68'],
    ['for a program that is not a JVM', { process: { vmLibrary: null }, perf: undefined }, 'NotJvm 69'],
    ['for an OpenJ9 JVM', { process: { vmLibrary: { kind: 'openj9', path: '/x' } } }, 'NotHotSpot 69'],
    ['for a native image', { process: { vmLibrary: null, isNativeImage: true } }, 'NativeImage 69'],
    [
      'for a native image with performance data that permit an attach',
      {
        process: { vmLibrary: null },
        perf: { complete: true, attachSupported: true, vmName: 'Substrate VM' },
      },
      'NativeImage 69',
    ],
    ['for JDK 8', { javaVersion: '1.8.0_392' }, 'JdkTooOld 69'],
    ['for JDK 10', { javaVersion: '10.0.2' }, 'JdkTooOld 69'],
    ['if jfluid and the JVM run as different users', { process: { euid: 1001 } }, 'NotOwner 77'],
    ['if jfluid and the JVM run in different groups', { process: { egid: 101 } }, 'NotOwner 77'],
    [
      'if hsperfdata states that attach is disabled',
      { perf: { complete: true, attachSupported: false } },
      'AttachDisabled 78',
    ],
    [
      'if only a JVM option states that attach is disabled',
      { perf: undefined, attachDisabledByOption: true },
      'AttachDisabled 78',
    ],
    ['if the JVM is stopped', { process: { state: 'T' } }, 'TargetStopped 75'],
    ['if the JVM is stopped by a tracer', { process: { state: 't' }, hasSocket: true }, 'TargetStopped 75'],
    ['if SIGQUIT would kill the JVM', { process: { catchesSigquit: false } }, 'SigquitNotCaught 69'],
    ['if the JDK of the running JVM was replaced', { process: { lostRuntime: true } }, 'RuntimeReplaced 69'],
    ['if the JVM has no /tmp', { tmp: 'missing' }, 'NoSocketPlace 78'],
    ['if the /tmp of the JVM is read-only', { tmp: 'read-only' }, 'NoSocketPlace 78'],
    [
      'if jfluid may not enter the root directory of the JVM',
      { tmp: 'hidden', hasSocket: true },
      'RootHidden 77',
    ],
    [
      'if the JVM cannot create the required threads',
      { room: { threads: 7, descriptors: 1000 } },
      'NoThreadsLeft 75',
    ],
    [
      'if the JVM cannot open the required files',
      { room: { threads: 8, descriptors: 23 } },
      'NoDescriptorsLeft 75',
    ],
    ['if the JVM ignores SIGQUIT', { process: { ignoresSigquit: true } }, 'SigquitNotCaught 69'],
  ])('an attach is refused %s', (_, change, expected) => {
    assert.equal(verdict(change), expected)
  })

  it('the hint of a refused attach names the way to run as the owner of the JVM, or as root', () => {
    const [owner, self] = [
      { uid: 1001, gid: 101 },
      { uid: 1000, gid: 100 },
    ]
    const hint = (ownUsers: boolean, isInContainer: boolean) =>
      new NotOwner(4711, owner, self, ownUsers, isInContainer).hint
    assert.equal(hint(false, false), "Run jfluid as the owner: sudo -u '#1001' jfluid attach 4711")
    assert.match(hint(false, true), /^Run jfluid as the owner: docker run --user 1001:101, /)
    const group = new NotOwner(4711, { uid: 1000, gid: 101 }, self, false, false).hint
    assert.equal(group, "Run jfluid as the owner: sudo -u '#1000' -g '#101' jfluid attach 4711")
    assert.match(hint(true, false), /^Run jfluid as root: sudo jfluid attach 4711 /)
    const hidden = (uid: number) => new RootHidden(4711, owner, { uid, gid: 0 }).hint
    assert.match(hidden(0), /docker run --user 1001:101, .*--cap-add=SYS_PTRACE/)
    assert.doesNotMatch(hidden(1001), /--user/)
  })

  it('if an attach is refused for several reasons, the error shows the reason to fix first', () => {
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
    ['for the owner of the JVM', {}],
    ['for JDK 17, the oldest supported JDK', { javaVersion: '17' }],
    ['for a future JDK version', { javaVersion: '27-ea' }],
    ['for a JVM of unknown version', { javaVersion: undefined }],
    ['for a JVM whose version contains no number', { javaVersion: 'internal' }],
    ['for a JVM without hsperfdata', { perf: undefined, hasPerfFile: false }],
    ['for a statically linked JVM, which has no libjvm', { process: { vmLibrary: null } }],
    [
      'for a JVM that can create exactly the required threads and open exactly the required files',
      { room: { threads: 8, descriptors: 24 } },
    ],
    ['for a JVM with a read-only /tmp whose attach socket exists', { tmp: 'read-only', hasSocket: true }],
    [
      'for a JVM with -Xrs whose attach socket exists',
      { process: { catchesSigquit: false }, hasSocket: true },
    ],
  ])('an attach is allowed %s', (_, change) => {
    assert.equal(verdict(change), 'welcome')
  })

  it('root may attach to the JVM of any user', () => {
    assert.equal(verdict({}, ROOT), 'welcome')
  })

  it('an attach is allowed if hsperfdata permits attaching, even if a JVM option disables attaching', () => {
    assert.equal(verdict({ attachDisabledByOption: true }), 'welcome')
  })
})

describe('a process that jfluid has no permission to inspect', () => {
  const unseen: Partial<TargetProcess> = { vmLibrary: undefined, euid: 1001 }

  it('an attach to a process that jfluid may not inspect is refused, since another user owns the process', () => {
    assert.equal(verdict({ process: unseen, perf: undefined, hasPerfFile: true }), 'NotOwner 77')
    assert.equal(verdict({ process: unseen, perf: undefined, hasPerfFile: false }), 'NotOwner 77')
  })
})

describe('a program that even root cannot identify as a JVM', () => {
  const hidden: Partial<TargetProcess> = {
    vmLibrary: undefined,
    executable: undefined,
    catchesSigquit: false,
  }
  const unseen = { perf: undefined, hasPerfFile: false }

  it('an unidentified program is refused as "not a JVM" if nothing indicates a JVM', () => {
    const init: Change = { process: { ...hidden, commandLine: ['/sbin/init', '--x'] }, ...unseen }
    assert.equal(verdict(init, ROOT), 'NotJvm 69')
    assert.match(attachProblem(facts(init), ROOT)?.message ?? '', /: \/sbin\/init is not a JVM$/)
    assert.equal(verdict({ ...init, process: { ...init.process, catchesSigquit: true } }, ROOT), 'NotJvm 69')
  })

  it('an unidentified program counts as a JVM if its name, hsperfdata or attach socket indicates a JVM', () => {
    assert.equal(verdict({ process: hidden, ...unseen }, ROOT), 'SigquitNotCaught 69')
    const other = { ...hidden, commandLine: ['/opt/server'] }
    assert.equal(verdict({ process: other, perf: undefined, hasPerfFile: true }, ROOT), 'SigquitNotCaught 69')
    assert.equal(verdict({ process: other, ...unseen, hasSocket: true }, ROOT), 'welcome')
  })
})

describe('error messages of a refused attach', () => {
  it('the error of a refused attach names the two users', () => {
    const problem = attachProblem(facts({ process: { euid: 1001 } }), OWNER)
    assert.equal(
      problem?.message,
      'cannot attach to JVM 4711: the process belongs to uid 1001, and jfluid runs as uid 1000',
    )
    assert.equal(problem?.reason, 'belongs to uid 1001')
  })

  it('the error of a refused attach names the two groups if only the groups differ', () => {
    const problem = attachProblem(facts({ process: { egid: 101 } }), OWNER)
    assert.match(problem?.message ?? '', /belongs to group 101, and jfluid runs as group 100$/)
  })
})
