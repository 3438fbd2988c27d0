// Conditions that make a comparison fail a build: `Foo.bar self > +10%`.
//
//   condition = subject measure operator limit
//   subject   = root | a method, such as Foo.bar, com.acme.Foo.bar or Foo.bar(int) | a row of --by, such as by=/orders
//   measure   = self | total | calls
//   operator  = > | <
//   limit     = change | amount
//   change    = (+|-) number %          relative to the earlier value
//             | (+|-) number [unit]     difference to the earlier value
//   amount    = number [unit]           later value; for samples, number % of all samples
//   unit      = ns us µs ms s | B kB MB | k M, depending on the metric
//
// All numbers are per root call, except calls of the root, which are absolute numbers. For times and samples, a limit in percent
// applies only if the difference exceeds the error bound (`errorBoundOf`).

import { UsageError } from '../base/errors.ts'
import type { MethodName } from '../cct/tree.ts'
import type { Metric, Unit } from '../measures/columns.ts'
import type { Changes, Pair } from './changes.ts'
import { type ErrorBound, errorBoundOfShares } from './error-bounds.ts'
import { isValue, methodMatcher, NoSuchMethod, refuseShort } from './find-method.ts'
import { fullName, percent } from './text.ts'

export type Measure = 'self' | 'total' | 'calls'

export interface Condition {
  /** Original text of the condition. */
  readonly text: string
  readonly subject: string
  readonly measure: Measure
  readonly operator: '>' | '<'
  readonly limit: Limit
}

/** `part`: relative change, 0.1 is +10 %. `by`: absolute change. `amount`: the later value itself. */
export interface Limit {
  readonly how: 'part' | 'by' | 'amount'
  /** Limit in units of the metric: ns, bytecodes, calls, bytes. For samples: a share of all samples. */
  readonly value: number
}

/** Result of a condition for one method or the root. */
export interface Verdict extends Pair {
  readonly condition: Condition
  /** `root`, or the method's name. */
  readonly subject: string
  /** Relative change: 0.1 is +10 %; infinite if the earlier value was 0. */
  readonly change: number
  /** Error bound of the difference; 0 for counted values. */
  readonly errorBound: number
  /** True if the limit is exceeded, but the condition does not fail, since the difference is within the error bound. */
  readonly isWithinErrorBound: boolean
  /** True if the limit is a percentage below the error bound, so noise alone can exceed the limit. */
  readonly isBelowErrorBound: boolean
  readonly failed: boolean
}

/** Thrown if a `--fail-if` cannot be parsed. */
export class BadCondition extends UsageError {
  static sample = () => new BadCondition('root total 5ms', 11, '> or < is expected')
  readonly hint =
    "Write a condition that must not hold, for example 'Foo.bar self > +10%', 'root total > 5ms' or 'Foo.bar calls < -1%'."
  /** @param at  position of the error in the text */
  constructor(text: string, at: number, expected: string) {
    super(`cannot read --fail-if: ${expected}\n  ${text}\n  ${' '.repeat(at)}^`)
  }
}

const UNITS: Readonly<Record<Unit, Readonly<Record<string, number>>>> = {
  nanoseconds: { ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9 },
  bytes: { '': 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9 },
  count: { '': 1, k: 1e3, M: 1e6, G: 1e9 },
}

