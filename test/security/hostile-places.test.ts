// Directories in which other users can write, and a directory of jfluid that now belongs to another user. jfluid does not block on
// files there, follow links, or change files of other users. The test itself acts as the other user if that is sufficient;
// errors that only root can make are tested as root.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findPerfData } from '../../src/attach/hsperfdata.ts'
import {
  connectToListener,
  hasOwnSocket,
  openTmp,
  releaseValue,
  removeSocket,
} from '../../src/attach/target-facts.ts'
import { readTargetProcess, type TargetProcess } from '../../src/attach/target-process.ts'
import { createRing } from '../../src/events/ring.ts'
import {
  makeSessionDirectory,
  removeLeftovers,
  removeLeftoversIn,
  removeTriggers,
} from '../../src/session/doors/session-directory.ts'
import { type Link, LinkServer, newToken } from '../../src/wire/link.ts'
import { describeOnlyIf, itOnlyIf } from '../support/only-if.ts'

const IS_ROOT = process.geteuid?.() === 0
const ONLY_ROOT = 'only root can give files to other users'
const NOBODY = { uid: 65534, gid: 65534 }
const self = { uid: process.geteuid!(), gid: process.getegid!() }

let dir: string
/** The target of a link. It must not change. */
let precious: string
let before: string

const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0]
/** A process id above the kernel's maximum. */
const DEAD = 2 ** 22 + 1

function describePrecious(): string {
  return [precious, ...readdirSync(precious).map((name) => join(precious, name))]
    .map((path) => {
      const { mode, uid, gid, size } = lstatSync(path)
      return `${path} ${mode} ${uid} ${gid} ${size}`
    })
    .join('\n')
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'jfluid-hostile-'))
  precious = join(dir, 'precious')
  mkdirSync(precious)
  for (const name of ['link', 'ring', 'error', 'token', 'notes.txt', 'a.jfr']) {
    writeFileSync(join(precious, name), name)
  }
  before = describePrecious()
})

afterEach(() => rmSync(dir, { recursive: true, force: true }))

describe('a session directory owned by the user of the target', () => {
  it.each(['removed immediately', 'removed after its buffer was created'])(
    'after a session directory is replaced by a link, jfluid does not follow the link (session: %s)',
    (when) => {
      const session = makeSessionDirectory(null)
      session.giveTo(self)
      const away = `${session.path}-away`
      renameSync(session.path, away)
      symlinkSync(precious, session.path)
      try {
        if (when !== 'removed immediately') {
          createRing(join(session.inside, 'ring'), { chunkBytes: 4096, chunkCount: 1, owner: self })
          expect(readdirSync(away)).toEqual(['ring'])
        }
        session.remove()
        expect(describePrecious()).toBe(before)
        expect(readdirSync(away)).toEqual([]) // the file of jfluid is also removed
      } finally {
        rmSync(session.path, { force: true })
        rmSync(away, { recursive: true, force: true })
      }
    },
  )

  it("files of the target's user in the session directory are kept", () => {
    const session = makeSessionDirectory(null)
    session.giveTo(self)
    mkdirSync(join(session.path, 'theirs'))
    symlinkSync(precious, join(session.path, 'theirs', 'link'))
    symlinkSync(join(precious, 'notes.txt'), join(session.path, 'ring'))
    session.remove()
    expect(readdirSync(session.path)).toEqual(['theirs'])
    rmSync(session.path, { recursive: true })
    expect(describePrecious()).toBe(before)
  })

  it("no buffer is created if a link exists at the buffer's path", () => {
    const session = makeSessionDirectory(null)
    session.giveTo(self)
    symlinkSync(join(precious, 'new'), join(session.path, 'ring'))
    expect(() => createRing(join(session.inside, 'ring'), { chunkBytes: 4096, chunkCount: 1 })).toThrow(
      'cannot create the event buffer',
    )
    session.remove()
    expect(describePrecious()).toBe(before)
  })

  itOnlyIf(IS_ROOT, ONLY_ROOT)(
    'the owner of a session directory is changed together with the owner of its files; targets of links keep their owner',
    () => {
      const session = makeSessionDirectory(null)
      symlinkSync(join(precious, 'notes.txt'), join(session.path, 'link'))
      writeFileSync(join(session.path, 'token'), '')
      session.giveTo(NOBODY)
      expect(describePrecious()).toBe(before)
      expect(
        [session.path, join(session.path, 'link'), join(session.path, 'token')].map(
          (it) => lstatSync(it).uid,
        ),
      ).toEqual([NOBODY.uid, NOBODY.uid, NOBODY.uid])
      session.remove()
      expect(existsSync(session.path)).toBe(false)
    },
  )
})

