// Starts JVMs for tests and ends them: no JVM outlives its test, its test file or this process.
//
// A process started inside a test ends with that test. A process started in a hook or at the top of a
// file ends with the file (test/lanes/own-processes.ts). If the worker itself ends, its `exit` handler kills
// the remaining processes. Temporary directories are removed with the file, and those of class files with the lane: other files
// use the same classes.

import {
  type ChildProcess,
  type ChildProcessByStdio,
  execFile,
  execFileSync,
  type StdioOptions,
  spawn,
  spawnSync,
} from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { beginDebugLog } from '../../src/base/debug-log.ts'
import { type Compilation, compiledClasses, compiledOnce } from './compiled.ts'
import type { Jdk } from './jdks.ts'

/** Log of sessions in this process. A started command has its own log. */
beginDebugLog(process.env)

export interface JavaExit {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface JavaOptions {
  /** Variables added to this process's environment; `undefined` removes a variable. */
  env?: Record<string, string | undefined>
  cwd?: string
  /** User and group of the JVM (needs root). */
  uid?: number
  gid?: number
  /** Descriptor for the process's standard output, which this module then does not read. */
  stdout?: number
  /** Whether the process runs in a separate session without the developer's terminal. Its process group ends with the test. */
  detached?: boolean
}

export interface JavaProcess extends AsyncDisposable {
  readonly pid: number
  readonly child: ChildProcess
  /** Everything written so far. */
  stdout(): string
  stderr(): string
  /**
   * Returns the nth matching line of stdout, past or future. The default is the first, so later
   * calls may return the same line. Only complete lines count.
   * Rejects with both outputs in the message if the process ends without such a line.
   */
  line(pattern: RegExp, nth?: number): Promise<string>
  /** Settles when the process has ended and all its output has been read. */
  readonly exit: Promise<JavaExit>
  /** Sends SIGKILL, which also ends a stopped process, and waits for the end. */
  kill(): Promise<void>
  /** Writes one line to stdin. */
  send(line: string): void
}

const living = new Set<JavaProcess>()
/** Ids of process groups. */
const leaders = new Set<number>()
/** Temporary directories. */
const temporary = new Set<string>()

function killNow({ pid, child }: JavaProcess): void {
  if (!leaders.has(pid)) {
    child.kill('SIGKILL')
    return
  }
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // all processes of the group have ended
  }
}

function removeDirectories(): void {
  for (const dir of temporary) rmSync(dir, { recursive: true, force: true })
  temporary.clear()
}

process.on('exit', () => {
  for (const java of living) killNow(java)
  removeDirectories()
})

