// Runs the command-line clients of container runtimes and of Kubernetes, without a shell and with a timeout, and passes their messages to
// the user. `client-path.ts` selects the file to run.

import { type ChildProcess, spawn } from 'node:child_process'
import { EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import { endingSignals } from '../signals.ts'
import { clientPath } from './client-path.ts'

/** Timeout for one query of all container clients, which run concurrently. */
export const CLIENTS_TIMEOUT_MS = 10_000
const MAX_OUTPUT_BYTES = 16 << 20
const MAX_MESSAGE_LENGTH = 500
/** Maximum time from the exit of a client to the end of its output. */
const OUTPUT_TIMEOUT_MS = 300

/** None of the suitable clients is on the PATH. */
export class NoContainerClient extends JfluidError {
  static sample = () => new NoContainerClient('container shop', ['docker', 'podman', 'nerdctl'])
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Give a process id: jfluid ps lists JVMs in containers, too.'
  constructor(what: string, clients: readonly string[]) {
    super(`cannot find ${what}: none of ${clients.join(', ')} is on the PATH`)
  }
}

/** A client hangs, for example because its server is unreachable. */
export class ContainerClientSilent extends JfluidError {
  static sample = () => new ContainerClientSilent('docker inspect shop', 10_000)
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  constructor(command: string, ms: number) {
    super(`${command} did not answer within ${ms / 1000} s`)
    this.hint = 'Run the command yourself to see why it hangs, or give a process id, which jfluid ps lists.'
  }
}

/** A client has answered in an unexpected format. */
export class ContainerClientNotUnderstood extends JfluidError {
  static sample = () =>
    new ContainerClientNotUnderstood('docker inspect shop', 'it has no id, state or process')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Give a process id, which jfluid ps lists, and report the version of the program.'
  constructor(command: string, problem: string) {
    super(`cannot read the output of ${command}: ${problem}`)
  }
}

export interface Said {
  /** Exit code; 0 if the client has succeeded. */
  readonly code: number
  readonly stdout: string
  /** Error output on one line. */
  readonly stderr: string
}

/**
 * Runs clients that share one timeout. The clients are detached from the terminal: a client cannot prompt for a password, and Ctrl-C does
 * not reach a client. Running clients are killed when this process ends, and by `close`.
 */
export class Clients {
  readonly #until: number
  readonly #ms: number
  readonly #asked = new Set<ChildProcess>()
  readonly #names = endingSignals()
  #isClosed = false

  constructor(ms = CLIENTS_TIMEOUT_MS) {
    this.#ms = ms
    this.#until = performance.now() + ms
    process.on('exit', this.#end)
    for (const name of this.#names) process.on(name, this.#leave)
  }

  /**
   * Runs a client; undefined if there is no such client, or after `close`.
   *
   * @throws ContainerClientSilent, ContainerClientNotUnderstood if the output is too long, and errors of `clientPath`
   */
  async ask(name: string, ...args: string[]): Promise<Said | undefined> {
    const path = this.#isClosed ? undefined : clientPath(name)
    if (path === undefined) return undefined
    const command = [name, ...args].join(' ')
    return await new Promise((resolve, reject) => {
      const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
      this.#asked.add(child)
      const out: Buffer[] = []
      const err: Buffer[] = []
      let size = 0
      let lastWords: NodeJS.Timeout | undefined
      const over = (): void => {
        this.#asked.delete(child)
        clearTimeout(timer)
        clearTimeout(lastWords)
        // A process that the client has started may still hold the pipes.
        child.stdout.destroy()
        child.stderr.destroy()
      }
      const end = (problem: JfluidError): void => {
        over()
        reject(problem)
        killGroup(child)
      }
      const timer = setTimeout(
        () => end(new ContainerClientSilent(command, this.#ms)),
        Math.max(0, this.#until - performance.now()),
      )
      const keep = (to: Buffer[]) => (chunk: Buffer) => {
        to.push(chunk)
        size += chunk.length
        if (size > MAX_OUTPUT_BYTES)
          end(new ContainerClientNotUnderstood(command, `more than ${MAX_OUTPUT_BYTES} bytes`))
      }
      child.stdout.on('data', keep(out))
      child.stderr.on('data', keep(err))
      child.on('error', (problem) => end(new ContainerClientNotUnderstood(command, problem.message)))
      const said = (): void => {
        over()
        resolve({
          code: child.exitCode ?? 1,
          stdout: Buffer.concat(out).toString('utf8'),
          stderr: sentence(Buffer.concat(err).toString('utf8')),
        })
      }
      // An ssh master that stays for later connections (ControlPersist) keeps the output open.
      child.on('exit', () => {
        lastWords = setTimeout(said, OUTPUT_TIMEOUT_MS)
      })
      child.on('close', said)
    })
  }

  /** Kills the clients that are still running. */
  close(): void {
    this.#isClosed = true
    this.#end()
    process.off('exit', this.#end)
    for (const name of this.#names) process.off(name, this.#leave)
  }

  readonly #end = (): void => {
    for (const child of this.#asked) killGroup(child)
  }

  /** Kills the clients, then lets the signal have its default effect. */
  readonly #leave = (signal: NodeJS.Signals): void => {
    const isOursAlone = process.listenerCount(signal) === 1
    this.#end()
    if (!isOursAlone) return
    process.off(signal, this.#leave)
    process.kill(process.pid, signal)
  }
}

/** Kills the client's process group, which includes its child processes. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process has ended.
  }
}

/** Start of a line of klog, the log library of Kubernetes clients. Such lines are for developers. */
const LOGGED = /^[IWEF]\d{4} \d\d:\d\d:/

/** Returns a client's message on one line. Log lines are omitted, except if the message has only log lines. */
function sentence(text: string): string {
  const lines = text
    .trim()
    .split(/\s*\n\s*/)
    .filter((line) => line !== '')
  const meant = lines.filter((line) => !LOGGED.test(line))
  return (meant.length > 0 ? meant : lines).join(' ').slice(0, MAX_MESSAGE_LENGTH)
}

/** @throws ContainerClientNotUnderstood */
export function parseAnswer(command: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (problem) {
    throw new ContainerClientNotUnderstood(command, (problem as Error).message)
  }
}

/** Returns the value at a path in an answer; undefined if the answer has another structure. A number is an array index. */
export function at(answer: unknown, ...names: readonly (string | number)[]): unknown {
  let value = answer
  for (const name of names) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  return value
}

export function textAt(answer: unknown, ...names: readonly (string | number)[]): string | undefined {
  // biome-ignore lint/plugin/no-spread: callers pass only a few literal names
  const value = at(answer, ...names)
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function listAt(answer: unknown, ...names: readonly (string | number)[]): readonly unknown[] {
  // biome-ignore lint/plugin/no-spread: callers pass only a few literal names
  const value = at(answer, ...names)
  return Array.isArray(value) ? value : []
}
