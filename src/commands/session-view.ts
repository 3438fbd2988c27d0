// The live view of a session with a JVM of this machine.

import type { SourceFolders } from '../profile/source-folders.ts'
import type { Session } from '../session/session.ts'
import { type Leave, runLiveView } from '../tui/app.ts'
import { runRegionView } from '../tui/region-app.ts'
import type { Screen } from '../tui/screen.ts'
import { liveSource, regionSource } from './live.ts'

export function showSession(
  session: Session,
  screen: Screen,
  out: string | null,
  sources?: SourceFolders,
): Promise<Leave> {
  return session.timesRegions
    ? runRegionView(regionSource(session, out), screen)
    : runLiveView({ ...liveSource(session, out), ...(sources !== undefined && { sources }) }, screen)
}
