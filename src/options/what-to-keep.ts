// Options that select the stored and shown data.

import { inGroup, option, SESSION } from './option.ts'
import { threshold, whole } from './value.ts'

/** This number of contexts needs 2 GiB, plus 2 GiB for snapshots. */
const MAX_CONTEXTS = 2 ** 24
const MIN_CONTEXTS = 1000
const MAX_TRACED_CALLS = 1000

const anyNumber = whole(0, 999_999_999, 'It is a whole number.')

export const WHAT_TO_KEEP = inGroup('What to keep', [
  option({
    /** The parsed value is `p99` or a number of ns. */
    name: '--slow <time|p99>',
    help: 'keep separate trees of slow root calls: slower than the p99 of all root calls, or than a time: 50ms',
    commands: SESSION,
    value: threshold,
    passes: true,
    modes: {
      takes: ['exact', 'locks', 'bytecodes'],
      says: (mode) => `--slow needs times or bytecodes of root calls, which --mode ${mode} does not record`,
      hint: 'Leave --slow out, or use --mode exact, locks or bytecodes.',
    },
    refuses: (value, mode) =>
      mode === 'bytecodes' && value !== 'p99'
        ? {
            says: '--slow with a time cannot be combined with --mode bytecodes, which records no times',
            hint: 'Use --slow p99.',
          }
        : null,
    notWithAll: 'slow calls are found separately in each JVM',
  }),
  option({
    name: '--trace <n>',
    help: 'keep every event of the first n root calls, which shows their calls in time order and the critical path',
    commands: SESSION,
    value: whole(1, MAX_TRACED_CALLS, `It is how many calls of the root, from 1 to ${MAX_TRACED_CALLS}.`),
    passes: true,
    needsAllCalls: true,
    modes: {
      takes: ['exact', 'locks'],
      says: (mode) => `--trace needs the times of calls, which --mode ${mode} does not record`,
      hint: 'Use --mode exact, or --mode locks to see waiting, or leave --trace out.',
    },
    excludes: { callSites: 'a trace has methods and no call sites' },
    notWithAll: 'calls are traced in one JVM',
  }),
  option({
    name: '--max-contexts <n>',
    help: 'maximum number of rows (call paths) of the tree; above it, the cheapest rows are merged',
    defaultText: 'limited by memory',
    commands: SESSION,
    value: whole(MIN_CONTEXTS, MAX_CONTEXTS, `It is a whole number from ${MIN_CONTEXTS} to ${MAX_CONTEXTS}.`),
    passes: true,
  }),
  option({
    name: '--reproducible',
    help: 'for modes other than exact and locks: omit data that differs between runs',
    commands: SESSION,
    modes: {
      takes: ['bytecodes', 'count', 'alloc', 'sample'],
      says: (mode) => `--reproducible cannot be combined with --mode ${mode}: times differ from run to run`,
      hint: 'Use --mode bytecodes or --mode count instead.',
    },
    excludes: {
      liveness: {
        says: '--reproducible cannot be combined with --liveness: garbage collections differ from run to run',
        hint: 'Leave one of the two out.',
      },
    },
    notWithAll: 'a reproducible profile has one JVM',
  }),
  option({
    name: '--top <n>',
    help: 'number of suggested methods',
    commands: ['roots'],
    value: anyNumber,
    default: 10,
  }),
  option({
    name: '--top <n>',
    help: 'number of methods and number of contexts, for increases and for decreases',
    commands: ['compare'],
    value: anyNumber,
    default: 10,
  }),
  option({
    name: '--top <n>',
    help: 'number of hot methods',
    commands: ['report'],
    value: anyNumber,
    default: 20,
  }),
  option({
    name: '--threads',
    help: 'also show a tree for each thread',
    commands: ['report'],
  }),
  option({
    name: '--threads',
    help: 'export a tree for each thread, instead of one merged tree',
    commands: ['export'],
  }),
])
