// Hidden files left by a process that was killed while it wrote. The next write to the same place removes them.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { probeFile, replaceFile } from '../../src/profile/replace-file.ts'
import { temporaryName } from '../../src/profile/temporary-name.ts'
import { moduleUrl } from '../support/modules.mjs'
import { itOnlyIf } from '../support/only-if.ts'

const REPLACE_FILE = await moduleUrl('profile/replace-file.js')

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'jfluid-left-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const names = () => readdirSync(directory).sort()
const write = (name: string) => replaceFile(join(directory, name), async (handle) => handle.writeFile('new'))

/** Returns the id of a process that has ended. */
function deadPid(): number {
  const { pid, status } = spawnSync(process.execPath, ['-e', ''])
  assert.equal(status, 0)
  return pid
}

const hex = (number: number) => number.toString(16).padStart(8, '0')

/** Creates a temporary file of `name` as process `pid` would name it, in this or another pid namespace. */
function leave(name: string, pid: number, where?: string): string {
  const made = temporaryName(name).replace(`-${hex(process.pid)}-`, `-${hex(pid)}-`)
  const left =
    where === undefined ? made : made.replace(/[0-9a-f]{8}(?=-[0-9a-f]{8}-[0-9a-f]{8}\.tmp$)/, where)
  writeFileSync(join(directory, left), 'half')
  return left
}

/** Sets the time of the last change to this number of hours ago. */
function age(name: string, hours: number): void {
  const then = Date.now() / 1000 - hours * 3600
  utimesSync(join(directory, name), then, then)
}

describe('a write removes temporary files left by killed writers of the same file', () => {
  it('temporary files that a killed write has left are removed by the next write, and by the check before a write', async () => {
    for (const next of [write, async (name: string) => void (await probeFile(join(directory, name)))]) {
      const code = `import(${JSON.stringify(REPLACE_FILE)}).then(({ replaceFile }) =>
        replaceFile(${JSON.stringify(join(directory, 'p.jfluid'))}, async (handle) => {
          await handle.writeFile('half')
          process.stdout.write('written')
          await new Promise(() => setInterval(() => {}, 1000))
        }))`
      const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
      const exited = once(child, 'exit')
      try {
        const [said] = (await once(child.stdout, 'data')) as [Buffer]
        assert.equal(said.toString(), 'written')
        const [half, ...rest] = names().filter((it) => it.endsWith('.tmp'))
        assert.match(half ?? '', /^\.p\.jfluid\.[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}\.tmp$/)
        assert.deepEqual(rest, [])
        // The process of this file still runs, so the file is kept.
        await next('p.jfluid')
        assert.ok(names().includes(half!))
      } finally {
        child.kill('SIGKILL')
        await exited
      }
      await next('p.jfluid')
      assert.deepEqual(
        names().filter((it) => it.endsWith('.tmp')),
        [],
      )
    }
    assert.equal(readFileSync(join(directory, 'p.jfluid'), 'utf8'), 'new')
  })

  it('temporary files that autosaves have left are removed', async () => {
    const pid = deadPid()
    leave('p.jfluid.autosave', pid)
    leave('p.jfluid.autosave.2', pid)
    await write('p.jfluid')
    assert.deepEqual(names(), ['p.jfluid'])
  })

  it('temporary files are removed even if their file names are near the maximum length', async () => {
    const long = `${'é'.repeat(123)}.jfluid`
    leave(long, deadPid())
    await write(long)
    assert.deepEqual(names(), [long])
  })

  it('temporary files of another machine, or of an earlier boot, are removed after a day without changes', async () => {
    const [old, young] = [leave('p.jfluid', 1, '0123abcd'), leave('p.jfluid', 1, '0123abcd')]
    age(old, 25)
    age(young, 23)
    await write('p.jfluid')
    assert.deepEqual(names(), [young, 'p.jfluid'])
  })

  it('temporary files whose writer is still running, and other files with similar names, are kept', async () => {
    const pid = deadPid()
    const kept = [
      leave('p.jfluid', process.pid),
      leave('p.jfluid', process.ppid),
      leave('other.jfluid', pid),
      leave('p.jfluid.autosave.old', pid),
      leave('p.jfluid.2', pid),
    ]
    for (const name of kept) age(name, 100)
    for (const name of ['.p.jfluid.tmp', '.p.jfluid.1234.tmp', 'x.p.jfluid.tmp']) {
      writeFileSync(join(directory, name), 'theirs')
      kept.push(name)
    }
    const link = leave('p.jfluid', pid)
    rmSync(join(directory, link))
    symlinkSync(join(directory, kept[0]!), join(directory, link))
    kept.push(link)
    await write('p.jfluid')
    assert.deepEqual(names(), [...kept, 'p.jfluid'].sort())
    assert.ok(existsSync(join(directory, link)))
  })

  itOnlyIf(process.getuid?.() === 0, 'only root can give a file to another user')(
    'temporary files of another user are kept',
    async () => {
      const left = leave('p.jfluid', deadPid())
      const { status } = spawnSync('chown', ['65534', join(directory, left)])
      assert.equal(status, 0)
      await write('p.jfluid')
      assert.deepEqual(names(), [left, 'p.jfluid'])
    },
  )
})
