// The formats by name, and writing one.

import type { Writable } from 'node:stream'
import { EX_USAGE, JfluidError } from '../base/errors.ts'
import type { Profile } from '../profile/profile.ts'
import { writePieces } from '../profile/write.ts'
import { collapsed } from './collapsed.ts'
import type { ExportFormat, ExportOptions } from './format.ts'
import { json } from './json.ts'

export type { ExportFormat, ExportOptions } from './format.ts'

/** In the order the help shows them. */
export const formats: readonly ExportFormat[] = [json, collapsed]

/** `--format` with a name nobody knows. */
export class UnknownFormat extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = `Use one of: ${formats.map((format) => format.name).join(', ')}`
  constructor(name: string) {
    super(`unknown export format ${JSON.stringify(name)}`)
  }
}

export function formatNamed(name: string): ExportFormat {
  const found = formats.find((format) => format.name === name.toLowerCase())
  if (!found) throw new UnknownFormat(name)
  return found
}

/**
 * Writes a profile to a stream, at the pace of its reader; does not end the stream.
 *
 * @returns false when the reader went away before the end
 */
export function exportProfile(
  profile: Profile,
  format: ExportFormat,
  out: Writable,
  options: ExportOptions = {},
): Promise<boolean> {
  return writePieces(out, format.pieces(profile, options))
}
