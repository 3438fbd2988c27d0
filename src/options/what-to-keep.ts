// Options that say what of it is kept, or shown.

import { inGroup, option, SESSION } from './option.ts'
import { threshold, whole } from './value.ts'

/** 2 GiB, and as much for pictures. */
const MOST_CONTEXTS = 2 ** 24
const LEAST_CONTEXTS = 1000
const MOST_TRACED_CALLS = 1000

const anyNumber = whole(0, 999_999_999, 'It is a whole number.')

export const WHAT_TO_KEEP = inGroup('What to keep', [
  option({
    /** `p99`, or ns. */
    name: '--slow <time|p99>',
    help: 'keep extra trees of root calls that are slower than the p99 of all, or than a time: 50ms',
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
    help: 'keep the first n root calls event by event: order in time, and critical path',
    commands: SESSION,
    value: whole(1, MOST_TRACED_CALLS, `It is how many calls of the root, from 1 to ${MOST_TRACED_CALLS}.`),
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
    help: 'most rows of the calling context tree; above it the cheapest are collapsed; what memory allows unless given',
    commands: SESSION,
    value: whole(
      LEAST_CONTEXTS,
      MOST_CONTEXTS,
      `It is a whole number from ${LEAST_CONTEXTS} to ${MOST_CONTEXTS}.`,
    ),
    passes: true,
  }),
  option({
    name: '--reproducible',
    help: 'for modes other than exact and locks: omit what differs between runs',
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
    help: 'how many',
    commands: ['roots'],
    value: anyNumber,
    default: 10,
  }),
  option({
    name: '--top <n>',
    help: 'how many methods, and how many contexts, in each direction',
    commands: ['compare'],
    value: anyNumber,
    default: 10,
  }),
  option({
    name: '--top <n>',
    help: 'how many hot methods',
    commands: ['report'],
    value: anyNumber,
    default: 20,
  }),
  option({
    name: '--threads',
    help: 'a tree for each thread, too',
    commands: ['report'],
  }),
  option({
    name: '--threads',
    help: 'a tree for each thread, instead of all threads together',
    commands: ['export'],
  }),
])
