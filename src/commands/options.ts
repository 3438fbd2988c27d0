// Options that attach, record and run share, from the command line's strings to the session's types.

import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { EX_USAGE, JfluidError } from '../base/errors.ts'
import { SCHEME_CHOICES, type SchemeChoice } from '../base/scheme.ts'
import { isTimed, MODES, type Mode } from '../profile/profile.ts'
import { parseClassPattern, parseOther, parseRoot } from '../reveal/patterns.ts'
import { parseRegion } from '../reveal/region-pattern.ts'
import type { DebuggerAddress } from '../session/doors/debugger-address.ts'
import { MOST_METHODS } from '../session/limits.ts'
import { DebugInfoUnused } from '../session/sampling/not-by-dumps.ts'
import { needsAllCalls, type SelfSampling, type SessionRequest } from '../session/session-options.ts'
import { analysisName, loadAnalysis } from './block-analysis.ts'
import { OnlyForSamples, parseEvery, SamplesFollowNobody, TimedSamplesElsewhere } from './every.ts'
import { withRemovedOptions } from './removed-options.ts'
import { checkTrace, traceCount } from './trace-options.ts'
import { SAMPLERS } from './whole-jvm-options.ts'

export class BadPid extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Give the number that `jfluid ps` shows in its first column.'
  constructor(text: string) {
    super(`'${text}' is not a process id`)
  }
}

export class NoRoot extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint =
    'Name the method where the task starts: --root com.foo.Service.process (jfluid roots <pid> lists some); or time one stretch of code: --region'
  constructor() {
    super('no root method was given')
  }
}

export class OnlyForBytecodes extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Add --mode bytecodes, or leave --bba out.'
  constructor(mode: Mode) {
    super(`--bba says how --mode bytecodes counts, and nothing of --mode ${mode}`)
  }
}

export class NotReproducible extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Count instead: --mode bytecodes, or --mode count.'
  constructor(mode: Mode) {
    super(`times differ from run to run: --reproducible is not for --mode ${mode}`)
  }
}

/** Its counts would be the same, and this not. */
export class AliveDiffers extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Leave one of the two out.'
  constructor() {
    super('what is still alive depends on when the JVM collects: --reproducible does not go with --liveness')
  }
}

export class NotAdaptive extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Leave it out, or take --scheme b.'
  constructor(option: string) {
    super(`${option} needs the calls of all methods, and --scheme adaptive does not instrument them`)
  }
}

export class TimeNeedsAdaptive extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint =
    'Take --scheme adaptive, or leave --time out: other schemes time all methods that they reach.'
  constructor(scheme: SchemeChoice) {
    super(`--time chooses what is timed below the roots, and does not go with --scheme ${scheme}`)
  }
}

export class WaitsNeedTime extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Take --mode exact or --mode locks, or leave --waits out.'
  constructor(mode: Mode) {
    super(`--waits tells waiting from running, and --mode ${mode} measures no time`)
  }
}

export class ProfilerNeedsBytecodes extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Add --mode bytecodes, or --mode sample with --every 10000bc.'
  constructor(mode: Mode) {
    super(`a profiler is called after so many bytecodes: --profiler is not for --mode ${mode}`)
  }
}

export class ProfilerFollowsNobody extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Leave one of the two out.'
  constructor() {
    super('--profiler has trees of threads that call a root, and does not go with --follow-threads')
  }
}

export class OnlyForAllocations extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Add --mode alloc, or leave --sample-every out.'
  constructor(mode: Mode) {
    super(`--sample-every says which allocations are recorded, and --mode ${mode} records none`)
  }
}

export class LivenessNeedsAllocations extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Add --mode alloc, or leave --liveness out.'
  constructor(mode: Mode) {
    super(`--liveness says which recorded objects are alive, and --mode ${mode} records none`)
  }
}

export class SlowNeedsTimes extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Leave --slow out, or take --mode exact, locks or bytecodes.'
  constructor(mode: Mode) {
    super(`--slow asks how long calls of the root take, and --mode ${mode} does not know`)
  }
}

export class SlowIsNoTime extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Take --slow p99.'
  constructor() {
    super('--slow with a time needs times, and --mode bytecodes has none')
  }
}

/** What says how calls are followed has no meaning where none are. */
export class RegionStandsAlone extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint =
    'Leave them out, or take --root instead: a region is timed as a whole, and nothing that it calls.'
  constructor(options: readonly string[]) {
    super(`--region does not go with ${options.join(', ')}`)
  }
}

