// attach and record of a JVM on another machine: the proxy there records; the profile is sent here, and shown or written to a file.

import { dirname } from 'node:path'
import type { SessionFlags } from '../options/table.ts'
import type { RemoteAddress } from '../remote/address.ts'
import { NotFromAfar } from '../remote/errors.ts'
import { tellMessages } from './finish.ts'
import { commandOptions } from './options.ts'
import { checkRemoteFlags } from './remote-flags.ts'
import { RemoteSession } from './remote-session.ts'
import { startedFromAfar } from './remote-start.ts'
import { countsText, type Source, type Way } from './source.ts'

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
  const { out: _, push: __, ...asked } = flags
  return async ({ progress, later, found, stop }) => {
    progress.phase(`connecting by ${address.where}`)
    const caller = await RemoteSession.reach(address)
    if (later !== null) progress.close()
    let session: RemoteSession | null = null
    try {
      const start = { address, flags: asked, stop: stop(), progress }
      session = await startedFromAfar(caller, start, found)
    } finally {
      if (session === null) await caller.leave()
    }
    return session === null ? null : remoteSource(session, () => caller.leave())
  }
}

function remoteSource(session: RemoteSession, leave: () => Promise<unknown>): Source {
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
        const { profile, described } = await session.finish()
        return { profile, described: [described] }
      } finally {
        quiet()
      }
    },
    outcome: (signal, kept) => session.outcome(signal, kept),
    async leave() {
      await leave()
    },
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
