// Converts the options of a command line to a session request.

import { resolve } from 'node:path'
import { UsageError } from '../base/errors.ts'
import { parseValuePath } from '../base/value-path.ts'
import { METRICS } from '../measures/columns.ts'
import { DEFAULT_RANDOM } from '../options/how-exactly.ts'
import { checkBelowRoot, checkRegion, checkSampled } from '../options/refusals.ts'
import { passedOf, type SessionFlags } from '../options/table.ts'
import { parseClassPattern, parseOther, parseRoot } from '../reveal/patterns.ts'
import { parseRegion } from '../reveal/region-pattern.ts'
import { MAX_METHODS } from '../session/limits.ts'
import { DebugInfoUnused } from '../session/sampling/not-by-dumps.ts'
import type { SelfSampling, SessionRequest } from '../session/session-options.ts'
import { analysisName, loadAnalysis } from './block-analysis.ts'
import { parseEvery, TimedSamplesElsewhere } from './every.ts'

export class BadPid extends UsageError {
  static sample = () => new BadPid('shop')
  readonly hint = 'Give a number from the first column of: jfluid ps'
  constructor(text: string) {
    super(`'${text}' is not a process id`)
  }
}

export class NoRoot extends UsageError {
  static sample = () => new NoRoot()
  readonly hint =
    'Name the method where the task starts, for example --root com.foo.Service.process; jfluid why <pid> lists candidates. To time some lines of code, use --region.'
  constructor() {
    super('no root method was given')
  }
}

/**
 * Returns all options, with the block analysis of --bba.
 *
 * @throws NoRoot, BadPattern, OptionRefused, BadAnalysis, BadInterval, TimedSamplesElsewhere, DebugInfoUnused
 */
export async function commandOptions(flags: SessionFlags): Promise<SessionRequest> {
  if (flags.region !== undefined) return regionOptions(flags, flags.region)
  checkSampled(flags)
  const sampling = samplingOptions(flags) // before the check of the root: sampling may need no root
  const options = { ...sessionOptions(flags), ...sampling }
  checkBelowRoot(flags)
  return flags.bba === undefined ? options : { ...options, blocks: await blockAnalysis(flags.bba) }
}

/**
 * Returns the distance between samples that threads take of themselves in mode `sample`.
 *
 * @throws BadInterval, TimedSamplesElsewhere, DebugInfoUnused
 */
function samplingOptions({ mode, every, random, debugInfo }: SessionFlags): {
  readonly sampling?: SelfSampling
} {
  if (mode === undefined || !METRICS[mode].isSampled) return {}
  const due = every === undefined ? null : parseEvery(every)
  if (due?.unit !== 'bytecodes') throw new TimedSamplesElsewhere()
  if (debugInfo) throw new DebugInfoUnused('probes take samples by bytecodes')
  return { sampling: { every: due.every, unit: 'bytecodes', random: random ?? DEFAULT_RANDOM } }
}

/** @throws BadPattern, OptionRefused */
function regionOptions(flags: SessionFlags, texts: readonly string[]): SessionRequest {
  checkRegion(flags)
  const regions = texts.map(parseRegion)
  return {
    ...{ scheme: 'b', include: [], exclude: [], jdk: false, mode: 'exact' },
    roots: regions.map((it) => it.method),
    regions,
  }
}

/** @throws NoRoot, BadPattern, BadValuePath */
export function sessionOptions(flags: SessionFlags): SessionRequest {
  if (flags.root === undefined || flags.root.length === 0) throw new NoRoot()
  for (const text of [...(flags.show ?? []), ...(flags.by === undefined ? [] : [flags.by])])
    parseValuePath(text)
  return {
    ...passedOf(flags),
    scheme: flags.scheme ?? 'auto',
    ...(flags.yes === true ? { mayFlush: true } : { maxMethods: MAX_METHODS }),
    roots: flags.root.map(parseRoot),
    ...(flags.time !== undefined && { timed: flags.time.map(parseOther) }),
    include: (flags.include ?? []).map((p) => parseClassPattern('include', p)),
    exclude: (flags.exclude ?? []).map((p) => parseClassPattern('exclude', p)),
    jdk: flags.jdk === true,
    ...(flags.reproducible === true && { reproducible: true }),
    ...(flags.profiler !== undefined && { profiler: resolve(flags.profiler) }),
  }
}

async function blockAnalysis(text: string): Promise<NonNullable<SessionRequest['blocks']>> {
  if (text === 'default' || text === 'precise') return { name: text, analysis: text }
  return { name: await analysisName(text), analysis: await loadAnalysis(text) }
}

/** @throws BadPid */
export function parsePid(text: string): number {
  const pid = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0
  if (pid === 0 || pid > 2 ** 31 - 1) throw new BadPid(text)
  return pid
}