export class BudgetNeedsTimes extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Leave --max-overhead out, or --mode.'
  constructor(mode: Mode) {
    super(`what profiling costs is known of --mode exact, and --max-overhead is not for --mode ${mode}`)
  }
}

export class BudgetNotWith extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Leave one of the two out.'
  constructor(option: string, why: string) {
    super(`--max-overhead does not go with ${option}: ${why}`)
  }
}

export interface JdwpFlag {
  readonly jdwp?: DebuggerAddress
}

export interface SessionFlags {
  readonly region?: readonly string[]
  readonly root?: readonly string[]
  readonly scheme: SchemeChoice
  readonly time?: readonly string[]
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly jdk?: boolean
  readonly followThreads?: boolean
  readonly mode?: Mode
  readonly waits?: boolean
  readonly bba?: string
  readonly reproducible?: boolean
  readonly profiler?: string
  readonly every?: string
  readonly callSites?: boolean
  readonly random?: number
  readonly sampler?: string
  readonly debugInfo?: boolean
  readonly sampleEvery?: number
  /** 0.05 is 5 %. */
  readonly maxOverhead?: number
  /** Ns, or p99. */
  readonly slow?: 'p99' | number
  readonly liveness?: boolean
  readonly trace?: number
  readonly maxContexts?: number
  /** Schemes a and b may give probes to any number of methods. */
  readonly yes?: boolean
}

/** 1000 %. */
export const MOST_OVERHEAD = 10
export const LEAST_CONTEXTS = 1000
/** 2 GiB, and as much for pictures. */
export const MOST_CONTEXTS = 2 ** 24
/** As `count` and `every` take them: nine digits, and six. */
export const MOST_COUNT = 999_999_999
export const MOST_EVERY = 999_999
/** As in Komorium's evaluation: programs are periodic, too. */
const DEFAULT_RANDOM = 100
/** A place in the target for each object that is looked after, and there are 65,536. */
const LIVENESS_EVERY = 100

const LOOPBACK = '127.0.0.1'

const collect = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** Adds the other way to a JVM than by its process id. */
export function withJdwpFlag(command: Command): Command {
  return command.option(
    '--jdwp <host:port>',
    'in place of a process id: the port where a JVM takes a debugger (-agentlib:jdwp)',
    debuggerAddress,
  )
}

/** As the JVM has it: a host and a port, or a port of this machine. */
function debuggerAddress(text: string): DebuggerAddress {
  const [, ipv6, name, digits] = /^(?:(?:\[([\da-f:.]+)\]|([^\s:[\]*]+)):)?(\d{1,5})$/i.exec(text) ?? []
  const port = Number(digits ?? 0)
  if (port > 0 && port < 2 ** 16) return { host: ipv6 ?? name ?? LOOPBACK, port }
  throw new InvalidArgumentError('It is host:port, as 127.0.0.1:5005.')
}

/** Adds the options that say where a root leads, for `doctor`. */
export function withRootFlags(command: Command): Command {
  return command
    .option(
      '-r, --root <method>',
      'loads the agent, and says how many methods each scheme would reach; repeatable',
      collect,
    )
    .option('--include <pattern>', 'only classes that match, as com.foo.**; repeatable', collect)
    .option('--exclude <pattern>', 'no classes that match; repeatable', collect)
    .option('--jdk', 'instrument JDK classes too')
}

