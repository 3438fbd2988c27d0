// jfluid record --all: several JVMs for a while, without a screen.

import { parseDuration } from '../base/duration.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Flags } from '../options/table.ts'
import { plural } from '../profile/text.ts'
import { createProgress } from '../tui/progress.ts'
import { allMeant } from './all.ts'
import { NowhereToPut } from './destination.ts'
import { Group, GroupPlaces, type Member, nameOf } from './group.ts'
import { commandOptions } from './options.ts'
import { keepStatus, signalStatus, stopSignal } from './signals.ts'

/** `checkAll` has been asked. */
export async function recordAll(pattern: string, flags: Flags<'record'>): Promise<void> {
  const options = await commandOptions(flags)
  const { out } = flags
  if (out === undefined) throw new NowhereToPut()
  const durationMs = parseDuration(flags.duration)
  const jvms = await allMeant(pattern)
  const progress = createProgress(process.stderr)
  const places = await GroupPlaces.at(out, jvms, flags, (line) => progress.note(line))
  const stop = stopSignal()
  try {
    progress.phase(`attaching to ${plural(jvms.length, 'JVM')}: ${jvms.map(nameOf).join(', ')}`)
    const group = await Group.start(jvms, options, places, stop, (line) => progress.note(line))
    if (group === null) {
      progress.done('interrupted before anything was recorded; the agent has left all JVMs')
      process.exitCode = signalStatus(await stop.fired)
      return
    }
    progress.phase(`recording ${plural(group.members.length, 'JVM')}`)
    const quiet = group.tellMessages()
    const begun = performance.now()
    const ticker = setInterval(async () => {
      const seconds = Math.round((performance.now() - begun) / 1000)
      progress.update(`${seconds}/${Math.round(durationMs / 1000)} s  ${await countsOf(group.members)}`)
    }, 500)
    const timer = new Promise<string>((resolve) => {
      setTimeout(resolve, durationMs, 'the time is over').unref()
    })
    const stopped = stop.fired.then((name) => `${name} was received`)
    const why = await Promise.race([timer, stopped, group.ended])
    const { signal } = stop // one that comes later does not change why we end
    clearInterval(ticker)
    quiet()
    progress.phase(`ending: ${why}`)
    const profile = await group.finish()
    for (const warning of profile.warnings) progress.note(`warning: ${warning}`)
    await places.whole.keep(profile)
    for (const line of group.keptLines) progress.note(line)
    progress.note(`profile of all written to ${out}; read it with: jfluid report ${shellWord(out)}`)
    const problem = group.outcome(signal, out)
    if (problem !== null) throw problem
  } finally {
    keepStatus()
    stop.dispose()
    progress.close()
  }
}

/** Of a session that has just ended nothing is known. */
async function countsOf(members: readonly Member[]): Promise<string> {
  const known = await Promise.all(members.map(({ session }) => session.status().catch(() => null)))
  const sum = (key: 'events' | 'instrumentedMethods' | 'calledMethods'): number =>
    known.reduce((all, status) => all + (status?.[key] ?? 0), 0)
  return `${sum('events')} events  ${sum('instrumentedMethods')} methods instrumented, ${sum('calledMethods')} called`
}
