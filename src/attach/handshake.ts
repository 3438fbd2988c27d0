// HotSpot's attach handshake: the client writes a trigger file and sends SIGQUIT, then the JVM opens a UNIX socket.
//
//   client                                      JVM
//     .attach_pid<n> in /tmp or its cwd
//     SIGQUIT ------------------------------->  signal thread checks the trigger file and its owner,
//                                               starts the Attach Listener thread, which binds
//     connect <-------------------------------  /tmp/.java_pid<n>
//
// If the socket exists already (after an earlier attach, or with -Xrs) and answers, no signal is sent. SIGQUIT may make an unprepared
// HotSpot JVM print all threads or end, so `admission.ts` checks the JVM first. Exactly one signal is sent: HotSpot counts signals, and a
// second signal that arrives when the listener is up would print the threads. See attachListener_posix.cpp and os.cpp.

import * as fs from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { debug, msText } from '../base/debug.ts'
import { EX_CANTCREAT, EX_NOPERM, EX_TEMPFAIL, EX_UNAVAILABLE } from '../base/errors.ts'
import {
  AttachError,
  attachProblem,
  type Client,
  MayNotSignal,
  NoDescriptorsLeft,
  NoSuchProcess,
  NoThreadsLeft,
  NotJvm,
  NotOwner,
  SigquitNotCaught,
  thisClient,
} from './admission.ts'
import type { PerfFacts } from './hsperfdata.ts'
import { isJavaLauncher } from './java-command.ts'
import { O_PATH } from './regular-file.ts'
import {
  connectToListener,
  foreignAtSocketPath,
  hasOwnSocket,
  openTmp,
  readTargetFacts,
  removeSocket,
  socketOwner,
  socketPath,
  tmpClosedTo,
} from './target-facts.ts'
import { readThreadNames, stillRuns, type TargetProcess } from './target-process.ts'
import { actingAs, userToBe } from './target-user.ts'

/** The JVM did not open its socket in time. */
export class NotAnswering extends AttachError {
  static sample = () => new NotAnswering(4711, 10_000, true)
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  /** @param closed  possible reason why the JVM could not create its socket */
  constructor(pid: number, waitedMs: number, signalled: boolean, closed?: string) {
    super(pid, 'does not answer', `JVM ${pid} did not answer the attach request within ${waitedMs} ms`)
    const later = signalled ? '. When the JVM runs again, it may print its threads to its own output' : ''
    this.hint =
      closed === undefined
        ? `Try again when the JVM is less busy${later}.`
        : `Let the JVM write to its /tmp, or mount a tmpfs there: probably it cannot create its attach socket (${closed}).`
  }
}

/** The trigger file cannot be written into the target's working directory or its /tmp. */
export class CannotTrigger extends AttachError {
  static sample = () => new CannotTrigger(4711, ['/tmp: EACCES', '/proc/4711/cwd: EROFS'])
  readonly exitCode = EX_CANTCREAT
  readonly hint = 'Make the /tmp of the JVM writable, or start it with -XX:+StartAttachListener.'
  constructor(pid: number, problems: readonly string[], options?: ErrorOptions) {
    super(
      pid,
      'no place for the trigger file',
      `cannot attach to JVM ${pid}: jfluid cannot write the trigger file (${problems.join('; ')})`,
      options,
    )
  }
}

/** Another user's socket exists at the path where the JVM would bind its own socket. */
export class ForeignSocket extends AttachError {
  static sample = () => new ForeignSocket(4711, '/tmp/.java_pid4711', 1001, 1000)
  readonly exitCode = EX_NOPERM
  readonly hint: string
  constructor(pid: number, path: string, owner: number, expected: number) {
    super(
      pid,
      'foreign attach socket',
      `cannot attach to JVM ${pid}: ${path} belongs to uid ${owner}, not to the JVM's uid ${expected}`,
    )
    this.hint = `Remove the file as its owner: rm ${path}`
  }
}

