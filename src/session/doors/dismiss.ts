// Ends a session that is another client's, which hangs or is stopped, and removes what dead ones have left: `jfluid detach`.
//
// The agent hears of it as a sleeping one hears of a new session, by a line that only the JVM's user and root can hand to it
// (door.ts). It looks for signs of life of its client for a second, and else leaves as if the client had been killed. A JVM in which
// no thread of ours runs is not asked, and so not touched.

import {
  attachProblem,
  JdkTooOld,
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

/** Whoever profiles there has not asked for it. */
export class ClientLives extends JfluidError {
  static sample = () => new ClientLives(4711, 4712)
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  constructor(pid: number, client: number) {
    super(`another jfluid is profiling JVM ${pid}, and it runs${client > 0 ? ` (process ${client})` : ''}`)
    this.hint = `End that jfluid with q or Ctrl-C, or end its session from here: jfluid detach ${pid} --force`
  }
}

/** It understands other words. */
export class AgentOfAnotherBuild extends JfluidError {
  static sample = () => new AgentOfAnotherBuild(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Use the jfluid that has attached, or end that process with kill -9: its agent then detaches without a command.'
  constructor(pid: number) {
    super(`the agent in JVM ${pid} belongs to another jfluid build, and does not accept a command to detach`)
  }
}

/** The line that tells the agent finds no place. */
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

/** Told to leave, and not gone, or not without a trace. */
export class NotGone extends JfluidError {
  static sample = () => new NotGone(4711, ['thread jfluid-agent'])
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Run jfluid detach again when the JVM is less busy.'
  constructor(pid: number, left: readonly string[]) {
    super(`JVM ${pid} still contains parts of jfluid: ${left.join(', ')}`)
  }
}

/** What the agent says of a session that it has ended for us. */
type EndedSession = Omit<DetachReport, 'pauseMs' | 'profilerFailure'>

export interface Dismissal {
  readonly pid: number
  /** Null if no session was there. */
  readonly ended: EndedSession | null
  /** Files and directories of clients that are dead. */
  readonly removed: readonly string[]
  /** What of jfluid is still in and around the JVM. */
  readonly left: readonly string[]
  /** What could not be looked at. */
  readonly unseen: readonly string[]
}

/** Without these nothing more is to be asked; what else forbids an attach matters only where somebody is to be told something. */
const HOPELESS = [NoSuchProcess, NotJvm, NotHotSpot, JdkTooOld, NotOwner]

/**
 * @param force  also if the client lives
 * @throws ClientLives, CannotTell, AgentOfAnotherBuild, and errors of attaching: nothing has changed then
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
 * @param sessions  which are meant: if we are killed now the line stays, and any program that asks for the agent's properties has it
 *                  read, perhaps when another client is there. None: whichever there is
 * @returns null if it had just ended by itself
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
      // Another program that asks for these properties may have had the agent read the line.
      throw told.isRead
        ? new NotGone(pid, ['its session, which was told to end'])
        : new AgentOfAnotherBuild(pid)
  }
}