/** Cleans up after a test file. */
export async function endProcesses(): Promise<void> {
  const ended = await Promise.allSettled([...living].map((java) => java.kill()))
  removeDirectories()
  const failed = ended.find((it) => it.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/** Removes files that a JVM removes when it exits, but not when it is killed. */
function removeJvmFiles(pid: number): void {
  for (const name of [`.java_pid${pid}`, `.java_pid${pid}.tmp`]) {
    rmSync(join('/tmp', name), { force: true, recursive: true })
  }
  for (const name of readdirSync('/tmp')) {
    if (name.startsWith('hsperfdata_')) rmSync(join('/tmp', name, String(pid)), { force: true })
  }
}

function killWithTest(java: JavaProcess): void {
  try {
    onTestFinished(() => java.kill())
  } catch {
    // Started outside a test: the process lives as long as the file.
  }
}

export function startJava(jdk: Jdk, args: readonly string[], options: JavaOptions = {}): JavaProcess {
  return startProcess(jdk.java, args, options)
}

/** Starts any program, with the same cleanup as `startJava`. */
export function startProcess(
  command: string,
  args: readonly string[],
  options: JavaOptions = {},
): JavaProcess {
  const { env, stdout: descriptor, ...rest } = options
  const merged: NodeJS.ProcessEnv = { ...process.env }
  // With these two variables a JVM prints a line on stderr, which tests of stderr do not expect.
  for (const [name, value] of Object.entries({
    JAVA_TOOL_OPTIONS: undefined,
    JDK_JAVA_OPTIONS: undefined,
    ...env,
  })) {
    if (value === undefined) delete merged[name]
    else merged[name] = value
  }
  const stdio: StdioOptions = ['pipe', descriptor ?? 'pipe', 'pipe']
  const child = spawn(command, args, { ...rest, env: merged, stdio }) as ChildProcessByStdio<
    Writable,
    Readable | null,
    Readable
  >
  const { pid } = child
  if (pid === undefined) {
    child.on('error', () => {})
    throw new Error(`${command} did not start`)
  }

  let stdout = ''
  let stderr = ''
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const look of waiting) look()
  }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    wake()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.on('error', () => {}) // EPIPE of an ended process is reported by `exit`

  let ended: JavaExit | undefined
  const exit = new Promise<JavaExit>((resolve) => {
    child.on('close', (code, signal) => {
      living.delete(java)
      leaders.delete(pid) // the kernel may reuse the process id
      if (signal === 'SIGKILL') removeJvmFiles(pid)
      ended = { code, signal }
      resolve(ended)
      wake()
    })
  })
  if (options.detached) leaders.add(pid)
  const kill = async () => {
    killNow(java)
    await exit
  }

  const java: JavaProcess = {
    pid,
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    line: (pattern, nth = 1) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const complete = ended === undefined ? stdout.slice(0, stdout.lastIndexOf('\n') + 1) : stdout
          const matching = complete.split(/\r?\n/).filter((line) => line !== '' && line.search(pattern) >= 0)
          const found = matching[nth - 1]
          if (found !== undefined) resolve(found)
          else if (ended !== undefined) {
            const how = ended.signal ?? `code ${ended.code}`
            reject(
              new Error(`${command} ended (${how}) before a line matched ${pattern}\n${stdout}\n${stderr}`),
            )
          } else return
          waiting.delete(look)
        }
        waiting.add(look)
        look()
      }),
    exit,
    kill,
    send: (line) => {
      child.stdin.write(`${line}\n`)
    },
    [Symbol.asyncDispose]: kill,
  }
  living.add(java)
  killWithTest(java)
  return java
}

/** Sends a line, and waits for the first matching line after the current output. */
export async function ask(java: JavaProcess, line: string, answer: RegExp): Promise<string> {
  const answers = java
    .stdout()
    .split('\n')
    .filter((it) => it.search(answer) >= 0)
  java.send(line)
  return await java.line(answer, answers.length + 1)
}

/** Stops a process with SIGSTOP and waits until it is stopped (`kill` and SIGCONT end this). */
export async function stop({ pid, child }: JavaProcess): Promise<void> {
  child.kill('SIGSTOP')
  while (!/^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) await sleep(1)
}

/** Returns a directory that is removed when the test file (or this process) ends. */
export function temporaryDirectory(prefix = 'jfluid-test-'): string {
  const dir = mkdtempSync(join(tmpdir(), prefix))
  temporary.add(dir)
  return dir
}

/** Returns a directory of class files that other test files of this process use, too. */
function classDirectory(): string {
  const ofLane = process.env.JFLUID_TEST_CLASSES
  return ofLane === undefined ? temporaryDirectory('jfluid-classes-') : mkdtempSync(join(ofLane, 'classes-'))
}

/** Returns a copy that JVMs of other users can read: the cache of class files may be in a home directory. */
export function readableByAll(directory: string): string {
  const copy = classDirectory()
  cpSync(directory, copy, { recursive: true })
  execFileSync('chmod', ['-R', 'a+rX', copy])
  return copy
}

/**
 * Returns the path of the running Node.js for a process of another user (needs root). If that user cannot read it, for example below a home
 * directory, it is a copy.
 */
export function nodeFor(user: { uid: number; gid: number }): string {
  const { status } = spawnSync(process.execPath, ['--version'], { ...user, cwd: '/' })
  if (status === 0) return process.execPath
  const dir = temporaryDirectory('jfluid-node-')
  chmodSync(dir, 0o755)
  const copy = join(dir, 'node')
  copyFileSync(process.execPath, copy)
  chmodSync(copy, 0o755)
  return copy
}