/** This machine has no Linux /proc. */
export class NoProcFileSystem extends AttachError {
  static sample = () => new NoProcFileSystem(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Run jfluid on Linux, with /proc mounted.'
  constructor(pid: number) {
    super(pid, 'no /proc', `cannot attach to ${pid}: there is no /proc/self/status on this machine`)
  }
}

export interface AttachOptions {
  /** Maximum time until the JVM opens its socket. Default 5000. */
  timeoutMs?: number
  /** The attaching user. Default: the user of this process; tests override it. */
  client?: Client
  /** Aborts the attach until SIGQUIT is sent. After SIGQUIT, aborting has no effect. */
  signal?: AbortSignal | undefined
}

/** A JVM with a working attach socket. `attachCommand` opens one connection for each command. */
export interface AttachConnection {
  readonly pid: number
  readonly socketPath: string
  /** Facts about the process at the time of the handshake. */
  readonly target: TargetProcess
  /** Whether the JVM was signalled; `false` if its socket existed. */
  readonly signalled: boolean
  /** Time from the call to the first answer on the socket, in ms. */
  readonly firstContactMs: number
}

/** Maximum age of a JVM that is still starting. A younger process may become attachable soon. */
const MAX_STARTUP_MS = 10_000

/**
 * Makes the JVM `pid` open its attach socket, unless the socket is open already. Returns the connection.
 *
 * If the JVM is still starting, waits until it catches SIGQUIT. The trigger file is always removed.
 *
 * @throws ForeignSocket, CannotTrigger or an AttachError of `admission.ts`: no signal was sent. Exceptions: NoSuchProcess and TargetStopped
 *         are also thrown if the JVM ends or stops after SIGQUIT
 * @throws NotAnswering after `timeoutMs`
 * @throws AbortError if `signal` was aborted: no signal was sent
 */
export async function openAttachSocket(
  pid: number,
  { timeoutMs = 5000, client = thisClient(), signal }: AttachOptions = {},
): Promise<AttachConnection> {
  const begin = performance.now()
  const deadline = begin + timeoutMs
  const target = await admit(pid, client, begin + timeoutMs / 2, signal)
  const path = socketPath(target)
  debug.attach?.(
    `JVM ${pid}: process ${target.nsPid} of its own namespace, user ${target.euid}, group ${target.egid}, attach socket ${path}`,
  )
  const connection = (signalled: boolean): AttachConnection => {
    const firstContactMs = performance.now() - begin
    debug.attach?.(
      `the attach socket answers, ${signalled ? 'after a signal' : 'without a signal'}, after ${msText(firstContactMs)}`,
    )
    return { pid, socketPath: path, target, signalled, firstContactMs }
  }

  let isSignalled = false
  const look = async () => {
    const state = await probe(target, deadline, isSignalled ? undefined : signal)
    debug.attach?.(`attach socket: ${state}`)
    if (state === 'busy') giveUp(false)
    return state
  }
  const giveUp = (signalled: boolean): never => {
    admitAgain(target, client, true) // throws the actual reason if the JVM has stopped or ended
    throw new NotAnswering(pid, timeoutMs, signalled, signalled ? tmpClosedTo(target) : undefined)
  }

  if ((await look()) === 'answers') return connection(false)
  admitAgain(target, client, false)
  signal?.throwIfAborted()

  let trigger = writeTrigger(target)
  // The trigger file is also the lock between clients: if two clients sent SIGQUIT, the JVM would print its threads for the second signal.
  // While another client's trigger file is fresh, jfluid waits for the socket that the other client requested.
  while (trigger === 'of another client') {
    debug.attach?.('another client has written the trigger file: waiting for the socket that it asked for')
    await sleep(5, undefined, { signal })
    if ((await look()) === 'answers') return connection(false)
    if (performance.now() >= deadline) giveUp(false)
    trigger = writeTrigger(target)
  }
  try {
    const state = await look()
    if (state === 'answers') return connection(false)
    admitAgain(target, client, false) // a second check immediately before the signal, which cannot be undone
    // A JVM with a running listener prints its threads on SIGQUIT while its socket file exists, even if the socket is dead. Without the
    // file the JVM restarts the listener.
    if (state === 'dead') quietly(() => removeSocket(target))
    // The socket may be left over from an earlier JVM of root with the same pid. If jfluid has no permission to remove the socket, a JVM of
    // the same user has none either.
    const owner = socketOwner(target) ?? foreignAtSocketPath(target)
    if (owner !== undefined && owner !== target.euid) {
      throw new ForeignSocket(pid, path, owner, target.euid)
    }
    signal?.throwIfAborted()
    sendSigquit(target, client)
    // From here on the wait cannot be aborted: a JVM that handles SIGQUIT without a trigger file prints its threads.
    isSignalled = true
    debug.attach?.('SIGQUIT sent')
    for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
      await sleep(pause)
      if ((await look()) === 'answers') return connection(true)
      if (!stillRuns(target)) throw new NoSuchProcess(pid, 'has ended')
      if (performance.now() >= deadline) giveUp(true)
    }
  } finally {
    trigger.remove()
  }
}

