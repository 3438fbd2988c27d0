// HotSpot's attach handshake: a trigger file, SIGQUIT, and a UNIX socket that appears.
//
//   client                                      JVM
//     .attach_pid<n> in /tmp or its cwd
//     SIGQUIT ------------------------------->  signal thread: trigger file there, owner right?
//                                               starts the Attach Listener thread, which binds
//     connect <-------------------------------  /tmp/.java_pid<n>
//
// A JVM that was attached to before, or runs with -Xrs, has its socket already: that is tried
// first, and then nothing is signalled. What HotSpot does with a SIGQUIT it does not expect is
// worse than a failed attach (it prints all threads, or dies), so `admission.ts` is asked before,
// and exactly one signal is sent: HotSpot counts signals, so a second one that arrives late, when
// the listener is up, would print the threads. See attachListener_posix.cpp and os.cpp.

import * as fs from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { debug, msText } from '../base/debug.ts'
import { EX_CANTCREAT, EX_NOPERM, EX_TEMPFAIL, EX_UNAVAILABLE } from '../base/errors.ts'
import {
  AttachError,
  attachProblem,
  type Client,
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

/** The JVM was asked and did not open its socket in time. */
export class NotAnswering extends AttachError {
  static sample = () => new NotAnswering(4711, 10_000, true)
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  /** @param closed  what may have kept it from making its socket */
  constructor(pid: number, waitedMs: number, signalled: boolean, closed?: string) {
    super(pid, 'does not answer', `JVM ${pid} did not answer the attach request within ${waitedMs} ms`)
    const later = signalled ? '; once it wakes up it will print its threads to its own output' : ''
    this.hint =
      closed === undefined
        ? `Try again when it is less busy${later}.`
        : `It can make no attach socket, it seems: ${closed}. Let it write there, or mount a tmpfs on it.`
  }
}

/** The trigger file can be put neither into the target's working directory nor into its /tmp. */
export class CannotTrigger extends AttachError {
  static sample = () => new CannotTrigger(4711, ['/tmp: EACCES', '/proc/4711/cwd: EROFS'])
  readonly exitCode = EX_CANTCREAT
  readonly hint = 'Make the /tmp of the JVM writable, or start it with -XX:+StartAttachListener.'
  constructor(pid: number, problems: readonly string[], options?: ErrorOptions) {
    super(
      pid,
      'no place for the trigger file',
      `cannot attach to JVM ${pid}: the trigger file could not be written (${problems.join('; ')})`,
      options,
    )
  }
}

/** Somebody else's socket lies where the JVM would bind its own. */
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
    this.hint = `Remove it as its owner: rm ${path}`
  }
}

/** This machine has no /proc as Linux has it. */
export class NoProcFileSystem extends AttachError {
  static sample = () => new NoProcFileSystem(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Run jfluid on Linux, with /proc mounted.'
  constructor(pid: number) {
    super(pid, 'no /proc', `cannot attach to ${pid}: there is no /proc/self/status on this machine`)
  }
}

export interface AttachOptions {
  /** How long the JVM may take to open its socket. Default 5000. */
  timeoutMs?: number
  /** Who asks; this process unless a test says otherwise. */
  client?: Client
  /** Ends the waiting before the JVM has been signalled. After that its answer is waited for all the same. */
  signal?: AbortSignal | undefined
}

/** A JVM whose attach socket answers. Commands are `attachCommand`'s: a connection each. */
export interface AttachConnection {
  readonly pid: number
  readonly socketPath: string
  /** The facts at the time of the handshake. */
  readonly target: TargetProcess
  /** Whether the JVM had to be signalled; `false` when its socket was there. */
  readonly signalled: boolean
  /** From the call to the answering socket, in ms. */
  readonly firstContactMs: number
}

/** How long after its start a process may still be on its way to being an attachable JVM. */
const STARTING_MS = 10_000

/**
 * Makes the JVM `pid` open its attach socket, unless it is open, and returns where it is.
 *
 * A JVM that has just been started is waited for until it catches SIGQUIT. The trigger file is
 * removed whatever happens.
 *
 * @throws NoSuchProcess, NotJvm, NotHotSpot, JdkTooOld, NotOwner, AttachDisabled, TargetStopped or
 *         SigquitNotCaught, ForeignSocket or CannotTrigger: nothing was signalled
 * @throws NotAnswering after `timeoutMs`
 * @throws AbortError if `signal` was aborted: nothing was signalled
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
    admitAgain(target, client, true) // stopped or ended meanwhile? Then that is the reason
    throw new NotAnswering(pid, timeoutMs, signalled, signalled ? tmpClosedTo(target) : undefined)
  }

  if ((await look()) === 'answers') return connection(false)
  admitAgain(target, client, false)
  signal?.throwIfAborted()

  let trigger = writeTrigger(target)
  // The file is also the lock between clients: had two of them signalled, the JVM would print its
  // threads for the second. So while another client's is fresh, wait for the socket it asked for.
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
    admitAgain(target, client, false) // time has passed, and a signal cannot be taken back
    // While a dead socket file is there, a JVM that has a listener takes SIGQUIT as a wish to see
    // its threads; when it is gone, it starts the listener anew.
    if (state === 'dead') quietly(() => removeSocket(target))
    // A JVM of root's that had the same number has left it: what we may not remove, a JVM of our user may not either.
    const owner = socketOwner(target) ?? foreignAtSocketPath(target)
    if (owner !== undefined && owner !== target.euid) {
      throw new ForeignSocket(pid, path, owner, target.euid)
    }
    signal?.throwIfAborted()
    sendSigquit(target, client)
    // From here on there is no leaving: a JVM that finds no trigger file when it gets to the signal prints its threads.
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

/** Waits while a JVM that starts up is not ready, then returns it or throws why it cannot be attached to. */
async function admit(
  pid: number,
  client: Client,
  patience: number,
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
    const young = Date.now() - process.startedAt < STARTING_MS
    // A JVM that was killed leaves its socket to the next one with its pid, which then has none yet.
    const short = attachProblem(facts, client)
    if (short instanceof NoDescriptorsLeft || short instanceof NoThreadsLeft) throw short // not even a look at its socket
    const left = young && facts.hasSocket && (await probe(process, patience, signal)) === 'dead'
    const problem = attachProblem(left ? { ...facts, hasSocket: false } : facts, client)
    const starting =
      young &&
      ((problem instanceof NotJvm && isJavaLauncher(process.executable, process.commandLine)) ||
        problem instanceof SigquitNotCaught ||
        (problem === undefined && !hasStartedUp(pid, perf)))
    if (!starting || performance.now() >= patience) {
      if (problem !== undefined) throw problem
      if (foreign !== undefined) throw new ForeignSocket(pid, socketPath(process), foreign, process.euid)
      return process
    }
    await sleep(10, undefined, { signal })
  }
}