/** Adds the options that say what is profiled. */
export function withSessionFlags(command: Command): Command {
  return withRemovedOptions(command)
    .option(
      '-r, --root <method>',
      'root of the call subgraph, Class.method or Class.method(descriptor); repeatable',
      collect,
    )
    .option(
      '--region <method[:lines]>',
      'instead of roots, time one stretch of code and nothing else: Class.method, or Class.method:120-140; repeatable',
      collect,
    )
    .addOption(
      new Option(
        '--mode <mode>',
        'exact: time of every call; locks: how much of it was waiting; bytecodes: what it executes, the same in every run; count: calls only; ' +
          'alloc: objects it allocates, by class',
      )
        .choices(MODES)
        .default('exact'),
    )
    .option('--waits', 'for --mode exact: time blocked or waiting has rows of its own, and is no self time')
    .option(
      '--bba <default|precise|file>',
      'for --mode bytecodes, where basic blocks end: at jumps; also where something may throw; or as the module says',
    )
    .option(
      '--every <interval>',
      'for --mode sample, when a sample is due: 10ms, 1ms; or 10000bc, after so many bytecodes of a thread',
    )
    .addOption(
      new Option(
        '--sampler <who>',
        'for --mode sample by time, and where attach looks for a root: jfr, the flight recorder; cpu, the same by CPU time; stacks, dumps of threads',
      ).choices(SAMPLERS),
    )
    .option(
      '--debug-info',
      'for --mode sample by the flight recorder: the JVM keeps debug info of code that it compiles from then on, so that samples find inlined methods; stays until it ends, and the JVM prints a warning',
    )
    .option(
      '--random <n>',
      'for --every in bytecodes, add 0 to n-1 at random each time, from a fixed seed; 0: none',
      count,
    )
    .option(
      '--sample-every <n>',
      'for --mode alloc: record one of n allocations, by chance, and give n times as many',
      every,
    )
    .option(
      '--liveness',
      'for --mode alloc: which recorded objects are still alive, and for how many collections; one of 100, unless --sample-every says otherwise',
    )
    .option(
      '--scheme <auto|a|b|adaptive>',
      'a: instrument all that is reachable; b: what callers that were called can reach; adaptive: the roots, and samples below; auto: b in a small program, else adaptive',
      scheme,
      'auto',
    )
    .option(
      '--time <method>',
      'with --scheme adaptive: exact times of this method below the roots, written as --root has it; repeatable',
      collect,
    )
    .option(
      '--yes',
      'do not ask: schemes a and b may instrument more than 2000 methods, and a busy JVM may discard its compiled code',
    )
    .option('--include <pattern>', 'only classes that match, as com.foo.**; repeatable', collect)
    .option('--exclude <pattern>', 'no classes that match; repeatable', collect)
    .option('--jdk', 'instrument JDK classes too')
    .option(
      '--profiler <jar>',
      'a profiling agent of your own, called by the threads of the JVM: for --mode bytecodes',
    )
    .option(
      '--max-overhead <percent>',
      'hold what profiling costs below that in every second, as 5%: cheap hot methods lose their probes',
      overhead,
    )
    .option(
      '--slow <time|p99>',
      'keep trees of slow calls of the root apart: of those above p99, or that take so long, as 50ms',
      slow,
    )
    .option(
      '--call-sites',
      'tell calls of one method from different places apart, by line and bytecode index',
    )
    .option(
      '--trace <n>',
      'keep the events of the first n calls of roots: their order in time and their critical path',
      traceCount,
    )
    .option(
      '--max-contexts <n>',
      'contexts that the tree may have before those that cost least are collapsed; what memory allows, unless given',
      contexts,
    )
    .option('--reproducible', 'leave out of the profile what differs from run to run: not for times')
    .option(
      '--follow-threads',
      'work handed to executors or new threads inside the root is part of it, below what submitted it',
    )
}

/** @throws NotAdaptive, TimeNeedsAdaptive */
function checkScheme(request: SessionRequest): void {
  const { scheme, timed } = request
  const needs = needsAllCalls(request)
  const isAdaptive = scheme === 'adaptive' || (scheme === 'auto' && timed !== undefined)
  if (isAdaptive && needs !== null) throw new NotAdaptive(needs)
  if (!isAdaptive && timed !== undefined) throw new TimeNeedsAdaptive(scheme)
}

function scheme(value: string): SchemeChoice {
  const lower = value.toLowerCase()
  const found = SCHEME_CHOICES.find((it) => it === lower)
  if (found !== undefined) return found
  throw new InvalidArgumentError('It is auto, a, b or adaptive.')
}

function every(value: string): number {
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value)
  throw new InvalidArgumentError('It is a whole number from 1 to 999999.')
}

function contexts(value: string): number {
  const number = /^\d{1,8}$/.test(value) ? Number(value) : 0
  if (number >= LEAST_CONTEXTS && number <= MOST_CONTEXTS) return number
  throw new InvalidArgumentError(`It is a whole number from ${LEAST_CONTEXTS} to ${MOST_CONTEXTS}.`)
}

/** Ns, or p99. */
function slow(text: string): 'p99' | number {
  if (text.toLowerCase() === 'p99') return 'p99'
  const match = /^(\d{1,9}(?:\.\d{1,9})?)(ns|us|µs|ms|s|m)$/.exec(text)
  const ns = match === null ? 0 : Number(match[1]) * (NS[match[2]!] ?? 0)
  if (ns > 0) return ns
  throw new InvalidArgumentError('It is p99, or a time as 50ms, 250us or 1.5s.')
}