/** Waits while a JVM is starting. Returns facts about the JVM, or throws the reason why jfluid cannot attach to it. */
async function admit(
  pid: number,
  client: Client,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<TargetProcess> {
  for (;;) {
    const facts = Number.isInteger(pid) && pid > 0 ? readTargetFacts(pid) : undefined
    if (facts === undefined) {
      if (fs.statSync('/proc/self/status', { throwIfNoEntry: false }) === undefined) {
        throw new NoProcFileSystem(pid)
      }
      throw new NoSuchProcess(pid)
    }
    const { process, perf } = facts
    const foreign = foreignAtSocketPath(process)
    const young = Date.now() - process.startedAt < MAX_STARTUP_MS
    // A killed JVM leaves its socket file. A later JVM with the same pid has no socket of its own yet.
    const short = attachProblem(facts, client)
    if (short instanceof NoDescriptorsLeft || short instanceof NoThreadsLeft) throw short // before a connection, which takes a descriptor
    const left = young && facts.hasSocket && (await probe(process, deadline, signal)) === 'dead'
    const problem = attachProblem(left ? { ...facts, hasSocket: false } : facts, client)
    const starting =
      young &&
      ((problem instanceof NotJvm && isJavaLauncher(process.executable, process.commandLine)) ||
        problem instanceof SigquitNotCaught ||
        (problem === undefined && !hasStartedUp(pid, perf)))
    if (!starting || performance.now() >= deadline) {
      if (problem !== undefined) throw problem
      if (foreign !== undefined) throw new ForeignSocket(pid, socketPath(process), foreign, process.euid)
      return process
    }
    await sleep(10, undefined, { signal })
  }
}

/**
 * Returns whether a JVM has entered JVMTI's live phase.
 * During startup a JVM first catches signals. Then it removes the file at the path of its attach socket, even its own listener's socket
 * (`AttachListener::vm_start`). It cannot load a Java agent until the live phase: before, JDK 17 to 20 reply `return code: 0` but load no
 * agent (`JPLISAgent.c`, `initializeJPLISAgent`). hsperfdata shows when startup is complete. Without hsperfdata, startup is complete when
 * the notification thread exists, since the JVM creates this thread next (`Management::initialize`). Without `UseNotificationThread` the
 * JVM has no notification thread and counts as starting until the caller's timeout.
 */
function hasStartedUp(pid: number, perf: PerfFacts | undefined): boolean {
  return perf?.complete ?? [...readThreadNames(pid)].some((it) => it.startsWith('Notific'))
}

/** Repeats `attachProblem` for this process. If `hasSocket` is false, the check includes the conditions for SIGQUIT. */
function admitAgain({ pid, startTicks }: TargetProcess, client: Client, hasSocket: boolean): void {
  const now = readTargetFacts(pid)
  if (now === undefined || now.process.startTicks !== startTicks) throw new NoSuchProcess(pid, 'has ended')
  const problem = attachProblem({ ...now, hasSocket }, client)
  if (problem !== undefined) throw problem
}

function sendSigquit({ pid, euid, egid }: TargetProcess, client: Client): void {
  try {
    process.kill(pid, 'SIGQUIT')
  } catch (problem) {
    const { code } = problem as NodeJS.ErrnoException
    if (code === 'ESRCH') throw new NoSuchProcess(pid, 'has ended')
    const owner = { uid: euid, gid: egid }
    if (code === 'EPERM' && client.uid === 0) throw new MayNotSignal(pid, owner)
    if (code === 'EPERM') throw new NotOwner(pid, owner, client)
    throw problem
  }
}

/** `busy`: a process listens, but its queue of clients is full. `dead`: no process listens. */
type SocketState = 'answers' | 'none' | 'dead' | 'busy'

/**
 * Checks whether a process listens on the attach socket.
 * The check connects and closes the connection at once. The JDK's own client also begins with an empty connection; HotSpot ignores it.
 */
async function probe(
  target: TargetProcess,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<SocketState> {
  if (!hasOwnSocket(target)) return 'none'
  for (;;) {
    const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      let socket: Socket
      try {
        socket = connectToListener(target)
      } catch (problem) {
        return resolve(problem as NodeJS.ErrnoException) // the target's /tmp does not exist any more, or is now a link
      }
      socket.once('connect', () => {
        socket.destroy()
        resolve(undefined)
      })
      socket.once('error', resolve)
    })
    if (error === undefined) return hasLostListener(target.pid) ? 'dead' : 'answers'
    if (error.code === 'ECONNREFUSED') return 'dead'
    if (error.code !== 'EAGAIN') return 'none' // the socket was removed, or permission is denied
    if (performance.now() >= deadline) return 'busy' // the queue of five clients stays full
    await sleep(10, undefined, { signal })
  }
}

