import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'vitest'
import { releaseValue, tmpClosedTo } from '../../src/attach/target-facts.ts'
import { readTargetProcess } from '../../src/attach/target-process.ts'
import { temporaryDirectory } from '../support/java-process.ts'

/** Returns a function that reads facts about a JVM with this library, in a root directory with these files. */
function told(library: string, files: Record<string, string>): (name: string) => string | undefined {
  const root = temporaryDirectory()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const self = readTargetProcess(process.pid)
  assert.ok(self !== undefined)
  const target = { ...self, root, vmLibrary: { kind: 'hotspot' as const, path: library } }
  return (name) => releaseValue(target, name)
}

describe('the release file of a runtime', () => {
  it.each([
    ['of JDK 9 and newer', '/jdk/lib/server/libjvm.so', '/jdk/release'],
    ['of a JRE 8', '/jre/lib/amd64/server/libjvm.so', '/jre/release'],
    [
      'of a JDK 8, whose runtime is in the folder jre,',
      '/jdk/jre/lib/amd64/server/libjvm.so',
      '/jdk/release',
    ],
  ])('the release file %s is found', (_, library, release) => {
    const value = told(library, { [release]: 'JAVA_VERSION="1.8.0_392"\nOS_NAME="Linux"\n' })
    assert.equal(value('JAVA_VERSION'), '1.8.0_392')
    assert.equal(value('OS_NAME'), 'Linux')
    assert.equal(value('MODULES'), undefined)
  })

  it('a release file that does not belong to a Java runtime is ignored', () => {
    const library = '/usr/lib/server/libjvm.so'
    assert.equal(told(library, { '/usr/release': 'NAME="Debian"\n' })('NAME'), undefined)
    assert.equal(told(library, {})('JAVA_VERSION'), undefined)
  })
})

describe('the /tmp directory of a JVM', () => {
  const { uid, gid } = { uid: process.geteuid!(), gid: process.getegid!() }
  const anybody = { euid: 4243, egid: 4243 }
  it.each([
    [0o1777, anybody, false],
    [0o755, anybody, true],
    [0o700, { euid: uid === 0 ? 4243 : uid, egid: gid }, uid === 0],
    [0o775, { euid: 4243, egid: gid }, false],
    // Supplementary groups of the process are unknown.
    [0o775, anybody, false],
    [0o555, { euid: 0, egid: 0 }, false],
  ])('a /tmp directory with mode %o is not writable for user %o: %s', (mode, user, isClosed) => {
    const root = temporaryDirectory()
    mkdirSync(join(root, 'tmp'))
    chmodSync(join(root, 'tmp'), mode)
    const self = readTargetProcess(process.pid)
    assert.ok(self !== undefined)
    const closed = tmpClosedTo({ ...self, root, ...user })
    assert.equal(closed !== undefined, isClosed, closed)
  })
})
