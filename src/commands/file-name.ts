// Default names of files.

/** Returns a file name that contains the process id and the current local time: jfluid-4711-20261123-042310.jfluid. */
export function nameNow(pid: number, extension: string): string {
  const now = new Date()
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString() // 2026-11-23T04:23:10.123Z
  return `jfluid-${pid}-${local.replace(/[-:]|\..*/g, '').replace('T', '-')}${extension}`
}