export interface CompileOptions {
  /** Directory of the class files; default: a temporary directory. */
  outDir?: string
  /** `--release`, default 17. `null` compiles for the JDK itself, with internal packages visible. */
  release?: number | null
  /** Further options of `javac`: `-g`, `-parameters`, `-cp`, … */
  options?: readonly string[]
}

function sourcesIn(directory: string): Map<string, string> {
  const names = (readdirSync(directory, { recursive: true }) as string[]).filter((it) => it.endsWith('.java'))
  return new Map(names.map((name) => [name, readFileSync(join(directory, name), 'utf8')]))
}

/**
 * Compiles Java and returns the directory of class files.
 *
 * @param sources  file name (`Foo.java`, `a/b/Foo.java`, or just `Foo`) to text, or a directory
 *                 whose `.java` files are all compiled
 * @throws Error with javac's output
 */
export async function compileJava(
  jdk: Jdk,
  sources: Record<string, string> | string,
  { outDir, release = LANGUAGE, options = [] }: CompileOptions = {},
): Promise<string> {
  const classes = outDir ?? classDirectory()
  mkdirSync(classes, { recursive: true })
  const given = typeof sources === 'string' ? sourcesIn(sources) : new Map(Object.entries(sources))
  const compilation = { jdk, options: javacOptions(jdk, release, options), sources: given }
  await compiledOnce(compilation, classes, async (into) => {
    // The options may refer to the given directory.
    const dir = typeof sources === 'string' ? sources : temporaryDirectory('jfluid-sources-')
    const files = [...given].map(([name, text]) => {
      const file = join(dir, name.endsWith('.java') ? name : `${name}.java`)
      if (dir === sources) return file
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
      return file
    })
    await javac(compilation, files, into)
  })
  return classes
}

/**
 * Compiles files of the checkout and returns the directory of class files in the cache. Tests must not write to it.
 *
 * @throws Error with javac's output
 */
export async function compiledFiles(jdk: Jdk, files: readonly string[], release: number): Promise<string> {
  const compilation = { jdk, options: [...javacOptions(jdk, release, []), ...files], sources: new Map() }
  const classes = await compiledClasses(compilation, (into) => javac(compilation, [], into))
  if (classes === null) throw new Error(`not cached: ${compilation.options.join(' ')}`)
  return classes
}

/** The release whose language the programs of the tests are written in. */
export const LANGUAGE = 17
/** Major version of the class files of JDK 0: that of JDK 11 is 55. */
const FIRST_CLASS_VERSION = 44

/**
 * Gives the class files a version that an older JDK accepts. The code of switch rules, text blocks and patterns is also valid there. Records
 * and methods of newer JDKs are missing when they are used, and a method reference to a private instance method is an IllegalAccessError.
 */
function lowerVersions(directory: string, { full }: Pick<Jdk, 'full'>): void {
  const newest = FIRST_CLASS_VERSION + Number.parseInt(full, 10)
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.class')) continue
    const path = join(directory, name)
    const bytes = readFileSync(path)
    if (bytes.readUInt16BE(6) <= newest) continue
    bytes.writeUInt16BE(newest, 6)
    writeFileSync(path, bytes)
  }
}

function javacOptions(jdk: Jdk, release: number | null, options: readonly string[]): string[] {
  return ['-nowarn', '-J-XX:TieredStopAtLevel=1', ...levelOf(jdk, release), ...options]
}

function levelOf({ home, isRuntime, version }: Jdk, release: number | null): string[] {
  if (release !== null) return ['--release', `${release}`]
  return isRuntime ? ['--system', home, '-source', `${version}`, '-target', `${version}`] : []
}

async function javac(
  { jdk, options }: Compilation,
  files: readonly string[],
  directory: string,
): Promise<void> {
  try {
    await promisify(execFile)(jdk.javac, [...options, '-d', directory, ...files], { maxBuffer: 16 << 20 })
    lowerVersions(directory, jdk)
  } catch (problem) {
    const output = problem as { stdout?: string; stderr?: string }
    throw new Error(`javac ${jdk.full} refused:\n${output.stdout ?? ''}${output.stderr ?? problem}`)
  }
}
