// The named pipes between a client of root and a JVM of JDK 11 that belongs to another user: who can open them, and what remains if the
// client is killed. Needs root, for three users, and a JDK 11 (`npm run jdks`).

import { execFile } from 'node:child_process'
import { chmodSync, chownSync, constants, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { readTargetProcess } from '../../src/attach/target-process.ts'
import { actingAs, userToBe } from '../../src/attach/target-user.ts'
import { FROM_AGENT, makePipes, TO_AGENT } from '../../src/session/doors/pipes.ts'
import { makeSessionDirectory } from '../../src/session/doors/session-directory.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { descriptors, filesOf, ownThreads, remainsOf, until } from '../live/remains.ts'
import {
  type JavaProcess,
  nodeFor,
  readableByAll,
  startJava,
  temporaryDirectory,
} from '../support/java-process.ts'
import { type Jdk, targets } from '../support/jdks.ts'
import { jfluid, startJfluid } from '../support/jfluid.ts'

const OWNER = { uid: 65534, gid: 65534 }
const OTHER = { uid: 65533, gid: 65533 }
const PIPES = [TO_AGENT, FROM_AGENT]
const ROOT_METHOD = ['--root', 'fix.Ticker.work']

let runtime: string | undefined

/** Returns a copy of JDK 11 that other users can run. */
function jdk11(): Jdk {
  const jdk = targets.find(({ version }) => version === 11)
  if (jdk === undefined) throw new Error('there is no JDK 11: npm run jdks fetches it')
  runtime ??= readableByAll(jdk.home)
  return { ...jdk, home: runtime, java: join(runtime, 'bin', 'java') }
}

/** Starts a JVM of the owner that calls the root all the time. */
async function ticker(): Promise<JavaProcess> {
  const jdk = jdk11()
  const classes = readableByAll(await compileFixture(jdk, 'Ticker'))
  const cwd = temporaryDirectory()
  chownSync(cwd, OWNER.uid, OWNER.gid)
  const java = startJava(jdk, ['-cp', classes, 'fix.Ticker', '1', 'tiny'], { ...OWNER, cwd })
  await java.line(/ready/)
  return java
}

/** Starts a recording as root. */
const startRecord = (java: JavaProcess): JavaProcess =>
  startJfluid(
    'record',
    `${java.pid}`,
    ...ROOT_METHOD,
    '--duration',
    '60s',
    '--out',
    join(temporaryDirectory(), 'p'),
  )

/** Expects that root can record, that the code is verified, and that nothing of this or an earlier client remains. */
async function expectRecords(java: JavaProcess, ...earlier: readonly number[]): Promise<void> {
  const flags = [...ROOT_METHOD, '--duration', '300ms', '--out', join(temporaryDirectory(), 'p')]
  const { code, stderr } = await jfluid('record', `${java.pid}`, ...flags)
  expect(code, stderr).toBe(0)
  expect(stderr).toMatch(/verified as original, nothing of jfluid remains/)
  expect(await remainsOf(java.pid, earlier)).toEqual([])
}

/** Program of another user: prints for each path the result of opening it. */
const TRY = `
  const { openSync } = require('node:fs')
  const attempt = ([path, mode]) => { try { openSync(path, Number(mode)); return 'ok' } catch (e) { return e.code } }
  console.log(JSON.parse(process.argv[1]).map(attempt).join(' '))`

/** Opens both pipes as a user, each for reading and for writing, without waiting. */
async function openedBy(user: { uid: number; gid: number }, directory: string): Promise<string> {
  const modes = [constants.O_RDONLY, constants.O_WRONLY].map((it) => it | constants.O_NONBLOCK)
  const attempts = PIPES.flatMap((name) => modes.map((mode) => [join(directory, name), mode]))
  const args = ['-e', TRY, JSON.stringify(attempts)]
  const { stdout } = await promisify(execFile)(nodeFor(user), args, { ...user, cwd: '/' })
  return stdout.trim()
}

/** Returns the session directory of a client, as soon as it has both pipes. Polls without a pause: the pipes exist for a moment only. */
function directoryWithPipes(client: JavaProcess): string | null {
  const latest = performance.now() + 20_000
  const isOfClient = (name: string) => name.startsWith('jfluid-') && name.split('-')[2] === `${client.pid}`
  while (performance.now() < latest) {
    const name = readdirSync('/dev/shm').find(isOfClient)
    if (name === undefined) continue
    const directory = join('/dev/shm', name)
    const names = readdirSync(directory)
    if (PIPES.every((it) => names.includes(it))) return directory
  }
  return null
}

describe('root and a JVM of another user on JDK 11', () => {
  it('the user of the JVM can open the pipes, and a third user cannot, even if the directory is accessible', async () => {
    const java = await ticker()
    const target = readTargetProcess(java.pid)!
    const directory = makeSessionDirectory(target)
    const pipes = actingAs(userToBe(target), () => makePipes(directory.inside))
    try {
      directory.giveTo(OWNER)
      expect(await openedBy(OTHER, directory.path)).toBe('EACCES EACCES EACCES EACCES')
      chmodSync(directory.path, 0o755)
      expect(await openedBy(OTHER, directory.path)).toBe('EACCES EACCES EACCES EACCES')
      expect(await openedBy(OWNER, directory.path)).toBe('ok ok ok ok')
    } finally {
      pipes.destroy()
      directory.remove()
    }
  })

  it('root records, and nothing remains', async () => {
    const java = await ticker()
    await expectRecords(java)
    await expectRecords(java)
  })

  it('a client that is killed before the agent has connected leaves no descriptor and no thread, and the next session no file', async () => {
    const java = await ticker()
    const client = startRecord(java)
    const directory = directoryWithPipes(client)
    // The JVM is stopped, so that the agent connects after the end of the client.
    process.kill(java.pid, 'SIGSTOP')
    expect(directory, client.stderr()).not.toBeNull()
    expect(readdirSync(directory!)).toEqual(expect.arrayContaining(PIPES))
    expect(await openedBy(OTHER, directory!)).toBe('EACCES EACCES EACCES EACCES')
    client.child.kill('SIGKILL')
    await client.exit
    process.kill(java.pid, 'SIGCONT')
    await expectRecords(java, client.pid)
    expect(java.child.exitCode).toBeNull()
    expect(java.stderr()).toBe('')
  })

  it('a client that is killed during the recording leaves no descriptor, no thread and no file', async () => {
    const java = await ticker()
    const before = descriptors(java.pid)
    const client = startRecord(java)
    await until(() => /recording/.test(client.stderr()))
    await until(() => ownThreads(java.pid).includes('jfluid-agent'))
    expect(filesOf(java.pid, client.pid).join()).not.toMatch(/agent$/)
    client.child.kill('SIGKILL')
    await client.exit
    expect(await remainsOf(java.pid, [client.pid])).toEqual([])
    expect(descriptors(java.pid).filter((it) => /fifo|pipe/.test(it))).toEqual(
      before.filter((it) => /fifo|pipe/.test(it)),
    )
    await expectRecords(java, client.pid)
  })
})
