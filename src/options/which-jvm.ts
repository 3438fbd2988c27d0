// Options that select the JVM.

import { inGroup, option } from './option.ts'
import { debuggerAddress, duration, mainClassPattern } from './value.ts'

const JDWP = {
  name: '--jdwp <host:port>',
  help: 'instead of a process id: attach through the debug port of a JVM (-agentlib:jdwp)',
  value: debuggerAddress,
  notInFile: 'sends data',
} as const

const JDWP_HINT = 'Name a root (--root) or a region (--region); with --mode sample add --every 10000bc.'

export const WHICH_JVM = inGroup('Which JVM', [
  option({ ...JDWP, commands: ['doctor'] }),
  option({
    ...JDWP,
    commands: ['attach', 'record'],
    needs: {
      oneOf: ['root', 'region'],
      says: '--jdwp needs a root: choosing one works only with a process id',
      hint: JDWP_HINT,
    },
    notSampled: {
      says: '--jdwp needs a root: sampling by time works only with a process id',
      hint: JDWP_HINT,
    },
    notWithAll: 'a debug port belongs to one JVM',
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
    help: 'timeout of --wait-for: 30s, 2m',
    commands: ['attach', 'record'],
    value: duration,
    defaultText: 'no timeout',
    needs: {
      oneOf: ['waitFor'],
      says: '--wait-timeout needs --wait-for: it limits that wait',
      hint: 'Name the JVM to wait for: --wait-for OrderServer',
    },
  }),
  option({
    name: '--jvm <pattern>',
    help: "profile only JVMs that the command starts with this text, or a pattern such as 'surefire*', in the main class or jar name",
    commands: ['run'],
    value: mainClassPattern,
    defaultText: 'the JVMs that call the root',
    notSampled: {
      says: '--jvm needs a root: with sampling by time, the first JVM of the command is sampled',
      hint: 'Name a root (--root) without --mode sample, or use jfluid record --wait-for <main class>.',
    },
  }),
])
