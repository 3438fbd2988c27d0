// `jfluid detach`: ends the session of another client that hangs or is stopped, and removes files left by dead clients.
// The request reaches the agent as a line in the launch file, which only the JVM's user and root can write (door.ts). If the agent receives
// nothing from its client for one second, it ends the session as if the client had been killed. No request is sent to a JVM without a
// jfluid thread; it stays unchanged.

import {
  attachProblem,
  JdkTooOld,
  NativeImage,
  NoSuchProcess,
  NotHotSpot,
  NotJvm,
  NotOwner,
  thisClient,
} from '../../attach/admission.ts'
import { openAttachSocket } from '../../attach/handshake.ts'
import { readTargetFacts } from '../../attach/target-facts.ts'
import { EX_CANTCREAT, EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import type { DetachReport } from '../../wire/messages.ts'
import { named, remainsOf, threadsGone } from '../remains.ts'
import { agentJar } from './agent-jar.ts'
import { tellAgent } from './door.ts'
import { removeLeftovers, removeLeftoversIn, removeTriggers } from './session-directory.ts'

/** Thrown if the client of the session is alive, and `--force` was not given. */
export class ClientLives extends JfluidError {
  static sample = () => new ClientLives(4711, 4712)
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  constructor(pid: number, client: number) {
    super(`another jfluid is profiling JVM ${pid}, and it runs${client > 0 ? ` (process ${client})` : ''}`)
    this.hint = `End that jfluid with q or Ctrl-C, or end its session from here: jfluid detach ${pid} --force`
  }
}

/** Thrown if the agent in the JVM is of another build. It uses another protocol. */
export class AgentOfAnotherBuild extends JfluidError {
  static sample = () => new AgentOfAnotherBuild(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Use the jfluid that has attached, or end that process with kill -9: its agent then detaches without a command.'
  constructor(pid: number) {
    super(`the agent in JVM ${pid} belongs to another jfluid build, and does not accept a command to detach`)
  }
}

/** Thrown if the launch file with the request to the agent cannot be written. */
export class CannotTell extends JfluidError {
  static sample = () => new CannotTell(4711)
  readonly exitCode = EX_CANTCREAT
  readonly hint =
    "Make root or the user of the JVM the owner of its /tmp, with the sticky bit if other users may write to it, and remove another user's .jfluid_pid file."
  constructor(pid: number) {
    super(
      `cannot tell the agent in JVM ${pid} to detach: jfluid cannot write a file for it in /tmp of the JVM`,
    )
  }
}

/** Thrown if the agent got the request but its session has not ended, or if traces of the session are still in the JVM. */
export class NotGone extends JfluidError {
  static sample = () => new NotGone(4711, ['thread jfluid-agent'])
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Run jfluid detach again when the JVM is less busy.'
  constructor(pid: number, left: readonly string[]) {
    super(`JVM ${pid} still contains parts of jfluid: ${left.join(', ')}`)
  }
}

/** The agent's report after it has ended another client's session. */
type EndedSession = Omit<
  DetachReport,
  'pauseMs' | 'profilerFailure' | 'keptNames' | 'unlinkableClasses' | 'unlinkableNames'
>

export interface Dismissal {
  readonly pid: number
  /** Report about the ended session. Null if there was no session. */
  readonly ended: EndedSession | null
  /** Files and directories of dead clients that were removed. */
  readonly removed: readonly string[]
  /** Traces of jfluid that are still in the JVM or in its files. */
  readonly left: readonly string[]
  /** Kinds of traces that jfluid could not check for. */
  readonly unseen: readonly string[]
}

/** Problems that make `detach` fail at once. Other attach problems matter only if the agent must get a request. */
const HOPELESS = [NoSuchProcess, NotJvm, NotHotSpot, NativeImage, JdkTooOld, NotOwner]

/**
 * Ends the session of another client.
 * @param force  whether to end the session even if its client is alive
 * @throws ClientLives, CannotTell, AgentOfAnotherBuild, and errors of attaching, before any change
 */
export async function dismiss(pid: number, force: boolean): Promise<Dismissal> {
  const facts = readTargetFacts(pid)
  if (facts === undefined) throw new NoSuchProcess(pid)
  const problem = attachProblem(facts, thisClient())
  if (problem !== undefined && HOPELESS.some((it) => problem instanceof it)) throw problem
  const before = remainsOf(pid)
  const threads = before?.threads ?? []
  const ended = threads.length === 0 ? null : await endSession(pid, force, before?.sessions ?? [])
  const removed = [...removeLeftovers(), ...removeLeftoversIn(facts.process)]
  await threadsGone(pid, threads)
  const after = remainsOf(pid)
  if (after === null) throw new NoSuchProcess(pid, 'has ended')
  const left = named(after.traces)
  if (ended?.transformerGone === false) left.push('transformer')
  return { pid, ended, removed, left, unseen: after.unseen }
}

/**
 * Sends the request to the agent.
 * @param sessions  the sessions to end; an empty list means any session. The list is needed in case jfluid is killed here: its line stays
 * in the file, and the agent may read the line much later, during the session of another client.
 * @returns null if the session had just ended
 */
async function endSession(
  pid: number,
  force: boolean,
  sessions: readonly string[],
): Promise<EndedSession | null> {
  const connection = await openAttachSocket(pid)
  removeTriggers(connection.target)
  const words = [`detach=${force ? 'force' : 'polite'}`, `build=${agentJar().build}`]
  if (sessions.length > 0) words.push(`sessions=${sessions.join(',')}`)
  const line = words.join(';')
  const told = await tellAgent(connection, line)
  if (told === null) throw new CannotTell(pid)
  const [what, ...numbers] = (told.properties.get('jfluid.detached') ?? '').split(' ')
  switch (what) {
    case 'none':
      return null
    case 'leaving':
      throw new NotGone(pid, ['its session, which is ending'])
    case 'alive':
      throw new ClientLives(pid, Number(numbers[0]))
    case 'ended': {
      const [restored, refused, ms, released, lambdas, transformerGone] = numbers
      return {
        ...{ restoredClasses: Number(restored), refusedClasses: Number(refused), ms: Number(ms) },
        ...{ released: released === 'true', lambdaClasses: Number(lambdas) },
        transformerGone: transformerGone === 'true',
      }
    }
    case 'another':
      throw new AgentOfAnotherBuild(pid)
    default:
      if (told.properties.get('jfluid.error') === 'another build') throw new AgentOfAnotherBuild(pid)
      // Another program may have requested these properties earlier, and the agent may have read the line at that time.
      throw told.isRead
        ? new NotGone(pid, ['its session, which has not ended yet'])
        : new AgentOfAnotherBuild(pid)
  }
}
