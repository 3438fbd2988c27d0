// Options that say which JVM a command is for.

import { inGroup, option } from './option.ts'
import { debuggerAddress } from './value.ts'

export const WHICH_JVM = inGroup('Which JVM', [
  option({
    name: '--jdwp <host:port>',
    help: 'instead of a process id: the debug port of a JVM (-agentlib:jdwp)',
    commands: ['attach', 'record', 'doctor'],
    value: debuggerAddress,
    notWithAll: 'a debug port belongs to one JVM',
    notInFile: 'sends data',
  }),
  option({
    name: '--all <pattern>',
    help: 'instead of a process id: all JVMs, 16 at most, whose main class or jar contains or matches this, or of a container:name',
    commands: ['attach', 'record'],
    needs: {
      oneOf: ['root', 'region'],
      says: '--all needs a root, whose calls it records in several JVMs',
      hint: 'Name a root: --root OrderService.process',
    },
  }),
  option({
    name: '--wait-for <pattern>',
    help: "instead of a process id: the first JVM, running or started later, whose main class or jar contains this, or matches it as 'com.shop.*'",
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
    help: 'how long --wait-for waits: 30s, 2m; without limit unless given',
    commands: ['attach', 'record'],
    needs: {
      oneOf: ['waitFor'],
      says: '--wait-timeout needs --wait-for: it limits that wait',
      hint: 'Name the JVM to wait for: --wait-for OrderServer',
    },
  }),
])
