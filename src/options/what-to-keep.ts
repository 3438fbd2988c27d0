// Options that select the stored and shown data.

import { MAX_SHOWS } from '../base/value-path.ts'
import { inGroup, option, SESSION } from './option.ts'
import { type SlowOption, selectedBy, slowCalls, valueOfArguments, valueOfRoot, whole } from './value.ts'
import { WHY_TOP } from './what-to-profile.ts'

/** Maximum of --max-contexts. This number of contexts needs 2 GiB, plus 2 GiB for snapshots. */
const MAX_CONTEXTS = 2 ** 24
const MIN_CONTEXTS = 1000
const MAX_TRACED_CALLS = 1000

const VALUE_MODES = {
  takes: ['exact', 'locks'],
  hint: 'Use --mode exact or --mode locks.',
} as const

const anyNumber = whole(0, 999_999_999, 'It is a whole number.')

export const WHAT_TO_KEEP = inGroup('What to keep', [
  option({
    name: '--slow <time|p99|threw>',
    help: 'keep separate trees of slow root calls: slower than the p99 of all root calls, or than a time: 50ms; `threw`: of root calls that an exception ended; both: p99,threw',
    commands: SESSION,
    value: slowCalls,
    passes: true,
    modes: {
      takes: ['exact', 'locks', 'bytecodes'],
      says: (mode) => `--slow needs times or bytecodes of root calls, which --mode ${mode} does not record`,
      hint: 'Leave --slow out, or use --mode exact, locks or bytecodes.',
    },
    refuses: (value, mode) =>
      mode === 'bytecodes' && typeof selectedBy(value as SlowOption).threshold === 'number'
        ? {
            says: '--slow with a time cannot be combined with --mode bytecodes, which records no times',
            hint: 'Use --slow p99.',
          }
        : null,
    notWithAll: 'slow calls are found separately in each JVM',
  }),
  option({
    name: '--show <value>',
    help: `keep this value of each slow root call: arg0.customer.id, this.name, return.size; at most ${MAX_SHOWS} times`,
    commands: SESSION,
    value: valueOfRoot,
    isRepeatable: true,
    passes: true,
    implies: { slow: 'p99' },
    modes: {
      ...VALUE_MODES,
      says: (mode) => `--show needs slow root calls, whose values --mode ${mode} does not record`,
    },
    refuses: (value) =>
      Array.isArray(value) && value.length > MAX_SHOWS
        ? {
            says: `--show was given ${value.length} times: at most ${MAX_SHOWS} values of a root call are kept`,
            hint: `Leave out all but ${MAX_SHOWS} of them.`,
          }
        : null,
    notWithAll: 'slow calls are found separately in each JVM',
  }),
  option({
    name: '--by <value>',
    help: 'divide the root by a value of its arguments or of its object: a row by=… below the root for each of the first 64 values, and by=(other)',
    commands: SESSION,
    value: valueOfArguments,
    passes: true,
    modes: {
      ...VALUE_MODES,
      says: (mode) => `--by divides times, which --mode ${mode} does not record`,
    },
    excludes: { callSites: 'a row of a value has no call site' },
    notWithAll: 'the values of one JVM are recorded',
  }),
  option({
    name: '--call-getters',
    help: 'with --show and --by: also call methods that run code of the program; a method that takes more than 1 ms twice within 10 s is not called again',
    commands: SESSION,
    passes: true,
    needs: {
      oneOf: ['show', 'by'],
      says: '--call-getters needs --show or --by, which name the methods',
      hint: "Add --show 'arg0.getId()' or --by 'arg0.getId()', or leave --call-getters out.",
    },
    notInFile: 'runs code',
  }),
  option({
    name: '--trace <n>',
    help: 'keep every event of the first n root calls, or with --slow of the n slowest (at most 10), which shows their calls in time order and the critical path',
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
    name: '--idle',
    help: 'also print the stacks of threads that wait for work',
    commands: ['threads'],
  }),
  option({
    name: '--top <n>',
    help: 'number of suggested roots',
    commands: ['why'],
    value: anyNumber,
    default: WHY_TOP,
  }),
  option({
    name: '--top <n>',
    help: 'number of methods whose change exceeds the noise; 0 shows all methods with a change',
    commands: ['compare'],
    value: anyNumber,
    default: 20,
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