const NS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9 }

function overhead(text: string): number {
  const part = percentage(text)
  if (part > 0 && part <= MOST_OVERHEAD) return part
  throw new InvalidArgumentError('It is a percentage above 0, up to 1000%.')
}

/** "0.5%" or "0.5": the part that is. */
export function percentage(text: string): number {
  const number = /^(\d{1,6}(?:\.\d{1,9})?)\s*%?$/.exec(text)?.[1]
  if (number === undefined) throw new InvalidArgumentError('It is a percentage, as 0.5%.')
  return Number(number) / 100
}

/** A whole number from 0 on. */
export function count(value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value)
  throw new InvalidArgumentError('It is a whole number.')
}

/**
 * All options, with the block analysis that --bba names.
 *
 * @throws NoRoot, BadPattern, RegionStandsAlone, OnlyForBytecodes, OnlyForAllocations, LivenessNeedsAllocations, NotReproducible, AliveDiffers, WaitsNeedTime,
 * ProfilerNeedsBytecodes, SlowNeedsTimes, SlowIsNoTime, BudgetNeedsTimes, BudgetNotWith, TraceNeedsTimes, TraceNotWith, BadAnalysis, BadInterval, OnlyForSamples, TimedSamplesElsewhere
 */
export async function commandOptions(flags: SessionFlags): Promise<SessionRequest> {
  if (flags.region !== undefined) return regionOptions(flags, flags.region)
  const { mode = 'exact' } = flags
  if (flags.sampler !== undefined && mode !== 'sample') throw new OnlyForSamples('--sampler', mode)
  if (flags.debugInfo && mode !== 'sample') throw new OnlyForSamples('--debug-info', mode)
  const sampling = samplingOptions(flags) // before the root: whoever wants samples may need none
  const options = { ...sessionOptions(flags), ...sampling }
  if (flags.sampleEvery !== undefined && mode !== 'alloc') throw new OnlyForAllocations(mode)
  if (flags.liveness && mode !== 'alloc') throw new LivenessNeedsAllocations(mode)
  if (flags.reproducible && isTimed(mode)) throw new NotReproducible(mode)
  if (flags.waits && !isTimed(mode)) throw new WaitsNeedTime(mode)
  if (flags.reproducible && flags.liveness) throw new AliveDiffers()
  checkScheme(options)
  if (flags.profiler !== undefined) {
    const counts = options.mode === 'bytecodes' || options.mode === 'sample'
    if (!counts) throw new ProfilerNeedsBytecodes(options.mode ?? 'exact')
    if (options.followThreads) throw new ProfilerFollowsNobody()
  }
  if (options.maxOverhead !== undefined) checkBudget(options)
  checkTrace(options)
  if (options.slow !== undefined) checkSlow(options.slow, mode)
  return flags.bba === undefined
    ? options
    : { ...options, blocks: await blockAnalysis(flags.bba, flags.mode) }
}

/** @throws SlowNeedsTimes, SlowIsNoTime */
function checkSlow(threshold: 'p99' | number, mode: Mode): void {
  if (isTimed(mode)) return
  if (mode !== 'bytecodes') throw new SlowNeedsTimes(mode)
  if (threshold !== 'p99') throw new SlowIsNoTime()
}

/** @throws BudgetNeedsTimes, BudgetNotWith */
function checkBudget(options: SessionRequest): void {
  const { mode = 'exact', waits, followThreads, callSites } = options
  if (mode !== 'exact') throw new BudgetNeedsTimes(mode)
  if (waits) throw new BudgetNotWith('--waits', 'a method without probes would not tell that it waits')
  if (followThreads) {
    throw new BudgetNotWith('--follow-threads', 'a method without probes would not tell what it hands over')
  }
  if (callSites)
    throw new BudgetNotWith('--call-sites', 'a method without probes does not tell where it calls')
}

/**
 * When samples are due that threads take of themselves, in mode `sample`.
 *
 * @throws BadInterval, OnlyForSamples, TimedSamplesElsewhere, SamplesFollowNobody, DebugInfoUnused
 */
