// Options that say which JVM a command is for.

import { option } from './option.ts'
import { debuggerAddress } from './value.ts'

export const WHICH_JVM = [
  option({
    name: '--jdwp <host:port>',
    group: 'Which JVM',
    help: 'in place of a process id: the port where a JVM takes a debugger (-agentlib:jdwp)',
    commands: ['attach', 'record', 'doctor'],
    value: debuggerAddress,
    notWithAll: "a debugger's port is that of one JVM",
    reaches: 'sends data',
  }),
  option({
    name: '--all <pattern>',
    group: 'Which JVM',
    help: 'in place of a process id: all JVMs with that main class, a part of it or a pattern, or in that container, together; 16 at most',
    commands: ['attach', 'record'],
  }),
  option({
    name: '--wait-for <pattern>',
    group: 'Which JVM',
    help: "in place of a process id: the first JVM with that main class, a part of it or a pattern as 'com.shop.*', now or once it is started",
    commands: ['attach', 'record'],
    notWithAll: {
      why: 'it takes the JVMs that are there',
      instead: 'Leave one of the two out: start it when all are there.',
    },
  }),
  option({
    name: '--wait-timeout <time>',
    group: 'Which JVM',
    help: 'how long to wait for it: 30s, 2m; without end unless given',
    commands: ['attach', 'record'],
    needs: {
      oneOf: ['waitFor'],
      says: '--wait-timeout says how long --wait-for waits, and there is none',
      hint: 'Say which JVM to wait for: --wait-for OrderServer',
    },
  }),
  option({
    name: '--stdio',
    group: 'Which JVM',
    help: 'for one client, by the ssh connection that has started it',
    commands: ['proxy'],
  }),
  option({
    name: '--listen <address>',
    group: 'Which JVM',
    help: 'for clients that have its key, by TLS: a port, of the loopback interface; or address:port',
    commands: ['proxy'],
  }),
  option({
    name: '--key-file <file>',
    group: 'Which JVM',
    help: 'with --listen, the file of the key, made if there is none; otherwise it is shown once',
    commands: ['proxy'],
    offers: 'file',
    reaches: 'names a key',
  }),
  option({
    name: '--grace <time>',
    group: 'Which JVM',
    help: 'how long a session waits for a client whose connection was lost',
    commands: ['proxy'],
    default: '60s',
  }),
  option({
    name: '--session <name>',
    group: 'Which JVM',
    help: 'the process of one session, started by --stdio',
    commands: ['proxy'],
    isHidden: true,
  }),
  option({
    name: '--force',
    group: 'Which JVM',
    help: 'also if that jfluid lives: its recording ends, and is kept as far as it came',
    commands: ['detach'],
    reaches: 'gives consent',
  }),
] as const
