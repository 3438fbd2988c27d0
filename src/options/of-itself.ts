// Options of the commands proxy and mcp, and options that control the configuration file.

import { inGroup, option, SESSION } from './option.ts'
import { duration } from './value.ts'

/** Name of the configuration file in the working directory. */
export const CONFIG_FILE = 'jfluid.config.json'

const CONFIGURED = [
  ...(['ps', 'doctor', 'why', 'threads', 'attach', 'record', 'run', 'detach'] as const),
  ...(['gate', 'compare', 'report', 'export', 'push'] as const),
] as const

export const OF_ITSELF = inGroup('Options', [
  option({
    name: '--stdio',
    help: 'serve one client over standard input and output, started through ssh',
    commands: ['proxy'],
    excludes: {
      listen: {
        says: '--stdio cannot be combined with --listen: a proxy accepts clients in only one of these ways',
        hint: 'Leave one of the two out.',
      },
    },
  }),
  option({
    name: '--listen <address>',
    help: 'accept TLS clients that have the key of the proxy: a port of the loopback interface, or address:port',
    commands: ['proxy'],
  }),
  option({
    name: '--key-file <file>',
    help: 'with --listen: file of the key, created if missing',
    commands: ['proxy'],
    defaultText: 'a new key, shown once',
    offers: 'file',
    needs: {
      oneOf: ['listen'],
      says: '--key-file needs --listen: only clients of a listening proxy use the key',
      hint: 'Add --listen [address:]port, or leave --key-file out.',
    },
    notInFile: 'names a key',
  }),
  option({
    name: '--grace <time>',
    help: 'how long a session waits for its client to reconnect',
    commands: ['proxy'],
    value: duration,
    default: 60_000,
    defaultText: '60s',
  }),
  option({
    name: '--session <name>',
    help: 'process of one session, started by --stdio',
    commands: ['proxy'],
    isHidden: true,
  }),
  option({
    name: '--yes',
    help: 'do not ask for confirmation before scheme a or b instruments more than 2000 methods, before the first redefinition makes a busy JVM compile all its code again, or before a thread dump of a JVM with more than 1000 threads',
    commands: ['why', 'threads', ...SESSION],
    withRegion: true,
    withSamples: true,
    notInFile: 'gives consent',
  }),
  option({
    name: '--allow-attach',
    help: 'also offer the tools why and record, with which the assistant attaches to JVMs',
    commands: ['mcp'],
    notInFile: 'gives consent',
  }),
  option({
    name: '--show-config',
    help: 'print each option value and its origin, then exit; needs no JVM',
    commands: CONFIGURED,
    notInFile: 'controls the use of this file',
  }),
  option({
    name: '--no-config',
    help: `ignore ${CONFIG_FILE} of the current directory`,
    commands: CONFIGURED,
    notInFile: 'controls the use of this file',
  }),
])
