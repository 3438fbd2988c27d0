// JVMs in their own namespaces, root directories and users, as container runtimes create them, with jfluid outside. Two sessions each:
// the first loads the agent, the second wakes it. Then JVMs that must be refused without any request to them. Needs root.

import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import {
  type Contained,
  cannotContain,
  PIDS,
  PRIVATE,
  type Surroundings,
  startContained,
} from '../support/contained.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type JavaProcess, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { cli, readProfileJson } from '../support/jfluid.ts'
import { type Outcome, TRIAL_MS, times, trials } from './trials.ts'

vi.setConfig({ testTimeout: 2 * TRIAL_MS })

const MOUNT = ['--mount']
const OWN_TMP = 'mount -t tmpfs tmpfs /tmp'
const ALL = ['--mount', '--net', '--ipc', '--uts', '--cgroup', ...PIDS]
const USERS = 100_000
const APP = ['setpriv', '--reuid', '1000', '--regid', '1000', '--clear-groups']
const OTHER = { uid: 4243, gid: 4243 }

/** A minimal root with bind mounts of the required files. */
const ROOT = temporaryDirectory('jfluid-root-')
const BOUND = ['usr', 'lib', 'lib64', 'etc', 'mnt']
const minimal = [
  `mount -t tmpfs tmpfs ${ROOT}`,
  `cd ${ROOT}`,
  `mkdir tmp proc dev ${BOUND.join(' ')}`,
  ...BOUND.map((it) => `mount --bind /${it} ${it}`),
  'mount -t proc proc proc',
  'for d in null zero random urandom; do touch dev/$d; mount --bind /dev/$d dev/$d; done',
].join(' && ')
const layered = [
  `mount -t tmpfs tmpfs ${ROOT}`,
  `cd ${ROOT}`,
  'mkdir upper work root',
  'mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root',
  'cd root && mount -t tmpfs tmpfs tmp && mount -t proc proc proc && mount --bind /mnt mnt',
  'for d in null zero random urandom; do touch dev/$d; mount --bind /dev/$d dev/$d; done',
].join(' && ')
/** A separate /dev: files created in the shared /dev would appear on the whole machine. */
const noSharedMemory = [
  OWN_TMP,
  `mkdir /tmp/dev && for d in null zero random urandom; do touch /tmp/dev/$d; mount --bind /dev/$d /tmp/dev/$d; done`,
  'mount --rbind /tmp/dev /dev',
].join(' && ')

/** Command prefix for a client: root without permission to access processes with more capabilities. */
const MAY_NOT_LOOK = ['setpriv', '--bounding-set', '-sys_ptrace', '--inh-caps', '-sys_ptrace']

const ENTERED: readonly (readonly [name: string, surroundings: Surroundings, client?: readonly string[]])[] =
  [
    ['its own /tmp', { namespaces: MOUNT, setUp: OWN_TMP }],
    // In the machine's /tmp the JVM's counters would look like the counters of process 1.
    ['its own pid namespace', { namespaces: [...MOUNT, ...PIDS], setUp: OWN_TMP }],
    ['its own network namespace', { namespaces: ['--net'] }],
    ['a user namespace that maps only root', { namespaces: ['--user', '--map-root-user'] }],
    ['its own user namespace, as root', { namespaces: MOUNT, setUp: PRIVATE, usersFrom: USERS }],
    ['its own user namespace, as uid 1000', { namespaces: MOUNT, setUp: PRIVATE, usersFrom: USERS, as: APP }],
    ['all kinds of namespaces except users', { namespaces: ALL, setUp: PRIVATE }],
    ['all kinds of namespaces, as uid 1000', { namespaces: ALL, setUp: PRIVATE, usersFrom: USERS, as: APP }],
    [
      'all kinds of namespaces, created without root',
      { namespaces: ['--user', '--map-root-user', ...ALL], setUp: PRIVATE, user: OTHER },
    ],
    ['a read-only file system', { namespaces: MOUNT, setUp: `${OWN_TMP} && mount -o remount,ro,bind /` }],
    ['no /dev/shm', { namespaces: MOUNT, setUp: noSharedMemory }],
    ['little shared memory', { namespaces: MOUNT, setUp: `${PRIVATE} && mount -o remount,size=4m /dev/shm` }],
    ['another user and its own /tmp', { namespaces: MOUNT, setUp: PRIVATE, as: APP }],
    ['a chroot', { namespaces: MOUNT, setUp: minimal, as: ['chroot', ROOT] }],
    ['an overlay as root file system', { namespaces: MOUNT, setUp: layered, as: ['chroot', `${ROOT}/root`] }],
    ['a client without CAP_SYS_PTRACE', { namespaces: ['--net'] }, MAY_NOT_LOOK],
  ]

it('the machine can create containers for these tests', () => {
  expect(process.geteuid?.()).toBe(0)
  expect(cannotContain(...ALL)).toBe('')
})

describe('an attach to a JVM in a container', () => {
  forEachJdk((jdk) => {
    for (const [name, surroundings, client] of ENTERED) {
      it(`sessions work in a JVM with ${name}`, async () => {
        const classes = await compileFixture(jdk, 'Ticker')
        await trials(`container: ${name}`, jdk, times(2), () => entered(jdk, classes, surroundings, client))
      })
    }
  })
})

