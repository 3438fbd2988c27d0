// The agent jar at a path that every JVM can parse.

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isPlainPath, startJar } from '../../../src/session/doors/jar-path.ts'
import {
  AGENT,
  isNamedByProcess,
  pidNamespace,
  removeLeftovers,
} from '../../../src/session/doors/session-directory.ts'
import { startProcess } from '../../support/java-process.ts'

function temporary(): string {
  const dir = mkdtempSync(join(tmpdir(), 'jfluid-plain-jar-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Starts a process that ends when its input ends. @param words  of its command line */
const running = (words: readonly string[] = [], env: Record<string, string> = {}) =>
  startProcess(process.execPath, ['-e', 'process.stdin.resume()', '--', ...words], { env })

describe('the path of the agent jar', () => {
  it.each(['/usr/lib/node_modules/jfluid/dist/agent/a.jar', '/a+b/c@1.2~3/d-e_f/%20/#?!*$&:,/a.jar'])(
    'every JVM can parse the agent jar path: %s',
    (path) => expect(isPlainPath(path)).toBe(true),
  )

  it.each([
    '/Größe/a.jar',
    '/日本/a.jar',
    '/a b/a.jar',
    "/it's/a.jar",
    '/"/a.jar',
    '/a=b/a.jar',
    '/a;b/a.jar',
    '/\n/a.jar',
  ])('some JVMs cannot parse the agent jar path: %j', (path) => expect(isPlainPath(path)).toBe(false))

  it('a path of the agent jar that makes the attach command too long is refused', () => {
    expect(isPlainPath(`/${'x'.repeat(399)}`)).toBe(true)
    expect(isPlainPath(`/${'x'.repeat(400)}`)).toBe(false)
  })
})

describe('the agent jar of a JVM that jfluid starts', () => {
  const jarIn = (name: string) => {
    const dir = join(temporary(), name)
    mkdirSync(dir)
    writeFileSync(join(dir, 'a.jar'), 'the agent')
    return { path: join(dir, 'a.jar'), build: '1' }
  }

  it('the agent jar of a JVM that jfluid starts is the installed jar if every JVM can parse its path', () => {
    const jar = jarIn('plain')
    const started = startJar(jar)
    expect(started.path).toBe(jar.path)
    started.leave()
    expect(readFileSync(jar.path, 'utf8')).toBe('the agent')
  })

  it('the agent jar of a JVM that jfluid starts is a readable copy if some JVMs cannot parse the path, and the copy is deleted after use', () => {
    const started = startJar(jarIn('Größe'))
    expect(isPlainPath(started.path)).toBe(true)
    expect(readFileSync(started.path, 'utf8')).toBe('the agent')
    expect(statSync(started.path).mode & 0o777).toBe(0o444)
    expect(statSync(dirname(started.path)).mode & 0o777).toBe(0o711)
    started.leave()
    expect(statSync(dirname(started.path), { throwIfNoEntry: false })).toBeUndefined()
  })

  it.each([
    ['file', 'a.jar'],
    ['directory', '.'],
  ])('JVMs of other users get a readable copy if the %s of the installed jar has mode 0700', (_, name) => {
    const jar = jarIn('plain')
    for (let dir = dirname(jar.path); dir !== tmpdir(); dir = dirname(dir)) chmodSync(dir, 0o755)
    expect(startJar(jar, { isForAllUsers: true }).path).toBe(jar.path)
    chmodSync(join(dirname(jar.path), name), 0o700)
    expect(startJar(jar).path).toBe(jar.path)
    const started = startJar(jar, { isForAllUsers: true })
    expect(started.path).not.toBe(jar.path)
    expect(statSync(started.path).mode & 0o777).toBe(0o444)
    started.leave()
    expect(statSync(dirname(started.path), { throwIfNoEntry: false })).toBeUndefined()
  })

  it.each(['command line', 'environment'])(
    'a copy of the agent jar is kept while a process names the copy in its %s',
    async (where) => {
      const started = startJar(jarIn('Größe'))
      const option = `-javaagent:${started.path}=x`
      const other = where === 'environment' ? running([], { TOOLS: option }) : running([option])
      await expect.poll(() => isNamedByProcess(dirname(started.path))).toBe(true)
      started.leave()
      expect(readFileSync(started.path, 'utf8')).toBe('the agent')
      await other.kill()
      started.leave()
      expect(statSync(dirname(started.path), { throwIfNoEntry: false })).toBeUndefined()
    },
  )

  it('a copy of the agent jar that a killed client has left is kept until no process names the copy', async () => {
    const place = temporary()
    const dead = running()
    const { pid } = dead
    await dead.kill()
    const left = join(place, `jfluid-${pidNamespace()}-${pid}-aaaaaa`)
    mkdirSync(left)
    writeFileSync(join(left, AGENT), 'the agent')
    const other = running([`-javaagent:${join(left, AGENT)}`])
    await expect.poll(() => isNamedByProcess(left)).toBe(true)
    expect(removeLeftovers([place])).toEqual([])
    expect(readFileSync(join(left, AGENT), 'utf8')).toBe('the agent')
    await other.kill()
    expect(removeLeftovers([place]).map((it) => basename(it))).toEqual([basename(left)])
  })
})
