// Options that select a time range of a recording.

import { inGroup, option } from './option.ts'
import { moment } from './value.ts'

const END = {
  help: 'show only the part of the recording that ends this long after its start, rounded to segments: 20s',
  value: moment,
  defaultText: 'the end',
  notInFile: 'is of one profile',
} as const

export const WHICH_PART = inGroup('What to keep', [
  option({
    name: '--from <time>',
    help: 'show only the part of the recording that begins this long after its start, rounded to segments: 12s',
    commands: ['open', 'report', 'export', 'push'],
    value: moment,
    defaultText: 'the start',
    notInFile: 'is of one profile',
  }),
  option({ ...END, name: '--to <time>', commands: ['open', 'report', 'export'] }),
  // The option --to of push names the server.
  option({ ...END, name: '--until <time>', commands: ['push'] }),
])