/**
 * Whether a JVM has entered JVMTI's live phase.
 *
 * A JVM that starts up first catches signals, then removes what lies at the path of its attach
 * socket, even the socket of its own listener (`AttachListener::vm_start`), and only later can load
 * a Java agent: JDK 17 to 20 answer `return code: 0` before that, and load none (`JPLISAgent.c`,
 * `initializeJPLISAgent`). hsperfdata says when it is time. Where there is none to read, the thread
 * that is made next does (`Management::initialize`); without `UseNotificationThread` there is no
 * such thread, and the JVM counts as starting until the caller's patience ends.
 */
function hasStartedUp(pid: number, perf: PerfFacts | undefined): boolean {
  return perf?.complete ?? [...readThreadNames(pid)].some((it) => it.startsWith('Notific'))
}

/** Asks `attachProblem` again, about this very process; without a socket: may it be signalled? */
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
    if (code === 'EPERM') throw new NotOwner(pid, { uid: euid, gid: egid }, client)
    throw problem
  }
}

/** `busy`: somebody listens, with the queue of waiting clients full. `dead`: nobody does. */
type SocketState = 'answers' | 'none' | 'dead' | 'busy'

/**
 * Whether somebody listens on the attach socket.
 *
 * Connecting and closing at once is what the JDK's own client does first; HotSpot ignores it.
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
        return resolve(problem as NodeJS.ErrnoException) // its /tmp has gone, or has become a link
      }
      socket.once('connect', () => {
        socket.destroy()
        resolve(undefined)
      })
      socket.once('error', resolve)
    })
    if (error === undefined) return hasLostListener(target.pid) ? 'dead' : 'answers'
    if (error.code === 'ECONNREFUSED') return 'dead'
    if (error.code !== 'EAGAIN') return 'none' // gone meanwhile, or not ours to open
    if (performance.now() >= deadline) return 'busy' // its queue of five clients stays full
    await sleep(10, undefined, { signal })
  }
}

/**
 * An attach listener that gets no descriptor for a connection ends and leaves its socket open, to which anybody can still
 * connect and nobody answers. The kernel's names of threads tell, in a JVM that names them.
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

/** A trigger file older than this was left by a client that died. */
const TRIGGER_LEFT_MS = 2000

/**
 * Creates the file that tells HotSpot a SIGQUIT means attach. It must belong to the JVM's user or to
 * root.
 *
 * HotSpot looks in its working directory, then in /tmp. We prefer /tmp: a JVM that starts up stands
 * in its hsperfdata directory for a moment while it already takes signals (`perfMemory_posix.cpp`,
 * `open_directory_secure_cwd`), and would not find there, a moment later, what we wrote here.
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

/** With the process goes what its files were reached by. */
function noTrigger(target: TargetProcess, problems: readonly string[], cause: unknown): AttachError {
  if (!stillRuns(target)) return new NoSuchProcess(target.pid, 'has ended')
  return new CannotTrigger(target.pid, problems, { cause })
}

/**
 * Removes a trigger file left in the working directory: HotSpot would take it for the answer
 * without looking in /tmp.
 *
 * @returns `false` when another client waits for its answer
 * @throws when one that HotSpot would not believe cannot be removed: the JVM would print its threads
 */
function clearOfTriggers(cwd: string, { nsPid, euid }: TargetProcess): boolean {
  const path = `${cwd}/.attach_pid${nsPid}`
  let there: fs.Stats | undefined
  try {
    there = fs.lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return true // a directory that we may not enter
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

/** Whether it is of a client that waits for its answer: fresh, and one that HotSpot believes. */
function isRequest({ mtimeMs, uid }: fs.Stats, owner: number): boolean {
  return Date.now() - mtimeMs < TRIGGER_LEFT_MS && (uid === owner || uid === 0)
}

/** @param handle of the directory, so that the file can be removed when the process and its /proc entry are gone */
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

/** @returns `false` when another client waits for its answer */
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
      // A file system that maps root to nobody: HotSpot would not believe this file.
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
    // Root without CAP_CHOWN: HotSpot takes root's files too.
  }
}

function quietly(unlink: () => void): void {
  try {
    unlink()
  } catch {
    // Gone already, which is what we want.
  }
}
