// Options that say how it is measured: by which scheme, how often, and what that may cost.

import { SCHEME_CHOICES } from '../base/scheme.ts'
import type { Sampling } from '../profile/profile.ts'
import { option, SESSION } from './option.ts'
import { oneOf, percentage, textOr, type Value, whole } from './value.ts'

export type SamplerName = Exclude<Sampling['by'], 'probes'>
const SAMPLERS = ['jfr', 'cpu', 'stacks'] as const satisfies readonly SamplerName[]

/** 1000 %. */
const MOST_OVERHEAD = 10

/** Who wants samples may need no root: what is wrong with these is told before that there is none. */
const ONLY_FOR_SAMPLES = (option: string) =>
  ({
    takes: ['sample'],
    says: (mode: string) => `${option} says how samples are taken, and --mode ${mode} takes none`,
    hint: 'Add --mode sample, or leave it out.',
  }) as const

export const HOW_EXACTLY = [
  option({
    name: '--scheme <auto|a|b|adaptive>',
    group: 'How exactly',
    help: 'a: instrument all that is reachable; b: what callers that were called can reach; adaptive: the roots, and samples below; auto: b in a small program, else adaptive',
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
    group: 'How exactly',
    help: 'with --scheme adaptive: exact times of this method below the roots, written as --root has it',
    commands: SESSION,
    isRepeatable: true,
    schemes: {
      takes: ['auto', 'adaptive'],
      says: (scheme) =>
        `--time chooses what is timed below the roots, and does not go with --scheme ${scheme}`,
      hint: 'Take --scheme adaptive, or leave --time out: other schemes time all methods that they reach.',
    },
  }),
  option({
    name: '--yes',
    group: 'How exactly',
    help: 'do not ask: schemes a and b may instrument more than 2000 methods, and a busy JVM may discard its compiled code',
    commands: SESSION,
    withRegion: true,
    withSamples: true,
    notInFile: 'gives consent',
  }),
  option({
    /** A part: 0.05 is 5 %. */
    name: '--max-overhead <percent>',
    group: 'How exactly',
    help: 'hold what profiling costs below that in every second, as 5%: cheap hot methods lose their probes',
    commands: SESSION,
    value: percentage(
      (part) => part > 0 && part <= MOST_OVERHEAD,
      'It is a percentage above 0, up to 1000%.',
    ),
    passes: true,
    needsAllCalls: true,
    modes: {
      takes: ['exact'],
      says: (mode) =>
        `what profiling costs is known of --mode exact, and --max-overhead is not for --mode ${mode}`,
      hint: 'Leave --max-overhead out, or --mode.',
    },
    excludes: {
      waits: 'a method without probes would not tell that it waits',
      followThreads: 'a method without probes would not tell what it hands over',
      callSites: 'a method without probes does not tell where it calls',
    },
    notWithAll: 'each JVM would lose other probes',
  }),
  option({
    name: '--every <interval>',
    group: 'How exactly',
    help: 'for --mode sample, when a sample is due: 10ms, 1ms; or 10000bc, after so many bytecodes of a thread',
    commands: SESSION,
    modes: ONLY_FOR_SAMPLES('--every'),
    withSamples: true,
  }),
  option({
    name: '--random <n>',
    group: 'How exactly',
    help: 'for --every in bytecodes, add 0 to n-1 at random each time, from a fixed seed; 0: none',
    commands: SESSION,
    value: whole(0, 999_999_999, 'It is a whole number.'),
    modes: ONLY_FOR_SAMPLES('--random'),
  }),
  option({
    name: '--sampler <who>',
    group: 'How exactly',
    help: 'for --mode sample by time, and where attach looks for a root: jfr, the flight recorder; cpu, the same by CPU time; stacks, dumps of threads',
    commands: SESSION,
    value: oneOf(SAMPLERS),
    modes: ONLY_FOR_SAMPLES('--sampler'),
    withSamples: true,
    notWithAll: 'what is sampled is one JVM',
  }),
  option({
    name: '--sampler <who>',
    group: 'How exactly',
    help: 'stacks, dumps of threads, unless given; jfr, the flight recorder; cpu, the same by CPU time',
    commands: ['roots'],
    value: oneOf(SAMPLERS),
  }),
  option({
    name: '--debug-info',
    group: 'How exactly',
    help: 'for --mode sample by the flight recorder: the JVM keeps debug info of code that it compiles from then on, so that samples find inlined methods; stays until it ends, and the JVM prints a warning',
    commands: SESSION,
    modes: ONLY_FOR_SAMPLES('--debug-info'),
    withSamples: true,
    notInFile: 'gives consent',
  }),
  option({
    name: '--sample-every <n>',
    group: 'How exactly',
    help: 'for --mode alloc: record one of n allocations, by chance, and give n times as many',
    commands: SESSION,
    value: whole(1, 999_999, 'It is a whole number from 1 to 999999.'),
    passes: true,
    modes: {
      takes: ['alloc'],
      says: (mode) => `--sample-every says which allocations are recorded, and --mode ${mode} records none`,
      hint: 'Add --mode alloc, or leave --sample-every out.',
    },
  }),
  option({
    name: '--bba <default|precise|file>',
    group: 'How exactly',
    help: 'for --mode bytecodes, where basic blocks end: at jumps; also where something may throw; or as the module says',
    commands: SESSION,
    value: textOr('default', 'precise'),
    offers: 'file',
    modes: {
      takes: ['bytecodes'],
      says: (mode) => `--bba says how --mode bytecodes counts, and nothing of --mode ${mode}`,
      hint: 'Add --mode bytecodes, or leave --bba out.',
    },
    notInFile: 'runs code',
    isOfThisMachine: true,
    harmless: ['default', 'precise'],
  }),
  option({
    name: '--profiler <jar>',
    group: 'How exactly',
    help: 'a profiling agent of your own, called by the threads of the JVM: for --mode bytecodes',
    commands: SESSION,
    offers: 'jar',
    modes: {
      takes: ['bytecodes', 'sample'],
      says: (mode) => `a profiler is called after so many bytecodes: --profiler is not for --mode ${mode}`,
      hint: 'Add --mode bytecodes, or --mode sample with --every 10000bc.',
    },
    excludes: {
      followThreads: {
        says: '--profiler has trees of threads that call a root, and does not go with --follow-threads',
        hint: 'Leave one of the two out.',
      },
    },
    notInFile: 'runs code',
    isOfThisMachine: true,
  }),
  option({
    name: '--tolerance <percent>',
    group: 'How exactly',
    help: 'how much more one call of the root may cost',
    commands: ['gate'],
    value: percentage((part) => part >= 0, 'It is a percentage, as 0.5%.'),
    default: 0,
    notInFile: 'decides what passes',
  }),
  option({
    name: '--force',
    group: 'How exactly',
    help: 'also if that jfluid lives: its recording ends, and is kept as far as it came',
    commands: ['detach'],
    notInFile: 'gives consent',
  }),
] as const
