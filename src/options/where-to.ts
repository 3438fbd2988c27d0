// Options that select the destination and the format of the profile.

import { FORMAT_NAMES } from './formats.ts'
import { inGroup, option } from './option.ts'
import { durationOrOff, oneOfAnyCase } from './value.ts'

/** Default of --autosave. */
export const DEFAULT_AUTOSAVE_INTERVAL_MS = 5000

const AUTOSAVE = {
  name: '--autosave <time>',
  help: 'interval at which a copy of the profile recorded so far is written beside the file, in case jfluid is killed; off: no copies',
  value: durationOrOff,
  defaultText: `${DEFAULT_AUTOSAVE_INTERVAL_MS / 1000}s`,
} as const

function autosaveNeeds(option: string) {
  return {
    says: `--autosave needs ${option}, which names the file of the profile`,
    hint: `Add ${option} <file>, or leave --autosave out.`,
  }
}

const LABEL = {
  name: '--label <name=value>',
  help: 'label of the pushed profile, in addition to pid and mode; service_name=shop sets the name shown by the server, which is otherwise the main class; an empty value (pid=) removes the label',
  isRepeatable: true,
} as const

const STORES = 'Pyroscope (http://host:4040) or OTLP (experimental, otlp+http://host:4318)'

export const WHERE_TO = inGroup('Output', [
  option({
    name: '--out <file>',
    help: 'write the profile to this file when jfluid detaches',
    commands: ['attach'],
    offers: 'file',
    notInFile: 'writes a file',
  }),
  option({
    name: '--out <file>',
    help: 'write the profile to this file; --out, --push or both are required',
    commands: ['record'],
    offers: 'file',
    notInFile: 'writes a file',
  }),
  option({
    name: '--record <file>',
    help: 'no live view: profile until the program ends, then write the profile to this file',
    commands: ['run'],
    offers: 'file',
    notInFile: 'writes a file',
  }),
  option({ ...AUTOSAVE, commands: ['attach'], needs: { oneOf: ['out'], ...autosaveNeeds('--out') } }),
  option({ ...AUTOSAVE, commands: ['record'] }),
  option({ ...AUTOSAVE, commands: ['run'], needs: { oneOf: ['record'], ...autosaveNeeds('--record') } }),
  option({
    name: '--push <url>',
    help: `send the profile to a profile server: ${STORES}`,
    commands: ['record'],
    excludes: {
      region: {
        says: '--push cannot be combined with --region: profile servers accept only trees of calls',
        hint: 'Write the profile to a file with --out, or use --root in place of --region.',
      },
    },
    notWithAll: {
      why: 'a pushed profile has one JVM',
      instead: 'Leave --push out, and push the file of each JVM afterwards: jfluid push <file> --to <url>',
    },
    notInFile: 'sends data',
  }),
  option({
    name: '--to <url>',
    help: `profile server: ${STORES}`,
    commands: ['push'],
    isRequired: true,
    notInFile: 'sends data',
  }),
  option({ ...LABEL, commands: ['push'] }),
  option({
    ...LABEL,
    commands: ['record'],
    needs: {
      oneOf: ['push'],
      says: '--label needs --push: it is a label of a pushed profile',
      hint: 'Add --push <url>, or leave --label out.',
    },
  }),
  option({
    name: '--redact',
    help: 'push without trace ids and the values of --by and --show: rows of --by get numbers, by=#1; files keep the values',
    commands: ['record'],
    needs: {
      oneOf: ['push'],
      says: '--redact needs --push: it removes values from a pushed profile, and not from the file of --out',
      hint: 'Add --push <url>, or leave --redact out, and export the file with: jfluid export <file> --redact',
    },
  }),
  option({
    name: '--format <name>',
    help: FORMAT_NAMES.join(', '),
    commands: ['export'],
    value: oneOfAnyCase(FORMAT_NAMES),
    defaultText: 'given by the extension of --out',
    offers: 'format',
  }),
  option({
    name: '--out <file>',
    help: 'file to write',
    defaultText: 'standard output',
    commands: ['export'],
    offers: 'file',
    notInFile: 'writes a file',
  }),
  option({
    name: '--redact',
    help: 'without trace ids and the values of --by and --show: rows of --by get numbers, by=#1, which differ between files',
    commands: ['report', 'export', 'push', 'compare'],
  }),
  option({
    name: '--fail-if <condition>',
    help: "exit with status 82 if the condition holds: 'Foo.bar self > +10%', 'root total > 5ms'",
    commands: ['compare'],
    isRepeatable: true,
  }),
  option({
    name: '--before <file|range...>',
    help: 'files in place of the first file, whose differences give the noise; or a time range of the first file: 0s-30s',
    commands: ['compare'],
    isRepeatable: true,
    offers: 'file',
    notInFile: 'is of one profile',
  }),
  option({
    name: '--after <file|range...>',
    help: 'files in place of the second file, or a time range of it',
    commands: ['compare'],
    isRepeatable: true,
    offers: 'file',
    notInFile: 'is of one profile',
  }),
  option({
    name: '--html <file>',
    help: 'also write an HTML page with a differential flame graph',
    commands: ['compare'],
    offers: 'file',
    notInFile: 'writes a file',
  }),
  option({
    name: '--markdown',
    help: 'print Markdown, for a comment on a pull request',
    commands: ['compare'],
    excludes: { json: 'only one format can be printed' },
  }),
  option({
    name: '--source <folder>',
    help: 'folder with source files, or of a Maven or Gradle project: the key v of the live view shows the lines of a method and their shares',
    commands: ['attach', 'run', 'open'],
    isRepeatable: true,
    offers: 'file',
    excludes: {
      record: 'with --record there is no live view',
      region: 'the view of regions has no methods to select',
    },
  }),
  option({
    name: '--json',
    help: 'print JSON',
    commands: ['ps', 'doctor', 'why', 'threads', 'detach', 'gate', 'compare', 'report'],
  }),
])
