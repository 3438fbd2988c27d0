// The command-line clients of container runtimes and of Kubernetes, when they are there: run without a shell, in bounded time, and what they
// say to people is passed on.

import { spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'

/** All of one question, whatever number of clients it takes. */
export const CLIENTS_MS = 10_000
const MOST_BYTES = 16 << 20
const MOST_SAID = 500

/** None of those that could tell is on the PATH. */
export class NoContainerClient extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Give a process id: jfluid ps lists the JVMs of containers as well, if it may see them.'
  constructor(what: string, clients: readonly string[]) {
    super(`cannot look up ${what}: none of ${clients.join(', ')} is on the PATH`)
  }
}

/** One that hangs, as for a server that is away. */
export class ContainerClientSilent extends JfluidError {
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  constructor(command: string, ms: number) {
    super(`${command} did not answer within ${ms / 1000} s`)
    this.hint = 'See what keeps it, by the same command; or give a process id, which jfluid ps lists.'
  }
}

/** It answered, and what it said is not what such a client says. */
export class ContainerClientNotUnderstood extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Give a process id, which jfluid ps lists, and report the version of that client.'
  constructor(command: string, problem: string) {
    super(`the answer of ${command} was not understood: ${problem}`)
  }
}

export interface Said {
  /** 0 if it could tell. */
  readonly code: number
  readonly stdout: string
  /** On one line. */
  readonly stderr: string
}

/** The path of a client; undefined where there is none. */
export function clientPath(name: string, path = process.env.PATH ?? ''): string | undefined {
  for (const folder of path.split(delimiter)) {
    if (folder === '') continue
    const file = join(folder, name)
    try {
      accessSync(file, constants.X_OK)
      if (statSync(file).isFile()) return file
    } catch {
      // Not there.
    }
  }
  return undefined
}

/** Asks clients until a time is over that they share. */
export class Clients {
  readonly #until: number
  readonly #ms: number

  constructor(ms = CLIENTS_MS) {
    this.#ms = ms
    this.#until = performance.now() + ms
  }

  /**
   * Runs a client; undefined where there is none of that name.
   *
   * @throws ContainerClientSilent, ContainerClientNotUnderstood where it says more than anybody would
   */
  async ask(name: string, ...args: string[]): Promise<Said | undefined> {
    const path = clientPath(name)
    if (path === undefined) return undefined
    const command = [name, ...args].join(' ')
    return await new Promise((resolve, reject) => {
      const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
      const out: Buffer[] = []
      const err: Buffer[] = []
      let size = 0
      const end = (problem: JfluidError): void => {
        clearTimeout(timer)
        reject(problem)
        killGroup(child.pid)
        // Whoever it has left behind may still hold them.
        child.stdout.destroy()
        child.stderr.destroy()
      }
      const timer = setTimeout(
        () => end(new ContainerClientSilent(command, this.#ms)),
        Math.max(0, this.#until - performance.now()),
      )
      const keep = (to: Buffer[]) => (chunk: Buffer) => {
        to.push(chunk)
        size += chunk.length
        if (size > MOST_BYTES)
          end(new ContainerClientNotUnderstood(command, `it is longer than ${MOST_BYTES} bytes`))
      }
      child.stdout.on('data', keep(out))
      child.stderr.on('data', keep(err))
      child.on('error', (problem) => end(new ContainerClientNotUnderstood(command, problem.message)))
      child.on('close', (code) => {
        clearTimeout(timer)
        const said = Buffer.concat(err)
          .toString('utf8')
          .trim()
          .split(/\s*\n\s*/)
          .join(' ')
        resolve({
          code: code ?? 1,
          stdout: Buffer.concat(out).toString('utf8'),
          stderr: said.slice(0, MOST_SAID),
        })
      })
    })
  }
}

/** Of its own group, with what it has started. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** @throws ContainerClientNotUnderstood */
export function parseAnswer(command: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (problem) {
    throw new ContainerClientNotUnderstood(command, (problem as Error).message)
  }
}

/** What lies in an answer below some names; undefined where it has another shape. An index is that of an array. */
export function at(answer: unknown, ...names: readonly (string | number)[]): unknown {
  let value = answer
  for (const name of names) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  return value
}

export function textAt(answer: unknown, ...names: readonly (string | number)[]): string | undefined {
  const value = at(answer, ...names)
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function listAt(answer: unknown, ...names: readonly (string | number)[]): readonly unknown[] {
  const value = at(answer, ...names)
  return Array.isArray(value) ? value : []
}
