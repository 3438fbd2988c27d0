// Reports the matches of the user's patterns. A filter that matches nothing would otherwise go unnoticed.

import { clean } from '../profile/text.ts'
import { type ValueFacts, valuePaths } from '../profile/values.ts'
import type { RootReport } from '../reveal/roots.ts'
import type { Session } from '../session/session.ts'
import { filterText } from './outcome.ts'

/** Returns one line for each root, for the values that are read, and for each filter that matched nothing. */
export function describeMatches(session: Session): string[] {
  const filters = session
    .filterReport()
    .filter((f) => f.classes === 0)
    .map((f) => `warning: ${filterText(f)} matches no loaded class`)
    .map(clean)
  const { values } = session
  const read = values === null ? [] : [clean(describeValues(values))]
  return [...describeRoots(session.rootReport()), ...read, ...filters]
}

/** Returns the values that are read. The user should know that they are stored, since they may be personal data. */
function describeValues(values: ValueFacts): string {
  const how = values.getters === undefined ? '' : ' (also by calling methods)'
  return `reads values of the program: ${valuePaths(values)}${how}; they are in the profile, and --redact leaves them out of reports, exports and pushes`
}

/** Returns one line for each root. */
export function describeRoots(reports: readonly RootReport[]): string[] {
  return reports.map((it) => clean(describeRoot(it)))
}

function describeRoot(r: RootReport): string {
  if (r.problem !== null)
    return `${r.option} ${r.text}: ${r.problem.reason}; waiting for another class of that name`
  if (r.armed) {
    const near = r.near.length > 0 ? `; similar loaded methods: ${r.near.join(', ')}` : ''
    return `${r.option} ${r.text}: its class is not loaded yet; waiting for it${near}`
  }
  const where = r.classes.length > 1 ? ` in ${r.classes.length} classes` : ''
  const unusable = r.unusable.length > 0 ? `; not usable: ${r.unusable.join('; ')}` : ''
  return `${r.option} ${r.text}: ${r.methods === 1 ? '1 method' : `${r.methods} methods`}${where}${unusable}`
}
