// attach and record of a JVM on another machine: the proxy there records; the profile is sent here, and shown or written to a file.

import { dirname } from 'node:path'
import type { SessionFlags } from '../options/table.ts'
import type { RemoteAddress } from '../remote/address.ts'
import type { Caller } from '../remote/caller.ts'
import { NotFromAfar } from '../remote/errors.ts'
import { tellMessages } from './finish.ts'
import { commandOptions } from './options.ts'
import { checkRemoteFlags } from './remote-flags.ts'
import { RemoteSession } from './remote-session.ts'
import { signalStatus } from './signals.ts'
import { countsText, type RecordedSource, type StartContext, type Way } from './source.ts'

/** From one look to the next. */
const LOOK_MS = 500

export async function remoteJvm(
  command: 'attach' | 'record',
  address: RemoteAddress,
  flags: SessionFlags & { readonly out?: string | undefined; readonly push?: string | undefined },
): Promise<Way> {
  checkRemoteFlags(command, flags)
  if (command === 'attach' && flags.region !== undefined) throw new NotFromAfar('the live view of --region')
  await commandOptions(flags) // what is wrong with them is told before anybody is called
  // What is done here with the profile is no matter of the proxy's.
  const { out: _, push: __, ...asked } = flags
  return async (context) => {
    const { progress, isShown } = context
    progress.phase(`connecting by ${address.where}`)
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
 * From the call to a proxy until it records. Ctrl-C before that leaves the JVM as it was: a proxy whose client has only gone
 * records for it until its grace is over.
 *
 * @returns null if a signal came first: that has been said, and is the exit status
 * @throws ProxySays: what a look for the JVM and an attach say there
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
    progress.done('interrupted before anything was touched')
    process.exitCode = signalStatus(pid)
    return null
  }
  await found(pid)
  progress.phase(`attaching to ${pid} by ${where}`)
  const starting = RemoteSession.start(caller, pid, flags)
  const first = await Promise.race([starting, fired])
  if (typeof first !== 'string') return first
  progress.phase(`leaving JVM ${pid} by ${where}; once more does not wait for it`)
  await starting.catch(() => {}) // it has not begun
  const how = (await caller.leave())
    ? 'the agent has left'
    : 'the proxy did not say whether the agent has left'
  progress.done(`interrupted before anything was recorded; ${how} JVM ${pid}`)
  process.exitCode = signalStatus(first)
  return null
}

function remoteSource(session: RemoteSession, caller: Caller): RecordedSource {
  let isAsking = false
  return {
    ended: session.ended,
    saved: session,
    called: 'profile',
    everyMs: LOOK_MS,
    async status() {
      const lost = lostText(session)
      if (lost !== null || isAsking) return lost
      isAsking = true
      const s = await session.status().catch(() => null) // `ended` tells
      isAsking = false
      return s === null ? null : countsText(s)
    },
    matches: () => session.matches,
    tellMessages: (tell) => tellMessages(session, tell),
    async finish(tell) {
      const quiet = tellOfLink(session, tell)
      try {
        return await session.finish()
      } finally {
        quiet()
      }
    },
    outcome: (signal, kept) => session.outcome(signal, kept),
    leave: () => caller.leave(),
    async drawn() {
      const [{ runLiveView }, { remoteSource: liveSource }] = await Promise.all([
        import('../tui/app.ts'),
        import('./remote-source.ts'),
      ])
      return (screen, out) => runLiveView(liveSource(session, out === null ? '.' : dirname(out)), screen)
    },
  }
}

/** Null while there is a connection. */
function lostText({ lostForMs, problem, where }: RemoteSession): string | null {
  if (lostForMs === null) return null
  const why = problem === null ? '' : `: ${problem}`
  return `reconnecting by ${where}, for ${Math.round(lostForMs / 1000)} s${why}`
}

/** Tells once that there is no connection, and once each reason that becomes known. Stop it with the result. */
function tellOfLink(session: RemoteSession, tell: (line: string) => void): () => void {
  let told = ''
  const timer = setInterval(() => {
    const { lostForMs, problem, where } = session
    if (lostForMs === null) return
    const line = `no connection by ${where}: trying again${problem === null ? '' : ` (${problem})`}`
    if (line !== told) tell(line)
    told = line
  }, LOOK_MS)
  return () => clearInterval(timer)
}
