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
  /** Whether it is no text: a terminal gets none of it. */
  readonly isBinary?: true
  /** Whether it can say the times of regions, where there is no tree. */
  readonly saysRegions?: true
  /** Whether traced calls are all that it says. */
  readonly needsTrace?: true
  /**
   * The export in pieces small enough to hold one at a time, text or bytes. Never more of it at once: a tree may
   * have millions of nodes.
   */
  pieces(profile: Profile, options: ExportOptions): Iterable<string | Uint8Array>
}
