// The live view of several JVMs.

import type { SourceFolders } from '../profile/source-folders.ts'
import { type Leave, runLiveView } from '../tui/app.ts'
import type { Screen } from '../tui/screen.ts'
import { severalSource } from '../tui/several-source.ts'
import type { Group } from './group.ts'
import { sessionKeeper } from './keeper.ts'
import { liveSource } from './live.ts'

export async function showGroup(group: Group, screen: Screen, folders?: SourceFolders): Promise<Leave> {
  const sources = group.members.map((member) => ({
    ...{ pid: member.jvm.pid, name: member.jvm.mainClass ?? '?' },
    source: { ...liveSource(member.session), reset: () => group.reset(member) },
  }))
  const { pid } = group.members[0]!.jvm
  const keeper = sessionKeeper({ pid, profileSoFar: (why) => group.profileSoFar(why) })
  const live = severalSource(sources, group.refusals, keeper)
  return await runLiveView({ ...live, ...(folders !== undefined && { sources: folders }) }, screen)
}
