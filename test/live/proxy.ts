// A simulated remote machine: a fake ssh runs its command on this machine and records its process id in a file, so that tests can cut its
// connections.

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

/**
 * A fake ssh command. Its arguments are options up to --, the host, and the command. It creates a file that is named after its process id.
 */
const SSH = `#!/bin/sh
while [ "$1" != "--" ]; do shift; done
shift
if [ -e "$(dirname "$0")/down" ]; then echo "no route to host" >&2; exit 255; fi
host="$1"; shift
case "$host" in *nobody*) echo "Permission denied (publickey)." >&2; exit 255;; esac
: > "$(dirname "$0")/pids/$$"
exec sh -c "exec $*"
`

/** Common members of both kinds of machines: the simulated one in this file, and the one with a real sshd (sshd.ts). */
export interface Reached {
  /** Environment variables for clients. */
  readonly env: Record<string, string>
  /** Directory for temporary files of the machine's proxies. */
  readonly tmp: string
  /** Cuts all connections. */
  cut(): void
  /** After goDown no client can connect, until comeUp. */
  goDown(): void
  comeUp(): void | Promise<void>
  /** Returns the ids of live session processes on the machine. */
  sessions(): number[]
}

export interface Machine extends Reached {
  readonly directory: string
  /** Returns the process ids of all connections so far, including ended ones. */
  connections(): number[]
}

/** @param grace  time that a session waits for its client */
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

/** Returns the session processes that use this directory for temporary files. */
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
    return [] // the process has ended
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
    return false // the process has ended
  }
}

/** Returns shell commands that export the variables. */
export function exported(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `export ${name}=${shellWord(value)}`)
    .join('; ')
}

/** Starts `jfluid …` for JVMs of that machine. */
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
  /** Stops data in both directions without closing the connections. */
  hold(): void
  release(): void
}

/** Creates a link to a port of this machine. */
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
      end.on('error', () => {}) // the `close` event follows
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

/** Returns the expected tree for the given number of rounds. */
export async function expectedCalls(java: JavaProcess, rounds = 1): Promise<string[]> {
  java.send('expect')
  await java.line(/^end/)
  return lines(new Map([...parseExpectation(java.stdout())].map(([path, calls]) => [path, calls * rounds])))
}

export const newFile = (): string => join(temporaryDirectory('jfluid-profile-'), 'p.jfluid')

/** Expects that no process, file or mapping of a session remains on the machine. */
export async function nothingIsLeft(there: Reached, java: JavaProcess): Promise<void> {
  await until(() => there.sessions().length === 0)
  expect(readdirSync(there.tmp)).toEqual([])
  await until(() => mappedFiles(java.pid).every((file) => !file.includes('jfluid')))
}