// If root acted as another user to create the directory, that user may have created entries before.
describeOnlyIf(IS_ROOT, ONLY_ROOT)('hard links in a session directory whose owner changes', () => {
  it.each(['token', 'notes.txt'])('the owner of the hard link %s does not change', (name) => {
    const session = makeSessionDirectory(null)
    // Hard links exist only within a file system.
    const elsewhere = `${session.path}-elsewhere`
    writeFileSync(elsewhere, 'precious')
    try {
      linkSync(elsewhere, join(session.path, name))
      session.giveTo(NOBODY)
      expect(statSync(elsewhere).uid).toBe(self.uid)
      expect(statSync(session.path).uid).toBe(NOBODY.uid)
    } finally {
      rmSync(elsewhere)
      rmSync(session.path, { recursive: true })
    }
  })
})

describe('leftovers of killed processes', () => {
  const left = (random: string) => join(dir, `jfluid-${namespace}-${DEAD}-${random}`)

  it('leftovers are removed, but link targets and other files are kept', () => {
    mkdirSync(left('aaaaaa'))
    symlinkSync(precious, join(left('aaaaaa'), 'inner'))
    symlinkSync(precious, left('bbbbbb'))
    writeFileSync(left('cccccc'), 'a file')
    removeLeftovers([dir])
    expect(describePrecious()).toBe(before)
    expect(existsSync(left('aaaaaa'))).toBe(false)
    expect(lstatSync(left('bbbbbb')).isSymbolicLink()).toBe(true)
    expect(existsSync(left('cccccc'))).toBe(true)
  })

  it('leftovers are removed only down to the directory depth that recordings use', () => {
    mkdirSync(join(left('aaaaaa'), 'repository', 'chunks'), { recursive: true })
    writeFileSync(join(left('aaaaaa'), 'repository', 'chunks', 'one.jfr'), '')
    mkdirSync(join(left('bbbbbb'), '1', '2', '3'), { recursive: true })
    writeFileSync(join(left('bbbbbb'), '1', '2', '3', 'file'), '')
    symlinkSync(precious, join(left('bbbbbb'), '1', 'link'))
    removeLeftovers([dir])
    expect(existsSync(left('aaaaaa'))).toBe(false)
    expect(readdirSync(left('bbbbbb'), { recursive: true }).sort()).toEqual([
      '1',
      '1/2',
      '1/2/3',
      '1/2/3/file',
    ])
    expect(describePrecious()).toBe(before)
  })

  itOnlyIf(IS_ROOT, ONLY_ROOT)(
    'only session files are removed from a leftover directory of another user',
    () => {
      mkdirSync(left('aaaaaa'))
      writeFileSync(join(left('aaaaaa'), 'ring'), '')
      mkdirSync(left('bbbbbb'))
      writeFileSync(join(left('bbbbbb'), 'ring'), '')
      mkdirSync(join(left('bbbbbb'), 'theirs'))
      symlinkSync(precious, join(left('bbbbbb'), 'theirs', 'link'))
      for (const it of [left('aaaaaa'), left('bbbbbb')]) chownSync(it, NOBODY.uid, NOBODY.gid)
      removeLeftovers([dir])
      expect(existsSync(left('aaaaaa'))).toBe(false)
      expect(readdirSync(left('bbbbbb'))).toEqual(['theirs'])
      expect(describePrecious()).toBe(before)
    },
  )

  it('the search for leftovers does not block on pipes, links or endless files', () => {
    const stale = `jar=a;dir=${join(dir, 'gone')};build=0`
    writeFileSync(join(dir, '.jfluid_pid1'), stale)
    execFileSync('mkfifo', [join(dir, '.jfluid_pid2')])
    symlinkSync('/dev/zero', join(dir, '.jfluid_pid3'))
    writeFileSync(join(precious, 'launch'), stale)
    symlinkSync(join(precious, 'launch'), join(dir, '.jfluid_pid4'))
    mkdirSync(join(dir, '.jfluid_pid5'))
    removeLeftovers([dir])
    expect(
      readdirSync(dir)
        .filter((name) => name.startsWith('.jfluid'))
        .sort(),
    ).toEqual(['.jfluid_pid2', '.jfluid_pid3', '.jfluid_pid4', '.jfluid_pid5'])
    expect(readFileSync(join(precious, 'launch'), 'utf8')).toBe(stale)
  })
})