function samplingOptions({ mode = 'exact', every, random, followThreads, debugInfo }: SessionFlags): {
  readonly sampling?: SelfSampling
} {
  if (mode !== 'sample') {
    if (every !== undefined) throw new OnlyForSamples('--every', mode)
    if (random !== undefined) throw new OnlyForSamples('--random', mode)
    return {}
  }
  const due = every === undefined ? null : parseEvery(every)
  if (due?.unit !== 'bytecodes') throw new TimedSamplesElsewhere()
  if (debugInfo) throw new DebugInfoUnused('probes take samples by bytecodes')
  if (followThreads) throw new SamplesFollowNobody()
  return { sampling: { every: due.every, unit: 'bytecodes', random: random ?? DEFAULT_RANDOM } }
}

/** @throws BadPattern, RegionStandsAlone */
function regionOptions(flags: SessionFlags, texts: readonly string[]): SessionRequest {
  const { mode = 'exact' } = flags
  const others: readonly (readonly [string, boolean])[] = [
    ['--root', flags.root !== undefined],
    [`--mode ${mode}`, mode !== 'exact'],
    ['--waits', flags.waits === true],
    ['--every', flags.every !== undefined],
    ['--sampler', flags.sampler !== undefined],
    ['--debug-info', flags.debugInfo === true],
    ['--random', flags.random !== undefined],
    ['--max-overhead', flags.maxOverhead !== undefined],
    ['--slow', flags.slow !== undefined],
    ['--call-sites', flags.callSites === true],
    ['--bba', flags.bba !== undefined],
    ['--scheme a', flags.scheme === 'a'],
    ['--scheme adaptive', flags.scheme === 'adaptive'],
    ['--time', flags.time !== undefined],
    ['--include', flags.include !== undefined],
    ['--exclude', flags.exclude !== undefined],
    ['--jdk', flags.jdk === true],
    ['--profiler', flags.profiler !== undefined],
    ['--reproducible', flags.reproducible === true],
    ['--follow-threads', flags.followThreads === true],
    ['--sample-every', flags.sampleEvery !== undefined],
    ['--liveness', flags.liveness === true],
    ['--trace', flags.trace !== undefined],
    ['--max-contexts', flags.maxContexts !== undefined],
  ]
  const wrong = others.filter(([, given]) => given).map(([option]) => option)
  if (wrong.length > 0) throw new RegionStandsAlone(wrong)
  const regions = texts.map(parseRegion)
  return {
    ...{ scheme: 'b', include: [], exclude: [], jdk: false, mode: 'exact' },
    roots: regions.map((it) => it.method),
    regions,
  }
}

/** @throws NoRoot, BadPattern */
export function sessionOptions(flags: SessionFlags): SessionRequest {
  if (flags.root === undefined || flags.root.length === 0) throw new NoRoot()
  return {
    scheme: flags.scheme,
    ...(flags.yes === true ? { mayFlush: true } : { mostMethods: MOST_METHODS }),
    roots: flags.root.map(parseRoot),
    ...(flags.time !== undefined && { timed: flags.time.map(parseOther) }),
    include: (flags.include ?? []).map((p) => parseClassPattern('include', p)),
    exclude: (flags.exclude ?? []).map((p) => parseClassPattern('exclude', p)),
    jdk: flags.jdk === true,
    followThreads: flags.followThreads === true,
    mode: flags.mode ?? 'exact',
    waits: flags.waits === true,
    ...(flags.sampleEvery !== undefined && { sampleEvery: flags.sampleEvery }),
    ...(flags.maxOverhead !== undefined && { maxOverhead: flags.maxOverhead }),
    ...(flags.slow !== undefined && { slow: flags.slow }),
    ...(flags.callSites === true && { callSites: true }),
    ...(flags.trace !== undefined && { trace: flags.trace }),
    ...(flags.maxContexts !== undefined && { maxContexts: flags.maxContexts }),
    ...(flags.liveness === true && { liveness: true, sampleEvery: flags.sampleEvery ?? LIVENESS_EVERY }),
    ...(flags.profiler !== undefined && { profiler: resolve(flags.profiler) }),
  }
}

async function blockAnalysis(
  text: string,
  mode: Mode = 'exact',
): Promise<NonNullable<SessionRequest['blocks']>> {
  if (mode !== 'bytecodes') throw new OnlyForBytecodes(mode)
  if (text === 'default' || text === 'precise') return { name: text, analysis: text }
  return { name: await analysisName(text), analysis: await loadAnalysis(text) }
}

/** @throws BadPid */
export function parsePid(text: string): number {
  const pid = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0
  if (pid === 0 || pid > 2 ** 31 - 1) throw new BadPid(text)
  return pid
}
