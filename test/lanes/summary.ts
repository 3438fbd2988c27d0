// The text at the end of a lane, made of what its files took and skipped.

export interface TestFile {
  readonly lane: string
  /** From the root of the checkout. */
  readonly file: string
  /** Its imports, hooks and tests. */
  readonly seconds: number
  readonly passed: number
  /** A file whose import or hook has failed counts as one. */
  readonly failed: number
  readonly skipped: number
  /** The reason of each; null if it has none. */
  readonly skips: readonly (string | null)[]
}

/** Of a file in the unit lane. */
const NAMED_SECONDS = 3
const FAILED_SECONDS = 10
const SLOWEST = 10

export interface LaneSummary {
  readonly text: string
  /** A unit file took so long that the lane fails. */
  readonly isTooSlow: boolean
  /** A test was skipped and says no reason, so the lane fails. */
  readonly hasUnexplainedSkip: boolean
}

/** @param lists  whether to list the slowest files */
export function sayLane(files: readonly TestFile[], laneSeconds: number, lists = true): LaneSummary {
  const bySeconds = files.toSorted((a, b) => b.seconds - a.seconds)
  const unit = bySeconds.filter(({ lane }) => lane === 'unit')
  const tooSlow = unit.filter(({ seconds }) => seconds > FAILED_SECONDS)
  const slow = unit.filter(({ seconds }) => seconds > NAMED_SECONDS && seconds <= FAILED_SECONDS)
  const row = ({ file, seconds }: TestFile): string => `  ${seconds.toFixed(1).padStart(6)} s  ${file}`
  const lines: string[] = []
  const section = (title: string, rows: readonly string[]): void => {
    if (rows.length > 0) lines.push(title, ...rows)
  }
  if (lists) section('slowest files:', bySeconds.slice(0, SLOWEST).map(row))
  section(`unit files above ${NAMED_SECONDS} s:`, slow.map(row))
  section(`unit files above ${FAILED_SECONDS} s, which fails the lane:`, tooSlow.map(row))
  section('skipped:', skipsByReason(files))
  // A hook that fails skips the tests behind it: that file has failed already.
  const unexplained = files.filter(({ failed, skips }) => failed === 0 && skips.includes(null))
  section(
    'skipped without a reason, which fails the lane (itOnlyIf in test/support/only-if.ts gives one):',
    unexplained.map(({ file, skips }) => `  ${skips.filter((it) => it === null).length} in ${file}`),
  )
  const sum = (key: 'passed' | 'failed' | 'skipped'): number => files.reduce((n, it) => n + it[key], 0)
  const lanes = [...new Set(files.map((it) => it.lane))].join(', ')
  lines.push(`${lanes}: ${files.length} files in ${laneSeconds.toFixed(0)} s`)
  lines.push(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped`)
  return {
    text: lines.join('\n'),
    isTooSlow: tooSlow.length > 0,
    hasUnexplainedSkip: unexplained.length > 0,
  }
}

/** Why a test was skipped: what `only-if.ts` has put behind its title, or behind that of a `describe` around it. Null if nothing. */
export function reasonOf(fullName: string): string | null {
  return /\[([^\]]+)\](?: > |$)/.exec(fullName)?.[1] ?? null
}

function skipsByReason(files: readonly TestFile[]): string[] {
  const reasons = new Map<string, Map<string, number>>()
  for (const { file, skips } of files) {
    for (const reason of skips) {
      if (reason === null) continue
      const counts = reasons.get(reason) ?? new Map<string, number>()
      reasons.set(reason, counts.set(file, (counts.get(file) ?? 0) + 1))
    }
  }
  return [...reasons].flatMap(([reason, counts]) => [
    `  ${reason}:`,
    ...[...counts].map(([file, n]) => `    ${n} in ${file}`),
  ])
}
