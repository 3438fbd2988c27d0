// How an agent gets into a JVM and connects back: by attach to a running one, or by -javaagent at the
// start of one. Both end in the same Link; what differs stays here.
//
// The session directory's contents are unlinked as soon as both sides have them open, so nothing is
// left behind however either side ends from then on.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AttachProtocolError,
  agentProperties,
  DynamicLoadingDisabled,
  loadAgent,
  systemProperties,
} from '../../attach/command.ts'
import { refuseBusyBeforeFlush } from '../../attach/first-redefinition.ts'
import { type AttachConnection, openAttachSocket } from '../../attach/handshake.ts'
import { findPerfData, tellsAllOptions } from '../../attach/hsperfdata.ts'
import { compiledCount, compiledMethods } from '../../attach/loaded-code.ts'
import { leftOfMetaspace, refuseWithoutHeap, refuseWithoutMetaspace } from '../../attach/memory-room.ts'
import { readRegular } from '../../attach/regular-file.ts'
import { DESCRIPTORS_NEEDED, readRoom, THREADS_NEEDED } from '../../attach/room.ts'
import { openTmp } from '../../attach/target-facts.ts'
import { readTargetProcess, type TargetProcess } from '../../attach/target-process.ts'
import { actingAs, userToBe } from '../../attach/target-user.ts'
import { debug } from '../../base/debug.ts'
import { EX_CANTCREAT, EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import {
  AgentDidNotConnect,
  type Link,
  LinkServer,
  type Meeting,
  newToken,
  ranOut,
  TargetRanOut,
} from '../../wire/link.ts'
import { BUFFER_BYTES } from '../recorder/buffer-size.ts'
import { type AgentJar, agentJar } from './agent-jar.ts'
import { type StartJar, seesJar, startJar } from './jar-path.ts'
import {
  AGENT,
  believedBy,
  ERROR,
  isLaunchFileInUse,
  launchFileHas,
  makeSessionDirectory,
  type Owner,
  ownerFor,
  removeLaunchFile,
  type SessionDirectory,
  SOCKET,
  TOKEN,
} from './session-directory.ts'

export const CONNECT_MS = 10_000
/** Pauses between looks for the error of an agent that could not start. */
const LOOK_MS = 100
/** How long another client may take to wake the agent; it has an attach command to be answered. */
const LAUNCH_MS = 11_000
const LAUNCH_LOOK_MS = 10
/** Of what an agent says that could not start. */
const MOST_SAID_BYTES = 64 << 10

/** One session at a time: two would splice over each other. */
export class AlreadyAttached extends JfluidError {
  static sample = () => new AlreadyAttached(4711)
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  constructor(pid: number) {
    super(`another jfluid is attached to JVM ${pid}`)
    this.hint = `End the other session, or wait until it has detached. If it hangs: jfluid detach ${pid}`
  }
}

/**
 * JDK 17 to 23. The JVM asks a security manager before it links a probe: one of the application's may have probes
 * itself, and be asked again, for ever. The JDK's own grants an agent nothing.
 */
export class SecurityManagerPresent extends JfluidError {
  static sample = () => new SecurityManagerPresent(4711, 'com.acme.Guard')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Run the program without a security manager.'
  /** @param who  its process id, or what it is called where that is not known */
  constructor(who: number | string, className: string) {
    const jvm = typeof who === 'number' ? `JVM ${who}` : who
    super(`${jvm} has a security manager (${className}), with which jfluid does not work`)
  }
}

/** The agent of an earlier session reads a file of ours there, and it cannot be written. */
export class CannotWake extends JfluidError {
  static sample = () => new CannotWake(4711, '/tmp/.jfluid_pid4711', 'ENOSPC')
  readonly exitCode = EX_CANTCREAT
  readonly hint = 'Make /tmp of the JVM writable, and free a few KiB there.'
  constructor(pid: number, file: string, code: string) {
    super(`cannot attach to JVM ${pid}: jfluid cannot write ${file} (${code})`)
  }
}

/** That of another version, whose probes are not ours: they stay for the life of the JVM. */
export class OtherBuild extends JfluidError {
  static sample = () => new OtherBuild(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Use the jfluid of that agent, or restart the program: without the old agent, or with the option that jfluid agent-path prints now.'
  constructor(pid: number) {
    super(`JVM ${pid} contains the agent of another jfluid build, which stays until the JVM ends`)
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
  /** The session directory as the target calls it; removed by `leave`. */
  readonly dir: string
  /** As we reach it, whatever has taken the place of its name. */
  readonly inside: string
  /** Whom a file must be given to that the target is to open; undefined where it may anyway. */
  readonly owner: Owner | undefined
  /** Makes something in there as whom the target knows (`actingAs`). */
  acting<T>(work: () => T): T
  /** Whether an agent was there already and had only to be woken. */
  readonly woken: boolean
  /** Whether any agent in Java was there before, which may have redefined something; undefined where that is not to be seen. */
  readonly hadAgent?: boolean | undefined
  /**
   * Where the agent was there: to be asked before the first redefinition, if that is still to come.
   *
   * @throws BusyBeforeFlush
   */
  refuseBusy?(): Promise<void>
  /** Where the agent sends its event buffer to, if it shares no directory with us; `dir` and `inside` are empty then. */
  readonly elsewhere?: Meeting
  /** Methods that are known to run in the JVM, as `package.Class.method(descriptor)`. */
  executed(): Promise<ReadonlySet<string>>
  /** How many methods are compiled; null where that is not known. */
  compiled(): Promise<number | null>
  /**
   * How many methods the JVM has compiled since its start, where no agent has been in it before us, which may have redefined something;
   * null or undefined elsewhere, and where that is not known.
   */
  compilations?(): number | null
  /** Bytes of metaspace that are left; Infinity where it has no limit, or that is not known. */
  metaspaceLeft(): Promise<number>
  /** @param pid of the JVM */
  perf(pid: number): PerfCounter
  /** Removes what the door left on disk. */
  leave(): void
  /** The same way in once more, after a session; undefined: by attach. */
  readonly again?: {
    /** Whether it would be there now. @throws why not */
    look(): Promise<void>
    open(): Promise<OpenDoor>
  }
}

/**
 * Attaches to a running JVM (report, section 3). One that does not see our jar is given a copy, which is removed with the directory.
 *
 * @param asks  what would make its requests wait for seconds is refused, see `asksFirst`
 * @throws BusyBeforeFlush, AttachError and others, before anything is changed
 */
export async function attachDoor(pid: number, asks = false): Promise<OpenDoor> {
  const built = agentJar()
  const connection = await openAttachSocket(pid)
  // The JVM answers one after the other, but the second question need not wait for the first answer.
  await Promise.all([refuseWithoutMetaspace(connection), refuseWithoutHeap(connection)])
  await refuseSecurityManager(connection)
  const { target } = connection
  const owner = ownerFor(target)
  const acting = <T>(work: () => T): T => actingAs(userToBe(target), work)
  const dir = makeSessionDirectory(target, BUFFER_BYTES)
  debug.attach?.(
    `way in: attach; directory ${dir.path}${owner === undefined ? '' : `, given to ${owner.uid}`}`,
  )
  try {
    const token = newToken()
    const server = await acting(() => LinkServer.listen(join(dir.inside, SOCKET), token))
    try {
      if (owner !== undefined) dir.giveTo(owner)
      const isSeen = seesJar(target, built.path)
      const jar = isSeen ? built : { ...built, path: join(dir.path, AGENT) }
      const launch = launchLine(jar, dir)
      const answer = await wake(connection, launch, token)
      const woken = answer === 'woken'
      debug.attach?.(
        `agent of an earlier session: ${answer}; the JVM ${isSeen ? `can read ${jar.path}` : 'cannot read our jar, and gets a copy'}`,
      )
      if (!woken) {
        if (asks && connection.target.hasJavaAgent === false) await refuseBusyBeforeFlush(connection)
        const copy = isSeen ? null : fs.readFileSync(built.path)
        if (copy !== null) acting(() => dir.put(AGENT, copy, owner))
        try {
          await loadAgent(connection, jar.path, withToken(launch, token))
        } catch (error) {
          // It may have been put there so that nothing has to be loaded.
          throw answer === 'another build' && error instanceof DynamicLoadingDisabled
            ? new OtherBuild(pid)
            : error
        }
      }
      const link = await connected(server, () => saidBy(dir, target.euid), target)
      return {
        ...{ link, pid, dir: dir.path, inside: dir.inside, owner, acting, woken },
        hadAgent: connection.target.hasJavaAgent,
        ...(asks && woken && { refuseBusy: () => refuseBusyBeforeFlush(connection) }),
        executed: () => compiledMethods(connection),
        compiled: () => compiledCount(connection),
        compilations: () => compilationsOf(target),
        metaspaceLeft: () => leftOfMetaspace(connection),
        perf: () => perfCounter(target),
        leave: () => dir.remove(),
      }
    } finally {
      server.close()
    }
  } catch (error) {
    dir.remove()
    throw error
  }
}

/**
 * One that the program has set itself is found by the agent. The JVM is asked only where its options may name one: to answer it
 * loads classes, which takes longer than all other questions.
 */
async function refuseSecurityManager(connection: AttachConnection): Promise<void> {
  const facts = findPerfData(connection.target)?.facts
  if (facts !== undefined && tellsAllOptions(facts) && !facts.vmArguments?.includes('java.security.manager'))
    return
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
  const jar = startJar(agentJar())
  let dir: SessionDirectory | undefined
  try {
    dir = makeSessionDirectory(null, BUFFER_BYTES)
    debug.attach?.(`way in: -javaagent:${jar.path} at the start of a JVM; directory ${dir.path}`)
    return await startDoorIn(dir, jar)
  } catch (error) {
    dir?.remove()
    jar.leave()
    throw error
  }
}

async function startDoorIn(dir: SessionDirectory, jar: StartJar): Promise<StartDoor> {
  // A command line can be read by everybody, a file in there cannot.
  const token = newToken()
  fs.writeFileSync(join(dir.inside, TOKEN), token, { mode: 0o600, flag: 'wx' })
  const server = await LinkServer.listen(join(dir.inside, SOCKET), token)
  return {
    option: `-javaagent:${jar.path}=${launchLine(jar, dir)}`,
    async connect(pid, gone, refused) {
      const said = () => saidBy(dir, process.geteuid!())
      const failed = new AbortController()
      // Not by inotify, of which a machine may have none left.
      let seen = 0
      const look = setInterval(() => {
        const written = fs.statSync(join(dir.inside, ERROR), { throwIfNoEntry: false })?.mtimeMs ?? 0
        if (written === seen) return
        seen = written
        const isTarget = isJvm(readTargetProcess(pid))
        debug.attach?.(`an agent could not start in ${isTarget ? 'the process' : 'a JVM below the process'}`)
        if (isTarget) failed.abort()
        else refused(startProblem(pid, said()))
      }, LOOK_MS)
      try {
        // No time limit but the process itself: a launcher script may take its time before java.
        const link = await server.accept(2 ** 31 - 1, AbortSignal.any([gone, failed.signal]))
        if (link !== null) return opened(link, dir)
        const reason = said()
        if (reason !== null) throw startProblem(pid, reason)
        return null
      } finally {
        clearInterval(look)
      }
    },
    leave() {
      server.close()
      dir.remove()
      jar.leave()
    },
  }
}

/** A launcher becomes one when it ends with `exec java`. */
function isJvm(process: TargetProcess | undefined): boolean {
  return process !== undefined && process.vmLibrary !== null && process.vmLibrary !== undefined
}

/** Of a JVM that is not asked, as that goes by the attach mechanism only. */
export const TELLS_NOTHING: Pick<OpenDoor, 'executed' | 'compiled' | 'metaspaceLeft'> = {
  executed: async () => new Set(),
  compiled: async () => null,
  metaspaceLeft: async () => Number.POSITIVE_INFINITY,
}

function opened(link: Link, dir: SessionDirectory): OpenDoor {
  return {
    ...TELLS_NOTHING,
    link,
    pid: null,
    dir: dir.path,
    inside: dir.inside,
    owner: undefined,
    acting: (work) => work(),
    woken: false,
    perf: startedPerfCounter,
    leave: () => dir.remove(),
  }
}

export function launchLine(jar: AgentJar, dir: SessionDirectory): string {
  return `jar=${jar.path};dir=${dir.path};build=${jar.build}`
}

/** The agent does not repeat what comes behind `token`. */
export function withToken(launch: string, token: string): string {
  return `${launch};token=${token}`
}

const LAUNCH_FLAGS =
  fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_WRONLY | fs.constants.O_NOFOLLOW

/**
 * Wakes an agent that an earlier session left asleep in the JVM.
 *
 * The attach command agentProperties makes it look for the launch file; see JFluid1.Wake. A JVM in which that runs for the first
 * time loads some 200 classes for it, so one that has never had an agent is not asked. A client that is faster than we are is no
 * problem: its agent hands our line on.
 *
 * @returns whether there is one, of our build
 */
async function wake(
  connection: AttachConnection,
  launch: string,
  token: string,
): Promise<'woken' | 'another build' | 'none'> {
  if (connection.target.hasJavaAgent === false) return 'none'
  const told = await tellAgent(connection, withToken(launch, token))
  if (told === null) return 'none'
  const started = told.properties.get('jfluid.started')
  if (started === launch) return 'woken'
  if (started !== undefined) throw new AlreadyAttached(connection.pid) // by us, for a client that was faster
  const error = told.properties.get('jfluid.error')
  if (error === 'another build') return 'another build'
  if (error !== undefined) throw startProblem(connection.pid, error)
  // Whoever asks for these properties has the agent read the line: another program may have done so in our place.
  return told.isRead ? 'woken' : 'none'
}

/**
 * A JVM that was short of descriptors once may never be able to write its properties: a class that this takes has failed. The agent
 * has read the line before.
 */
async function toldByAgent(connection: AttachConnection): Promise<Map<string, string>> {
  try {
    return await agentProperties(connection)
  } catch (problem) {
    if (!(problem instanceof AttachProtocolError)) throw problem
    debug.attach?.(`properties of agents: ${problem.message}`)
    return new Map()
  }
}

/** What an agent was told. */
interface Told {
  /** Those of the agent, with its answer. */
  readonly properties: Map<string, string>
  /** Whether there is an agent that has read the line. */
  readonly isRead: boolean
}

/**
 * Has the agent that is in the JVM read a line.
 *
 * @returns null if no line can be handed to it: there is no /tmp that can be trusted
 * @throws CannotWake if there is no room for the line
 * @throws AlreadyAttached if another client's stays there
 */
export async function tellAgent(connection: AttachConnection, line: string): Promise<Told | null> {
  const { target } = connection
  let tmp: number
  try {
    tmp = openTmp(target)
  } catch {
    return null
  }
  const file = `/proc/self/fd/${tmp}/.jfluid_pid${target.nsPid}`
  try {
    const problem = await writeLaunchFile(file, line, target)
    if (problem === null) {
      const properties = await toldByAgent(connection)
      return { properties, isRead: !launchFileHas(file, line, believedBy(target)) }
    }
    // Somebody else's lies there. Where there is no room, one that sleeps would be loaded anew each time.
    if (!FULL.has(problem) || !(await agentProperties(connection)).has('jfluid.build')) return null
    throw new CannotWake(connection.pid, `/tmp/.jfluid_pid${target.nsPid}`, problem)
  } finally {
    removeOurs(file, line, target)
    fs.closeSync(tmp)
  }
}

/** Nobody can write there. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

/**
 * The file is also the lock between clients: two that wrote it at once would wake the agent for each other. While it is
 * of one that lives, it is waited for.
 *
 * @returns why it cannot be, null if it is written. Somebody else's that lies there the agent does not believe
 * @throws AlreadyAttached if another client's stays there
 */
async function writeLaunchFile(path: string, line: string, target: TargetProcess): Promise<string | null> {
  const owner = ownerFor(target)
  for (const giveUp = performance.now() + LAUNCH_MS; ; await sleep(LAUNCH_LOOK_MS)) {
    if (performance.now() > giveUp) throw new AlreadyAttached(target.pid)
    let file: number | undefined
    try {
      file = actingAs(userToBe(target), () => fs.openSync(path, LAUNCH_FLAGS, 0o600))
      fs.writeFileSync(file, line)
      if (owner !== undefined) fs.fchownSync(file, owner.uid, owner.gid)
      return null
    } catch (problem) {
      const code = (problem as NodeJS.ErrnoException).code ?? String(problem)
      if (file !== undefined) fs.rmSync(path, { force: true })
      else if (code === 'EEXIST') {
        const left = takeAway(path, target)
        if (left === null) continue
        return left
      }
      return code
    } finally {
      if (file !== undefined) fs.closeSync(file)
    }
  }
}

/** @returns why what lies there cannot be taken away; null if it can be tried again: it is gone, or in use */
function takeAway(path: string, target: TargetProcess): string | null {
  const believed = believedBy(target)
  if (isLaunchFileInUse(path, believed, target.root)) return null
  try {
    removeLaunchFile(path, believed, target.root)
  } catch (problem) {
    const { code } = problem as NodeJS.ErrnoException
    // Its agent or its client has removed it; or a third client has put one there.
    if (code !== 'ENOENT' && code !== 'EEXIST') return code ?? String(problem)
  }
  return null
}

/** The agent may have removed it, and another client have put its own there. */
function removeOurs(file: string, line: string, target: TargetProcess): void {
  try {
    if (launchFileHas(file, line, believedBy(target))) fs.rmSync(file, { force: true })
  } catch {
    // The agent has removed it, and somebody else has put something there; or nothing can be written there.
  }
}

/** @param said why the agent could not start, null if it has not said anything */
async function connected(
  server: LinkServer,
  said: () => string | null,
  target: TargetProcess,
): Promise<Link> {
  // agentmain() has returned by now, so an error has been written if there was one; perhaps after it had connected.
  const problem = said()
  const link = await server.accept(problem === null ? CONNECT_MS : 0)
  if (link !== null && problem === null) return link
  link?.close()
  const reason = problem ?? said()
  // It writes why it could not start into a file, for which there may be no descriptor.
  const short = reason === null ? shortOf(target) : null
  throw short ?? startProblem(target.pid, reason)
}

/** What an agent has not had that said nothing. */
function shortOf(target: TargetProcess): TargetRanOut | null {
  const { threads, descriptors } = readRoom(target)
  const what = descriptors < DESCRIPTORS_NEEDED ? 'files' : threads < THREADS_NEEDED ? 'threads' : null
  return what === null ? null : new TargetRanOut(what, `its agent did not connect within ${CONNECT_MS} ms`)
}

/** What the agent has written that could not start. The directory may be another user's: only a file of `owner` is believed. */
function saidBy(dir: SessionDirectory, owner: number): string | null {
  try {
    return (
      readRegular(join(dir.inside, ERROR), { owner, mostBytes: MOST_SAID_BYTES })?.toString('utf8') ?? null
    )
  } catch {
    return null // none there, as it should be
  }
}

/** @param reason what the agent said, null if it said nothing */
export function startProblem(pid: number, reason: string | null): JfluidError {
  const manager = /security manager: (\S+)/.exec(reason ?? '')?.[1]
  if (manager !== undefined) return new SecurityManagerPresent(pid, manager)
  if (reason?.includes('another jfluid is attached') === true) return new AlreadyAttached(pid)
  if (reason?.includes('the runtime of another jfluid build') === true) return new OtherBuild(pid)
  return ranOut(reason ?? '') ?? new AgentDidNotConnect(pid, CONNECT_MS, reason)
}

/** The same for a process that we started; its data appear while it starts. */
function startedPerfCounter(pid: number): PerfCounter {
  const target = readTargetProcess(pid)
  return target === undefined ? { file: '', offset: 0 } : perfCounter(target)
}

function compilationsOf(target: TargetProcess): number | null {
  if (target.hasJavaAgent !== false || target.perfDataMapped !== true) return null
  return findPerfData(target)?.facts?.compilations ?? null
}

/** Where the target finds its own counter of time at safepoints; if we may not read that, pauses are not taken out, and the profile says so. */
export function perfCounter(target: TargetProcess): PerfCounter {
  const found = findPerfData(target)
  if (found?.safepointTimeOffset === undefined) return { file: '', offset: 0 }
  return { file: found.path.slice(target.root.length), offset: found.safepointTimeOffset }
}
