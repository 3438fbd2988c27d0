// attach and record of a JVM on another machine: the proxy there records; the profile is sent here, and shown or written to a file.

import { dirname } from 'node:path'
import type { SessionFlags } from '../options/table.ts'
import type { RemoteAddress } from '../remote/address.ts'
import type { Caller } from '../remote/caller.ts'
import { tellMessages } from './finish.ts'
import { commandOptions } from './options.ts'
import { checkRemoteFlags, flagsForAfar } from './remote-flags.ts'
import { RemoteSession } from './remote-session.ts'
import { signalStatus } from './signals.ts'
import { countsText, type RecordedSource, type StartContext, type Way } from './source.ts'

/** Interval of the checks of the connection. */
const CHECK_INTERVAL_MS = 500

export async function remoteJvm(
  command: 'attach' | 'record',
  address: RemoteAddress,
  flags: SessionFlags & { readonly out?: string | undefined },
): Promise<Way> {
  checkRemoteFlags(command, flags)
  await commandOptions(flags) // errors in the options are reported before a connection is opened
  const asked = flagsForAfar(flags)
  return async (context) => {
    const { progress, isShown } = context
    progress.phase(`connecting via ${address.where}`)
    const caller = await RemoteSession.reach(address)
    if (isShown) progress.close()
    let session: RemoteSession | null = null
    try {
      session = await started(caller, address, asked, context)
    } finally {
      if (session === null) await caller.leave()
    }
    return session === null ? null : remoteSource(session, caller)
  }
}

/**
 * Connects to a proxy and waits until it records. Ctrl-C before that restores the JVM. The client must request the detach explicitly: after
 * a mere disconnect, the proxy records until the end of the grace period.
 *
 * @returns null if a signal came first: a message has been printed, and the exit status is set
 * @throws ProxySays: errors of the JVM lookup and of the attach on the other machine
 */
async function started(
  caller: Caller,
  { target, where }: RemoteAddress,
  flags: SessionFlags,
  { progress, found, stop }: StartContext,
): Promise<RemoteSession | null> {
  const { fired } = stop()
  const pid = await Promise.race([RemoteSession.find(caller, target), fired])
  if (typeof pid === 'string') {
    progress.done('interrupted before the JVM was changed')
    process.exitCode = signalStatus(pid)
    return null
  }
  await found(pid)
  progress.phase(`attaching to ${pid} via ${where}`)
  const starting = RemoteSession.start(caller, pid, flags)
  const first = await Promise.race([starting, fired])
  if (typeof first !== 'string') return first
  progress.phase(`detaching from JVM ${pid} via ${where}; Ctrl-C again does not wait`)
  await starting.catch(() => {}) // the session has not begun to record
  const how = (await caller.leave())
    ? 'the agent has detached from'
    : 'the proxy did not confirm that the agent has detached from'
  progress.done(`interrupted before the recording began; ${how} JVM ${pid}`)
  process.exitCode = signalStatus(first)
  return null
}

function remoteSource(session: RemoteSession, caller: Caller): RecordedSource {
  let isAsking = false
  return {
    ended: session.ended,
    saved: session,
    called: 'profile',
    everyMs: CHECK_INTERVAL_MS,
    async status() {
      const lost = lostText(session)
      if (lost !== null || isAsking) return lost
      isAsking = true
      const s = await session.status().catch(() => null) // `ended` reports the reason
      isAsking = false
      return s === null ? null : countsText(s)
    },
    matches: () => session.matches,
    tellMessages: (tell) => tellMessages(session, tell),
    async finish(tell) {
      const quiet = reportLostLink(session, tell)
      try {
        return await session.finish()
      } finally {
        quiet()
      }
    },
    outcome: (signal, kept) => session.outcome(signal, kept),
    leave: () => caller.leave(),
    async drawn(sources) {
      const [{ runLiveView }, { remoteSource: liveSource }] = await Promise.all([
        import('../tui/app.ts'),
        import('./remote-source.ts'),
      ])
      return (screen, out) => {
        const live = liveSource(session, out === null ? '.' : dirname(out))
        return runLiveView({ ...live, ...(sources !== undefined && { sources }) }, screen)
      }
    },
  }
}

/** Returns null while there is a connection. */
function lostText({ lostForMs, problem, where }: RemoteSession): string | null {
  if (lostForMs === null) return null
  const why = problem === null ? '' : `: ${problem}`
  return `reconnecting via ${where}, for ${Math.round(lostForMs / 1000)} s${why}`
}

/** Reports a lost connection once, and each new reason once. Call the result to stop. */
function reportLostLink(session: RemoteSession, tell: (line: string) => void): () => void {
  let told = ''
  const timer = setInterval(() => {
    const { lostForMs, problem, where } = session
    if (lostForMs === null) return
    const line = `no connection via ${where}: retrying${problem === null ? '' : ` (${problem})`}`
    if (line !== told) tell(line)
    told = line
  }, CHECK_INTERVAL_MS)
  return () => clearInterval(timer)
}
