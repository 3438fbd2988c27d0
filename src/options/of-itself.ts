// Options of a proxy, and those that say where other options come from.

import { inGroup, option, SESSION } from './option.ts'

/** Of the working directory. */
export const CONFIG_FILE = 'jfluid.config.json'

const CONFIGURED = [
  ...(['ps', 'doctor', 'roots', 'attach', 'record', 'run', 'detach'] as const),
  ...(['gate', 'compare', 'report', 'export', 'push'] as const),
] as const

export const OF_ITSELF = inGroup('Options', [
  option({
    name: '--stdio',
    help: 'for one client, by the ssh connection that has started it',
    commands: ['proxy'],
    excludes: {
      listen: {
        says: '--stdio cannot be combined with --listen: clients of a proxy connect by one of them',
        hint: 'Leave one of the two out.',
      },
    },
  }),
  option({
    name: '--listen <address>',
    help: 'for clients that have its key, by TLS: a port, of the loopback interface; or address:port',
    commands: ['proxy'],
  }),
  option({
    name: '--key-file <file>',
    help: 'with --listen, the file of the key, made if there is none; otherwise it is shown once',
    commands: ['proxy'],
    offers: 'file',
    needs: {
      oneOf: ['listen'],
      says: '--key-file needs --listen: the file has the key for its clients',
      hint: 'Add --listen [address:]port, or leave --key-file out.',
    },
    notInFile: 'names a key',
  }),
  option({
    name: '--grace <time>',
    help: 'how long a session waits for a client whose connection was lost',
    commands: ['proxy'],
    default: '60s',
  }),
  option({
    name: '--session <name>',
    help: 'the process of one session, started by --stdio',
    commands: ['proxy'],
    isHidden: true,
  }),
  option({
    name: '--yes',
    help: 'do not ask before schemes a and b instrument more than 2000 methods, or a busy JVM discards its compiled code',
    commands: SESSION,
    withRegion: true,
    withSamples: true,
    notInFile: 'gives consent',
  }),
  option({
    name: '--show-config',
    help: 'print the options in force and where each comes from, then exit; needs no JVM',
    commands: CONFIGURED,
  }),
  option({
    name: '--no-config',
    help: `ignore ${CONFIG_FILE} of this directory`,
    commands: CONFIGURED,
  }),
])
