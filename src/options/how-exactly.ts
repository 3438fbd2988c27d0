// Options that select the instrumentation scheme, the sampling interval and the overhead limit.

import { DEFAULT_MAX_OVERHEAD, SCHEME_CHOICES } from '../base/scheme.ts'
import type { Sampling } from '../profile/profile.ts'
import { inGroup, option, SESSION } from './option.ts'
import { oneOf, oneOfAnyCase, percentage, textOr, whole } from './value.ts'

export type SamplerName = Exclude<Sampling['by'], 'probes' | 'stacks'>
const SAMPLERS = ['jfr', 'cpu'] as const satisfies readonly SamplerName[]

/** Default of --random, from Komorium's evaluation. Intervals need a random part, since the behaviour of a program may be periodic. */
export const DEFAULT_RANDOM = 100

/** Maximum of --max-overhead, as a fraction: 10 is 1000 %. */
const MAX_OVERHEAD = 10

/** Refusal of a sampling option in other modes. It is checked before a missing root is reported, since sampling may need no root. */
const ONLY_FOR_SAMPLES = (option: string) =>
  ({
    takes: ['sample'],
    says: (mode: string) => `${option} is for sampling, and --mode ${mode} takes no samples`,
    hint: 'Add --mode sample, or leave the option out.',
  }) as const

export const HOW_EXACTLY = inGroup('How to measure', [
  option({
    name: '--scheme <auto|a|b|adaptive>',
    help: 'where probes are inserted: auto: selects b for a small program, else adaptive; a: in every method that roots can reach through any calls; b: in the callees of a method when it is first called; adaptive: in roots and in expensive methods, with stack samples for the rest',
    commands: SESSION,
    value: oneOfAnyCase(SCHEME_CHOICES),
    default: 'auto',
    withRegion: ['auto', 'b'],
    withSamples: ['auto', 'b'],
  }),
  option({
    name: '--time <method>',
    help: 'with --scheme adaptive: also time every call of this method below the roots; same syntax as --root',
    commands: SESSION,
    isRepeatable: true,
    schemes: {
      takes: ['auto', 'adaptive'],
      says: (scheme) => `--time cannot be combined with --scheme ${scheme}, which chooses no methods to time`,
      hint: 'Use --scheme adaptive, or leave --time out: other schemes time all methods that they reach.',
    },
  }),
  option({
    /** The parsed value is a fraction: 0.05 is 5 %. */
    name: '--max-overhead <percent>',
    help: 'with --scheme adaptive: overhead limit of probes below the roots, in percent of the time of the roots: 2% or 2',
    defaultText: `${DEFAULT_MAX_OVERHEAD * 100}%`,
    commands: SESSION,
    value: percentage((part) => part > 0 && part <= MAX_OVERHEAD, 'It is a percentage above 0, up to 1000%.'),
    passes: true,
    schemes: {
      takes: ['auto', 'adaptive'],
      says: (scheme) =>
        `--max-overhead cannot be combined with --scheme ${scheme}, which times all methods that it reaches`,
      hint: 'Use --scheme adaptive, or leave --max-overhead out.',
    },
    modes: {
      takes: ['exact'],
      says: (mode) => `--max-overhead works only with --mode exact, not with --mode ${mode}`,
      hint: 'Leave --max-overhead out, or leave --mode out.',
    },
    excludes: {
      followThreads: 'a method without probes cannot report tasks that it submits',
      callSites: 'a method without probes cannot report its call sites',
      trace: 'calls of methods that are not timed would be missing',
    },
  }),
  option({
    name: '--every <interval>',
    help: 'for --mode sample: the sampling interval: a time (1ms, 10ms), or a number of bytecodes per thread (10000bc, needs --root)',
    commands: SESSION,
    modes: ONLY_FOR_SAMPLES('--every'),
    withSamples: true,
  }),
  option({
    name: '--random <n>',
    help: 'for --every in bytecodes: add a random number from 0 to n-1 to each interval, so that samples do not always hit the same place in a loop; the seed is fixed; 0: constant intervals',
    defaultText: `${DEFAULT_RANDOM}`,
    commands: SESSION,
    value: whole(0, 999_999_999, 'It is a whole number.'),
    modes: ONLY_FOR_SAMPLES('--random'),
  }),
  option({
    name: '--sampler <name>',
    help: 'for --mode sample by time, and for attach without --root: jfr: JDK Flight Recorder; cpu: JDK Flight Recorder by CPU time',
    defaultText: 'the one that is safe in this JVM',
    commands: SESSION,
    value: oneOf(SAMPLERS),
    modes: ONLY_FOR_SAMPLES('--sampler'),
    withSamples: true,
    notWithAll: 'sampling by time works for one JVM',
  }),
  option({
    name: '--debug-info',
    help: 'for samples by JDK Flight Recorder: the JVM keeps debug info for code compiled from now on, so that samples show inlined methods; the setting lasts until the JVM ends, and the JVM prints a warning',
    commands: SESSION,
    modes: ONLY_FOR_SAMPLES('--debug-info'),
    withSamples: true,
    notInFile: 'gives consent',
  }),
  option({
    name: '--bba <default|precise|file>',
    help: 'for --mode bytecodes, where basic blocks end: default: at jumps; precise: also at instructions that may throw; file: as defined by this JavaScript module',
    commands: SESSION,
    value: textOr('default', 'precise'),
    offers: 'file',
    modes: {
      takes: ['bytecodes'],
      says: (mode) => `--bba is for --mode bytecodes, not for --mode ${mode}`,
      hint: 'Add --mode bytecodes, or leave --bba out.',
    },
    notInFile: 'runs code',
    isOfThisMachine: true,
    harmless: ['default', 'precise'],
  }),
  option({
    name: '--tolerance <percent>',
    help: 'allowed increase of the cost of one root call',
    commands: ['gate'],
    value: percentage((part) => part >= 0, 'It is a percentage, as 0.5%.'),
    default: 0,
    notInFile: 'sets the limit of the test',
  }),
  option({
    name: '--force',
    help: 'also end a session with a running jfluid; the profile recorded so far is kept',
    commands: ['detach'],
    notInFile: 'gives consent',
  }),
])
