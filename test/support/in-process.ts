// Runs a command like cli.ts, in this process. Output and exit code are available after milliseconds, without a start of
// Node.js. For behaviour that depends on arguments, files and the environment. Anything that needs its own process (signals, pipes,
// terminals, an exit) is refused here; use `jfluid` of jfluid.ts.

import { Readable, Writable } from 'node:stream'
import { packageVersion } from '../../src/base/package-root.ts'
import { failureOf } from '../../src/commands/failure.ts'
import { commandLine } from '../../src/commands/program.ts'
import type { Ran } from './jfluid.ts'

export interface Surroundings {
  readonly cwd?: string
  /** Variables added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** Runs `jfluid …`. */
export function inProcess(...args: string[]): Promise<Ran> {
  return inProcessIn({}, ...args)
}

let isRunning = false

/** Runs `jfluid …` in another directory or environment. */
export async function inProcessIn({ cwd, env }: Surroundings, ...args: string[]): Promise<Ran> {
  if (isRunning) throw new Error('two commands at a time in one process: await the first, or spawn them')
  isRunning = true
  const refused: string[] = []
  const refuse = (what: string): never => {
    refused.push(what)
    throw new Error(`${what} cannot be captured`)
  }
  const stdout = new Captured(() => refuse('the descriptor of stdout'))
  const stderr = new Captured(() => refuse('the descriptor of stderr'))
  const restore = [
    replaceProperties(process, {
      stdout,
      stderr,
      stdin: new Readable({ read: () => refuse('reading stdin') }),
      exit: (code?: number) => refuse(`process.exit(${code})`),
      abort: () => refuse('process.abort()'),
    }),
    keepListeners(),
    keepEnvironment(),
  ]
  const before = { directory: process.cwd(), exitCode: process.exitCode }
  try {
    process.exitCode = 0
    Object.assign(process.env, env)
    if (cwd !== undefined) process.chdir(cwd)
    await commandLine(packageVersion()).parseAsync(args, { from: 'user' })
  } catch (error) {
    const { text, exitCode } = failureOf(error)
    stderr.write(text)
    process.exitCode = exitCode
  } finally {
    isRunning = false
    process.chdir(before.directory)
  }
  const code = Number(process.exitCode ?? 0)
  process.exitCode = before.exitCode
  for (const it of restore.toReversed()) it()
  if (refused.length > 0) {
    throw new Error(`jfluid ${args.join(' ')} needs a process of its own, for ${refused.join(' and ')}`)
  }
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

/** Looks like a pipe to code that checks for a terminal. */
class Captured extends Writable {
  readonly #pieces: Buffer[] = []
  readonly #descriptor: () => never

  constructor(descriptor: () => never) {
    super()
    this.#descriptor = descriptor
  }

  /** Output written to the descriptor would not be captured. */
  get fd(): number {
    return this.#descriptor()
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#pieces.push(chunk)
    done()
  }

  text(): string {
    return Buffer.concat(this.#pieces).toString()
  }
}

function replaceProperties(object: object, values: Readonly<Record<string, unknown>>): () => void {
  const before = Object.keys(values).map(
    (name) => [name, Object.getOwnPropertyDescriptor(object, name)!] as const,
  )
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: true })
  }
  return () => {
    for (const [name, descriptor] of before) Object.defineProperty(object, name, descriptor)
  }
}

/** Removes listeners that a command registers for the end of its process. */
function keepListeners(): () => void {
  const before = new Map(process.eventNames().map((name) => [name, new Set(process.rawListeners(name))]))
  return () => {
    for (const name of process.eventNames()) {
      for (const listener of process.rawListeners(name)) {
        if (before.get(name)?.has(listener) !== true) process.off(name, listener as () => void)
      }
    }
  }
}

function keepEnvironment(): () => void {
  const before = { ...process.env }
  return () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  }
}
