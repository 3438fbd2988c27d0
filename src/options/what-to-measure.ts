// Options that say what is measured.

import { MODES } from '../profile/profile.ts'
import { inGroup, option, SESSION } from './option.ts'
import { oneOf, whole } from './value.ts'

/** A place in the target for each object that is looked after, and there are 65,536. */
const LIVENESS_EVERY = 100

export const WHAT_TO_MEASURE = inGroup('What to measure', [
  option({
    name: '--mode <mode>',
    help:
      'exact: time, as --scheme says; locks: time waiting, and for which locks; bytecodes: how many are executed, the same in every run; count: calls only; ' +
      'alloc: allocated objects by class; sample: stacks, by time (without --root: of the whole JVM) or by bytecodes',
    commands: SESSION,
    value: oneOf(MODES),
    default: 'exact',
    passes: true,
    withRegion: ['exact'],
    withSamples: true,
  }),
  option({
    name: '--liveness',
    help: 'for --mode alloc: which objects are still alive, and how many garbage collections they have survived; records 1 of 100 unless --sample-every is given',
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
    help: 'for --mode alloc: record a random 1 of n, and multiply counts by n; all unless given',
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
    help: 'separate rows for calls of a method from different places, by line and bytecode index',
    commands: SESSION,
    passes: true,
    needsAllCalls: true,
    notWithAll: 'rows of call sites cannot be added up',
  }),
  option({
    name: '--profiler <jar>',
    help: 'for --mode bytecodes, and samples by bytecodes: your own profiling agent, which runs in the JVM, in its threads',
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
    help: 'one row for calls of a method from different places',
    commands: ['compare'],
  }),
  option({
    name: '--trace <call>',
    help: 'of a profile with --trace: this call only, and more of it',
    commands: ['report'],
    value: whole(0, 999_999_999, 'It is a whole number.'),
    notInFile: 'is of one profile',
  }),
  option({
    name: '--back-traces <method>',
    help: 'in place of the tree, who calls this method, and who calls those',
    commands: ['report'],
    isRepeatable: true,
    notInFile: 'is of one profile',
  }),
])
