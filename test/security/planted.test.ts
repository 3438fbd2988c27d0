// In a directory that every user can write (`/tmp`), another user creates a link or a pipe with the name of the future profile. jfluid
// neither follows it nor writes to it, independent of the kernel setting fs.protected_symlinks.

import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { Autosave } from '../../src/commands/autosave.ts'
import { outputFile } from '../../src/commands/child-program.ts'
import { writeProfile } from '../../src/profile/file.ts'
import { probeFile } from '../../src/profile/replace-file.ts'
import { until } from '../live/remains.ts'
import { profileOf } from '../profile/trees.ts'
import { nodeFor, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'
import { describeOnlyIf, itOnlyIf } from '../support/only-if.ts'

const IS_ROOT = process.geteuid?.() === 0
const OTHER = 65533
const OWNER = { uid: 65534, gid: 65534 }

let shared: string
let precious: string
beforeEach(() => {
  const dir = temporaryDirectory()
  chmodSync(dir, 0o755)
  shared = join(dir, 'tmp')
  mkdirSync(shared)
  chmodSync(shared, 0o1777)
  precious = join(dir, 'precious')
  writeFileSync(precious, 'as it was')
})

const profile = profileOf('main 2x 1000ns ( work 3x 40ns )')

/** @returns the name of the link in the shared directory */
function link(name: string, to: string, uid: number): string {
  const path = join(shared, name)
  symlinkSync(to, path)
  lchownSync(path, uid, uid)
  return path
}

describeOnlyIf(IS_ROOT, 'only root can give files to other users')(
  'a directory in which every user can create files',
  () => {
    it.each([
      ['a link to a file', () => link('p.jfluid', precious, OTHER)],
      ['a link to a missing file', () => link('p.jfluid', `${precious}-new`, OTHER)],
      ['a link to a link', () => link('p.jfluid', link('q', precious, OTHER), OTHER)],
      [
        'a link of the current user to a link of another user',
        () => link('p.jfluid', link('q', precious, OTHER), 0),
      ],
    ])('a planted link is not followed: %s', async (_, plant) => {
      const path = plant()
      const refusal = /cannot write .*the path is a link or a pipe of another user/
      await expect(writeProfile(profile, path)).rejects.toThrow(refusal)
      await expect(probeFile(path)).rejects.toThrow('PLANTED')
      expect(readFileSync(precious, 'utf8')).toBe('as it was')
      expect(existsSync(`${precious}-new`)).toBe(false)
      expect(readdirSync(shared).filter((name) => name.endsWith('.tmp'))).toEqual([])
    })

    it('a planted pipe is not written to, and the reader of the pipe gets nothing', async () => {
      const path = join(shared, 'p.jfluid')
      execFileSync('mkfifo', ['-m', '666', path])
      chownSync(path, OTHER, OTHER)
      const reader = startProcess('cat', [path])
      await expect(writeProfile(profile, path)).rejects.toThrow(
        /the path is a link or a pipe of another user/,
      )
      expect(reader.stdout()).toBe('')
      await reader.kill()
    })

    it('a planted file of another user is replaced by a private file of the current user', async () => {
      const path = join(shared, 'p.jfluid')
      writeFileSync(path, 'theirs')
      chownSync(path, OTHER, OTHER)
      await writeProfile(profile, path) // root may replace a file of another user
      const { uid, mode } = lstatSync(path)
      expect([uid, mode & 0o777]).toEqual([0, 0o600])
    })

    it("a link of the same user, or of the directory's owner, is followed", async () => {
      await writeProfile(profile, link('own', precious, 0))
      expect(lstatSync(join(shared, 'own')).isSymbolicLink()).toBe(true)
      expect(readFileSync(precious, 'latin1')).not.toBe('as it was')
      chownSync(shared, OTHER, OTHER)
      await writeProfile(profile, link('of-the-directory', precious, OTHER))
      chmodSync(shared, 0o755) // no other user can create entries
      chownSync(shared, 0, 0)
      await writeProfile(profile, link('left', precious, OTHER))
    })

    it('an autosave does not use the name of a planted link', async () => {
      link('p.jfluid.autosave', `${precious}-new`, OTHER)
      const autosave = new Autosave({ profileSoFar: () => profile }, join(shared, 'p.jfluid'), 1, (line) => {
        throw new Error(line)
      })
      await until(() => autosave.path !== undefined)
      await autosave.stop()
      expect(autosave.path).toBe(join(shared, 'p.jfluid.autosave.2'))
      expect(existsSync(`${precious}-new`)).toBe(false)
      await autosave.discard()
      expect(readdirSync(shared)).toEqual(['p.jfluid.autosave'])
    })

    const canStart = spawnSync('/bin/sh', ['-c', 'test -r "$0"', cli], { ...OWNER, cwd: '/' }).status === 0
    const itStarts = itOnlyIf(canStart, 'other users cannot read the folder of this checkout')
    itStarts('an export by a user other than root does not follow a planted link', async () => {
      chmodSync(precious, 0o666)
      const file = join(shared, 'kept.jfluid')
      await writeProfile(profile, file)
      chownSync(file, OWNER.uid, OWNER.gid)
      const out = link('p.json', precious, OTHER)
      const args = ['export', file, '--format', 'json', '--out', out]
      const client = startProcess(nodeFor(OWNER), [cli, ...args], { ...OWNER, cwd: '/' })
      expect((await client.exit).code).toBe(73)
      expect(client.stderr()).toMatch(/the path is a link or a pipe of another user/)
      expect(readFileSync(precious, 'utf8')).toBe('as it was')
    })
  },
)

it('the live view writes the output of its program to a new file, not through a link', () => {
  const before = process.cwd()
  process.chdir(shared)
  try {
    const first = `jfluid-run-${process.pid}.log`
    expect(outputFile()).toBe(first)
    symlinkSync('/nowhere/at/all', first)
    expect(outputFile()).toBe(`jfluid-run-${process.pid}-2.log`)
  } finally {
    process.chdir(before)
  }
})