/** Parses a condition. @throws BadCondition */
export function parseCondition(text: string, metric: Metric): Condition {
  const tokens = tokensOf(text)
  const fail = (index: number, expected: string): never => {
    throw new BadCondition(text, tokens[index]?.at ?? text.trimEnd().length, expected)
  }
  const [subject, measure, operator, limit, more] = tokens
  if (subject === undefined) return fail(0, 'a method, or root, is missing')
  const isNamed = subject.text === 'root' || isValue(subject.text)
  if (!isNamed && !subject.text.replace(/\(.*$/s, '').includes('.')) {
    return fail(0, 'the class of the method is missing, as in Foo.bar')
  }
  if (!isMeasure(measure?.text)) return fail(1, 'self, total or calls is expected')
  if (operator?.text !== '>' && operator?.text !== '<') return fail(2, '> or < is expected')
  if (limit === undefined) return fail(3, 'a limit is missing, as +10% or 5ms')
  const value = parseLimit(limit.text, metric, measure.text, (expected) => fail(3, expected))
  if (more !== undefined) return fail(4, 'nothing more is expected')
  return {
    text: text.trim(),
    subject: subject.text,
    measure: measure.text,
    operator: operator.text,
    limit: value,
  }
}

interface Token {
  readonly text: string
  readonly at: number
}

/** A value may contain any text, so the row of a value ends at the last measure and operator. */
const VALUE_SUBJECT = /^\s*(by=.*\S)(?=\s+(?:self|total|calls)\s*[<>][^<>]*$)/s

const SUBJECT = /^\s*([^\s(]+(?:\([^)]*\)\S*)?)/

/**
 * Splits the text into tokens. The subject ends at a space, since `Foo.<init>` contains comparison operators. Later tokens need no spaces.
 */
function tokensOf(text: string): (Token & { text: string })[] {
  const subject = VALUE_SUBJECT.exec(text) ?? SUBJECT.exec(text)
  if (subject === null) return []
  const tokens = [{ text: subject[1]!, at: subject[0].length - subject[1]!.length }]
  const rest = text.slice(subject[0].length)
  for (const match of rest.matchAll(/[<>]|[^\s<>]+/g)) {
    tokens.push({ text: match[0], at: subject[0].length + match.index })
  }
  return tokens
}

function isMeasure(text: string | undefined): text is Measure {
  return text === 'self' || text === 'total' || text === 'calls'
}

function parseLimit(
  text: string,
  metric: Metric,
  measure: Measure,
  fail: (expected: string) => never,
): Limit {
  const match = /^([+-])?(\d+(?:\.\d+)?)(%|[a-zµμA-Z]*)$/.exec(text)
  if (match === null) return fail('a limit is a number, as +10% or 5ms')
  const [, sign, digits, unit = ''] = match
  const number = Number(digits) * (sign === '-' ? -1 : 1)
  const isShare = metric.isSampled && measure !== 'calls'
  if (unit === '%') {
    if (sign !== undefined) return { how: 'part', value: number / 100 }
    if (isShare) return { how: 'amount', value: number / 100 }
    return fail(`a change has a sign, +${text} or -${text}`)
  }
  if (isShare)
    return fail('a limit of samples is a percentage: +10% is a change, 10% is a share of all samples')
  const units = UNITS[measure === 'calls' ? 'count' : metric.unit]
  const factor = units[unit]
  if (factor === undefined) {
    const known = Object.keys(units).filter((it) => it !== '' && it !== 'μs')
    return fail(
      unit === '' ? `a unit is missing: ${known.join(', ')}` : `the unit is one of ${known.join(', ')}`,
    )
  }
  return { how: sign === undefined ? 'amount' : 'by', value: number * factor }
}

/**
 * Evaluates a condition: one verdict per matching method, or one for the root.
 * @param names  names of both profiles, to suggest one if no method matches
 * @throws NoSuchMethod
 * @throws ShortMethodHasNoRow  if a matching method has no row in one of the profiles
 */
export function judge(condition: Condition, changes: Changes, names: readonly MethodName[]): Verdict[] {
  if (condition.subject === 'root') {
    const numbers = rootNumbers(changes, condition.measure)
    const noise = condition.measure === 'total' ? changes.rootNoise : null
    const errorBound = errorBoundOf(changes, condition.measure, changes.rootErrorBound, noise, numbers)
    return [verdictOf(condition, 'root', numbers, errorBound)]
  }
  const changed = changes.methods.map(({ name }) => name)
  refuseShort(condition.subject, changes.short, 'condition', changed)
  const matches = methodMatcher(condition.subject)
  const found = changes.methods.filter(({ name }) => matches(name))
  if (found.length === 0) throw new NoSuchMethod(condition.subject, names)
  const { measure } = condition
  return found.map(({ name, errorBound, noise, ...pair }) => {
    const numbers = { before: pair.before?.[measure] ?? 0, after: pair.after?.[measure] ?? 0 }
    const known = measure === 'calls' ? null : noise[measure]
    const bound = errorBoundOf(changes, measure, errorBound, known, numbers)
    return verdictOf(condition, fullName(name), numbers, bound)
  })
}

/** Minimum relevant change, as a share of the cost of a root call. Smaller changes occur between any two recordings. */
const MIN_SHARE = 0.001

/** Returns the error bound of the difference of two values. @param noise  noise between recordings; null if unknown */
function errorBoundOf(
  { metric: { isSampled, isTime }, perRootCall, rootCost }: Changes,
  measure: Measure,
  probes: ErrorBound,
  noise: number | null,
  { before, after }: Pair,
): number {
  if (measure === 'calls' || (!isTime && !isSampled)) return 0
  const least = MIN_SHARE * Math.max(rootCost.before, rootCost.after)
  const known = isTime
    ? probes[measure]
    : errorBoundOfShares(before, perRootCall.before, after, perRootCall.after)
  return Math.max(least, known, noise ?? 0)
}

function rootNumbers(changes: Changes, measure: Measure): Pair {
  if (measure === 'calls') return changes.rootCalls
  if (measure === 'total') return changes.rootCost
  const { difference, perRootCall } = changes
  let [before, after] = [0, 0]
  for (let top = 0; top < difference.count; top += difference.size[top]!) {
    before += difference.self.before[top]! / perRootCall.before
    after += difference.self.after[top]! / perRootCall.after
  }
  return { before, after }
}

/** Tolerance for the rounding error of quotients. */
const TINY = 1e-12

function verdictOf(
  condition: Condition,
  subject: string,
  { before, after }: Pair,
  errorBound: number,
): Verdict {
  const { operator, limit } = condition
  const change = relativeChange(before, after)
  const value = limit.how === 'part' ? change : limit.how === 'by' ? after - before : after
  const slack = TINY * Math.max(1, Math.abs(limit.value))
  const isMore = operator === '>'
  const holds = isMore ? value > limit.value + slack : value < limit.value - slack
  // A limit such as `> -5%` is exceeded even without a change. The error bound is not applied to such a limit.
  const needsChange = limit.how === 'part' && (isMore ? limit.value >= 0 : limit.value <= 0)
  const isWithinErrorBound = holds && needsChange && Math.abs(after - before) <= errorBound
  const failed = holds && !isWithinErrorBound
  const isBelowErrorBound =
    !failed && needsChange && limit.value !== 0 && before > 0 && errorBound > Math.abs(limit.value) * before
  return {
    condition,
    subject,
    before,
    after,
    change,
    errorBound,
    isWithinErrorBound,
    isBelowErrorBound,
    failed,
  }
}

/** Returns the relative change. Negative times are within the error of the measurement, and count as 0. */
export function relativeChange(before: number, after: number): number {
  const [one, other] = [Math.max(0, before), Math.max(0, after)]
  if (one === 0) return other === 0 ? 0 : Number.POSITIVE_INFINITY
  return other / one - 1
}

/** Formats a relative change: "+12.3 %", "-100.0 %", or "without bound" if infinite. */
export function changeText(change: number): string {
  if (!Number.isFinite(change)) return 'without bound'
  return `${change > 0 ? '+' : change < 0 ? '-' : ''}${percent(Math.abs(change), 1)} %`
}
