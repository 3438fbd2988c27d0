// A proxy "on another machine": an ssh that runs its command here, and says so in a file, so that tests can cut its connections.

import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { shellWord } from '../../src/base/shell-word.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { cli, lines, stderrLine } from '../support/jfluid.ts'
import { mappedFiles, until } from './remains.ts'

/** `command` stands for a fake ssh: options up to --, the host, and what is run there. It names its process in a file. */
const SSH = `#!/bin/sh
while [ "$1" != "--" ]; do shift; done
shift
if [ -e "$(dirname "$0")/down" ]; then echo "no route to host" >&2; exit 255; fi
host="$1"; shift
case "$host" in *nobody*) echo "Permission denied (publickey)." >&2; exit 255;; esac
: > "$(dirname "$0")/pids/$$"
exec sh -c "exec $*"
`

/** What both kinds have: this one, and that of a real ssh (sshd.ts). */
export interface Reached {
  /** For clients. */
  readonly env: Record<string, string>
  /** Where its proxies leave what they need. */
  readonly tmp: string
  /** Cuts all connections. */
  cut(): void
  /** From now on nobody gets there, and from then on again. */
  goDown(): void
  comeUp(): void | Promise<void>
  /** Processes of its sessions that live. */
  sessions(): number[]
}

export interface Machine extends Reached {
  readonly directory: string
  /** Processes of connections that have been made, also of those that have ended. */
  connections(): number[]
}

/** @param grace  how long a session waits for its client */
export function machine(grace = '20s'): Machine {
  const directory = temporaryDirectory('jfluid-ssh-')
  const tmp = temporaryDirectory('jfluid-proxy-tmp-')
  const ssh = join(directory, 'ssh')
  writeFileSync(ssh, SSH)
  chmodSync(ssh, 0o755)
  const pids = join(directory, 'pids')
  mkdirSync(pids)
  return {
    env: {
      JFLUID_SSH: ssh,
      JFLUID_PROXY_COMMAND: `${process.execPath} ${cli} proxy --stdio --grace ${grace}`,
      TMPDIR: tmp,
    },
    tmp,
    directory,
    connections: () => readdirSync(pids).map(Number),
    cut() {
      for (const pid of readdirSync(pids).map(Number).filter(isProxy)) process.kill(pid, 'SIGKILL')
    },
    goDown: () => writeFileSync(join(directory, 'down'), ''),
    comeUp: () => rmSync(join(directory, 'down')),
    sessions: () => sessionsOf(tmp),
  }
}

/** Processes of sessions whose place for temporary files that is. */
export function sessionsOf(tmp: string): number[] {
  return processes().filter((pid) => isSession(pid, tmp))
}

function processes(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

function wordsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return [] // it has ended meanwhile
  }
}

function isProxy(pid: number): boolean {
  return wordsOf(pid).includes('--stdio')
}

function isSession(pid: number, tmp: string): boolean {
  try {
    const words = wordsOf(pid)
    if (!words.includes('proxy') || !words.includes('--session')) return false
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`TMPDIR=${tmp}`)
  } catch {
    return false // it has ended meanwhile
  }
}

/** For a shell. */
export function exported(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `export ${name}=${shellWord(value)}`)
    .join('; ')
}

/** `jfluid …` for JVMs of that machine. */
export function startClient(there: Pick<Machine, 'env'>, ...args: string[]): JavaProcess {
  return startProcess(process.execPath, [cli, ...args], { env: there.env })
}

export interface Listener {
  readonly port: number
  readonly key: string
  readonly process: JavaProcess
}

export async function startListener(...args: string[]): Promise<Listener> {
  const p = startProcess(process.execPath, [cli, 'proxy', '--listen', '0', ...args])
  await stderrLine(p, /KEY=/)
  const said = p.stderr()
  return {
    port: Number(/listening at 127\.0\.0\.1:(\d+)/.exec(said)?.[1]),
    key: /KEY=(\S+)/.exec(said)?.[1] ?? '',
    process: p,
  }
}

export interface HeldLink {
  readonly port: number
  /** Nothing comes through, either way, and nobody is told. */
  hold(): void
  release(): void
}

/** To a port of this machine. */
export async function heldLink(to: number): Promise<HeldLink> {
  const ends = new Set<Socket>()
  let isHeld = false
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1')
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(end)
      end.on('data', (bytes) => other.write(bytes))
      end.on('error', () => {}) // `close` follows
      end.once('close', () => {
        ends.delete(end)
        other.destroy()
      })
      if (isHeld) end.pause()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const end of ends) end.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    hold() {
      isHeld = true
      for (const end of ends) end.pause()
    },
    release() {
      isHeld = false
      for (const end of ends) end.resume()
    },
  }
}

export async function knownTree(jdk: Jdk): Promise<JavaProcess> {
  const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '4', '50'])
  await java.line(/ready/)
  return java
}

/** The tree of so many rounds. */
export async function expectedCalls(java: JavaProcess, rounds = 1): Promise<string[]> {
  java.send('expect')
  await java.line(/^end/)
  return lines(new Map([...parseExpectation(java.stdout())].map(([path, calls]) => [path, calls * rounds])))
}

export const newFile = (): string => join(temporaryDirectory('jfluid-profile-'), 'p.jfluid')

/** What another machine has of us once a session is over. */
export async function nothingIsLeft(there: Reached, java: JavaProcess): Promise<void> {
  await until(() => there.sessions().length === 0)
  expect(readdirSync(there.tmp)).toEqual([])
  await until(() => mappedFiles(java.pid).every((file) => !file.includes('jfluid')))
}
