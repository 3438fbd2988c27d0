// attach and record of --all: several JVMs at once.

import type { SessionFlags } from '../options/table.ts'
import { plural } from '../profile/text.ts'
import { allMeant } from './all.ts'
import { Group, nameOf, ownPlaces } from './group.ts'
import { commandOptions } from './options.ts'
import type { PlaceFlags } from './place.ts'
import { signalStatus } from './signals.ts'
import { countsText, type RecordedSource, type Way } from './source.ts'

const STATUS_INTERVAL_MS = 500

/** Starts the group. The caller has called `checkAll` before. */
export async function severalJvms(
  pattern: string,
  flags: SessionFlags & PlaceFlags & { readonly out?: string | undefined },
): Promise<Way> {
  const options = await commandOptions(flags)
  return async ({ progress, isShown, tell, untold, found, stop }) => {
    const jvms = await allMeant(pattern)
    const places = await ownPlaces(flags.out, jvms, flags, tell)
    await found(jvms[0]!.pid)
    const starting = stop()
    progress.phase(`attaching to ${plural(jvms.length, 'JVM')}: ${jvms.map(nameOf).join(', ')}`)
    const group = await Group.start(jvms, options, places, starting, tell)
    if (group !== null) return groupSource(group, untold)
    if (!isShown)
      progress.done('interrupted before the recording began; the agent has detached from all JVMs')
    process.exitCode = signalStatus(await starting.fired)
    return null
  }
}

/** @param untold  returns messages of the group that have not been printed yet */
function groupSource(group: Group, untold: () => readonly string[]): RecordedSource {
  return {
    ended: group.ended,
    called: 'profile of all',
    phase: `recording ${plural(group.members.length, 'JVM')}`,
    everyMs: STATUS_INTERVAL_MS,
    status: () => countsOf(group),
    matches: () => [], // the group reports the matches of each member
    tellMessages: () => group.tellMessages(),
    async finish() {
      const profile = await group.finish()
      return { profile, described: untold(), parts: group.keptLines }
    },
    outcome: async (signal, kept) => group.outcome(signal, kept),
    async drawn(sources) {
      const { showGroup } = await import('./group-view.ts')
      return (screen) => showGroup(group, screen, sources)
    },
  }
}

/** Sums the counts. A session that has just ended has no status. */
async function countsOf({ members }: Group): Promise<string> {
  const sums = { events: 0, instrumentedMethods: 0, calledMethods: 0 }
  const known = await Promise.all(members.map(({ session }) => session.status().catch(() => null)))
  for (const status of known.filter((it) => it !== null)) {
    sums.events += status.events
    sums.instrumentedMethods += status.instrumentedMethods
    sums.calledMethods += status.calledMethods
  }
  return countsText(sums)
}
