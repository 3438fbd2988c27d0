// The unit lane has no Java, independent of where a test searches.

import { exec, execFile, execFileSync, execSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import setUpPath from './path-without-java.ts'

const JAVA = '/usr/lib/jvm/java-17-openjdk-amd64/bin/java'
const REFUSED = /in the unit lane: a test that starts a JVM or javac is named \*\.jvm\.test\.ts/

describe('a unit test cannot start Java', () => {
  it.each([JAVA, 'java', 'javac', '/opt/jdk/bin/jcmd'])(
    'an attempt of a unit test to start Java fails: %s',
    (command) => {
      expect(() => spawn(command, ['-version'])).toThrow(REFUSED)
      expect(() => spawnSync(command)).toThrow(REFUSED)
      expect(() => execFile(command, ['-version'], () => {})).toThrow(REFUSED)
      expect(() => execFileSync(command)).toThrow(REFUSED)
      expect(() => startProcess(command, ['-version'])).toThrow(REFUSED)
      expect(() => promisify(execFile)(command, ['-version'])).toThrow(REFUSED)
      expect(() => spawn('env', ['A=b', command])).toThrow(REFUSED)
    },
  )

  it.each(['java -version', `cd /tmp && ${JAVA} Main`, '(javac A.java); true'])(
    'an attempt of a unit test to start Java in a shell fails: %s',
    (line) => {
      expect(() => exec(line)).toThrow(REFUSED)
      expect(() => execSync(line)).toThrow(REFUSED)
    },
  )

  it('a child process of a unit test finds no Java on the PATH', () => {
    const { status, stdout } = spawnSync('sh', ['-c', 'command -v java || command -v javac'], {
      encoding: 'utf8',
    })
    expect([status, stdout]).toEqual([127, ''])
  })
})

it('a command with java in a longer word is not refused as a start of Java', () => {
  expect(execSync('echo java.base javascript', { encoding: 'utf8' })).toBe('java.base javascript\n')
})

it('unit tests cannot search for a JDK', async () => {
  expect([process.env.JAVA_HOME, process.env.JDK_HOME]).toEqual([undefined, undefined])
  await expect(import('../support/jdks.ts')).rejects.toThrow('a test that needs one is named *.jvm.test.ts')
})

describe('the PATH of unit tests, without Java', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it('on the PATH of unit tests, a folder that contains Java is replaced by a folder of links to its other programs; other folders are kept', () => {
    const directory = temporaryDirectory()
    const [plain, both] = ['plain', 'both'].map((it) => join(directory, it)) as [string, string]
    for (const [folder, ...names] of [
      [plain, 'git'],
      [both, 'java', 'javac', 'sed', 'javascript'],
    ] as const) {
      mkdirSync(folder)
      for (const name of names) writeFileSync(join(folder, name), '')
    }
    vi.stubEnv('PATH', [both, plain, join(directory, 'none')].join(delimiter))
    let path = ''
    const provide = (_: string, value: string): void => {
      path = value
    }
    const remove = setUpPath({ provide } as unknown as Parameters<typeof setUpPath>[0])
    const [links, ...others] = path.split(delimiter)
    expect(readdirSync(links!).sort()).toEqual(['javascript', 'sed'])
    expect(others).toEqual([plain])
    remove()
    expect(() => readdirSync(links!)).toThrow('ENOENT')
  })
})
