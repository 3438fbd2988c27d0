// The archive of `npm run bundle` in a container beside that of the JVM: both have the same pid namespace and nothing else in common, as
// `kubectl debug --target` and a pod with shareProcessNamespace create them. The namespaces are made by unshare and nsenter. Needs root,
// and the packages debootstrap and util-linux.

import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type Contained, cannotContain, PIDS, PRIVATE, startContained } from '../support/contained.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { minimalRoot } from '../support/minimal-root.ts'
import { expectDetached, twoSessions } from './two-sessions.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 600_000 })

const project = join(import.meta.dirname, '../..')
const OTHERS = ['--mount', '--net', '--ipc', '--uts', '--cgroup']
const APP = ['setpriv', '--reuid', '1000', '--regid', '1000', '--clear-groups']
/** Command prefix of a program that is not the first process of its pid namespace. */
const POD = ['sh', '-c', 'exec 3<&0; "$@" <&3 & wait', 'sh']

const out = temporaryDirectory('jfluid-bundle-')
/** Mount point of a root directory. */
const place = temporaryDirectory('jfluid-root-')
let setUp = ''
beforeAll(() => {
  expect(process.geteuid?.()).toBe(0)
  expect(cannotContain(...OTHERS, ...PIDS)).toBe('')
  for (const [program, ...words] of [
    ['npm', 'run', '--silent', 'bundle', '--', out],
    ['tar', '-xzf', join(out, 'jfluid-linux-x64.tar.gz'), '-C', out],
  ] as const) {
    const { status, stderr } = spawnSync(program, words, { cwd: project, encoding: 'utf8' })
    expect(status, stderr).toBe(0)
  }
  setUp = [
    'mount --make-rprivate /',
    `mount -t tmpfs tmpfs ${place}`,
    `cd ${place}`,
    'mkdir upper work root',
    `mount -t overlay overlay -o lowerdir=${minimalRoot()},upperdir=upper,workdir=work root`,
    `mount --bind ${join(out, 'jfluid-linux-x64')} root/opt`,
    'mount -t proc proc root/proc',
  ].join(' && ')
})

/** Runs a shell script in a new container with the pid namespace of the JVM. @returns its output */
async function beside({ pid }: Contained, user: readonly string[], script: string): Promise<string> {
  const inside = [...user, '/bin/sh', '-euc', script]
  const p = startProcess(
    'nsenter',
    [
      ...['--target', `${pid}`, '--pid', 'unshare', ...OTHERS],
      ...['sh', '-c', `${setUp} && exec chroot root "$@"`, 'sh', ...inside],
    ],
    { cwd: '/', env: { NODE_EXTRA_CA_CERTS: undefined } }, // a path of this machine
  )
  const { code } = await p.exit
  const said = p.stdout() + p.stderr()
  expect(code, said).toBe(0)
  return said
}

/** Whether the program works, has printed no thread dump, and has no files of jfluid. */
async function expectUnharmed({ outer, pid }: Contained): Promise<void> {
  outer.send('pause')
  await outer.line(/^paused /)
  expect(outer.stdout()).not.toMatch(/thread dump/)
  const files = ['tmp', 'dev/shm'].flatMap((it) => readdirSync(join('/proc', `${pid}`, 'root', it)))
  expect(files.filter((it) => /jfluid|attach_pid/.test(it))).toEqual([])
}

describe('jfluid of the archive in another container in the process namespace of the JVM', () => {
  forEachJdk((jdk) => {
    it.each([
      ['the JVM is the first process, and both run as root', [], [], '1'],
      ['the JVM is the first process, and both run as uid 1000', APP, [], '1'],
      // The shell has the place of the pod's first process.
      ['a pod has another first process, and both run as root', [], POD, 'fix.Ticker'],
      ['a pod has another first process, and both run as uid 1000', APP, POD, 'fix.Ticker'],
    ])('two sessions work if %s', async (_, user, pod, target) => {
      const java = await startContained(
        jdk,
        await compileFixture(jdk, 'Ticker'),
        ['fix.Ticker', '1', 'tiny'],
        {
          namespaces: [...OTHERS, ...PIDS],
          setUp: PRIVATE,
          as: [...pod, ...user],
        },
      )
      const said = await beside(
        java,
        user,
        [
          'if command -v java || command -v node; then exit 1; fi',
          '/opt/bin/jfluid ps',
          twoSessions('/opt/bin/jfluid', target),
          '/opt/bin/jfluid report /tmp/p.jfluid',
        ].join('\n'),
      )
      expectDetached(said)
      expect(said).toMatch(/Ticker\.work/)
      await expectUnharmed(java)
    })
  })
})
