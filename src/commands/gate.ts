// jfluid gate: fails a build if a call of the root costs more than in the baseline profile. The costs are counts of bytecodes or calls,
// which do not depend on the machine or its load, so the tolerance may be small.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EX_DATAERR, EX_REGRESSION, EX_SOFTWARE, JfluidError, UsageError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { metricOf } from '../cct/metric.ts'
import { SECTIONS } from '../measures/sections.ts'
import type { Flags } from '../options/table.ts'
import { changedRootCalls } from '../profile/changed-root-calls.ts'
import { type Compared, MAX_ROWS } from '../profile/changes-text.ts'
import { commandJson } from '../profile/command-json.ts'
import { choiceOf } from '../profile/comparable.ts'
import { type Comparison, compareProfiles, isWithin } from '../profile/compare.ts'
import { changeText, relativeChange } from '../profile/condition.ts'
import { readProfile } from '../profile/file.ts'
import type { Profile } from '../profile/profile.ts'
import { callCost } from '../profile/root-calls.ts'
import { clean, count, plural } from '../profile/text.ts'
import { run } from './run.ts'

/** The task executes more than the tolerance allows. */
export class Regression extends JfluidError {
  static sample = () =>
    new Regression(
      { growth: 0.07, unit: 'bytecodes' },
      0.02,
      'baseline.jfluid',
      '/tmp/jfluid-gate-x/now.jfluid',
    )
  readonly exitCode = EX_REGRESSION
  readonly hint: string
  /** @param now  path of the new profile, which remains after the end of jfluid */
  constructor(
    { growth, unit }: Pick<Comparison, 'growth' | 'unit'>,
    tolerance: number,
    baseline: string,
    now: string,
  ) {
    super(
      `one call of the root costs ${percentText(growth)} more ${unit} than in the baseline, and ${percentText(tolerance)} are allowed`,
    )
    this.hint = `Find the cause in the methods above, or with: jfluid compare ${shellWord(baseline)} ${shellWord(now)} --top 0. If the change is intended, use ${shellWord(now)} as the baseline.`
  }
}

export class NotComparable extends JfluidError {
  static sample = () =>
    new NotComparable(
      'baseline.jfluid holds times, and these depend on the machine and its load',
      'Record the baseline with --mode bytecodes, or --mode count.',
    )
  readonly exitCode = EX_DATAERR
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message)
  }
}

export class NothingToCompare extends UsageError {
  static sample = () => new NothingToCompare()
  readonly hint =
    'Give a second profile, or the command to profile: jfluid gate baseline.jfluid -- java -jar app.jar'
  constructor() {
    super('nothing to compare with the baseline')
  }
}

/** The measured program failed. */
export class ProgramFailed extends JfluidError {
  static sample = () => new ProgramFailed('java', 1)
  readonly exitCode: number
  readonly hint = 'Make the program end with 0: a failed run cannot be compared.'
  constructor(command: string, status: number) {
    super(`${command} ended with exit code ${status}`)
    this.exitCode = status > 0 ? status : EX_SOFTWARE
  }
}

/** @param rest  another profile, or a command to run */
export async function gate(
  baseline: string,
  rest: readonly string[],
  flags: Flags<'gate'>,
  print: (text: string) => void,
): Promise<void> {
  const before = await readProfile(baseline)
  mustCount(before, baseline)
  if (rest.length === 0) throw new NothingToCompare()
  const isFile = rest.length === 1 && rest[0]!.endsWith('.jfluid')
  if (isFile) {
    judge(
      { path: baseline, profile: before },
      { path: rest[0]!, profile: await readProfile(rest[0]!) },
      flags,
      print,
    )
    return
  }
  const directory = mkdtempSync(join(tmpdir(), 'jfluid-gate-'))
  let isKept = false
  try {
    const path = join(directory, 'now.jfluid')
    const after = { path, profile: await profileOf(rest, before, path) }
    judge({ path: baseline, profile: before }, after, flags, print)
  } catch (error) {
    isKept = error instanceof Regression
    throw error
  } finally {
    if (!isKept) rmSync(directory, { recursive: true, force: true })
  }
}

/** Prints the comparison. @throws Regression, NotComparable */
function judge(before: Compared, after: Compared, flags: Flags<'gate'>, print: (text: string) => void): void {
  mustMatch(before.profile, after.profile)
  const comparison = compareProfiles(before.profile, after.profile)
  const passed = isWithin(comparison, flags.tolerance)
  print(
    flags.json === true
      ? comparisonJson(comparison, flags.tolerance, passed)
      : plainText(comparison, before.profile, after.profile),
  )
  if (!passed) throw new Regression(comparison, flags.tolerance, before.path, after.path)
}

/** Runs the command in the same mode as the baseline, and records into `file`. */
async function profileOf(command: readonly string[], baseline: Profile, file: string): Promise<Profile> {
  const { roots, scheme, mode, blocks, selection } = baseline
  if (blocks !== undefined && blocks !== 'default' && blocks !== 'precise') {
    const hint = `Record the new profile yourself, with --bba and the path of ${blocks}, and compare the two files.`
    throw new NotComparable(`the baseline was recorded with a custom block analysis, ${blocks}`, hint)
  }
  const flags: Flags<'run'> = {
    ...{ root: roots, scheme, mode },
    ...(blocks !== undefined && { bba: blocks }),
    ...(selection !== undefined && {
      ...{ include: selection.include, exclude: selection.exclude, jdk: selection.jdk },
      ...(baseline.callSites && { callSites: true }),
      followThreads: baseline.followedTasks !== undefined,
    }),
  }
  const status = await run(command, { ...flags, record: file, autosave: 'off', outputToStderr: true })
  if (status !== 0) throw new ProgramFailed(command.join(' '), status)
  return await readProfile(file)
}

