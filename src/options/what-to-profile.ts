// Options that say what is profiled: which code, and for how long.

import { inGroup, option, SESSION } from './option.ts'

const CHOOSES = [...SESSION, 'doctor'] as const

export const WHAT_TO_PROFILE = inGroup('What to profile', [
  option({
    name: '-r, --root <method>',
    help: 'profile this method and all that it calls: com.foo.Class.method, or Class.method, or with (descriptor)',
    commands: SESSION,
    isRepeatable: true,
    withSamples: true,
  }),
  option({
    name: '-r, --root <method>',
    help: 'loads the agent, and says how many methods each scheme would reach',
    commands: ['doctor'],
    isRepeatable: true,
    notInFile: 'gives consent',
  }),
  option({
    name: '--region <method[:lines]>',
    help: 'instead of --root: time these lines as a whole, with all that they call: Class.method, or Class.method:120-140',
    commands: SESSION,
    isRepeatable: true,
    withRegion: true,
    withSamples: true,
    notWithAll: 'regions are timed in one JVM',
  }),
  option({
    name: '--include <pattern>',
    help: 'only classes that match: com.foo.*, or com.foo.** with its subpackages',
    commands: CHOOSES,
    isRepeatable: true,
  }),
  option({
    name: '--exclude <pattern>',
    help: 'skip classes that match',
    commands: CHOOSES,
    isRepeatable: true,
  }),
  option({
    name: '--jdk',
    help: 'instrument JDK classes too',
    commands: CHOOSES,
  }),
  option({
    name: '--follow-threads',
    help: 'include work that the root hands to executors or new threads, below what submitted it',
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
    help: 'how long to sample: 500ms, 10s, 2m; 3s unless given, and up to 10s while there are few samples',
    commands: ['roots'],
  }),
  option({
    name: '--duration <time>',
    help: 'how long to record: 500ms, 10s, 2m',
    commands: ['record'],
    default: '10s',
  }),
])
