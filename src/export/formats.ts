// Lists the export formats, finds a format by name or by file extension, and writes a profile in a format.

import { basename } from 'node:path'
import type { Writable } from 'node:stream'
import { errorCode } from '../profile/errors.ts'
import { jsonPieces } from '../profile/json.ts'
import type { Profile } from '../profile/profile.ts'
import { replaceFile } from '../profile/replace-file.ts'
import { inBatches, writePieces } from '../profile/write.ts'
import { collapsed } from './collapsed.ts'
import { csv } from './csv.ts'
import { CannotWriteExport, NoFormat, UnknownFormat } from './errors.ts'
import type { ExportFormat, ExportOptions } from './format.ts'
import { html } from './html/profile-page.ts'
import { markdown } from './markdown.ts'
import { pprof } from './pprof.ts'
import { speedscope } from './speedscope.ts'
import { svg } from './svg.ts'
import { traceEvents } from './trace-events.ts'

export type { ExportFormat, ExportOptions } from './format.ts'

const json: ExportFormat = {
  name: 'json',
  extension: '.json',
  description: 'all data, documented in docs/profile-json.md; trees per thread and merged',
  saysRegions: true,
  pieces: jsonPieces,
}

/** All formats, in the order of the help. */
export const formats: readonly ExportFormat[] = [
  json,
  csv,
  collapsed,
  speedscope,
  pprof,
  markdown,
  html,
  svg,
  traceEvents,
]

const names = (): string[] => formats.map((format) => format.name)

export function formatNamed(name: string): ExportFormat {
  const found = formats.find((format) => format.name === name.toLowerCase())
  if (!found) throw new UnknownFormat(name, names())
  return found
}

/**
 * Returns the format for a file name. The longest matching extension is used: `.speedscope.json` also ends with `.json`.
 *
 * @throws NoFormat if no extension matches, or there is no name
 */
export function formatOfFile(path: string | undefined): ExportFormat {
  const name = basename(path ?? '').toLowerCase()
  const [found] = formats
    .filter(({ extension }) => name.endsWith(extension))
    .sort((a, b) => b.extension.length - a.extension.length)
  if (found === undefined) throw new NoFormat(path, names())
  return found
}

/**
 * Writes a profile to a stream, with backpressure. Does not end the stream.
 *
 * @param written  called with the number of characters or bytes so far
 * @returns false if the reader closed the stream before the end
 */
export function exportProfile(
  profile: Profile,
  format: ExportFormat,
  out: Writable,
  options: ExportOptions = {},
  written: (length: number) => void = () => {},
): Promise<boolean> {
  return writePieces(out, told(format.pieces(profile, options), written))
}

function* told(
  pieces: Iterable<string | Uint8Array>,
  written: (length: number) => void,
): Generator<string | Uint8Array> {
  let length = 0
  for (const batch of inBatches(pieces)) {
    yield batch
    length += batch.length
    written(length)
  }
}

/**
 * Writes a profile atomically: afterwards `path` has either its previous contents or the whole export.
 *
 * @param written  called with the number of bytes so far; an exception aborts the export and removes its output
 * @throws CannotWriteExport
 */
export async function exportToFile(
  profile: Profile,
  format: ExportFormat,
  path: string,
  options: ExportOptions = {},
  written: (bytes: number) => void = () => {},
): Promise<void> {
  const batches = inBatches(format.pieces(profile, options))
  let bytes = 0
  // False while the format generates a piece, so that an exception of the format is not reported as a disk error.
  let isWriting = true
  try {
    await replaceFile(path, async (handle) => {
      isWriting = false
      for (const batch of batches) {
        isWriting = true
        const chunk = typeof batch === 'string' ? Buffer.from(batch) : batch
        await handle.writeFile(chunk)
        bytes += chunk.byteLength
        isWriting = false
        written(bytes)
      }
      isWriting = true
    })
  } catch (error) {
    throw isWriting ? new CannotWriteExport(path, errorCode(error)) : error
  }
}
