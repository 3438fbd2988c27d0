// A target whose /tmp or shared memory is full or read-only. Both are separate file systems in a mount namespace of client and target.
// Needs root.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { cli } from '../support/jfluid.ts'
import { type Outcome, times, trials } from './trials.ts'

const IS_ROOT = process.getuid?.() === 0

interface Disk {
  readonly name: string
  /** Shell commands before the JVM starts. */
  readonly before: string
  /** Shell commands that fill or lock a directory while the JVM runs. */
  readonly spoil: string
  /** Shell commands that make the directory writable again. */
  readonly mend: string
  /** Exit code of the first attach, and of an attach with the agent of an earlier session. */
  readonly fresh: number
  readonly again: number
  readonly says: RegExp
}

const SHM = 'mount -t tmpfs -o size=40m tmpfs /dev/shm'
const TMP = 'mount -t tmpfs -o size=40m tmpfs /tmp'
const fill = (dir: string): string => `head -c 64m /dev/zero > ${dir}/fill 2>/dev/null || true`
const READ_ONLY = (dir: string): string => `mount -o remount,ro ${dir}`
const WRITABLE = (dir: string): string => `mount -o remount,rw ${dir}`

const DISKS: readonly Disk[] = [
  {
    name: 'shared memory full',
    ...{ before: `${SHM}; ${TMP}`, spoil: fill('/dev/shm'), mend: 'rm /dev/shm/fill' },
    ...{ fresh: 0, again: 0, says: /^/ },
  },
  {
    name: 'shared memory read-only',
    ...{ before: `${SHM}; ${TMP}`, spoil: READ_ONLY('/dev/shm'), mend: WRITABLE('/dev/shm') },
    ...{ fresh: 0, again: 0, says: /^/ },
  },
  {
    name: '/tmp full',
    ...{ before: `${SHM}; ${TMP}`, spoil: fill('/tmp'), mend: 'rm /tmp/fill' },
    ...{ fresh: 0, again: 73, says: /cannot write \/tmp\/\.jfluid_pid\d+ \(ENOSPC\)/ },
  },
  {
    name: '/tmp read-only',
    ...{ before: `${SHM}; ${TMP}`, spoil: READ_ONLY('/tmp'), mend: WRITABLE('/tmp') },
    // HotSpot binds its attach socket in /tmp, without which an attach is impossible.
    ...{ fresh: 78, again: 73, says: /its \/tmp is read-only|cannot write \/tmp\/\.jfluid_pid\d+ \(EROFS\)/ },
  },
  {
    name: 'shared memory and /tmp full',
    ...{
      before: `${SHM}; ${TMP}`,
      spoil: `${fill('/dev/shm')}; ${fill('/tmp')}`,
      mend: 'rm /dev/shm/fill /tmp/fill',
    },
    ...{
      fresh: 73,
      again: 73,
      says: /no directory can be shared with the JVM: \/dev\/shm: 0 MiB are free; \/tmp: 0 MiB are free/,
    },
  },
]

/** Runs a shell command in the target's mount namespace. */
const inside = async (pid: number, line: string): Promise<void> => {
  await promisify(execFile)('nsenter', ['-t', String(pid), '-m', 'sh', '-c', line])
}

it('the machine supports mount namespaces for these tests', () => expect(IS_ROOT).toBe(true))

forEachJdk((jdk: Jdk) => {
  it.each(DISKS)(
    'an attach with $name either works or is refused, and jfluid leaves nothing behind',
    { timeout: 900_000 },
    async (disk) => {
      for (const when of ['fresh', 'again'] as const) {
        await trials(
          `${disk.name}, ${when === 'fresh' ? 'first attach' : 'attached before'}`,
          jdk,
          times(10),
          async () => {
            // Class files and the profile are outside the hidden /tmp.
            const home = temporaryDirectory()
            const classes = await compileFixture(jdk, 'Witness')
            const mounts = `mount --make-rprivate / && mount -t tmpfs tmpfs /mnt && mkdir /mnt/home && mount --bind ${home} /mnt/home`
            const copy = `cp -r ${classes} /mnt/classes && mkdir /mnt/jfluid && mount --bind ${process.cwd()} /mnt/jfluid`
            const run = `exec ${jdk.java} -Xmx64m -XX:-UsePerfData -cp /mnt/classes fix.Witness 1`
            const script = `${mounts} && ${copy} && ${disk.before} && cd / && ${run}`
            const java = startProcess('unshare', ['-m', 'sh', '-c', script])
            await java.line(/^ready/)
            const harm: string[] = []
            const wrong: string[] = []
            if (when === 'again') {
              const first = await record(java, 'first')
              if (first.code !== 0) wrong.push(`first attach: ${first.said}`)
            }
            await inside(java.pid, disk.spoil)
            const spoilt = await record(java, 'spoilt')
            if (spoilt.code !== disk[when]) wrong.push(`${spoilt.code}: ${spoilt.said}`)
            if (spoilt.code !== 0 && !disk.says.test(spoilt.said)) wrong.push(spoilt.said)
            await inside(java.pid, disk.mend)
            const mended = await record(java, 'mended')
            if (mended.code !== 0) wrong.push(`next attach: ${mended.said}`)
            java.send('state')
            const state = await java.line(/^state/)
            if (!/wrong 0 thrown 0 /.test(state)) harm.push(state)
            if (/Full thread dump/.test(java.stdout())) harm.push('it printed its threads')
            const list = 'find /tmp /dev/shm -mindepth 1 ! -name ".java_pid*" ! -path "*hsperfdata*"'
            const { stdout } = await promisify(execFile)('nsenter', [
              '-t',
              String(java.pid),
              '-m',
              'sh',
              '-c',
              list,
            ])
            const left = stdout.split('\n').filter(Boolean)
            await java.kill()
            const profile = disk[when] === 0 ? await keptIn(join(home, 'spoilt')) : 'none'
            return { harm, wrong, profile, left } satisfies Outcome
          },
        )
      }
    },
  )
})

async function keptIn(file: string): Promise<Outcome['profile']> {
  return existsSync(file) && (await readProfile(file)).events.count > 0 ? 'kept' : 'lost'
}

/** @param name  file name of its profile, in a directory on an unaffected file system */
async function record(java: JavaProcess, name: string): Promise<{ code: number | null; said: string }> {
  const args = [
    'record',
    String(java.pid),
    '--root',
    'fix.Witness.root',
    '--duration',
    '300ms',
    '--out',
    `/mnt/home/${name}`,
  ]
  const client = startProcess('nsenter', [
    ...['-t', String(java.pid), '-m', process.execPath, cli.replace(process.cwd(), '/mnt/jfluid'), ...args],
  ])
  const { code } = await client.exit
  return { code, said: client.stderr() }
}
