// The directory of a session is private: another user cannot open it.

import { execFile } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { createRing } from '../../src/events/ring.ts'
import { chunksOffset } from '../../src/events/ring-layout.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, nodeFor, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { startJfluid } from '../support/jfluid.ts'
import { itOnlyIf } from '../support/only-if.ts'
import { until } from './remains.ts'

const IS_ROOT = process.getuid?.() === 0
/** User id and group id of the account `nobody` in most Linux distributions. */
const NOBODY = { uid: 65534, gid: 65534 }

/** Returns the listening sockets of a process: addresses of TCP sockets, paths of UNIX sockets. */
function listening(pid: number): string[] {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
      } catch {
        return [] // closed after it was listed
      }
    }),
  )
  const rows = (table: string): string[][] =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/ +/))
  const LISTEN = '0A'
  const ACCEPTS = 0x10000
  return [
    ...['tcp', 'tcp6'].flatMap((table) =>
      rows(table)
        .filter((it) => it[3] === LISTEN && own.has(it[9]!))
        .map((it) => `${table} ${it[1]}`),
    ),
    ...rows('unix')
      .filter((it) => (Number.parseInt(it[3] ?? '0', 16) & ACCEPTS) !== 0 && own.has(it[6]!))
      .map((it) => `${it[7]}`),
  ].sort()
}

const permissions = (path: string): number => statSync(path).mode & 0o7777

/** Program of a process of another user. Prints the result of listing the directory, opening a file in it, and connecting to the socket. */
const TRY = `
  const { readdirSync, openSync } = require('node:fs')
  const [dir, file] = process.argv.slice(1)
  const attempt = (work) => { try { work(); return 'ok' } catch (e) { return e.code } }
  const seen = [attempt(() => readdirSync(dir)), attempt(() => openSync(file, 'r'))]
  const socket = require('node:net').connect(dir + '/link')
  socket.on('connect', () => { console.log([...seen, 'ok'].join(' ')); process.exit() })
  socket.on('error', (e) => { console.log([...seen, e.code].join(' ')); process.exit() })`

async function asNobody(dir: string, file: string): Promise<string> {
  const options = { ...NOBODY, cwd: '/' }
  const { stdout } = await promisify(execFile)(nodeFor(NOBODY), ['-e', TRY, dir, file], options)
  return stdout.trim()
}

/** Returns the session directory of a client that waits for its agent. */
async function directoryOf({ pid }: JavaProcess): Promise<string> {
  const mine = (name: string) => name.startsWith('jfluid-') && name.split('-')[2] === String(pid)
  const find = () =>
    ['/dev/shm', '/tmp'].flatMap((parent) =>
      readdirSync(parent)
        .filter(mine)
        .map((name) => join(parent, name)),
    )
  await until(() => find().some((dir) => readdirSync(dir).includes('link')))
  return find()[0]!
}

// Under `run` the socket exists until the launched program has become a JVM, which does not happen here.
const waiting = (): JavaProcess => {
  const out = join(temporaryDirectory(), 'p.jfluid')
  const old = process.umask(0)
  try {
    return startJfluid('run', '--root', 'fix.Ticker.work', '--record', out, '--', 'sleep', '60')
  } finally {
    process.umask(old)
  }
}

it('the socket directory has mode 0700 and belongs to the client for any umask, and the token exists only in this directory', async () => {
  const client = waiting()
  const dir = await directoryOf(client)
  expect(permissions(dir)).toBe(0o700)
  expect(statSync(dir).uid).toBe(process.getuid?.())
  expect(readdirSync(dir).sort()).toEqual(['link', 'token'])
  expect(permissions(join(dir, 'token'))).toBe(0o600)
  expect(listening(client.pid)).toEqual([expect.stringMatching(/\/link$/)]) // the session directory is not accessible to other users
  const token = readFileSync(join(dir, 'token'), 'utf8')
  expect(token).toMatch(/^[0-9a-f]{32}$/)
  const read = (pid: number | string, what: string) => readFileSync(`/proc/${pid}/${what}`, 'latin1')
  const isProgram = (pid: string): boolean => {
    try {
      return read(pid, 'comm') === 'sleep\n'
    } catch {
      return false // an earlier child, which has ended
    }
  }
  const program = () => read(client.pid, `task/${client.pid}/children`).trim().split(' ').find(isProgram)
  await until(() => program() !== undefined)
  for (const pid of [client.pid, program()!])
    for (const what of ['cmdline', 'environ']) expect(read(pid, what)).not.toContain(token)
  client.child.kill('SIGTERM') // jfluid passes the signal on to the program
  await client.exit
})

itOnlyIf(IS_ROOT, 'needs root')(
  'another user can neither list the session directory nor connect to the socket of the session',
  async () => {
    const client = waiting()
    const dir = await directoryOf(client)
    const link = join(dir, 'link')
    expect(await asNobody(dir, link)).toBe('EACCES EACCES EACCES')
    // Only the directory denies access. If the directory is accessible, access succeeds (a socket cannot be opened as a file).
    chmodSync(dir, 0o755)
    expect(await asNobody(dir, link)).toBe('ok ENXIO ok')
    client.child.kill('SIGTERM') // jfluid passes the signal on to the program
    await client.exit
  },
)

forNewestJdk((jdk) => {
  it('the directory and the buffer of a session are private and deleted at its end, and jfluid has no listening socket', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1'])
    await java.line(/ready/)
    const old = process.umask(0)
    const before = listening(process.pid)
    expect(listening(java.pid)).toEqual([])
    const door = await attachDoor(java.pid)
    try {
      // HotSpot's own socket is accessible only to its user and root. jfluid has no listening socket on either side.
      expect(listening(java.pid)).toEqual([expect.stringMatching(`/\\.java_pid${java.pid}(\\.tmp)?$`)])
      expect(listening(process.pid)).toEqual(before)
      const ring = join(door.dir, 'ring')
      createRing(ring, { chunkBytes: 4096, chunkCount: 16 })
      expect([permissions(door.dir), permissions(ring)]).toEqual([0o700, 0o600])
      expect(statSync(ring).size).toBeGreaterThan(chunksOffset(16))
      if (IS_ROOT) expect(await asNobody(door.dir, ring)).toBe('EACCES EACCES EACCES')
    } finally {
      process.umask(old)
      door.leave()
      door.link.close()
    }
    expect(readdirSync('/dev/shm').filter((name) => door.dir.endsWith(name))).toEqual([])
  })
})
