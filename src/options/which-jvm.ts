// Options that select the JVM.

import { inGroup, option } from './option.ts'
import { debuggerAddress } from './value.ts'

export const WHICH_JVM = inGroup('Which JVM', [
  option({
    name: '--jdwp <host:port>',
    help: 'instead of a process id: attach through the debug port of a JVM (-agentlib:jdwp)',
    commands: ['attach', 'record', 'doctor'],
    value: debuggerAddress,
    notWithAll: 'a debug port belongs to one JVM',
    notInFile: 'sends data',
  }),
  option({
    name: '--all <pattern>',
    help: 'instead of a process id: all JVMs (at most 16) with this text or pattern in the main class or jar name, or all JVMs of a container:name',
    commands: ['attach', 'record'],
    needs: {
      oneOf: ['root', 'region'],
      says: '--all needs a root, whose calls it records in several JVMs',
      hint: 'Name a root: --root OrderService.process',
    },
  }),
  option({
    name: '--wait-for <pattern>',
    help: "instead of a process id: the first running or future JVM with this text, or a pattern such as 'com.shop.*', in the main class or jar name",
    commands: ['attach', 'record'],
    excludes: {
      jdwp: {
        says: '--wait-for cannot be combined with --jdwp: both name a JVM',
        hint: 'Leave one of the two out.',
      },
    },
    notWithAll: {
      why: '--all takes the JVMs that run now',
      instead: 'Use --all alone, when all the JVMs run.',
    },
  }),
  option({
    name: '--wait-timeout <time>',
    help: 'timeout of --wait-for: 30s, 2m (default: no timeout)',
    commands: ['attach', 'record'],
    needs: {
      oneOf: ['waitFor'],
      says: '--wait-timeout needs --wait-for: it limits that wait',
      hint: 'Name the JVM to wait for: --wait-for OrderServer',
    },
  }),
])