/**
 * Returns whether the attach listener has ended. A listener that gets no descriptor for a connection ends and leaves its socket open:
 * clients can still connect, but get no answer. The kernel's thread names show this, if the JVM names its threads.
 */
function hasLostListener(pid: number): boolean {
  const threads = readThreadNames(pid)
  return threads.has('Signal Dispatch') && !threads.has('Attach Listener')
}

const TRIGGER_FLAGS =
  fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_WRONLY | fs.constants.O_NOFOLLOW

interface Trigger {
  remove(): void
}

/** Age from which a trigger file counts as left over from a client that has ended. */
const TRIGGER_TIMEOUT_MS = 2000

/**
 * Creates the trigger file, which makes HotSpot treat SIGQUIT as an attach request. The file must belong to the JVM's user or to root.
 * HotSpot checks its working directory, then /tmp. jfluid prefers /tmp: a starting JVM already handles signals while its working directory
 * is temporarily its hsperfdata directory (`perfMemory_posix.cpp`, `open_directory_secure_cwd`). After this phase the JVM would not find a
 * trigger file in the hsperfdata directory.
 */
function writeTrigger(target: TargetProcess): Trigger | 'of another client' {
  const cwd = `/proc/${target.pid}/cwd`
  const problems: string[] = []
  let cause: unknown
  const note = (where: string, problem: unknown) => {
    cause = problem
    problems.push(`${where}: ${(problem as NodeJS.ErrnoException).code ?? (problem as Error).message}`)
  }
  try {
    if (!clearOfTriggers(cwd, target)) return 'of another client'
  } catch (problem) {
    note('working directory', problem)
    throw noTrigger(target, problems, cause)
  }
  const places: [where: string, open: () => number][] = [
    ['/tmp', () => openTmp(target)],
    ['working directory', () => fs.openSync(cwd, O_PATH | fs.constants.O_DIRECTORY)],
  ]
  for (const [where, open] of places) {
    try {
      const trigger = writeTriggerIn(open(), target)
      debug.attach?.(
        `trigger file in the JVM's ${where}: ${trigger === 'of another client' ? trigger : 'written'}`,
      )
      return trigger
    } catch (problem) {
      note(where, problem)
    }
  }
  throw noTrigger(target, problems, cause)
}

