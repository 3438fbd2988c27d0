// Options that say how it is measured: by which scheme, how often, and what that may cost.

import { SCHEME_CHOICES } from '../base/scheme.ts'
import type { Sampling } from '../profile/profile.ts'
import { inGroup, option, SESSION } from './option.ts'
import { oneOf, percentage, textOr, type Value, whole } from './value.ts'

export type SamplerName = Exclude<Sampling['by'], 'probes' | 'stacks'>
const SAMPLERS = ['jfr', 'cpu'] as const satisfies readonly SamplerName[]

/** 1000 %. */
const MOST_OVERHEAD = 10

/** Who wants samples may need no root: what is wrong with these is told before that there is none. */
const ONLY_FOR_SAMPLES = (option: string) =>
  ({
    takes: ['sample'],
    says: (mode: string) => `${option} is for sampling, and --mode ${mode} takes no samples`,
    hint: 'Add --mode sample, or leave the option out.',
  }) as const

export const HOW_EXACTLY = inGroup('How exactly', [
  option({
    name: '--scheme <auto|a|b|adaptive>',
    help: 'auto: b in a small program, else adaptive; a: probes in all methods that roots can reach; b: in the callees of a method once it is called; adaptive: in roots and in methods that take time, samples elsewhere',
    commands: SESSION,
    value: {
      parse: (text) => SCHEME_CHOICES.find((it) => it === text.toLowerCase()),
      is: 'It is auto, a, b or adaptive.',
      holds: (value) => SCHEME_CHOICES.some((it) => it === value),
      choices: SCHEME_CHOICES,
    } satisfies Value<(typeof SCHEME_CHOICES)[number]>,
    default: 'auto',
    withRegion: ['auto', 'b'],
    withSamples: ['auto', 'b'],
  }),
  option({
    name: '--time <method>',
    help: 'with --scheme adaptive: below the roots, also time each call of this method, written as for --root',
    commands: SESSION,
    isRepeatable: true,
    schemes: {
      takes: ['auto', 'adaptive'],
      says: (scheme) => `--time cannot be combined with --scheme ${scheme}, which chooses no methods to time`,
      hint: 'Use --scheme adaptive, or leave --time out: other schemes time all methods that they reach.',
    },
  }),
  option({
    /** A part: 0.05 is 5 %. */
    name: '--max-overhead <percent>',
    help: 'with --scheme adaptive: what probes below the roots may cost, as a share of the time of the roots: 2% or 2; 5% unless given',
    commands: SESSION,
    value: percentage(
      (part) => part > 0 && part <= MOST_OVERHEAD,
      'It is a percentage above 0, up to 1000%.',
    ),
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
    help: 'for --mode sample: the interval, 1ms or 10ms; or 10000bc, counted in bytecodes of each thread (needs --root)',
    commands: SESSION,
    modes: ONLY_FOR_SAMPLES('--every'),
    withSamples: true,
  }),
  option({
    name: '--random <n>',
    help: 'for --every in bytecodes: add a random 0 to n-1 to each interval, from a fixed seed; 100 unless given, 0: none',
    commands: SESSION,
    value: whole(0, 999_999_999, 'It is a whole number.'),
    modes: ONLY_FOR_SAMPLES('--random'),
  }),
  option({
    name: '--sampler <who>',
    help: 'for --mode sample by time, and for attach without --root: jfr, the flight recorder; cpu, the same by CPU time; what does no harm unless given',
    commands: SESSION,
    value: oneOf(SAMPLERS),
    modes: ONLY_FOR_SAMPLES('--sampler'),
    withSamples: true,
    notWithAll: 'sampling by time works for one JVM',
  }),
  option({
    name: '--sampler <who>',
    help: 'jfr, the flight recorder; cpu, the same by CPU time; thread dumps unless given',
    commands: ['roots'],
    value: oneOf(SAMPLERS),
  }),
  option({
    name: '--debug-info',
    help: 'for samples by the flight recorder: the JVM keeps debug info of code that it compiles from now on, so that samples find inlined methods; this lasts until the JVM ends, and it prints a warning',
    commands: SESSION,
    modes: ONLY_FOR_SAMPLES('--debug-info'),
    withSamples: true,
    notInFile: 'gives consent',
  }),
  option({
    name: '--bba <default|precise|file>',
    help: 'for --mode bytecodes, where basic blocks end: default, at jumps; precise, also where something may throw; file, as this JavaScript module says',
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
    help: 'how much more one call of the root may cost',
    commands: ['gate'],
    value: percentage((part) => part >= 0, 'It is a percentage, as 0.5%.'),
    default: 0,
    notInFile: 'decides what passes',
  }),
  option({
    name: '--force',
    help: 'also if that jfluid lives: its recording ends, and is kept as far as it came',
    commands: ['detach'],
    notInFile: 'gives consent',
  }),
])
