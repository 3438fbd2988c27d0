// jfluid record of a JVM on another machine: the proxy there records, and the profile comes over.

import { parseDuration } from '../base/duration.ts'
import type { Flags } from '../options/table.ts'
import type { RemoteAddress } from '../remote/address.ts'
import { createProgress } from '../tui/progress.ts'
import { Destination, keptIn } from './destination.ts'
import { tellMessages } from './finish.ts'
import { commandOptions } from './options.ts'
import { checkRemoteFlags } from './remote-flags.ts'
import { RemoteSession } from './remote-session.ts'
import { startedFromAfar } from './remote-start.ts'
import { keepStatus, stopSignal } from './signals.ts'

/** From one look to the next. */
const LOOK_MS = 500

export async function recordRemote(address: RemoteAddress, flags: Flags<'record'>): Promise<void> {
  checkRemoteFlags('record', flags)
  await commandOptions(flags) // what is wrong with them is told before anybody is called
  const to = Destination.check(flags)
  const durationMs = parseDuration(flags.duration)
  const progress = createProgress(process.stderr)
  progress.phase(`connecting by ${address.where}`)
  const caller = await RemoteSession.reach(address)
  const stop = stopSignal()
  try {
    const { out: _, push: __, ...asked } = flags
    let place: Destination | undefined
    const session = await startedFromAfar(caller, { address, flags: asked, stop, progress }, async (pid) => {
      place = await Destination.of(flags, to, pid, (line) => progress.note(line))
    })
    if (session === null || place === undefined) return
    await recordStarted(session, durationMs, place, stop, progress)
  } finally {
    await caller.leave()
    keepStatus()
    stop.dispose()
    progress.close()
  }
}

async function recordStarted(
  session: RemoteSession,
  durationMs: number,
  place: Destination,
  stop: ReturnType<typeof stopSignal>,
  progress: ReturnType<typeof createProgress>,
): Promise<void> {
  place.guard(session)
  for (const line of session.matches) progress.note(line)
  const quiet = tellMessages(session, (line) => progress.note(line))
  const begun = performance.now()
  const ticker = ticking(session, durationMs, begun, (text) => progress.update(text))
  const timer = new Promise<string>((resolve) => {
    setTimeout(resolve, durationMs, 'the time is over').unref()
  })
  const stopped = stop.fired.then((name) => `${name} was received`)
  const why = await Promise.race([timer, stopped, session.ended])
  const { signal } = stop // one that comes later does not change why we end
  clearInterval(ticker)
  quiet()
  progress.phase(`ending: ${why}`)
  await place.release()
  const { profile, described } = await place.orAutosaved(left(session, (text) => progress.phase(text)))
  progress.done(described)
  for (const warning of profile.warnings) progress.note(`warning: ${warning}`)
  const put = await place.put(profile, (text) => progress.phase(text), stop)
  if (put.problem !== null) throw put.problem
  for (const line of put.lines) progress.note(line)
  const problem = await session.outcome(signal, keptIn(put))
  if (problem !== null) throw problem
}

function ticking(
  session: RemoteSession,
  durationMs: number,
  begun: number,
  show: (text: string) => void,
): NodeJS.Timeout {
  let isAsking = false
  return setInterval(async () => {
    const seconds = `${Math.round((performance.now() - begun) / 1000)}/${Math.round(durationMs / 1000)} s`
    const lost = lostText(session)
    if (lost !== null) show(`${seconds}  ${lost}`)
    if (isAsking) return
    isAsking = true
    const s = await session.status().catch(() => null) // `ended` tells
    isAsking = false
    if (s === null) return
    show(
      `${seconds}  ${s.events} events  ${s.instrumentedMethods} methods instrumented, ${s.calledMethods} called`,
    )
  }, LOOK_MS)
}

/** Null while there is a connection. */
function lostText({ lostForMs, problem, where }: RemoteSession): string | null {
  if (lostForMs === null) return null
  const why = problem === null ? '' : `: ${problem}`
  return `reconnecting by ${where}, for ${Math.round(lostForMs / 1000)} s${why}`
}

/** Leaves the target. Where a connection is waited for, that is told. */
export async function left(
  session: RemoteSession,
  tell: (line: string) => void,
): Promise<Awaited<ReturnType<RemoteSession['finish']>>> {
  const quiet = tellOfLink(session, tell)
  try {
    return await session.finish()
  } finally {
    quiet()
  }
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
