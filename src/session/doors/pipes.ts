// Named pipes in the session directory, for agents of JVMs without UNIX sockets (before JDK 16, JEP 380). Like the socket, the pipes have
// the owner's mode and lie in the owner's directory. They also connect processes in different network namespaces, as TCP does not.

import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { Socket } from 'node:net'
import { basename, delimiter, join } from 'node:path'
import { Duplex } from 'node:stream'
import { O_PATH } from '../../attach/regular-file.ts'
import { EX_OSFILE, JfluidError } from '../../base/errors.ts'
import { SINCE } from '../../base/jdk-releases.ts'

/** File names of the pipes: for messages to the agent, and for messages of the agent (Link.java). */
export const TO_AGENT = 'to-agent'
export const FROM_AGENT = 'from-agent'

const MKFIFO = 'mkfifo'

/** Returns whether the command that makes pipes is on the PATH. */
export function hasMkfifo(path = process.env.PATH ?? ''): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      fs.accessSync(join(folder, MKFIFO), fs.constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Returns whether the agent needs pipes. @param feature  feature version of the JVM; null if it is not known */
export function needsPipes(feature: number | null): boolean {
  return feature === null || feature < SINCE.UNIX_SOCKETS
}

/** Thrown if named pipes cannot be made. */
export class NoPipes extends JfluidError {
  static sample = () => [new NoPipes('spawnSync mkfifo ENOENT', true), new NoPipes('No space left on device')]
  readonly exitCode = EX_OSFILE
  readonly hint: string
  /** @param isMissing  whether the command mkfifo does not exist */
  constructor(reason: string, isMissing = false) {
    super(`cannot make the named pipes that a JVM older than JDK 16 needs: ${reason}`)
    this.hint = isMissing
      ? 'Install the command mkfifo (package coreutils) where jfluid runs. JDK 16 and newer need no pipes.'
      : 'Make it possible to create named pipes in /dev/shm or /tmp. JDK 16 and newer need no pipes.'
  }
}

/**
 * Makes the pipes and opens the client's ends, which are never waited for.
 * @param directory  path of the session directory as seen by this process. It must be valid until the connection is used or destroyed
 * @throws NoPipes
 */
export function makePipes(directory: string): Duplex {
  // The command runs in the directory: it does not have the handle of this process in `directory`.
  const { error, status, stderr } = spawnSync(MKFIFO, ['-m', '600', TO_AGENT, FROM_AGENT], {
    cwd: directory,
    encoding: 'utf8',
  })
  if (error !== undefined) {
    throw new NoPipes(error.message, (error as NodeJS.ErrnoException).code === 'ENOENT')
  }
  if (status !== 0) throw new NoPipes(stderr.trim())
  const { O_RDONLY, O_WRONLY, O_RDWR } = fs.constants
  const opened: number[] = []
  const open = (name: string, mode: number): number => {
    const file = openPipe(join(directory, name), mode)
    opened.push(file)
    return file
  }
  try {
    const source = open(FROM_AGENT, O_RDONLY)
    // Without a reader, a pipe cannot be opened for writing only.
    const sink = open(TO_AGENT, O_RDWR)
    // With `jfluid run`, an agent that cannot start may close the pipe before another agent opens it. The pipe must not end then.
    const held = open(FROM_AGENT, O_WRONLY)
    return new PipePair(source, sink, () => {
      // A process that opened a pipe without a reader would conclude that the client has ended. So the names are removed first.
      removeNames(directory)
      fs.closeSync(held)
    })
  } catch (problem) {
    for (const file of opened) fs.closeSync(file)
    removeNames(directory)
    throw problem instanceof NoPipes ? problem : new NoPipes((problem as Error).message)
  }
}

/** Opens a pipe. In a container, root may have replaced it by a device, and opening a device may have effects. */
function openPipe(path: string, mode: number): number {
  const handle = fs.openSync(path, O_PATH | fs.constants.O_NOFOLLOW)
  try {
    const found = fs.fstatSync(handle)
    if (!found.isFIFO() || found.uid !== process.geteuid!())
      throw new NoPipes(`${basename(path)} was replaced`)
    return fs.openSync(`/proc/self/fd/${handle}`, mode | fs.constants.O_NONBLOCK)
  } finally {
    fs.closeSync(handle)
  }
}

function removeNames(directory: string): void {
  for (const name of [TO_AGENT, FROM_AGENT]) {
    try {
      fs.unlinkSync(join(directory, name))
    } catch {
      // The agent has deleted the name.
    }
  }
}

/** Both pipes as one stream. `Duplex.from` does not close the other pipe if the agent closes its end. */
class PipePair extends Duplex {
  readonly #source: Socket
  readonly #sink: Socket
  #begin: (() => void) | null

  /** @param begin  called once, when the agent has sent its first bytes, or when the connection is destroyed without an agent */
  constructor(source: number, sink: number, begin: () => void) {
    super()
    this.#begin = begin
    this.#source = new Socket({ fd: source, readable: true, writable: false })
    this.#sink = new Socket({ fd: sink, readable: false, writable: true })
    this.#source.on('data', (chunk: Buffer) => {
      this.#hasBegun()
      if (!this.push(chunk)) this.#source.pause()
    })
    this.#source.on('end', () => this.push(null))
    for (const pipe of [this.#source, this.#sink]) pipe.on('error', (problem) => this.destroy(problem))
    this.on('end', () => this.destroy()) // the agent has closed its end
  }

  #hasBegun(): void {
    this.#begin?.()
    this.#begin = null
  }

  override _read(): void {
    this.#source.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, written: (problem?: Error | null) => void): void {
    this.#sink.write(chunk, written)
  }

  override _destroy(problem: Error | null, destroyed: (problem: Error | null) => void): void {
    this.#hasBegun()
    this.#source.destroy()
    this.#sink.destroy()
    destroyed(problem)
  }
}
