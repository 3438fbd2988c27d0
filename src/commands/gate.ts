// jfluid gate: fails a build if a call of the root costs more than in the baseline profile. The costs are counts of bytecodes or calls,
// which do not depend on the machine or its load, so the tolerance may be small.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EX_DATAERR, EX_REGRESSION, EX_SOFTWARE, JfluidError, UsageError } from '../base/errors.ts'
import { SECTIONS } from '../measures/sections.ts'
import type { Flags } from '../options/table.ts'
import { choiceOf } from '../profile/comparable.ts'
import { type Comparison, compareProfiles, isWithin } from '../profile/compare.ts'
import { readProfile } from '../profile/file.ts'
import { jsonText } from '../profile/json-text.ts'
import type { Profile } from '../profile/profile.ts'
import { clean, count, plural } from '../profile/text.ts'
import { run } from './run.ts'

/** Maximum number of methods in the text. */
const MAX_NAMED_METHODS = 10

/** The task executes more than the tolerance allows. */
export class Regression extends JfluidError {
  static sample = () => new Regression({ growth: 0.07, unit: 'bytecodes' }, 0.02)
  readonly exitCode = EX_REGRESSION
  readonly hint =
    'Find the cause in the methods above, or with jfluid report. If the change is intended, use the new profile as the baseline.'
  constructor({ growth, unit }: Pick<Comparison, 'growth' | 'unit'>, tolerance: number) {
    super(
      `one call of the root costs ${percentText(growth)} more ${unit} than in the baseline, and ${percentText(tolerance)} are allowed`,
    )
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
  const after = isFile ? await readProfile(rest[0]!) : await profileOf(rest, before)
  mustMatch(before, after)
  const comparison = compareProfiles(before, after)
  const passed = isWithin(comparison, flags.tolerance)
  print(flags.json === true ? comparisonJson(comparison, flags.tolerance, passed) : plainText(comparison))
  if (!passed) throw new Regression(comparison, flags.tolerance)
}

/** Runs the command in the same mode as the baseline. */
async function profileOf(command: readonly string[], baseline: Profile): Promise<Profile> {
  const directory = mkdtempSync(join(tmpdir(), 'jfluid-gate-'))
  try {
    const file = join(directory, 'now.jfluid')
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
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
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

function plainText(comparison: Comparison): string {
  const { unit, before, after, growth, methods, rootCallsBefore, rootCallsAfter } = comparison
  const calls = (n: number): string => (n === 1 ? '1 call' : `${count(n)} calls`)
  const lines = [
    `baseline  ${count(before, 20)} ${unit} in ${calls(rootCallsBefore)} of the root`,
    `now       ${count(after, 20)} ${unit} in ${calls(rootCallsAfter)} of the root`,
    `per call  ${growth > 0 ? '+' : ''}${percentText(growth)}`,
  ]
  if (methods.length > 0) lines.push('', `changes of self ${unit} per method, largest first:`)
  for (const it of methods.slice(0, MAX_NAMED_METHODS)) {
    const change = it.after - it.before
    const sign = change > 0 ? '+' : ''
    lines.push(
      `  ${sign}${count(change, 20)}  ${clean(it.method)}  (${count(it.callsBefore, 20)} calls, now ${count(it.callsAfter, 20)})`,
    )
  }
  if (methods.length > MAX_NAMED_METHODS)
    lines.push(`  and ${plural(methods.length - MAX_NAMED_METHODS, 'more method')}`)
  return `${lines.join('\n')}\n`
}

function comparisonJson(comparison: Comparison, tolerance: number, passed: boolean): string {
  const growth = Number.isFinite(comparison.growth) ? comparison.growth : null
  return `${jsonText({ format: 'jfluid-gate', version: 1, passed, tolerance, ...comparison, growth })}\n`
}