describe("files in a target's root directory, which the target's user controls", () => {
  let target: TargetProcess
  beforeEach(() => {
    const own = readTargetProcess(process.pid)!
    const vmLibrary = { kind: 'hotspot', path: '/jdk/lib/server/libjvm.so' } as const
    target = { ...own, root: join(dir, 'root'), perfDataName: `hsperfdata_me/${own.nsPid}`, vmLibrary }
    mkdirSync(join(target.root, 'tmp', 'hsperfdata_me'), { recursive: true })
    mkdirSync(join(target.root, 'jdk', 'lib', 'server'), { recursive: true })
  })
  const perf = () => join(target.root, 'tmp', 'hsperfdata_me', String(target.nsPid))
  const release = () => join(target.root, 'jdk', 'release')

  it("reading a target's files does not block", () => {
    execFileSync('mkfifo', [perf(), release()])
    expect(findPerfData(target)).toBeUndefined()
    expect(releaseValue(target, 'JAVA_VERSION')).toBeUndefined()
  })

  it('the performance data of a target is read from the mapped file, even if another user has a file that is named after the same process id', () => {
    const other = join(target.root, 'tmp', 'hsperfdata_app')
    mkdirSync(other)
    for (const path of [perf(), join(other, String(target.nsPid))]) writeFileSync(path, 'damaged')
    expect(findPerfData(target)?.path).toBe(perf())
  })

  it("a target's files are read up to a maximum size", () => {
    symlinkSync('/dev/zero', perf())
    symlinkSync('/dev/zero', release())
    expect(findPerfData(target)).toBeUndefined()
    expect(releaseValue(target, 'JAVA_VERSION')).toBeUndefined()
    rmSync(release())
    writeFileSync(release(), `JAVA_VERSION="17.0.1"\n${'#'.repeat(3 << 20)}\nMODULES="java.base"\n`)
    expect(releaseValue(target, 'JAVA_VERSION')).toBe('17.0.1')
    expect(releaseValue(target, 'MODULES')).toBeUndefined() // beyond the part of the file that is read
  })

  it("invalid contents of a target's files are ignored", () => {
    writeFileSync(perf(), Buffer.alloc(4096, 0xca))
    expect(findPerfData(target)).toEqual({ path: perf(), facts: undefined, safepointTimeOffset: undefined })
    writeFileSync(release(), Buffer.alloc(4096, 0xff))
    expect(releaseValue(target, 'JAVA_VERSION')).toBeUndefined()
  })

  it('no files are opened in the /tmp of a target if this /tmp is a link', () => {
    rmSync(join(target.root, 'tmp'), { recursive: true })
    symlinkSync(precious, join(target.root, 'tmp'))
    expect(() => openTmp(target)).toThrow('ENOTDIR')
    expect(() => openTmp({ root: '/proc/self/root' })).not.toThrow() // a link in this place belongs to this user
  })

  it('the attach socket in the /tmp of a target is not used if this /tmp is a link', async () => {
    const name = `.java_pid${target.nsPid}`
    const server = createServer((socket) => socket.destroy())
    try {
      await new Promise<void>((resolve) => server.listen(join(target.root, 'tmp', name), resolve))
      expect(hasOwnSocket(target)).toBe(true)
      connectToListener(target).destroy()
      renameSync(join(target.root, 'tmp'), join(precious, 'tmp'))
      symlinkSync(join(precious, 'tmp'), join(target.root, 'tmp'))
      expect(hasOwnSocket(target)).toBe(false)
      expect(() => connectToListener(target)).toThrow('ENOTDIR')
      expect(() => removeSocket(target)).toThrow('ENOTDIR')
      // The link refers to a trigger file that does not belong to the target.
      const trigger = join(precious, 'tmp', `.attach_pid${target.nsPid}`)
      writeFileSync(trigger, '')
      removeTriggers(target)
      expect(existsSync(trigger)).toBe(true)
    } finally {
      server.close()
    }
  })

  it("only session files are removed in a target's root directory", () => {
    const left = join(target.root, 'tmp', `jfluid-${namespace}-${DEAD}-aaaaaa`)
    mkdirSync(join(left, 'theirs'), { recursive: true })
    for (const name of ['ring', 'theirs/file']) writeFileSync(join(left, name), '')
    removeLeftoversIn(target)
    expect(readdirSync(left)).toEqual(['theirs'])
    expect(readdirSync(join(left, 'theirs'))).toEqual(['file'])
    rmSync(join(left, 'theirs'), { recursive: true })
    expect(removeLeftoversIn(target)).toEqual([join('/tmp', basename(left))])
    expect(existsSync(left)).toBe(false)
  })
})

