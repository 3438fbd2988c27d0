// Writes the files for the keys `s` and `e` of the live views.

import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { homeDirectory } from '../base/home.ts'
import { shellWord } from '../base/shell-word.ts'
import { exportToFile, formats } from '../export/formats.ts'
import { writeProfile } from '../profile/file.ts'
import type { Mode, Profile } from '../profile/profile.ts'
import { whyNoSegments } from '../profile/range.ts'
import { pushedValues } from '../profile/values.ts'
import { type Keeper, type KeptFormat, SNAPSHOT } from '../tui/keeper.ts'
import type { RangeSource } from '../tui/live-source.ts'
import type { Saved } from './autosave.ts'
import { nameNow } from './file-name.ts'

/** Note in a snapshot: the snapshot does not contain the whole recording. */
export const SAVED_WHILE_RECORDING = 'saved during the recording; later calls are not included'

/** Members that the sessions of all kinds have in common. */
interface Recording extends Saved {
  readonly pid: number
  readonly timesRegions?: boolean
}

export function sessionKeeper(session: Recording): Keeper {
  const { pid, timesRegions } = session
  return keeper(
    async () => session.profileSoFar(SAVED_WHILE_RECORDING),
    (format) => nameNow(pid, format.extension),
    timesRegions === true,
  )
}

/** Time ranges of a session: they are parts of the profile recorded so far. */
export function sessionRanges(session: Saved, mode: () => Mode): RangeSource {
  return {
    refusal: () => whyNoSegments({ mode: mode() }),
    profile: async () => session.profileSoFar(SAVED_WHILE_RECORDING),
  }
}

/** @param path  file that the profile was read from */
export function fileKeeper(profile: Profile, path: string): Keeper {
  const name = basename(path).replace(/\.jfluid$/, '')
  return keeper(
    async () => profile,
    (format) => (format === SNAPSHOT ? `copy-of-${name}${SNAPSHOT.extension}` : `${name}${format.extension}`),
    profile.regions !== undefined,
  )
}

function keeper(
  profileNow: () => Promise<Profile>,
  nameFor: (format: KeptFormat) => string,
  timesRegions: boolean,
): Keeper {
  const usable = formats.filter(({ saysRegions }) => !timesRegions || saysRegions)
  return {
    formats: usable,
    nameFor,
    exists: (path) => existsSync(absolute(path)),
    async write({ name }, typed) {
      const path = absolute(typed)
      const profile = await profileNow()
      const format = usable.find((it) => it.name === name)
      if (format === undefined) await writeProfile(profile, path)
      else await exportToFile(profile, format, path)
      if (format === undefined)
        return `saved: jfluid open ${shellWord(typed.startsWith('~') ? path : typed)} shows it`
      const values = pushedValues(profile) === null ? '' : ', with values of the program'
      return `exported as ${format.name} to ${typed}${values}`
    },
  }
}

/** Expands `~` as a shell does. Without a home directory, `~` is an ordinary name, as in shells. */
function absolute(path: string): string {
  const home = path === '~' || path.startsWith('~/') ? homeDirectory() : null
  return home === null ? resolve(path) : join(home, path.slice(1))
}