function mustCount({ mode }: Profile, path: string): void {
  const { gate } = SECTIONS[mode]
  if (gate.compares) return
  throw new NotComparable(
    `${path} contains ${gate.holds}`,
    'Record the baseline with --mode bytecodes, or --mode count.',
  )
}

function mustMatch(before: Profile, after: Profile): void {
  const again = 'Record both in the same way.'
  if (before.mode !== after.mode || before.blocks !== after.blocks) {
    throw new NotComparable(
      `the baseline counts ${countsOf(before)}, the other profile ${countsOf(after)}`,
      again,
    )
  }
  const [one, other] = [before, after].map(({ roots }) => [...roots].sort().join(', '))
  if (one !== other)
    throw new NotComparable(
      `the root of the baseline is ${one}, the root of the other profile is ${other}`,
      again,
    )
  if (choiceOf(before) !== choiceOf(after)) {
    throw new NotComparable('the methods of the two profiles were selected differently', again)
  }
  if (before.callSites !== after.callSites) {
    const [told, other] = before.callSites
      ? ['the baseline', 'the other profile']
      : ['the other profile', 'the baseline']
    throw new NotComparable(`${told} has separate rows per call site, and ${other} does not`, again)
  }
  for (const [which, { instrumentation, truncated, events, openCalls = 0 }] of [
    ['the baseline', before],
    ['the new profile', after],
  ] as const) {
    if (events.count === 0)
      throw new NotComparable(
        `${which} contains no call of the root`,
        'Record while the program calls the root.',
      )
    const open = openCalls > 0 ? `${plural(openCalls, 'call')} had not ended` : undefined
    const lost = instrumentation.gaps > 0 ? plural(instrumentation.gaps, 'gap') : undefined
    const why = truncated !== false ? 'it is truncated' : (open ?? lost)
    if (why !== undefined) {
      const hint =
        why === open
          ? 'Use a root that returns before the program ends.'
          : 'Record it again, with --scheme a.'
      throw new NotComparable(`${which} does not contain all calls: ${why}`, hint)
    }
  }
}

function countsOf(profile: Profile): string {
  const { gate } = SECTIONS[profile.mode]
  return gate.compares ? gate.counts(profile) : 'times'
}

function percentText(part: number): string {
  if (!Number.isFinite(part)) return 'infinitely'
  const percent = part * 100
  return `${Math.abs(percent) >= 0.1 || percent === 0 ? percent.toFixed(2) : percent.toPrecision(2)} %`
}

function plainText(comparison: Comparison, profileBefore: Profile, profileAfter: Profile): string {
  const { unit, before, after, growth, methods, rootCallsBefore, rootCallsAfter } = comparison
  const calls = (n: number): string => (n === 1 ? '1 call' : `${count(n)} calls`)
  const lines = [
    `baseline  ${count(before, 20)} ${unit} in ${calls(rootCallsBefore)} of the root`,
    `now       ${count(after, 20)} ${unit} in ${calls(rootCallsAfter)} of the root`,
    `per call  ${growth > 0 ? '+' : ''}${percentText(growth)}`,
    ...percentileLines(profileBefore, profileAfter),
  ]
  if (methods.length > 0) lines.push('', `changes of self ${unit} per method, largest first:`)
  for (const it of methods.slice(0, MAX_ROWS)) {
    const change = it.after - it.before
    const sign = change > 0 ? '+' : ''
    lines.push(
      `  ${sign}${count(change, 20)}  ${clean(it.method)}  (${count(it.callsBefore, 20)} calls, now ${count(it.callsAfter, 20)})`,
    )
  }
  if (methods.length > MAX_ROWS) lines.push(`  and ${plural(methods.length - MAX_ROWS, 'more method')}`)
  return `${lines.join('\n')}\n`
}

/** Returns the percentiles of the root calls, if there are several calls. Without a rate, which depends on the machine and its load. */
function percentileLines(before: Profile, after: Profile): string[] {
  const [one, other] = [before, after].map((whole) => ({ whole, parts: [whole] }))
  if ([before, after].some(({ rootCalls }) => rootCalls === undefined || rootCalls.count < 2)) return []
  return changedRootCalls(one!, other!, metricOf(before.merged))
    .filter(({ unit }) => unit === 'bytecodes')
    .map((it) => {
      const [was, now] = [it.before, it.after].map((value) => callCost(value, 'bytecodes'))
      return `${it.key.padEnd(10)}${was} in the baseline, now ${now}: ${changeText(relativeChange(it.before, it.after))}`
    })
}

export function comparisonJson(comparison: Comparison, tolerance: number, passed: boolean): string {
  const growth = Number.isFinite(comparison.growth) ? comparison.growth : null
  return commandJson('gate', { passed, tolerance, ...comparison, growth })
}
