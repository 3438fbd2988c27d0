// jfluid attach --all: the live view of several JVMs.

import type { JfluidError } from '../base/errors.ts'
import type { Flags } from '../options/table.ts'
import { reportPieces, terminalOptions } from '../profile/report.ts'
import { plural } from '../profile/text.ts'
import { writePieces } from '../profile/write.ts'
import { type Leave, type LiveSource, runLiveView } from '../tui/app.ts'
import { createProgress } from '../tui/progress.ts'
import { openScreen, preloadScreen, terminalProblem } from '../tui/screen.ts'
import { severalSource } from '../tui/several-source.ts'
import { allMeant } from './all.ts'
import { Group, GroupPlaces, nameOf } from './group.ts'
import { sessionKeeper } from './keeper.ts'
import { liveSource } from './live.ts'
import { commandOptions } from './options.ts'
import { say } from './say.ts'
import { endingSignals, signalStatus, stopSignal } from './signals.ts'

/** `checkAll` has been asked. */
export async function attachAll(pattern: string, flags: Flags<'attach'>): Promise<void> {
  const { out } = flags
  const options = await commandOptions(flags)
  const problem = terminalProblem(process.stdin, process.stdout, process.env)
  if (problem !== null) throw problem
  const jvms = await allMeant(pattern)
  /** Once there is a view, what there is to say comes after it. */
  const later: string[] = []
  const places = out === undefined ? null : await GroupPlaces.at(out, jvms, flags, (line) => later.push(line))
  preloadScreen()
  const progress = createProgress(process.stderr)
  const starting = stopSignal()
  let group: Group | null
  try {
    progress.phase(`attaching to ${plural(jvms.length, 'JVM')}: ${jvms.map(nameOf).join(', ')}`)
    group = await Group.start(jvms, options, places, starting, (line) => later.push(line))
  } finally {
    starting.dispose()
    progress.close()
  }
  if (group === null) {
    process.exitCode = signalStatus(await starting.fired)
    return
  }
  const told = await shown(group, places, later)
  if (told !== null) throw told
}

/** Until the user leaves; then all JVMs get their code back, and there is a report. */
async function shown(
  group: Group,
  places: GroupPlaces | null,
  later: readonly string[],
): Promise<JfluidError | null> {
  const signals = endingSignals()
  const screen = await openScreen()
  // A closed terminal is told by its streams and by SIGHUP, in any order: the second must not end us before all have their code back.
  const stop = stopSignal(signals)
  try {
    let left: Leave
    try {
      left = await runLiveView(sourceOf(group), screen)
    } finally {
      screen.destroy()
    }
    const profile = await group.finish()
    // Before anything is said: whoever reads us may have gone.
    await places?.whole.keep(profile)
    await writePieces(process.stdout, reportPieces(profile, terminalOptions(process.stdout)))
    for (const line of [...later, ...group.keptLines]) say(line)
    const out = places?.whole.path ?? null
    if (out !== null) say(`profile of all written to ${out}`)
    return group.outcome(left === 'quit' ? null : left, out)
  } finally {
    stop.dispose()
  }
}

function sourceOf(group: Group): LiveSource {
  const sources = group.members.map((member) => ({
    ...{ pid: member.jvm.pid, name: member.jvm.mainClass ?? '?' },
    source: { ...liveSource(member.session), reset: () => group.reset(member) },
  }))
  const { pid } = group.members[0]!.jvm
  const keeper = sessionKeeper({ pid, profileSoFar: (why) => group.profileSoFar(why) })
  return severalSource(sources, group.refusals, keeper)
}
