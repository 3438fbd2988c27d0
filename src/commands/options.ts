// Options that attach, record and run share, from the command line's strings to the session's types.

import { type Command, InvalidArgumentError } from 'commander'
import { EX_USAGE, JfluidError } from '../base/errors.ts'
import { parseClassPattern, parseRoot } from '../reveal/patterns.ts'
import type { SessionOptions } from '../session/session.ts'

export class BadPid extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Give the number that `jfluid ps` shows in its first column.'
  constructor(text: string) {
    super(`'${text}' is not a process id`)
  }
}

export class NoRoot extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Name the method where the task starts: --root com.foo.Service.process'
  constructor() {
    super('no root method was given')
  }
}

export interface SessionFlags {
  readonly root?: readonly string[]
  readonly scheme: 'a' | 'b'
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly jdk?: boolean
  readonly lookAhead: number
  readonly followThreads?: boolean
  readonly rare?: 'arm' | 'watch'
}

export const DEFAULT_LOOK_AHEAD = 32

/** Adds the options that say what is profiled. */
export function withSessionFlags(command: Command): Command {
  const collect = (value: string, before: readonly string[] = []): string[] => [...before, value]
  return command
    .option(
      '-r, --root <method>',
      'root of the call subgraph, Class.method or Class.method(descriptor); repeatable',
      collect,
    )
    .option(
      '--scheme <a|b>',
      'a: instrument all that is reachable; b: what callers that were called can reach',
      scheme,
      'b',
    )
    .option('--include <pattern>', 'only classes that match, as com.foo.**; repeatable', collect)
    .option('--exclude <pattern>', 'no classes that match; repeatable', collect)
    .option('--jdk', 'instrument JDK classes too')
    .option(
      '--look-ahead <n>',
      'methods a first invocation may add beyond its direct callees',
      count,
      DEFAULT_LOOK_AHEAD,
    )
    .option(
      '--rare <arm|watch>',
      'methods that have run seldom or never: probes in case they run, or only once they have',
      rare,
      'arm',
    )
    .option(
      '--follow-threads',
      'work handed to executors or new threads inside the root is part of it, below what submitted it',
    )
}

function scheme(value: string): 'a' | 'b' {
  const lower = value.toLowerCase()
  if (lower === 'a' || lower === 'b') return lower
  throw new InvalidArgumentError('It is a or b.')
}

function rare(value: string): 'arm' | 'watch' {
  const lower = value.toLowerCase()
  if (lower === 'arm' || lower === 'watch') return lower
  throw new InvalidArgumentError('It is arm or watch.')
}

/** A whole number from 0 on. */
export function count(value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value)
  throw new InvalidArgumentError('It is a whole number.')
}

/** @throws NoRoot, BadPattern */
export function sessionOptions(flags: SessionFlags): SessionOptions {
  if (flags.root === undefined || flags.root.length === 0) throw new NoRoot()
  return {
    scheme: flags.scheme,
    roots: flags.root.map(parseRoot),
    include: (flags.include ?? []).map((p) => parseClassPattern('include', p)),
    exclude: (flags.exclude ?? []).map((p) => parseClassPattern('exclude', p)),
    jdk: flags.jdk === true,
    lookAhead: flags.lookAhead,
    followThreads: flags.followThreads === true,
    rare: flags.rare ?? 'arm',
  }
}

/** @throws BadPid */
export function parsePid(text: string): number {
  const pid = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0
  if (pid === 0 || pid > 2 ** 31 - 1) throw new BadPid(text)
  return pid
}
