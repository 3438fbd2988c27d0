// Decides whether jfluid may attach to a process. Uses only facts that are read before any signal is sent.
// HotSpot answers SIGQUIT with an attach socket only under several conditions. Otherwise SIGQUIT prints the stacks of all threads to the
// target's output, or kills the target. So every reason to refuse is checked before the signal, in the order in which a user would fix the
// reasons. Each reason has its own error class. `jfluid ps` and `jfluid attach` use the same decision.

import { EX_CONFIG, EX_NOHOST, EX_NOPERM, EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { OLDEST_JDK } from '../base/jdk-releases.ts'
import { linkOf } from '../base/visible.ts'
import type { PerfFacts } from './hsperfdata.ts'
import { isJavaLauncher } from './java-command.ts'
import { DESCRIPTORS_NEEDED, type Room, THREADS_NEEDED } from './room.ts'
import type { TargetProcess } from './target-process.ts'

/** Returns the feature version of a `java.version` (17 for "17.0.15", 8 for "1.8.0_392"), or null if the text is not a version. */
export function featureOf(version: string | undefined): number | null {
  const [, feature] = /^(?:1\.)?(\d+)/.exec(version ?? '') ?? []
  return feature === undefined ? null : Number(feature)
}

/** An attach that was refused or failed. */
export abstract class AttachError extends JfluidError {
  /** @param reason  short reason for a table, such as `attach is disabled` */
  constructor(
    readonly pid: number,
    readonly reason: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** The process does not exist, or has ended. */
export class NoSuchProcess extends AttachError {
  static sample = () => [
    new NoSuchProcess(4711, 'never was', false),
    new NoSuchProcess(4711, 'has ended'),
    new NoSuchProcess(4712, { threadOf: 4711 }),
  ]
  readonly exitCode = EX_NOHOST
  readonly hint: string
  constructor(
    pid: number,
    what: 'never was' | 'has ended' | { threadOf: number } = 'never was',
    isInContainer = isContained(),
  ) {
    if (typeof what === 'object') {
      super(
        pid,
        'is a thread',
        `cannot attach to ${pid}: this is the id of a thread of process ${what.threadOf}`,
      )
      this.hint = `Attach to the process: jfluid attach ${what.threadOf}`
    } else {
      const reason = what === 'has ended' ? 'has ended' : 'no such process'
      super(
        pid,
        reason,
        `cannot attach to ${pid}: ${what === 'has ended' ? 'the process has ended' : reason}`,
      )
      this.hint =
        what === 'never was' && isInContainer
          ? 'Run jfluid on the machine itself, or with docker run --pid=host --cap-add=SYS_PTRACE: in a container jfluid sees only the processes of that container.'
          : 'List the running JVMs: jfluid ps'
    }
  }
}

/** Name that the kernel gives to the initial process namespace (PROC_PID_INIT_INO). */
const INITIAL_PID_NAMESPACE = 'pid:[4026531836]'

/** Returns whether there may be processes that are not visible to jfluid. */
function isContained(): boolean {
  const ours = linkOf('/proc/self/ns/pid') // undefined without a Linux /proc; another check reports a missing /proc
  return ours !== undefined && ours !== INITIAL_PID_NAMESPACE
}

/** The process is not a JVM. */
export class NotJvm extends AttachError {
  static sample = () => new NotJvm(4711, 'bash')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'List the running JVMs: jfluid ps'
  constructor(pid: number, program: string) {
    super(pid, 'not a JVM', `cannot attach to ${pid}: ${program} is not a JVM`)
  }
}

/** The process is a JVM other than HotSpot. It does not support HotSpot's attach protocol. */
export class NotHotSpot extends AttachError {
  static sample = () => new NotHotSpot(4711, 'Eclipse OpenJ9')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    `Run the program on a HotSpot JVM (OpenJDK ${OLDEST_JDK} or newer), or profile it with a tool for its VM, such as IBM Health Center for OpenJ9.`
  constructor(pid: number, vm: string) {
    super(pid, `not HotSpot: ${vm}`, `cannot attach to JVM ${pid}: the VM is ${vm}, not HotSpot`)
  }
}

/** The process is a native image of GraalVM: its code was compiled before its start, and no JVM could change it. */
export class NativeImage extends AttachError {
  static sample = () => new NativeImage(4711, '/opt/shop/shop-native')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint: string
  constructor(pid: number, program: string) {
    super(
      pid,
      'native image',
      `cannot attach to ${pid}: ${program} is a GraalVM native image, which contains no JVM`,
    )
    this.hint = `Run the program on a HotSpot JVM (OpenJDK ${OLDEST_JDK} or newer) to profile it with jfluid, or sample the native image with Linux perf: perf record -g -p ${pid}`
  }
}

/** The JVM is older than JDK 11: it cannot load the agent, and its classes are unknown to jfluid. */
export class JdkTooOld extends AttachError {
  static sample = () => new JdkTooOld(4711, '1.8.0_392')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = `Run the program on OpenJDK ${OLDEST_JDK} or newer.`
  constructor(pid: number, version: string) {
    super(
      pid,
      `JDK ${featureOf(version) ?? version}: too old`,
      `cannot attach to JVM ${pid}: it runs JDK ${version}, and jfluid needs JDK ${OLDEST_JDK} or newer`,
    )
  }
}

/** HotSpot accepts an attach only from the same user and group as its own process, or from root. */
export class NotOwner extends AttachError {
  static sample = () => [
    new NotOwner(4711, { uid: 1001, gid: 1001 }, { uid: 1000, gid: 1000 }, false, false),
    new NotOwner(1, { uid: 1001, gid: 1001 }, { uid: 1000, gid: 1000 }, false, true),
  ]
  readonly exitCode = EX_NOPERM
  readonly hint: string
  constructor(
    pid: number,
    owner: Client,
    self: Client,
    ownUsers = false,
    isInContainer: boolean = isContained(),
  ) {
    const group = owner.uid === self.uid
    const whose = group ? `group ${owner.gid}` : `uid ${owner.uid}`
    const ours = group ? `group ${self.gid}` : `uid ${self.uid}`
    super(
      pid,
      `belongs to ${whose}`,
      `cannot attach to JVM ${pid}: the process belongs to ${whose}, and jfluid runs as ${ours}`,
    )
    const as = group ? `-u '#${owner.uid}' -g '#${owner.gid}'` : `-u '#${owner.uid}'`
    this.hint = ownUsers
      ? `Run jfluid as root: sudo jfluid attach ${pid} (the user exists only in the container of the JVM)`
      : isInContainer
        ? `Run jfluid as the owner: ${containerUser(owner)}.`
        : `Run jfluid as the owner: sudo ${as} jfluid attach ${pid}`
  }
}

/** Returns options that start a container as this user. */
function containerUser({ uid, gid }: Client): string {
  return `docker run --user ${uid}:${gid}, or runAsUser and runAsGroup in a pod`
}

/** jfluid runs as root, but in a container that has dropped the capability to send signals to processes of other users. */
export class MayNotSignal extends AttachError {
  static sample = () => new MayNotSignal(4711, { uid: 1000, gid: 1000 })
  readonly exitCode = EX_NOPERM
  readonly hint: string
  constructor(pid: number, owner: Client) {
    super(
      pid,
      'jfluid may not send signals to it',
      `cannot attach to JVM ${pid}: it belongs to uid ${owner.uid}, and jfluid runs as root without the capability CAP_KILL`,
    )
    this.hint = `Run jfluid as the owner: ${containerUser(owner)}. Or do not drop capabilities from its container.`
  }
}

/** The JVM was started with -XX:+DisableAttachMechanism: SIGQUIT would only print the stacks of its threads. */
export class AttachDisabled extends AttachError {
  static sample = () => new AttachDisabled(4711)
  readonly exitCode = EX_CONFIG
  readonly hint =
    'Restart the program without -XX:+DisableAttachMechanism, or attach by its debug port, if it has one: --jdwp <host:port>'
  constructor(pid: number) {
    super(
      pid,
      'attach is disabled',
      `cannot attach to JVM ${pid}: it was started with -XX:+DisableAttachMechanism`,
    )
  }
}

/** The JVM's runtime files were replaced after it started; see `hasLostRuntime`. */
export class RuntimeReplaced extends AttachError {
  static sample = () => new RuntimeReplaced(4711, '/usr/lib/jvm/java-21-openjdk/lib/server/libjvm.so')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Restart the program. An attach makes the JVM load libraries of its JDK, and libraries of another JDK may crash it.'
  constructor(pid: number, library: string) {
    super(
      pid,
      'its JDK was replaced',
      `cannot attach to JVM ${pid}: its JDK has been deleted or replaced since the JVM started (${library})`,
    )
  }
}

/** The JVM cannot create its attach socket. The JVM reports no error for this, so an attach would time out. */
export class NoSocketPlace extends AttachError {
  static sample = () => [new NoSocketPlace(4711, 'read-only'), new NoSocketPlace(4711, 'a link')]
  readonly exitCode = EX_CONFIG
  readonly hint: string
  constructor(pid: number, tmp: 'missing' | 'a link' | 'read-only') {
    const how = {
      missing: 'it has no /tmp',
      'a link': 'its /tmp is a link',
      'read-only': 'its /tmp is read-only',
    }
    super(
      pid,
      how[tmp].replace(/^it has /, ''),
      `cannot attach to JVM ${pid}: ${how[tmp]}, and a JVM creates its attach socket in /tmp`,
    )
    this.hint =
      tmp === 'a link'
        ? 'Run jfluid inside the container of the JVM: jfluid does not follow links of another root directory.'
        : 'Start the container with a writable /tmp: docker run --tmpfs /tmp, or an emptyDir mounted at /tmp in a pod.'
  }
}

/** The target has another root directory, and jfluid has no permission to enter it. */
export class RootHidden extends AttachError {
  static sample = () => [
    new RootHidden(4711, { uid: 1000, gid: 1000 }, { uid: 1000, gid: 1000 }),
    new RootHidden(4711, { uid: 1000, gid: 1000 }, { uid: 0, gid: 0 }),
  ]
  readonly exitCode = EX_NOPERM
  readonly hint: string
  constructor(pid: number, owner: Client, self: Client) {
    super(
      pid,
      'its files are hidden',
      `cannot attach to JVM ${pid}: it has its own file system, and jfluid has no permission to read /proc/${pid}/root`,
    )
    // The owner may still have fewer capabilities than the JVM.
    const asOwner = owner.uid === self.uid ? '' : `run jfluid as the owner (${containerUser(owner)}), or `
    this.hint = `Run jfluid as root of the machine. In a container, ${asOwner}add a capability: docker run --cap-add=SYS_PTRACE, or kubectl debug --profile=general.`
  }
}

/** The target is stopped by a signal, by a debugger, or because its container is paused. A stopped target cannot answer. */
export class TargetStopped extends AttachError {
  static sample = () => [new TargetStopped(4711, 'T'), new TargetStopped(4711, 'F')]
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  /** State in words that fit after "it is". */
  readonly how: string
  constructor(pid: number, state: StoppedState) {
    const [reason, how, hint] = STOPS[state]
    super(pid, reason, `cannot attach to JVM ${pid}: it is ${how}`)
    this.how = how
    this.hint = state === 'T' ? `${hint}: kill -CONT ${pid}` : hint
  }
}

const STOPS = {
  T: ['is stopped', 'stopped (SIGSTOP)', 'Continue the process first'],
  t: ['is traced', 'held by a debugger or tracer', 'Continue the process in the debugger first.'],
  F: [
    'is paused',
    'paused (its control group is frozen)',
    'Resume the container first, for example with docker unpause.',
  ],
} as const

export type StoppedState = keyof typeof STOPS

/** Returns whether a process in this state runs no threads until another process resumes it. */
export function isStopped(state: string | undefined): state is StoppedState {
  return state !== undefined && Object.hasOwn(STOPS, state)
}

/** The JVM has no attach socket. SIGQUIT, the request for an attach socket, would kill the process. */
export class SigquitNotCaught extends AttachError {
  static sample = () => new SigquitNotCaught(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Restart the program without -Xrs. If a cleanup of /tmp has deleted /tmp/.java_pid*, exclude these files from the cleanup and restart the program.'
  constructor(pid: number) {
    super(
      pid,
      'SIGQUIT is not caught',
      `cannot attach to JVM ${pid}: it has no attach socket and does not catch SIGQUIT (started with -Xrs?)`,
    )
  }
}

/** Returns a limit in words, such as "only 2 more threads" or "no more threads". */
const atMost = (left: number, what: string): string =>
  left <= 0 ? `no ${what}s` : `only ${count(left, what)}`

/** The process is at its thread limit. If HotSpot cannot create its attach listener thread, it ends the process. */
export class NoThreadsLeft extends AttachError {
  static sample = () => new NoThreadsLeft(4711, 2)
  readonly exitCode = EX_TEMPFAIL
  readonly hint =
    'Raise the limit (ulimit -u of the user of the JVM, pids.max of its control group), or wait until threads have ended.'
  constructor(pid: number, left: number) {
    super(
      pid,
      'no threads left',
      `cannot attach to JVM ${pid}: it can start ${atMost(left, 'more thread')}, and an attach needs up to ${THREADS_NEEDED}`,
    )
  }
}

/** The process is at its descriptor limit. HotSpot's attach listener ends permanently if accept() gets no descriptor. */
export class NoDescriptorsLeft extends AttachError {
  static sample = () => new NoDescriptorsLeft(4711, 3)
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  constructor(pid: number, left: number) {
    super(
      pid,
      'no descriptors left',
      `cannot attach to JVM ${pid}: it can open ${atMost(left, 'more file')}, and an attach needs up to ${DESCRIPTORS_NEEDED}`,
    )
    this.hint = `Raise the limit of the JVM: prlimit --pid ${pid} --nofile=<limit>`
  }
}

/** Returns a count with its noun, such as "2 files". `left` is negative if a limit was lowered below the current use. */
function count(left: number, what: string): string {
  const some = Math.max(0, left)
  return `${some === 0 ? 'no' : some} ${what}${some === 1 ? '' : 's'}`
}

/** User and group of the attaching process. */
export interface Client {
  uid: number
  gid: number
}

/** Returns the effective user and group of this process, as HotSpot reads them from the socket. */
export function thisClient(): Client {
  return { uid: process.geteuid?.() ?? -1, gid: process.getegid?.() ?? -1 }
}

/** State of the target's /tmp, where a JVM binds its attach socket. */
export type TmpState = 'usable' | 'missing' | 'a link' | 'read-only' | 'hidden'

export interface TargetFacts {
  process: TargetProcess
  /** Contents of the JVM's hsperfdata file; `undefined` if the file is missing or unreadable. */
  perf: PerfFacts | undefined
  /** Whether an hsperfdata file for this process exists, readable or not. */
  hasPerfFile: boolean
  /** `java.version`, such as 17.0.15; `undefined` when unknown. */
  javaVersion: string | undefined
  /** Whether the JVM's options or environment disable attach. Used when hsperfdata does not contain the flag. */
  attachDisabledByOption: boolean
  /** Whether the target's /tmp has an attach socket that is owned by the target's user or by root. The socket may have no listener. */
  hasSocket: boolean
  tmp: TmpState
  room: Room
}

/** Returns whether a process is a JVM; undefined when unknown. */
export function looksLikeJvm({ process, perf, hasPerfFile }: TargetFacts): boolean | undefined {
  if (process.vmLibrary || perf !== undefined) return true
  if (process.vmLibrary === null) return false // a statically linked JVM maps no libjvm, but its hsperfdata was checked above
  return hasPerfFile ? true : undefined
}

/** Name of the VM in the performance data of a native image that was built with `--enable-monitoring=jvmstat`. */
const NATIVE_IMAGE_VM = 'Substrate VM'

/** Returns whether a process is a native image; false when unknown. */
export function isNativeImage({ process, perf }: Pick<TargetFacts, 'process' | 'perf'>): boolean {
  return process.isNativeImage || perf?.vmName === NATIVE_IMAGE_VM
}

const programOf = ({ executable, commandLine, name }: TargetProcess): string =>
  executable ?? commandLine[0] ?? name

/**
 * Returns why `client` cannot attach to the process, or `undefined` if no known fact forbids it.
 * An unreadable fact is not a reason to refuse: the handshake detects the problem later.
 */
export function attachProblem(facts: TargetFacts, client: Client): AttachError | undefined {
  const { process, perf, javaVersion } = facts
  const { pid } = process
  if (process.threadGroup !== pid) return new NoSuchProcess(pid, { threadOf: process.threadGroup })
  if (process.state === 'Z' || process.state === 'X') return new NoSuchProcess(pid, 'has ended')
  if (isNativeImage(facts)) return new NativeImage(pid, programOf(process))
  if (looksLikeJvm(facts) === false) return new NotJvm(pid, programOf(process))
  if (process.vmLibrary?.kind === 'openj9') return new NotHotSpot(pid, 'Eclipse OpenJ9')
  if (javaVersion !== undefined && (featureOf(javaVersion) ?? OLDEST_JDK) < OLDEST_JDK) {
    return new JdkTooOld(pid, javaVersion)
  }
  if (client.uid !== 0 && (client.uid !== process.euid || client.gid !== process.egid)) {
    return new NotOwner(pid, { uid: process.euid, gid: process.egid }, client, process.ownUsers)
  }
  // Some processes hide /proc/<pid>/maps even from root. jfluid sends SIGQUIT to such a process only if another fact shows that the process
  // is a JVM: SIGQUIT may kill other programs.
  const unseen = looksLikeJvm(facts) === undefined && !facts.hasSocket
  if (unseen && !isJavaLauncher(process.executable, process.commandLine)) {
    return new NotJvm(pid, programOf(process))
  }
  if (!(perf?.attachSupported ?? !facts.attachDisabledByOption)) return new AttachDisabled(pid)
  if (process.lostRuntime) return new RuntimeReplaced(pid, process.vmLibrary?.path ?? 'libjvm.so')
  if (facts.tmp === 'hidden') return new RootHidden(pid, { uid: process.euid, gid: process.egid }, client)
  if (facts.tmp !== 'usable' && !facts.hasSocket) return new NoSocketPlace(pid, facts.tmp)
  if (isStopped(process.state)) return new TargetStopped(pid, process.state)
  if (!facts.hasSocket && (!process.catchesSigquit || process.ignoresSigquit)) {
    return new SigquitNotCaught(pid)
  }
  const { threads, descriptors } = facts.room
  if (threads < THREADS_NEEDED) return new NoThreadsLeft(pid, threads)
  if (descriptors < DESCRIPTORS_NEEDED) return new NoDescriptorsLeft(pid, descriptors)
  return undefined
}
