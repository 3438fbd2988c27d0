// Interface of an export format.

import type { Profile } from '../profile/profile.ts'

export interface ExportOptions {
  /** Whether to write one tree per thread instead of all threads merged, if the format supports it. */
  readonly threads?: boolean
}

export interface ExportFormat {
  /** Name for `--format`. */
  readonly name: string
  /** File extension with its dot. */
  readonly extension: string
  /** Description for the help: the format, and the programs that open it. */
  readonly description: string
  /** Whether the format is binary: it is never written to a terminal. */
  readonly isBinary?: true
  /** Whether the format can represent regions, which have no tree. */
  readonly saysRegions?: true
  /** Whether the format contains traced calls only. */
  readonly needsTrace?: true
  /** Generates the export in small pieces of text or bytes. Only one piece is in memory at a time, since trees may be large. */
  pieces(profile: Profile, options: ExportOptions): Iterable<string | Uint8Array>
}