describe("connections to a session's socket", () => {
  let server: LinkServer
  let token: string
  const path = () => join(dir, 'link')
  beforeEach(async () => {
    token = newToken()
    server = await LinkServer.listen(path(), token)
  })
  afterEach(() => server.close())

  /** Resolves with `closed` after the other side has closed the connection. */
  const stranger = (says: string | Buffer): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(path(), () => socket.write(says))
      socket.on('error', () => resolve('closed'))
      socket.on('close', () => resolve('closed'))
      socket.resume()
    })

  const agent = (shown: string): Promise<Link | null> => {
    const socket = connect(path(), () => socket.write(shown))
    socket.on('error', () => {})
    return server.accept(5000)
  }

  it('a connection without the token is closed, and the agent is accepted later', async () => {
    const wrong = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`
    expect(await stranger(wrong)).toBe('closed')
    expect(await stranger(Buffer.alloc(64, 0xff))).toBe('closed')
    expect(await stranger(token.toUpperCase().replace(/\d/g, 'A'))).toBe('closed')
    const link = await agent(token)
    expect(link).not.toBeNull()
    link!.close()
  })

  it('even many silent connections do not delay another connection', async () => {
    const silent = Array.from({ length: 100 }, () => stranger(token.slice(0, 8)))
    const link = await agent(token)
    expect(link).not.toBeNull()
    link!.close()
    expect(new Set(await Promise.all(silent))).toEqual(new Set(['closed']))
  })

  it('a token that a connection has already used is refused', async () => {
    const first = connect(path())
    await new Promise((resolve) => first.write(token, resolve))
    expect(await stranger(token)).toBe('closed')
    const link = await server.accept(5000)
    expect(first.destroyed).toBe(false)
    link!.close()
    expect(await stranger(token)).toBe('closed') // the socket no longer accepts connections
  })

  it('a token is accepted if it arrives byte by byte, followed by a frame', async () => {
    const shown = Buffer.concat([Buffer.from(token), Buffer.from([4, 0, 0, 0, 0x93, 0, 0xa1, 0x78, 7])])
    const frame = Buffer.from(shown)
    frame.writeUInt32LE(frame.length - token.length - 4, token.length)
    const socket = connect(path())
    const said = (async () => {
      for (const byte of frame) {
        socket.write(Buffer.from([byte]))
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const link = (await server.accept(5000))!
    const event = new Promise((resolve) => link.listen((name, args) => resolve([name, args])))
    expect(await event).toEqual(['x', [7]])
    await said
    link.close()
    socket.destroy()
  })
})

it('a session directory and its files are private with any umask', () => {
  for (const umask of [0, 0o77, 0o777]) {
    const old = process.umask(umask)
    try {
      const session = makeSessionDirectory(null)
      const mode = statSync(session.path).mode & 0o777
      chmodSync(session.path, 0o700)
      session.remove()
      expect(mode & 0o077, `umask ${umask.toString(8)}`).toBe(0)
    } finally {
      process.umask(old)
    }
  }
})
