// Text report of a profile: facts, warnings, the pruned calling context tree, the hot methods. `jfluid report` prints the report, and so
// does the live view on exit.

import { whyNothing } from './empty.ts'
import { labelledLines } from './paint.ts'
import type { Profile } from './profile.ts'
import { regionLines } from './region-report.ts'
import { reportDetails, reportFacts } from './report/facts.ts'
import { hotClasses, hotMethodRows, locks, survivors, values } from './report/lists.ts'
import { type Page, pageOf, type ReportOptions } from './report/page.ts'
import { slowSection, treeSections } from './report/tree.ts'
import { reportWarnings } from './report/warnings.ts'
import { clean, cut } from './text.ts'
import { traceSection } from './trace-report.ts'

/** Sections below the header, in this order. A section yields no lines if the profile contains no data for the section. */
const SECTIONS: readonly ((page: Page) => Iterable<string>)[] = [
  treeSections,
  values,
  slowSection,
  survivors,
  hotClasses,
  hotMethodRows,
  locks,
  traceSection,
]

/** Yields the lines of the text report. Each line ends with a line feed. */
export function* reportPieces(profile: Profile, options: ReportOptions = {}): Generator<string> {
  const page = pageOf(profile, options)
  if (options.trace !== undefined) {
    yield* traceSection(page)
    return
  }
  yield* header(page)
  if (profile.regions !== undefined) yield* regionLines(page)
  else if (profile.merged.count === 0) yield `\nNothing was recorded: ${whyNothing(profile)}.\n`
  else for (const section of page.backTraces.length > 0 ? [treeSections] : SECTIONS) yield* section(page)
  yield* details(page)
}

export function reportText(profile: Profile, options: ReportOptions = {}): string {
  return [...reportPieces(profile, options)].join('')
}

function* header({ profile, width, paint }: Page): Generator<string> {
  const title = `jfluid profile of ${clean(profile.target.mainClass)}`
  yield `${paint('bold', cut(title, width))}\n`
  yield* labelledLines(reportFacts(profile), reportWarnings(profile), width, paint)
}

function* details({ profile, width, paint }: Page): Generator<string> {
  const facts = reportDetails(profile)
  if (facts.length === 0 || (profile.merged.count === 0 && profile.regions === undefined)) return
  yield `\n${paint('bold', 'Details')}\n`
  yield* labelledLines(facts, [], width, paint)
}
