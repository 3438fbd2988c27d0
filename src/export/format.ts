// What an export format is.

import type { Profile } from '../profile/profile.ts'

export interface ExportOptions {
  /** One tree a thread instead of all threads merged, where the format can say so. */
  readonly threads?: boolean
}

export interface ExportFormat {
  /** What `--format` takes. */
  readonly name: string
  /** Of a file, with its dot. */
  readonly extension: string
  /** For the help: what it is, and what opens it. */
  readonly description: string
  /** The export as text, in pieces small enough to hold one at a time. */
  pieces(profile: Profile, options: ExportOptions): Iterable<string>
}
