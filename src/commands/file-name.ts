// Default names of files.

import { existsSync } from 'node:fs'
import { join, parse } from 'node:path'

/** Returns the time in UTC, as in ISO 8601 without separators: 20261123T042310Z. Local times would repeat when summer time ends. */
export function timeInName(date: Date): string {
  return date.toISOString().replace(/[-:]|\.\d+/g, '')
}

/** Returns a file name that contains the process id and the current time: jfluid-4711-20261123T042310Z.jfluid. */
export function nameNow(pid: number, extension: string): string {
  return `jfluid-${pid}-${timeInName(new Date())}${extension}`
}

/** Returns the path, or if a file exists there, the path with the first free number: shop-2.jfluid. */
export function unusedPath(path: string, nth = 1): string {
  const { dir, name, ext } = parse(path)
  const numbered = nth === 1 ? path : join(dir, `${name}-${nth}${ext}`)
  return existsSync(numbered) ? unusedPath(path, nth + 1) : numbered
}
