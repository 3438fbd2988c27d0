// Default names of files.

import { existsSync } from 'node:fs'
import { join, parse } from 'node:path'

/** Returns a file name that contains the process id and the current local time: jfluid-4711-20261123-042310.jfluid. */
export function nameNow(pid: number, extension: string): string {
  const now = new Date()
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString() // 2026-11-23T04:23:10.123Z
  return `jfluid-${pid}-${local.replace(/[-:]|\..*/g, '').replace('T', '-')}${extension}`
}

/** Returns the path, or if a file exists there, the path with the first free number: shop-2.jfluid. */
export function unusedPath(path: string, nth = 1): string {
  const { dir, name, ext } = parse(path)
  const numbered = nth === 1 ? path : join(dir, `${name}-${nth}${ext}`)
  return existsSync(numbered) ? unusedPath(path, nth + 1) : numbered
}
