// jfluid attach to a JVM on another machine: the proxy there records, and the view here draws what comes over.

import { dirname } from 'node:path'
import type { Flags } from '../options/table.ts'
import { reportPieces, terminalOptions } from '../profile/report.ts'
import { writePieces } from '../profile/write.ts'
import type { RemoteAddress } from '../remote/address.ts'
import { NotFromAfar } from '../remote/errors.ts'
import { type Leave, runLiveView } from '../tui/app.ts'
import { createProgress } from '../tui/progress.ts'
import { openScreen, preloadScreen, terminalProblem } from '../tui/screen.ts'
import { commandOptions } from './options.ts'
import { ProfilePlace } from './place.ts'
import { checkRemoteFlags } from './remote-flags.ts'
import { left } from './remote-record.ts'
import { RemoteSession } from './remote-session.ts'
import { remoteSource } from './remote-source.ts'
import { startedFromAfar } from './remote-start.ts'
import { say } from './say.ts'
import { endingSignals, stopSignal } from './signals.ts'

export async function attachRemote(address: RemoteAddress, flags: Flags<'attach'>): Promise<void> {
  checkRemoteFlags('attach', flags)
  if (flags.region !== undefined) throw new NotFromAfar('the live view of --region')
  await commandOptions(flags) // what is wrong with them is told before anybody is called
  const problem = terminalProblem(process.stdin, process.stdout, process.env)
  const later: string[] = []
  const place = await ProfilePlace.maybeAt(flags.out, flags, (line) => later.push(line))
  if (problem !== null) throw problem
  preloadScreen()
  const progress = createProgress(process.stderr)
  progress.phase(`connecting by ${address.where}`)
  const caller = await RemoteSession.reach(address).finally(() => progress.close())
  try {
    const { out: _, ...asked } = flags
    const stop = stopSignal()
    // The screen listens itself, and asks who does.
    const session = await startedFromAfar(caller, { address, flags: asked, stop, progress }).finally(() => {
      progress.close()
      stop.dispose()
    })
    if (session !== null) await shown(session, place, later)
  } finally {
    await caller.leave()
  }
}

async function shown(
  session: RemoteSession,
  place: ProfilePlace | null,
  later: readonly string[],
): Promise<void> {
  const signals = endingSignals()
  const screen = await openScreen()
  const stop = stopSignal(signals)
  try {
    place?.guard(session)
    let how: Leave
    try {
      how = await runLiveView(remoteSource(session, place === null ? '.' : dirname(place.path)), screen)
    } finally {
      screen.destroy()
    }
    await place?.release()
    const finishing = left(session, say)
    const { profile, described } = await (place === null ? finishing : place.orAutosaved(finishing))
    await place?.keep(profile)
    await writePieces(process.stdout, reportPieces(profile, terminalOptions(process.stdout)))
    for (const line of [...session.matches, described]) say(line)
    if (place !== null) say(`profile written to ${place.path}`)
    for (const line of later) say(line)
    const told = await session.outcome(how === 'quit' ? null : how, place?.path ?? null)
    if (told !== null) throw told
  } finally {
    stop.dispose()
  }
}
