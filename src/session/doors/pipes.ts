// Named pipes in the session directory, for agents of JVMs without UNIX sockets (before JDK 16, JEP 380). Like the socket, the pipes have
// the owner's mode and lie in the owner's directory. They also connect processes in different network namespaces, as TCP does not.

import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { EX_OSFILE, JfluidError } from '../../base/errors.ts'
import { SINCE } from '../../base/jdk-releases.ts'

/** File names of the pipes: for messages to the agent, and for messages of the agent (Link.java). */
export const TO_AGENT = 'to-agent'
export const FROM_AGENT = 'from-agent'

/** Returns whether the agent needs pipes. @param feature  feature version of the JVM; null if it is not known */
export function needsPipes(feature: number | null): boolean {
  return feature === null || feature < SINCE.UNIX_SOCKETS
}

/** Thrown if named pipes cannot be made. */
export class NoPipes extends JfluidError {
  static sample = () => new NoPipes('spawnSync mkfifo ENOENT')
  readonly exitCode = EX_OSFILE
  readonly hint =
    'Install the command mkfifo (package coreutils) where jfluid runs. JDK 16 and newer need no pipes.'
  constructor(reason: string) {
    super(`cannot make the named pipes that a JVM older than JDK 16 needs: ${reason}`)
  }
}

/**
 * Makes the pipes and opens the client's ends, which are never waited for.
 * @param directory  path of the session directory as seen by this process
 * @throws NoPipes
 */
export function makePipes(directory: string): Duplex {
  // The command runs in the directory: it does not have the handle of this process in `directory`.
  const { error, status, stderr } = spawnSync('mkfifo', ['-m', '600', TO_AGENT, FROM_AGENT], {
    cwd: directory,
    encoding: 'utf8',
  })
  if (error !== undefined) throw new NoPipes(error.message)
  if (status !== 0) throw new NoPipes(stderr.trim())
  const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK, O_NOFOLLOW } = fs.constants
  const open = (name: string, mode: number): number =>
    fs.openSync(join(directory, name), mode | O_NONBLOCK | O_NOFOLLOW)
  const source = new Socket({ fd: open(FROM_AGENT, O_RDONLY), readable: true, writable: false })
  // Without a reader, a pipe cannot be opened for writing only.
  const sink = new Socket({ fd: open(TO_AGENT, O_RDWR), readable: false, writable: true })
  // With `jfluid run`, an agent that cannot start may close the pipe before another agent opens it. The pipe must not end then.
  const held = open(FROM_AGENT, O_WRONLY)
  const both = Duplex.from({ readable: source, writable: sink })
  let isHeld = true
  const release = (): void => {
    if (isHeld) fs.closeSync(held)
    isHeld = false
  }
  source.once('data', release)
  both.on('end', () => both.destroy()) // the agent has closed its end
  both.once('close', release)
  return both
}