async function entered(
  jdk: Jdk,
  classes: string,
  surroundings: Surroundings,
  client: readonly string[] = [],
): Promise<Outcome> {
  const java = await startContained(jdk, classes, ['fix.Ticker', '1', 'tiny'], surroundings)
  const wrong: string[] = []
  const left: string[] = []
  for (const [which, scheme] of [
    ['loaded', 'b'],
    ['woken', 'adaptive'],
  ] as const) {
    const file = join(temporaryDirectory(), 'p.jfluid')
    const ran = await record(java.pid, file, client, '--scheme', scheme)
    left.push(...java.left(ran.pid))
    if (ran.code !== 0 || !ran.stderr.includes('nothing of jfluid remains')) {
      wrong.push(`${which}: ${ran.code}: ${ran.stderr}`)
      break
    }
    const [root] = (await readProfileJson(file)).merged
    if (root === undefined || root.calls === 0) wrong.push(`${which}: nothing recorded`)
  }
  return { harm: await harmOf(java), wrong, left, profile: wrong.length === 0 ? 'kept' : 'lost' }
}

/** @param as  command prefix: setpriv, unshare */
const record = (pid: number, out: string, as: readonly string[] = [], ...more: readonly string[]) =>
  asClient(as, 'record', `${pid}`, '--root', 'fix.Ticker.work', '--duration', '200ms', '--out', out, ...more)

function asClient(as: readonly string[], ...words: readonly string[]): Promise<Client> {
  const [program, ...args] = [...as, process.execPath, cli, ...words] as [string, ...string[]]
  return ended(startProcess(program, args, { cwd: '/' }))
}

async function ended(client: JavaProcess): Promise<Client> {
  const { code } = await client.exit
  return { code, stderr: client.stderr() + client.stdout(), pid: client.pid }
}

interface Client {
  readonly code: number | null
  /** All output. */
  readonly stderr: string
  readonly pid: number
}

/** Waits until the program answers. Returns harm if the program has ended or has printed a thread dump. */
async function harmOf({ outer, runs }: Contained): Promise<string[]> {
  if (!runs()) return [`it has ended: ${outer.stdout()}${outer.stderr()}`]
  outer.send('pause')
  await outer.line(/^paused /)
  return /thread dump/.test(outer.stdout()) ? ['it has printed its threads'] : []
}

/** Returns a copy of the runtime, which the test can remove. */
function copyOf(jdk: Jdk): string {
  const home = join(temporaryDirectory('jfluid-jdk-'), 'jdk')
  mkdirSync(home)
  for (const part of ['bin', 'lib', 'conf', 'release'])
    cpSync(join(jdk.home, part), join(home, part), {
      recursive: true,
      filter: (it) => !/src\.zip|jmods/.test(it),
    })
  return home
}

describe('a refused attach', () => {
  forEachJdk((jdk) => {
    const refused = (
      name: string,
      surroundings: Surroundings,
      expected: number,
      says: RegExp,
      ask: (java: Contained) => Promise<Client> = (java) =>
        record(java.pid, join(temporaryDirectory(), 'p.jfluid')),
      runtime: () => Jdk = () => jdk,
    ) =>
      it(`an attach to a JVM in a container is refused: ${name}`, async () => {
        const classes = await compileFixture(jdk, 'Ticker')
        await trials(`container: refused, ${name}`, jdk, times(2), async () => {
          const java = await startContained(runtime(), classes, ['fix.Ticker', '1', 'tiny'], surroundings)
          const { code, stderr, pid } = await ask(java)
          const wrong = code === expected && says.test(stderr) ? [] : [`${code}: ${stderr}`]
          return {
            harm: await harmOf(java),
            wrong,
            left: java.left(pid),
            profile: 'none',
          }
        })
      })

    const readOnly = { namespaces: MOUNT, setUp: 'mount -t tmpfs -o ro tmpfs /tmp' }
    refused('the /tmp of the JVM is read-only', readOnly, STATUS.attachDisabled, /its \/tmp is read-only/)

    // Detected after the JVM has not answered: only the JVM knows all its capabilities.
    refused(
      'the user of the JVM cannot write to /tmp',
      { namespaces: MOUNT, setUp: 'mount -t tmpfs -o mode=755 tmpfs /tmp', as: APP },
      STATUS.notNow,
      /probably it cannot create its attach socket \(its \/tmp is of uid 0 and gid 0, mode 755, and it runs as uid 1000 and gid 1000\)/,
    )

    const other = ({ pid }: Contained, ...words: string[]) => asClient(words, 'doctor', `${pid}`)
    refused(
      'the client runs as another user',
      { namespaces: ALL, setUp: PRIVATE, usersFrom: USERS, as: APP },
      STATUS.notOwner,
      /Run jfluid as root/,
      (java) => other(java, 'setpriv', '--reuid', '4243', '--regid', '4243', '--clear-groups'),
    )
    refused(
      'the client runs in another pid namespace',
      { namespaces: MOUNT },
      STATUS.noSuchProcess,
      /in a container jfluid sees only/,
      (java) => other(java, 'unshare', ...PIDS),
    )
    refused(
      'the client runs as root without CAP_SYS_PTRACE',
      { namespaces: ALL, setUp: PRIVATE },
      STATUS.notOwner,
      /has no permission to read/,
      (java) => other(java, ...MAY_NOT_LOOK),
    )
    // Like a client in a separate container with the pid namespace of the machine: it has another /tmp.
    refused(
      'the client runs as root without CAP_SYS_PTRACE in the pid namespace of the JVM',
      { namespaces: MOUNT, setUp: PRIVATE },
      STATUS.notOwner,
      /has no permission to read/,
      ({ pid }) => record(pid, join(temporaryDirectory(), 'p.jfluid'), MAY_NOT_LOOK),
    )
    let home = ''
    refused(
      'the JDK of the JVM has been deleted',
      { namespaces: MOUNT },
      STATUS.notAJvm,
      /has been deleted or replaced/,
      (java) => {
        rmSync(home, { recursive: true })
        return record(java.pid, join(temporaryDirectory(), 'p.jfluid'))
      },
      () => {
        home = copyOf(jdk)
        return { ...jdk, home, java: join(home, 'bin', 'java') }
      },
    )
  })
})
