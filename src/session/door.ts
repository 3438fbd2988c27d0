// How an agent gets into a JVM and connects back: by attach to a running one, or by -javaagent at the
// start of one. Both end in the same Link; what differs stays here.
//
// The session directory's contents are unlinked as soon as both sides have them open, so nothing is
// left behind however either side ends from then on.

import { chownSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentProperties, loadAgent, systemProperties } from '../attach/command.ts'
import { compiledMethods } from '../attach/compiled-methods.ts'
import { type AttachConnection, openAttachSocket } from '../attach/handshake.ts'
import { findPerfData, parsePerfData } from '../attach/hsperfdata.ts'
import { readTargetProcess, type TargetProcess } from '../attach/target-process.ts'
import { EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { AgentDidNotConnect, type Link, LinkServer } from '../wire/link.ts'
import { type AgentJar, agentJar } from './agent-jar.ts'
import { makeSessionDirectory, removeSessionDirectory } from './session-directory.ts'

const CONNECT_MS = 10_000
/** Pauses between looks for the error of an agent that could not start. */
const LOOK_MS = 100

/** One session at a time: two would splice over each other. */
export class AlreadyAttached extends JfluidError {
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'End the other session first, or wait until it has detached.'
  constructor(pid: number) {
    super(`another jfluid is attached to JVM ${pid}`)
  }
}

/**
 * JDK 17 to 23. The JVM asks a security manager before it links a probe: one of the application's may have probes
 * itself, and be asked again, for ever. The JDK's own grants an agent nothing.
 */
export class SecurityManagerPresent extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Run the program without a security manager to profile it.'
  constructor(pid: number, className: string) {
    super(`JVM ${pid} has a security manager, ${className}: jfluid does not enter`)
  }
}

/** Where the JVM keeps its safepoint counter; '' and 0 if it keeps none. */
export interface PerfCounter {
  readonly file: string
  readonly offset: number
}

export interface OpenDoor {
  readonly link: Link
  /** null where the JVM was started, perhaps by a script that stands between: it tells itself. */
  readonly pid: number | null
  /** The session directory; removed by `leave`. */
  readonly dir: string
  /** Whether an agent was there already and had only to be woken. */
  readonly woken: boolean
  /** Methods that are known to run in the JVM, as `package.Class.method(descriptor)`. */
  executed(): Promise<ReadonlySet<string>>
  /** @param pid of the JVM */
  perf(pid: number): PerfCounter
  /** Lets the target's user open a file of ours, where that is another user. */
  share(path: string): void
  /** Removes what the door left on disk. */
  leave(): void
}

/** Attaches to a running JVM (report, section 3). */
export async function attachDoor(pid: number): Promise<OpenDoor> {
  const jar = agentJar()
  const connection = await openAttachSocket(pid)
  await refuseSecurityManager(connection)
  const dir = makeSessionDirectory(connection.target)
  try {
    const server = await LinkServer.listen(join(dir, 'link'))
    try {
      giveTo(connection.target, dir, join(dir, 'link'))
      const launch = launchLine(jar, dir)
      const woken = await wake(connection, launch)
      if (!woken) await loadAgent(connection, jar.path, launch)
      const link = await connected(server, dir, pid)
      return {
        link,
        pid,
        dir,
        woken,
        executed: () => compiledMethods(connection),
        perf: () => perfCounter(connection.target),
        share: (path) => giveTo(connection.target, path),
        leave: () => removeSessionDirectory(dir),
      }
    } finally {
      server.close()
    }
  } catch (error) {
    removeSessionDirectory(dir)
    throw error
  }
}

/** One that the program has set itself is found by the agent. */
async function refuseSecurityManager(connection: AttachConnection): Promise<void> {
  const manager = (await systemProperties(connection)).get('java.security.manager')
  if (manager === undefined || manager === 'allow' || manager === 'disallow') return
  throw new SecurityManagerPresent(
    connection.pid,
    manager === '' || manager === 'default' ? 'java.lang.SecurityManager' : manager,
  )
}

/** The door for a JVM that is about to be started with `option` on its command line. */
export interface StartDoor {
  /** `-javaagent:…`, to go before all other JVM options. */
  readonly option: string
  /**
   * Waits until the agent of the started process connects; null once `gone` fires first.
   *
   * @param pid     of that process: for errors, as the JVM may be below it
   * @param refused told why the agent did not start in a JVM below the process: it goes on, and another may come
   * @throws SecurityManagerPresent, AgentDidNotConnect: the process is that JVM, or has ended
   */
  connect(pid: number, gone: AbortSignal, refused: (problem: JfluidError) => void): Promise<OpenDoor | null>
  leave(): void
}

