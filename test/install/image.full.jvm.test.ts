// The container image of `npm run image`, run by Podman: beside a JVM in another container, with users and capabilities that differ.
// Needs root, and the packages podman and runc.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import {
  type Boxed,
  boxed,
  LIMITS,
  NO_NETWORK,
  podman,
  rootWith,
  whyNoContainers,
} from '../support/podman.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 })

const project = join(import.meta.dirname, '../..')
const IMAGE = 'localhost/jfluid:latest'
const out = temporaryDirectory('jfluid-image-')
const archive = join(out, 'jfluid-image-linux-x64.tar')

function makeImage(folder: string): void {
  const { status, stderr } = spawnSync('npm', ['run', '--silent', 'image', '--', folder], {
    ...{ cwd: project, encoding: 'utf8' },
  })
  expect(status, stderr).toBe(0)
}

function done(...words: readonly string[]): string {
  const { status, stdout, stderr, error } = podman(...words)
  expect(status, `podman ${words.join(' ')}: ${error?.message ?? stdout + stderr}`).toBe(0)
  return stdout
}

beforeAll(() => {
  expect(process.geteuid?.()).toBe(0)
  expect(whyNoContainers()).toBe('')
  makeImage(out)
  done('load', '--quiet', '--input', archive)
})
afterAll(() => {
  podman('rmi', '--force', 'localhost/jfluid:0.1.0', IMAGE)
})

/** Runs a container of the image. */
function jfluid(options: readonly string[], ...words: readonly string[]) {
  const { status, stdout, stderr } = podman(
    'run',
    '--rm',
    ...LIMITS,
    ...NO_NETWORK,
    ...options,
    IMAGE,
    ...words,
  )
  return { code: status, said: stdout + stderr }
}

const RECORD = ['record', '1', '--root', 'fix.Ticker.work', '--duration', '200ms', '--out']
const beside = ({ name }: Boxed) => ['--pid', `container:${name}`]

/** Whether the program works, and has printed no thread dump. */
async function isUnharmed({ outer }: Boxed): Promise<void> {
  outer.send('pause')
  await outer.line(/^paused /)
  expect(outer.stdout()).not.toMatch(/thread dump/)
}

it('the image prints the help of jfluid, and has a shell with cat, sleep, tar and mkfifo', () => {
  expect(jfluid([])).toMatchObject({ code: 0, said: expect.stringMatching(/Usage: jfluid/) })
  const { code, said } = jfluid(
    ['--entrypoint', 'sh'],
    '-c',
    'tar -c /etc/passwd | cat >/dev/null && sleep 0 && mkfifo /tmp/pipe && jfluid --version',
  )
  expect(said).toMatch(/^jfluid 0\.1\.0$/m)
  expect(code).toBe(0)
})

const DROPPED = ['--cap-drop', 'all', '--security-opt', 'no-new-privileges']
const APP = ['--user', '1000:1000']
const TRACER = ['--cap-add', 'SYS_PTRACE']
/** With this option, Podman mounts nothing writable. */
const READ_ONLY = ['--read-only', '--read-only-tmpfs=false']
const FOLDER = ['--tmpfs', '/out:rw,mode=1777']

describe('jfluid in a container in the process namespace of the JVM', () => {
  forEachJdk((jdk) => {
    let root = ''
    let classes = ''
    beforeAll(async () => {
      root = rootWith(jdk)
      classes = await compileFixture(jdk, 'Ticker')
      spawnSync('chmod', ['-R', 'a+rX', classes])
    })

    it.each([
      ['both run as root with the usual capabilities', [], []],
      [
        'both run as the same user, without capabilities and with read-only root file systems',
        [...APP, ...DROPPED, '--read-only'],
        [...APP, ...DROPPED, ...READ_ONLY, ...FOLDER],
      ],
      ['the JVM runs as uid 1000, and jfluid as root with SYS_PTRACE', APP, TRACER],
    ])('jfluid records and detaches if %s', async (_, itsOptions, options) => {
      await boxed(root, classes, itsOptions, async (box) => {
        for (const which of ['loaded', 'woken']) {
          const folder = options.includes('/out:rw,mode=1777') ? '/out' : '/tmp'
          const { code, said } = jfluid([...beside(box), ...options], ...RECORD, `${folder}/p.jfluid`)
          expect(said, which).toContain('nothing of jfluid remains')
          expect(code).toBe(0)
        }
        await isUnharmed(box)
      })
    })

    it.each([
      ['the JVM runs as uid 1000, and jfluid as root', APP, [], STATUS.notOwner, /--user 1000:1000/],
      [
        'the JVM runs as uid 1000, and jfluid as root with no capability but SYS_PTRACE',
        APP,
        ['--cap-drop', 'all', ...TRACER],
        STATUS.notOwner,
        /without the capability CAP_KILL/,
      ],
      ['the JVM runs as root, and jfluid as uid 1000', [], APP, STATUS.notOwner, /belongs to uid 0/],
      [
        'jfluid runs in another group',
        APP,
        ['--user', '1000:2000'],
        STATUS.notOwner,
        /belongs to group 1000/,
      ],
      ['the JVM has more capabilities', [], ['--cap-drop', 'all'], STATUS.notOwner, /SYS_PTRACE/],
      ['the /tmp of the JVM is read-only', READ_ONLY, [], STATUS.attachDisabled, /its \/tmp is read-only/],
      ['jfluid has nowhere to write', [], READ_ONLY, STATUS.cannotWrite, /read-only/],
    ])('jfluid refuses, and sends no signal, if %s', async (_, itsOptions, options, expected, says) => {
      await boxed(root, classes, itsOptions, async (box) => {
        const { code, said } = jfluid([...beside(box), ...options], ...RECORD, '/tmp/p.jfluid')
        expect(said).toMatch(says)
        expect(code, said).toBe(expected)
        await isUnharmed(box)
      })
    })
  })
})