/** Returns the error for a failed write of the trigger file. The /proc files are gone if the process has ended. */
function noTrigger(target: TargetProcess, problems: readonly string[], cause: unknown): AttachError {
  if (!stillRuns(target)) return new NoSuchProcess(target.pid, 'has ended')
  return new CannotTrigger(target.pid, problems, { cause })
}

/**
 * Removes an old trigger file from the working directory: HotSpot would use it and not check /tmp.
 *
 * @returns `false` if another client's request is pending
 * @throws if a file with a wrong owner cannot be removed: HotSpot would reject it, and the JVM would print its threads
 */
function clearOfTriggers(cwd: string, { nsPid, euid }: TargetProcess): boolean {
  const path = `${cwd}/.attach_pid${nsPid}`
  let there: fs.Stats | undefined
  try {
    there = fs.lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return true // a directory without access permission
  }
  if (there === undefined) return true
  if (isRequest(there, euid)) return false
  try {
    fs.unlinkSync(path)
  } catch (problem) {
    const gone = (problem as NodeJS.ErrnoException).code === 'ENOENT'
    if (!gone && there.uid !== euid && there.uid !== 0) throw problem
  }
  return true
}

/** Returns whether the file is another client's pending request: fresh, and with an owner that HotSpot accepts. */
function isRequest({ mtimeMs, uid }: fs.Stats, owner: number): boolean {
  return Date.now() - mtimeMs < TRIGGER_TIMEOUT_MS && (uid === owner || uid === 0)
}

/** @param handle  descriptor of the directory; the file can be removed through it even after the process has ended */
function writeTriggerIn(handle: number, target: TargetProcess): Trigger | 'of another client' {
  const path = `/proc/self/fd/${handle}/.attach_pid${target.nsPid}`
  let removed = false
  const remove = () => {
    if (removed) return
    removed = true
    process.off('exit', remove)
    quietly(() => fs.unlinkSync(path))
    fs.closeSync(handle)
  }
  try {
    if (actingAs(userToBe(target), () => createTrigger(path, target.euid))) {
      process.on('exit', remove)
      return { remove }
    }
  } catch (problem) {
    fs.closeSync(handle)
    throw problem
  }
  fs.closeSync(handle)
  return 'of another client'
}

/** @returns `false` if another client's request is pending */
function createTrigger(path: string, owner: number): boolean {
  let file: number
  try {
    file = fs.openSync(path, TRIGGER_FLAGS, 0o600)
  } catch (problem) {
    if ((problem as NodeJS.ErrnoException).code !== 'EEXIST') throw problem
    const there = fs.lstatSync(path, { throwIfNoEntry: false })
    if (there !== undefined && isRequest(there, owner)) return false
    fs.unlinkSync(path)
    file = fs.openSync(path, TRIGGER_FLAGS, 0o600)
  }
  try {
    if (process.geteuid?.() === 0 && owner !== 0) chownQuietly(file, owner)
    const { uid } = fs.fstatSync(file)
    if (uid !== owner && uid !== 0) {
      // This file system maps root to nobody: HotSpot would reject the file.
      fs.unlinkSync(path)
      throw new Error(`its files come to belong to uid ${uid}`)
    }
    return true
  } finally {
    fs.closeSync(file)
  }
}

function chownQuietly(file: number, owner: number): void {
  try {
    fs.fchownSync(file, owner, -1)
  } catch {
    // Root without CAP_CHOWN cannot change the owner. HotSpot also accepts files that root owns.
  }
}

function quietly(unlink: () => void): void {
  try {
    unlink()
  } catch {
    // The file is already removed.
  }
}