export async function startDoor(): Promise<StartDoor> {
  const jar = agentJar()
  const dir = makeSessionDirectory(null)
  try {
    const server = await LinkServer.listen(join(dir, 'link'))
    return {
      option: `-javaagent:${jar.path}=${launchLine(jar, dir)}`,
      async connect(pid, gone, refused) {
        const error = join(dir, 'error')
        const failed = new AbortController()
        // Not by inotify, of which a machine may have none left.
        let seen = 0
        const look = setInterval(() => {
          const written = statSync(error, { throwIfNoEntry: false })?.mtimeMs ?? 0
          if (written === seen) return
          seen = written
          if (isJvm(readTargetProcess(pid))) failed.abort()
          else refused(startProblem(pid, readFileSync(error, 'utf8')))
        }, LOOK_MS)
        try {
          // No time limit but the process itself: a launcher script may take its time before java.
          const link = await server.accept(2 ** 31 - 1, AbortSignal.any([gone, failed.signal]))
          if (link !== null) return opened(link, dir)
          if (existsSync(error)) throw startProblem(pid, readFileSync(error, 'utf8'))
          return null
        } finally {
          clearInterval(look)
        }
      },
      leave() {
        server.close()
        removeSessionDirectory(dir)
      },
    }
  } catch (error) {
    removeSessionDirectory(dir)
    throw error
  }
}

/** A launcher becomes one when it ends with `exec java`. */
function isJvm(process: TargetProcess | undefined): boolean {
  return process !== undefined && process.vmLibrary !== null && process.vmLibrary !== undefined
}

function opened(link: Link, dir: string): OpenDoor {
  return {
    link,
    pid: null,
    dir,
    woken: false,
    executed: () => Promise.resolve(new Set()),
    perf: startedPerfCounter,
    share: () => {},
    leave: () => removeSessionDirectory(dir),
  }
}

function launchLine(jar: AgentJar, dir: string): string {
  return `jar=${jar.path};dir=${dir};build=${jar.build}`
}

/** Root profiles another user's JVM: that user must be able to open what we made. */
function giveTo(target: TargetProcess, ...paths: string[]): void {
  if (process.getuid?.() !== 0 || target.euid === 0) return
  for (const path of paths) chownSync(path, target.euid, target.egid)
}

/**
 * Wakes an agent that an earlier session left asleep in the JVM.
 *
 * The attach command agentProperties makes it look for the launch file; see JFluid1.Wake.
 *
 * @returns false if there is none, or one of another build
 */
async function wake(connection: AttachConnection, launch: string): Promise<boolean> {
  const { target } = connection
  const file = `${target.root}/tmp/.jfluid_pid${target.nsPid}`
  rmSync(file, { force: true })
  writeFileSync(file, launch, { mode: 0o600, flag: 'wx' })
  try {
    giveTo(target, file)
    const properties = await agentProperties(connection)
    if (properties.get('jfluid.started') === launch) return true
    const error = properties.get('jfluid.error')
    if (error !== undefined && error !== 'another build') {
      throw startProblem(connection.pid, error)
    }
    return false
  } finally {
    rmSync(file, { force: true })
  }
}

async function connected(server: LinkServer, dir: string, pid: number): Promise<Link> {
  // agentmain() has returned by now, so an error has been written if there was one.
  const failed = new AbortController()
  const error = join(dir, 'error')
  if (existsSync(error)) failed.abort()
  const link = await server.accept(existsSync(error) ? 0 : CONNECT_MS, failed.signal)
  if (link !== null) return link
  throw startProblem(pid, existsSync(error) ? readFileSync(error, 'utf8') : null)
}

/** @param reason what the agent said, null if it said nothing */
function startProblem(pid: number, reason: string | null): JfluidError {
  const manager = /security manager: (\S+)/.exec(reason ?? '')?.[1]
  if (manager !== undefined) return new SecurityManagerPresent(pid, manager)
  return reason?.includes('another jfluid is attached') === true
    ? new AlreadyAttached(pid)
    : new AgentDidNotConnect(pid, CONNECT_MS, reason)
}

/** The same for a process that we started; its data appear while it starts. */
function startedPerfCounter(pid: number): PerfCounter {
  const target = readTargetProcess(pid)
  return target === undefined ? { file: '', offset: 0 } : perfCounter(target)
}

/** Where the target finds its own counter of time at safepoints. */
function perfCounter(target: TargetProcess): PerfCounter {
  const found = findPerfData(target)
  if (found === undefined) return { file: '', offset: 0 }
  try {
    const offset = parsePerfData(readFileSync(found.path)).offsets.get('sun.rt.safepointTime')
    if (offset !== undefined) return { file: found.path.slice(target.root.length), offset }
  } catch {
    // Not ours to read: pauses are then not taken out, and the profile says so.
  }
  return { file: '', offset: 0 }
}
