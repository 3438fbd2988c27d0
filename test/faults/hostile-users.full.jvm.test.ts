// Another user creates files at paths that a JVM and jfluid use: jfluid does not follow them, trust them, wait for them or change them, as
// owner and as root. Needs root, for three users.

import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { until } from '../live/remains.ts'
import {
  type JavaProcess,
  nodeFor,
  readableByAll,
  startJava,
  startProcess,
  temporaryDirectory,
} from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { cli } from '../support/jfluid.ts'
import { type Chance, type Outcome, times, trials } from './trials.ts'

const OWNER = { uid: 65534, gid: 65534 }
const OTHER = { uid: 65533, gid: 65533 }
const ROOT = { uid: 0, gid: 0 }

/** Creates a file of root, which must not change. */
function precious(): { path: string; isTouched(): boolean } {
  const dir = temporaryDirectory()
  chmodSync(dir, 0o755)
  const path = join(dir, 'precious')
  writeFileSync(path, 'as it was', { mode: 0o600 })
  const before = lstatSync(path)
  const isTouched = (): boolean => {
    const now = lstatSync(path)
    const same = now.uid === before.uid && now.gid === before.gid && now.mode === before.mode
    return !same || readFileSync(path, 'utf8') !== 'as it was'
  }
  return { path, isTouched }
}

interface Planted {
  readonly what: string
  readonly path: string
  /** Whether the session must fail. */
  readonly refused: boolean
  remove(): void
}

/** Creates a file of the other user at a path that jfluid or the JVM uses. */
async function plant(pid: number, leadsTo: string, chance: Chance): Promise<Planted> {
  const path = `/tmp/${chance.of([`.java_pid${pid}`, `.jfluid_pid${pid}`, `.attach_pid${pid}`])}`
  const isSocketPath = path.includes('java_pid')
  const how = chance.of(isSocketPath ? ['file', 'link', 'directory', 'socket'] : ['file', 'link'])
  let close = (): void => {}
  if (how === 'file') writeFileSync(path, `jar=/tmp/evil.jar;dir=/tmp;build=0;token=0`)
  if (how === 'link') symlinkSync(leadsTo, path)
  if (how === 'directory') mkdirSync(path)
  if (how === 'socket') {
    const server = createServer((socket) => socket.end('0\nreturn code: 0\n')).listen(path)
    await new Promise((resolve) => server.once('listening', resolve))
    close = () => server.close()
  }
  lchownSync(path, OTHER.uid, OTHER.gid)
  return {
    what: `${path.replace(/\d+$/, '<pid>')} is a ${how}`,
    path,
    refused: isSocketPath,
    remove() {
      close()
      rmSync(path, { recursive: true, force: true })
    },
  }
}

async function ticker(jdk: Jdk): Promise<JavaProcess> {
  const classes = readableByAll(await compileFixture(jdk, 'Ticker'))
  const cwd = temporaryDirectory()
  chownSync(cwd, OWNER.uid, OWNER.gid)
  const java = startJava(jdk, ['-cp', classes, 'fix.Ticker', '1', 'tiny'], { ...OWNER, cwd })
  await java.line(/ready/)
  return java
}

/** Runs `jfluid record` as that user for half a second. */
async function record(pid: number, user: { uid: number; gid: number }) {
  const out = temporaryDirectory()
  chownSync(out, user.uid, user.gid)
  chmodSync(out, 0o755) // the mode of the file protects it from other users
  const file = join(out, 'p.jfluid')
  const args = ['record', String(pid), '--root', 'fix.Ticker.work', '--duration', '500ms', '--out', file]
  const client = startProcess(nodeFor(user), [cli, ...args], { ...user, cwd: '/' })
  const { code } = await client.exit
  return { code, said: client.stderr(), file, pid: client.pid }
}

async function trial(jdk: Jdk, chance: Chance): Promise<Outcome> {
  const java = await ticker(jdk)
  const theirs = precious()
  const planted = await plant(java.pid, theirs.path, chance)
  const user = chance.of([OWNER, ROOT])
  const who = `${planted.what}, for ${user === ROOT ? 'root' : 'the owner'}`
  try {
    const { code, said, file, pid } = await record(java.pid, user)
    const harm: string[] = []
    const wrong: string[] = []
    if (theirs.isTouched()) harm.push(`${who}: what the link leads to was changed`)
    if (java.child.exitCode !== null || java.child.signalCode !== null) harm.push(`${who}: the target ended`)
    if (/Full thread dump/.test(java.stdout())) harm.push(`${who}: the target printed its threads`)
    if (code !== (planted.refused ? 77 : 0)) wrong.push(`${who}: ended with ${code}: ${said}`)
    if (code === 0 && (statSync(file).mode & 0o777) !== 0o600) wrong.push(`${who}: the profile is not 0600`)
    const left = ['/tmp', '/dev/shm'].flatMap((dir) =>
      readdirSync(dir).filter((name) => new RegExp(`^jfluid-\\d+-${pid}-`).test(name)),
    )
    return { harm, wrong, profile: planted.refused ? 'none' : existsSync(file) ? 'kept' : 'lost', left }
  } finally {
    planted.remove()
    await java.kill()
  }
}

describe('another user of the machine', () => {
  // In `npm run test:live` another user accesses the directory and the socket of a session: live/owner-only.jvm.test.ts.
  forEachJdk((jdk) => {
    it('files, links and sockets of another user are neither followed nor changed', {
      timeout: 3_600_000,
    }, async () => {
      await trials('another user plants files, links, sockets', jdk, times(30), (chance) =>
        trial(jdk, chance),
      )
    })

    it('another user can neither attach to the JVM nor read the profile', { timeout: 120_000 }, async () => {
      const java = await ticker(jdk)
      const { code, said } = await record(java.pid, OTHER)
      expect([code, said]).toEqual([
        77,
        expect.stringMatching(/belongs to uid 65534, and jfluid runs as uid 65533/),
      ])
      const owners = await record(java.pid, OWNER)
      expect([owners.code, owners.said]).toEqual([0, expect.any(String)])
      for (const command of [['report'], ['export', '--format', 'json']]) {
        const reader = startProcess(nodeFor(OTHER), [cli, ...command, owners.file], { ...OTHER, cwd: '/' })
        expect((await reader.exit).code).toBe(66)
      }
      await until(() => !readdirSync('/dev/shm').some((name) => name.includes(`-${owners.pid}-`)))
      await java.kill()
    })
  })
})
