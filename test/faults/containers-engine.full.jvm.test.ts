// JVMs in containers of a real engine (Podman as root), with jfluid outside, in the same container, or in a second container. Tests the
// cases that containers.full.jvm.test.ts simulates with unshare, and the parts that only an engine has: dropped capabilities, filters of
// system calls, control groups, names.
//
// No image is downloaded: the root is a directory with a JDK, the system's /usr as a lower layer, and an upper layer.

import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type JavaProcess, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { cli, readProfileJson } from '../support/jfluid.ts'
import { type Boxed, boxed, podman, rootWith, run, startPodman, whyNoContainers } from '../support/podman.ts'
import { type Outcome, TRIAL_MS, times, trials } from './trials.ts'

vi.setConfig({ testTimeout: 2 * TRIAL_MS, hookTimeout: TRIAL_MS })

const DROPPED = ['--cap-drop', 'all', '--security-opt', 'no-new-privileges']
const USER = ['--user', '1000:1000']
const OWN_USERS = ['--uidmap', '0:200000:65536']
const LITTLE_TMP = ['--tmpfs', '/tmp:rw,noexec,size=1m']
/** Directories that the container must be able to read: jfluid, and Node if it is not below /usr. */
const PROJECT = dirname(dirname(cli))
const OURS = [PROJECT, dirname(process.execPath)].flatMap((it) => ['--volume', `${it}:${it}:ro`])

let obstacle = ''
beforeAll(() => {
  obstacle = whyNoContainers()
})

it('the machine has a container engine (packages podman and runc) that can create containers', () => {
  expect(process.geteuid?.()).toBe(0)
  expect(obstacle).toBe('')
})

interface Client {
  readonly code: number | null
  /** All output. */
  readonly said: string
}

async function ended(client: JavaProcess): Promise<Client> {
  const { code } = await client.exit
  return { code, said: client.stderr() + client.stdout() }
}

const outside = (...words: readonly string[]) =>
  ended(startProcess(process.execPath, [cli, ...words], { cwd: '/' }))

/** Runs in the container of a JVM. */
const within = ({ name }: Boxed, ...words: readonly string[]) =>
  ended(startPodman('exec', name, process.execPath, cli, ...words))

/** Runs in a separate container. */
const beside = (root: string, options: readonly string[], ...words: readonly string[]) =>
  ended(startPodman(...run(root, [...OURS, ...options], process.execPath, cli, ...words)))

const recording = (target: string, out: string): string[] => [
  ...['record', target, '--root', 'fix.Ticker.work', '--duration', '200ms', '--out', out],
]

/** Waits until the program answers. Returns harm if the program has printed a thread dump. */
async function harmOf({ outer }: Boxed): Promise<string[]> {
  outer.send('pause')
  await outer.line(/^paused /)
  return /thread dump/.test(outer.stdout()) ? ['it has printed its threads'] : []
}

/** Returns the files of jfluid. Other files of this kind exist only if the container shares the pid namespace of the machine. */
function leftIn({ pid }: Boxed): string[] {
  const names = (place: string) => readdirSync(join(`/proc/${pid}/root`, place)).map((it) => `${place}/${it}`)
  return ['tmp', 'dev/shm'].flatMap(names).filter((it) => /\/(?:\.attach_pid|\.jfluid_pid|jfluid-)/.test(it))
}

const ENTERED: readonly (readonly [name: string, options: readonly string[]])[] = [
  ['default options', []],
  ['a read-only file system', ['--read-only']],
  [
    'a read-only file system and a writable /tmp',
    ['--read-only', '--read-only-tmpfs=false', '--tmpfs', '/tmp'],
  ],
  ['another user', USER],
  ['no capabilities', DROPPED],
  ['another user, no capabilities and a read-only file system', [...USER, ...DROPPED, '--read-only']],
  ['the pid namespace of the machine', ['--pid', 'host']],
  ['its own user namespace', OWN_USERS],
  [
    'its own user namespace, another user and a read-only file system',
    [...OWN_USERS, ...USER, '--read-only'],
  ],
  ['little shared memory', ['--shm-size', '1m']],
  ['a small /tmp without execute permission', LITTLE_TMP],
]

