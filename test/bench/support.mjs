// Shared code of the benches: JDKs, JVMs that are ended in any case, and figures with their spread.

import { execFile, spawn } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { cpus, release, tmpdir, totalmem } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { moduleUrl } from '../support/modules.mjs'

export const project = join(import.meta.dirname, '../..')
export const cli = join(project, 'dist/cli.js')

/** Loads a module of the built client. */
export const load = async (file) => import(await moduleUrl(file))

// ---- JDKs ----

const MINIMUM = 17

/** Returns one JDK of each feature version on this machine, oldest first: {home, java, javac, version, name}. */
export function findJdks() {
  const homes = [process.env.JAVA_HOME, process.env.JDK_HOME].filter(Boolean)
  for (const folder of ['/usr/lib/jvm', '/opt/java', '/opt/jdk']) {
    if (existsSync(folder)) for (const name of readdirSync(folder)) homes.push(join(folder, name))
  }
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const javac = join(folder, 'javac')
    if (folder && existsSync(javac)) homes.push(dirname(dirname(realpathSync(javac))))
  }
  const byVersion = new Map()
  for (const home of homes) {
    try {
      const facts = readFileSync(join(home, 'release'), 'utf8')
      const fact = (key) => new RegExp(`^${key}="([^"]+)"`, 'm').exec(facts)?.[1]
      const full = fact('JAVA_VERSION') ?? '0'
      const version = Number.parseInt(full, 10)
      const [java, javac] = ['java', 'javac'].map((tool) => join(home, 'bin', tool))
      for (const tool of [java, javac]) accessSync(tool, constants.X_OK)
      if (version < MINIMUM || byVersion.has(version)) continue
      const name = `JDK ${fact('JAVA_RUNTIME_VERSION') ?? full} (${fact('IMPLEMENTOR') ?? 'OpenJDK'})`
      byVersion.set(version, { home, java, javac, version, name })
    } catch {
      // The directory contains no JDK.
    }
  }
  return [...byVersion.values()].sort((a, b) => a.version - b.version)
}

export function machine(jdks) {
  const os = existsSync('/etc/os-release')
    ? /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
    : undefined
  return [
    `${cpus()[0].model.trim()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB; ${os ?? 'Linux'}, kernel ${release().split('-')[0]}`,
    `node ${process.version}; ${jdks.map((jdk) => jdk.name).join('; ')}`,
  ]
}

/** Returns the number of runnable tasks over the last minute, since other load on the machine affects every figure. */
export function loadAverage() {
  return Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[0])
}

// ---- processes and files, which are removed when this process ends ----

const living = new Set()
const directories = new Set()

export function temporaryDirectory() {
  const dir = mkdtempSync(join(tmpdir(), 'jfluid-bench-'))
  directories.add(dir)
  return dir
}

process.on('exit', () => {
  for (const child of living) {
    child.kill('SIGKILL')
    removeJvmFiles(child.pid)
  }
  for (const dir of directories) rmSync(dir, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130))

/** Removes files that a killed JVM leaves behind. */
export function removeJvmFiles(pid) {
  rmSync(`/tmp/.java_pid${pid}`, { force: true })
  for (const name of readdirSync('/tmp')) {
    if (name.startsWith('hsperfdata_')) rmSync(join('/tmp', name, String(pid)), { force: true })
  }
}

/** Compiles files for the JDK itself and returns the directory of the classes. */
export async function compile(jdk, files, options = []) {
  const classes = temporaryDirectory()
  await promisify(execFile)(jdk.javac, ['-nowarn', '-d', classes, ...options, ...files])
  return classes
}

export function javaFiles(dir) {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.java'))
    .map((name) => join(dir, name))
}

/** A child process that reads and writes lines. */
export class Child {
  #lines = []
  #waiting = []
  #ended = false
  stderr = ''

  /** `options`: `env` is added to the environment, `onLine` gets every line of stdout, `onError` gets all output of stderr so far. */
  constructor(command, args, options = {}) {
    const env = { ...process.env, ...options.env }
    delete env.JAVA_TOOL_OPTIONS
    delete env.JDK_JAVA_OPTIONS
    this.process = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.pid = this.process.pid
    living.add(this.process)
    this.process.stdin.on('error', () => {}) // the process has ended, which `exit` reports
    this.process.stderr.setEncoding('utf8').on('data', (text) => {
      this.stderr += text
      options.onError?.(this.stderr)
    })
    createInterface({ input: this.process.stdout }).on('line', (line) => {
      options.onLine?.(line)
      this.#lines.push(line)
      this.#wake()
    })
    this.exit = new Promise((resolve) => {
      this.process.on('error', () => resolve(-1))
      this.process.on('close', (code, signal) => resolve(code ?? signal))
    }).then((how) => {
      living.delete(this.process)
      if (how === 'SIGKILL') removeJvmFiles(this.pid)
      this.#ended = true
      this.#wake()
      return how
    })
  }

  /** Resolves with the next unread line that matches. */
  line(pattern) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ pattern, resolve, reject })
      this.#wake()
    })
  }

  #wake() {
    for (const waiting of this.#waiting.splice(0)) {
      const at = this.#lines.findIndex((line) => waiting.pattern.test(line))
      if (at >= 0) waiting.resolve(this.#lines.splice(0, at + 1).at(-1))
      else if (this.#ended) waiting.reject(new Error(`ended before ${waiting.pattern}\n${this.stderr}`))
      else this.#waiting.push(waiting)
    }
  }

  async ask(line, answer) {
    this.process.stdin.write(`${line}\n`)
    return this.line(answer)
  }

  /** Asks a JVM to end, and kills it after a timeout. */
  async end(signal = 'SIGTERM') {
    this.process.stdin.end()
    if (signal !== null) this.process.kill(signal)
    const late = setTimeout(() => this.process.kill('SIGKILL'), 5000)
    await this.exit
    clearTimeout(late)
  }
}

// ---- sessions ----

/** Starts a session, like `jfluid record`. */
export async function startSession(pid, root, more = {}) {
  const { attachDoor } = await load('session/doors/door.js')
  const { Session } = await load('session/session.js')
  const { sessionOptions } = await load('commands/options.js')
  const options = sessionOptions({ root: [root], scheme: 'b' })
  return Session.start(await attachDoor(pid), { ...options, ...more })
}

export { sleep }

// ---- figures ----

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
}

export function geometric(values) {
  return Math.exp(values.reduce((sum, it) => sum + Math.log(it), 0) / values.length)
}

/** Returns `min median max`, in columns. */
export function spread(values, digits = 1, width = 8) {
  return [Math.min(...values), median(values), Math.max(...values)]
    .map((value) => value.toFixed(digits).padStart(width))
    .join(' ')
}

export const verdict = (ok, goal) => `goal ${goal}: ${ok ? 'reached' : 'MISSED'}`
