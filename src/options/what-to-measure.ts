// Options that say what is measured.

import { MODES } from '../profile/profile.ts'
import { option, SESSION } from './option.ts'
import { oneOf, whole } from './value.ts'

/** A place in the target for each object that is looked after, and there are 65,536. */
const LIVENESS_EVERY = 100

export const WHAT_TO_MEASURE = [
  option({
    name: '--mode <mode>',
    group: 'What to measure',
    help:
      'exact: time of every call; locks: how much of it was waiting; bytecodes: what it executes, the same in every run; count: calls only; ' +
      'alloc: objects it allocates, by class; sample: where threads are, by time or by bytecodes',
    commands: SESSION,
    value: oneOf(MODES),
    default: 'exact',
    passes: true,
    withRegion: ['exact'],
    withSamples: true,
  }),
  option({
    name: '--waits',
    group: 'What to measure',
    help: 'for --mode exact: time blocked or waiting has rows of its own, and is no self time',
    commands: SESSION,
    passes: true,
    needsAllCalls: true,
    modes: {
      takes: ['exact', 'locks'],
      says: (mode) => `--waits tells waiting from running, and --mode ${mode} measures no time`,
      hint: 'Take --mode exact or --mode locks, or leave --waits out.',
    },
  }),
  option({
    name: '--liveness',
    group: 'What to measure',
    help: 'for --mode alloc: which recorded objects are still alive, and for how many collections; one of 100, unless --sample-every says otherwise',
    commands: SESSION,
    passes: true,
    implies: { sampleEvery: LIVENESS_EVERY },
    modes: {
      takes: ['alloc'],
      says: (mode) => `--liveness says which recorded objects are alive, and --mode ${mode} records none`,
      hint: 'Add --mode alloc, or leave --liveness out.',
    },
    notWithAll: 'what is alive is so in one JVM',
  }),
  option({
    name: '--call-sites',
    group: 'What to measure',
    help: 'tell calls of one method from different places apart, by line and bytecode index',
    commands: SESSION,
    passes: true,
    needsAllCalls: true,
    notWithAll: 'call sites are not added up',
  }),
  option({
    name: '--shape',
    group: 'What to measure',
    help: 'only how much their trees agree, also of different modes',
    commands: ['compare'],
    excludes: {
      failIf: shapeHasNoCosts('--fail-if'),
      html: shapeHasNoCosts('--html'),
    },
  }),
  option({
    name: '--no-call-sites',
    group: 'What to measure',
    help: 'do not tell calls of a method from different places apart',
    commands: ['compare'],
  }),
  option({
    name: '--trace <call>',
    group: 'What to measure',
    help: 'of a profile with --trace: this call only, and more of it',
    commands: ['report'],
    value: whole(0, 999_999_999, 'It is a whole number.'),
    notInFile: 'is of one profile',
  }),
  option({
    name: '--back-traces <method>',
    group: 'What to measure',
    help: 'in place of the tree, who calls this method, and who calls those',
    commands: ['report'],
    isRepeatable: true,
    notInFile: 'is of one profile',
  }),
] as const

/** A condition on costs, or a page of them, would silently be left out. */
function shapeHasNoCosts(option: string) {
  return {
    says: `--shape and ${option} exclude each other: --shape compares no costs`,
    hint: 'Leave out one of the two, or run jfluid compare twice.',
  }
}