describe('a JVM in a container of a container engine', () => {
  forEachJdk((jdk) => {
    let root = ''
    let classes = ''
    beforeAll(async () => {
      root = rootWith(jdk)
      classes = await compileFixture(jdk, 'Ticker')
      spawnSync('chmod', ['-R', 'a+rX', classes])
    })

    const trial = (
      name: string,
      options: readonly string[],
      work: (box: Boxed) => Promise<string[]>,
      profile: Outcome['profile'],
    ) =>
      it(name, async () => {
        await trials(`engine: ${name}`, jdk, times(2), () =>
          boxed(root, classes, options, async (box) => {
            const wrong = await work(box)
            const isLost = profile === 'kept' && wrong.length > 0
            return { harm: await harmOf(box), wrong, left: leftIn(box), profile: isLost ? 'lost' : profile }
          }),
        )
      })

    describe('an attach from outside by container name', () => {
      for (const [name, options] of ENTERED)
        trial(
          `an attach by container name works with ${name}`,
          options,
          async ({ name, pid }) => {
            const wrong: string[] = []
            for (const which of ['loaded', 'woken']) {
              const file = join(temporaryDirectory(), 'p.jfluid')
              const { code, said } = await outside(...recording(`container:${name}`, file))
              if (code !== 0 || !said.includes('nothing of jfluid remains'))
                return [`${which}: ${code}: ${said}`]
              const [top] = (await readProfileJson(file)).merged
              if (top === undefined || top.calls === 0) wrong.push(`${which}: nothing recorded`)
            }
            const [found, listed] = await Promise.all([outside('doctor', `podman:${name}`), outside('ps')])
            if (found.code !== 0) wrong.push(`doctor: ${found.code}: ${found.said}`)
            const row = new RegExp(`^${pid} .* yes, .*fix\\.Ticker$`, 'm')
            if (!row.test(listed.said)) wrong.push(`ps: ${listed.said}`)
            return wrong
          },
          'kept',
        )
    })

    describe('an attach from the same or another container', () => {
      const out = '/tmp/p.jfluid'
      const entered = ({ code, said }: Client) =>
        code === 0 && said.includes('nothing of jfluid remains') ? [] : [`${code}: ${said}`]
      trial(
        'an attach from the container of the JVM works',
        OURS,
        async (box) => entered(await within(box, ...recording('1', out))),
        'none',
      )
      trial(
        'an attach from another container in the pid namespace of the JVM works',
        [],
        async (box) => {
          return entered(await beside(root, ['--pid', `container:${box.name}`], ...recording('1', out)))
        },
        'none',
      )
      trial(
        'an attach from another container in the pid namespace of the machine works',
        [],
        async ({ pid }) => {
          return entered(await beside(root, ['--pid', 'host'], ...recording(`${pid}`, out)))
        },
        'none',
      )
    })

    describe('a refused attach', () => {
      const refused = ({ code, said }: Client, expected: number, says: RegExp) =>
        code === expected && says.test(said) ? [] : [`${code}: ${said}`]
      const out = () => join(temporaryDirectory(), 'p.jfluid')

      trial(
        'an attach without room for the event buffer is refused before the agent is loaded',
        ['--shm-size', '1m', ...LITTLE_TMP],
        async ({ name }) => {
          const ran = await outside(...recording(`container:${name}`, out()))
          const found = await outside('doctor', `container:${name}`)
          return [
            ...refused(
              ran,
              STATUS.cannotWrite,
              /\/dev\/shm of the JVM: [01] MiB are free; \/tmp of the JVM: [01] MiB/,
            ),
            ...refused(found, STATUS.cannotWrite, /other agents +none/),
          ]
        },
        'none',
      )
      trial(
        'an attach to a JVM in a paused container is refused',
        [],
        async ({ name }) => {
          podman('pause', name)
          const ran = await outside(...recording(`container:${name}`, out()))
          podman('unpause', name)
          return refused(ran, STATUS.notNow, /is not running: its state is paused/)
        },
        'none',
      )
      it('a container name that does not exist is refused', async () => {
        const { code, said } = await outside('doctor', 'podman:jfluid-trial-none')
        expect(code, said).toBe(STATUS.noSuchProcess)
        expect(said).toMatch(/podman says: .*no such container/i)
      })
    })

    // No signal may be sent: the JVM would look for a request in its own /tmp, find none, and print all its threads.
    it('a JVM outside the container is profiled only if the container of the client may inspect the JVM', async () => {
      await trials('engine: a JVM outside, a client inside', jdk, times(2), async () => {
        const outer = startJava(jdk, ['-cp', classes, 'fix.Ticker', '1', 'tiny'])
        await outer.line(/^ready/)
        const words = recording(`${outer.pid}`, '/tmp/p.jfluid')
        const shut = await beside(root, ['--pid', 'host'], ...words)
        const open = await beside(root, ['--pid', 'host', '--cap-add', 'SYS_PTRACE'], ...words)
        const harm = await harmOf({ name: '', outer, pid: outer.pid })
        await outer.kill()
        const wrong = [
          ...(shut.code === STATUS.notOwner && /--cap-add=SYS_PTRACE/.test(shut.said)
            ? []
            : [`${shut.code}: ${shut.said}`]),
          ...(open.code === 0 ? [] : [`${open.code}: ${open.said}`]),
        ]
        return { harm, wrong, left: null, profile: 'none' }
      })
    })
  })
})
