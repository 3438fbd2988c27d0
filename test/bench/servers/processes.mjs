// Processes of the servers' bench. Each has its own process group, which is ended as a whole, since kc.sh and script(1) start other
// processes. No process outlives the bench.

import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { removeJvmFiles } from '../support.mjs'

const KILL_AFTER_MS = 15_000
const UP_LATE_MS = 300_000

const living = new Set()
const directories = new Set()

process.on('exit', () => {
  for (const { pid, jvm } of living) {
    signalGroup(pid, 'SIGKILL')
    if (jvm !== null) removeJvmFiles(jvm)
  }
  for (const directory of directories) remove(directory)
})

/** Creates a directory. It is removed with its contents by `remove`, or at the end of the bench, after the processes that write there. */
export function temporaryDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'jfluid-bench-'))
  directories.add(directory)
  return directory
}

/** Retries, since a process that was just killed may still write. */
export function remove(directory) {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  directories.delete(directory)
}

/** @returns whether there was a process to signal */
function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal)
    return true
  } catch (problem) {
    if (problem.code === 'ESRCH') return false
    throw problem
  }
}

export class Running {
  #child
  /** Resolves with the exit code, or the name of the signal. */
  ended
  /** Exit code or signal; null while the process runs. */
  how = null
  /** Process id of the JVM in the process group, when it is known. */
  jvm = null

  /**
   * @param {readonly string[]} command
   * @param {{cwd?: string, env?: Record<string, string>, log?: string, onOutput?: (text: string) => void, typed?: boolean}} options
   *   `log`: file for the output; `onOutput` receives stdout instead; `typed`: whether the process reads what `type` writes
   */
  constructor([program, ...args], { cwd, env, log, onOutput, typed = false } = {}) {
    const inherited = { ...process.env }
    delete inherited.JAVA_TOOL_OPTIONS
    delete inherited.JDK_JAVA_OPTIONS
    const to = log === undefined ? 'ignore' : openSync(log, 'a')
    this.#child = spawn(program, args, {
      cwd,
      env: { ...inherited, ...env },
      detached: true,
      stdio: [typed ? 'pipe' : 'ignore', onOutput === undefined ? to : 'pipe', to],
    })
    if (log !== undefined) closeSync(to)
    if (onOutput !== undefined) this.#child.stdout.setEncoding('utf8').on('data', onOutput)
    this.#child.stdin?.on('error', () => {}) // the process is ending
    living.add(this)
    this.ended = new Promise((resolve, reject) => {
      this.#child.on('error', reject)
      this.#child.on('close', (code, signal) => resolve(code ?? signal))
    }).finally(() => living.delete(this))
    this.ended.then(
      (how) => {
        this.how = how
      },
      (problem) => {
        this.how = problem.message
      },
    )
  }

  get pid() {
    return this.#child.pid
  }

  /** Has no effect after the end of the process. */
  type(keys) {
    if (this.how === null) this.#child.stdin.write(keys)
  }

  /** Sends a signal to the group, and SIGKILL if the group does not end in time. */
  async end(signal = 'SIGTERM', patienceMs = KILL_AFTER_MS) {
    if (this.how !== null) return
    signalGroup(this.pid, signal)
    const late = setTimeout(() => signalGroup(this.pid, 'SIGKILL'), patienceMs)
    await this.ended
    clearTimeout(late)
  }
}

/** Returns the fields of /proc/<pid>/stat after the name of the process; null if there is no such process. */
export function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}

const PARENT = 1

function childOf(pid) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .find((name) => statOf(name)?.[PARENT] === String(pid))
}

/** Returns the first process that runs this program: the process itself, its child, or a descendant. Null if there is none now. */
export function descendantRunning(pid, program) {
  for (let at = pid; at !== undefined; at = childOf(at)) {
    try {
      if (basename(readlinkSync(`/proc/${at}/exe`)) === program) return Number(at)
    } catch {
      return null // the process has ended in between
    }
  }
  return null
}

/** Returns ports of this machine that are free now. */
export async function freePorts(count) {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer()
      return new Promise((resolve, reject) => {
        server.on('error', reject)
        server.listen(0, '127.0.0.1', () => resolve(server))
      })
    }),
  )
  const ports = servers.map((server) => server.address().port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** Waits until `isUp`. Throws if the process ends before that, or after a timeout. */
export async function untilUp(running, isUp, what) {
  const until = Date.now() + UP_LATE_MS
  while (!(await isUp())) {
    if (running.how !== null) throw new Error(`${what} ended with ${running.how} before it was up`)
    if (Date.now() > until) throw new Error(`${what} was not up after ${UP_LATE_MS / 60_000} minutes`)
    await sleep(200)
  }
}
