// Summary of a lane, made from the durations and skipped tests of its files.

export interface TestFile {
  readonly lane: string
  /** Path relative to the checkout. */
  readonly file: string
  /** Duration including imports, hooks and tests. */
  readonly seconds: number
  readonly passed: number
  /** Number of failed tests. A failed import or hook counts as one. */
  readonly failed: number
  readonly skipped: number
  /** Reasons of the skipped tests; null for a test without a reason. */
  readonly skips: readonly (string | null)[]
}

/** A unit file that takes longer is listed, or fails the lane. */
const NAMED_SECONDS = 3
const FAILED_SECONDS = 30
const SLOWEST = 10

export interface LaneSummary {
  readonly text: string
  /** Whether the lane fails because a unit file took too long. */
  readonly isTooSlow: boolean
  /** Whether the lane fails because a skipped test has no reason. */
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
  // A failing hook skips the tests after it; the file has already failed.
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

/**
 * Returns the reason of a skipped test, which `only-if.ts` appends to its title or to the title of an enclosing `describe`. Null if there
 * is none.
 */
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
