// Options that select the profiled code and the duration.

import { inGroup, option, SESSION } from './option.ts'
import { duration } from './value.ts'

/** Default of --duration of why. If there are few samples, the duration is extended up to `atMostMs`. */
export const WHY_SAMPLING = { durationMs: 5_000, atMostMs: 10_000 } as const

/** Default of --top of why. */
export const WHY_TOP = 5

const CHOOSES = [...SESSION, 'doctor'] as const

export const WHAT_TO_PROFILE = inGroup('What to profile', [
  option({
    name: '-r, --root <method>',
    help: 'profile this method and everything it calls: com.foo.Class.method or Class.method, with (descriptor) for one overload; record and run need --root or --region, except with --mode sample',
    commands: SESSION,
    isRepeatable: true,
    withSamples: true,
  }),
  option({
    name: '-r, --root <method>',
    help: 'load the agent and count the methods that each scheme would instrument',
    commands: ['doctor'],
    isRepeatable: true,
    notInFile: 'gives consent',
  }),
  option({
    name: '--region <method[:lines]>',
    help: 'instead of --root: time these lines as one unit, including everything they call: Class.method or Class.method:120-140',
    commands: SESSION,
    isRepeatable: true,
    withRegion: true,
    withSamples: true,
    notWithAll: 'regions are timed in one JVM',
    isOfThisMachine: ['attach'],
  }),
  option({
    name: '--include <pattern>',
    help: 'instrument only matching classes: com.foo.* (one package), com.foo.** (with subpackages)',
    commands: CHOOSES,
    isRepeatable: true,
  }),
  option({
    name: '--exclude <pattern>',
    help: 'do not instrument matching classes',
    commands: CHOOSES,
    isRepeatable: true,
  }),
  option({
    name: '--jdk',
    help: 'also instrument JDK classes',
    commands: CHOOSES,
  }),
  option({
    name: '--follow-threads',
    help: 'include tasks that the root submits to executors or new threads, shown below the submitting method',
    commands: SESSION,
    passes: true,
    needsAllCalls: true,
    modes: {
      takes: ['exact', 'locks', 'bytecodes', 'count', 'alloc'],
      says: (mode) =>
        `--mode ${mode} cannot be combined with --follow-threads: samples are taken only in threads that call a root`,
      hint: 'Leave one of the two out.',
    },
  }),
  option({
    name: '--duration <time>',
    help: 'sampling time: 500ms, 10s, 2m',
    commands: ['why'],
    value: duration,
    defaultText: `${WHY_SAMPLING.durationMs / 1000}s, extended up to ${WHY_SAMPLING.atMostMs / 1000}s while there are few samples`,
  }),
  option({
    name: '--duration <time>',
    help: 'recording time: 500ms, 10s, 2m',
    commands: ['record'],
    value: duration,
    default: 10_000,
    defaultText: '10s',
  }),
  option({
    name: '--repeat <time>',
    help: 'record a session of --duration at this interval, until Ctrl-C: 10m, 1h; waits for a JVM named by its main class if it restarts',
    commands: ['record'],
    value: duration,
    excludes: { jdwp: 'the agent of a debug port is loaded for one session' },
    isOfThisMachine: ['record'],
    notWithAll: {
      why: '--repeat records one JVM again and again',
      instead: 'Start one jfluid record --repeat for each JVM.',
    },
  }),
])
