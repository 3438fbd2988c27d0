// Options that say where what was measured goes, and in which form.

import { FORMAT_NAMES } from './formats.ts'
import { inGroup, option } from './option.ts'

const AUTOSAVE = {
  name: '--autosave <time>',
  help: 'how often a copy of what is recorded so far is written beside the file, in case jfluid is killed: 5s unless given, or off',
} as const

function autosaveNeeds(option: string) {
  return {
    says: `--autosave needs ${option}, which names the file of the profile`,
    hint: `Add ${option} <file>, or leave --autosave out.`,
  }
}

const STORES = 'a Pyroscope, http://host:4040; or by OTLP (experimental), otlp+http://host:4318'

export const WHERE_TO = inGroup('Where to', [
  option({
    name: '--out <file>',
    help: 'write the profile there when leaving',
    commands: ['attach'],
    offers: 'file',
    notInFile: 'writes a file',
  }),
  option({
    name: '--out <file>',
    help: 'write the profile to this file; --out, --push or both are needed',
    commands: ['record'],
    offers: 'file',
    notInFile: 'writes a file',
  }),
  option({
    name: '--record <file>',
    help: 'no screen: profile until the program ends, then write the profile',
    commands: ['run'],
    offers: 'file',
    notInFile: 'writes a file',
  }),
  option({ ...AUTOSAVE, commands: ['attach'], needs: { oneOf: ['out'], ...autosaveNeeds('--out') } }),
  option({ ...AUTOSAVE, commands: ['record'] }),
  option({ ...AUTOSAVE, commands: ['run'], needs: { oneOf: ['record'], ...autosaveNeeds('--record') } }),
  option({
    name: '--push <url>',
    help: `send the profile to a store: ${STORES}`,
    commands: ['record'],
    excludes: {
      region: {
        says: '--push cannot be combined with --region: stores of profiles keep only trees of calls',
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
    help: STORES,
    commands: ['push'],
    isRequired: true,
    notInFile: 'sends data',
  }),
  option({
    name: '--label <name=value>',
    help: 'a label of the pushed profile, besides pid and mode; service_name is what the profile is filed under, the main class unless given; an empty value removes pid or mode',
    commands: ['record', 'push'],
    isRepeatable: true,
    needs: {
      oneOf: ['push', 'to'],
      says: '--label needs --push: it is a label of a pushed profile',
      hint: 'Add --push <url>, or leave --label out.',
    },
  }),
  option({
    name: '--stream',
    help: 'also print to the standard output while recording: one JSON object a line',
    commands: ['record'],
    needs: {
      oneOf: ['root', 'region'],
      says: '--stream needs a root, whose calls it prints',
      hint: 'Name a root (--root) or a region (--region), or leave --stream out.',
    },
    notWithAll: 'a stream has the calls of one JVM',
    isOfThisMachine: true,
  }),
  option({
    name: '--format <name>',
    help: `${FORMAT_NAMES.join(', ')}; otherwise that of the extension of --out`,
    commands: ['export'],
    offers: 'format',
  }),
  option({
    name: '--out <file>',
    help: 'where to write it; the output otherwise',
    commands: ['export'],
    offers: 'file',
    notInFile: 'writes a file',
  }),
  option({
    name: '--fail-if <condition>',
    help: "end with 82 if it holds: 'Foo.bar self > +10%', 'root total > 5ms'",
    commands: ['compare'],
    isRepeatable: true,
  }),
  option({
    name: '--html <file>',
    help: 'write a page for a browser, too, with a differential flame graph',
    commands: ['compare'],
    offers: 'file',
    notInFile: 'writes a file',
  }),
  option({
    name: '--json',
    help: 'as JSON',
    commands: ['ps', 'doctor', 'roots', 'detach', 'gate', 'compare', 'report'],
  }),
])
