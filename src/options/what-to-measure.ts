// Options that select the measured quantity.

import { MODES } from '../profile/profile.ts'
import { inGroup, option, SESSION } from './option.ts'
import { oneOf, whole } from './value.ts'

/** Default of --liveness: one of this number of allocated objects is tracked. The target has 65,536 slots for tracked objects. */
const LIVENESS_EVERY = 100

export const WHAT_TO_MEASURE = inGroup('What to measure', [
  option({
    name: '--mode <mode>',
    help:
      'exact: elapsed time, measured by --scheme; locks: also waiting time per lock; bytecodes: executed bytecodes, the same in every run; ' +
      'count: calls only; alloc: allocated objects per class; sample: sampled stacks, at the interval of --every; without --root of the whole JVM',
    commands: SESSION,
    value: oneOf(MODES),
    default: 'exact',
    passes: true,
    needsAllCalls: MODES.filter((it) => it !== 'exact'),
    withRegion: ['exact'],
    withSamples: true,
  }),
  option({
    name: '--liveness',
    help:
      'for --mode alloc: track which objects are still alive and how many garbage collections they survived; records 1 of ' +
      `${LIVENESS_EVERY} objects unless --sample-every is given`,
    commands: SESSION,
    passes: true,
    implies: { sampleEvery: LIVENESS_EVERY },
    modes: {
      takes: ['alloc'],
      says: (mode) => `--liveness is for allocated objects, and --mode ${mode} records none`,
      hint: 'Add --mode alloc, or leave --liveness out.',
    },
    notWithAll: 'living objects are counted in one JVM',
  }),
  option({
    name: '--sample-every <n>',
    help: 'for --mode alloc: record a random 1 of n objects and multiply counts by n',
    defaultText: 'all objects',
    commands: SESSION,
    value: whole(1, 999_999, 'It is a whole number from 1 to 999999.'),
    passes: true,
    modes: {
      takes: ['alloc'],
      says: (mode) => `--sample-every is for allocations, and --mode ${mode} records none`,
      hint: 'Add --mode alloc, or leave --sample-every out.',
    },
  }),
  option({
    name: '--call-sites',
    help: 'separate rows for each call site of a method (line and bytecode index)',
    commands: SESSION,
    passes: true,
    needsAllCalls: true,
    notWithAll: 'rows of call sites cannot be added up',
  }),
  option({
    name: '--profiler <jar>',
    help: 'for --mode bytecodes and for sampling by bytecodes: your own profiling agent; it runs in the application threads of the JVM',
    commands: SESSION,
    offers: 'jar',
    modes: {
      takes: ['bytecodes', 'sample'],
      says: (mode) => `--profiler needs counted bytecodes, and --mode ${mode} counts none`,
      hint: 'Add --mode bytecodes, or --mode sample with --every 10000bc.',
    },
    excludes: {
      followThreads: {
        says: '--profiler cannot be combined with --follow-threads: it gets only trees of threads that call a root',
        hint: 'Leave one of the two out.',
      },
    },
    notInFile: 'runs code',
    isOfThisMachine: true,
  }),
  option({
    name: '--no-call-sites',
    help: 'merge the call sites of a method into one row',
    commands: ['compare'],
  }),
  option({
    name: '--trace <call>',
    help: 'for a profile recorded with --trace: show only this traced call, in more detail',
    commands: ['report'],
    value: whole(0, 999_999_999, 'It is a whole number.'),
    notInFile: 'is of one profile',
  }),
  option({
    name: '--back-traces <method>',
    help: 'instead of the tree, show the callers of this method, and their callers',
    commands: ['report'],
    isRepeatable: true,
    notInFile: 'is of one profile',
  }),
])
