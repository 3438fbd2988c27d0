// Options that say which JVM a command is for.

import { inGroup, option } from './option.ts'
import { debuggerAddress } from './value.ts'

export const WHICH_JVM = inGroup('Which JVM', [
  option({
    name: '--jdwp <host:port>',
    help: 'instead of a process id: the debug port of a JVM (-agentlib:jdwp)',
    commands: ['attach', 'record', 'doctor'],
    value: debuggerAddress,
    notWithAll: "a debugger's port is that of one JVM",
    notInFile: 'sends data',
  }),
  option({
    name: '--all <pattern>',
    help: 'instead of a process id: all JVMs, 16 at most, whose main class or jar contains or matches this, or of a container:name',
    commands: ['attach', 'record'],
    needs: {
      oneOf: ['root', 'region'],
      says: '--all shows the calls of a root in several JVMs, and there is no root',
      hint: 'Name a root: --root OrderService.process',
    },
  }),
  option({
    name: '--wait-for <pattern>',
    help: "instead of a process id: the first JVM, running or started later, whose main class or jar contains this, or matches it as 'com.shop.*'",
    commands: ['attach', 'record'],
    excludes: {
      jdwp: {
        says: "--wait-for says which JVM is meant, and so does '--jdwp'",
        hint: 'Leave one of the two out.',
      },
    },
    notWithAll: {
      why: 'it takes the JVMs that are there',
      instead: 'Leave one of the two out: start it when all are there.',
    },
  }),
  option({
    name: '--wait-timeout <time>',
    help: 'how long --wait-for waits: 30s, 2m; without limit unless given',
    commands: ['attach', 'record'],
    needs: {
      oneOf: ['waitFor'],
      says: '--wait-timeout says how long --wait-for waits, and there is none',
      hint: 'Say which JVM to wait for: --wait-for OrderServer',
    },
  }),
])
