// What can be asked of a JVM on another machine.

import { SCHEME_CHOICES } from '../base/scheme.ts'
import { MODES } from '../profile/profile.ts'
import { NotFromAfar } from '../remote/errors.ts'
import { Malformed } from '../wire/unpack.ts'
import {
  LEAST_CONTEXTS,
  MOST_CONTEXTS,
  MOST_COUNT,
  MOST_EVERY,
  MOST_OVERHEAD,
  type SessionFlags,
} from './options.ts'
import { MOST_CALLS } from './trace-options.ts'
import { isSampledByJvm, SAMPLERS } from './whole-jvm-options.ts'

/** @throws NotFromAfar */
export function checkRemoteFlags(flags: SessionFlags): void {
  if (isSampledByJvm(flags)) throw new NotFromAfar('sampling by time')
  // Files of one machine mean nothing on the other, and are code.
  if (flags.profiler !== undefined) throw new NotFromAfar('--profiler')
  if (flags.bba !== undefined && flags.bba !== 'default' && flags.bba !== 'precise')
    throw new NotFromAfar('--bba with a file')
}

type Rule = (value: unknown) => boolean

/** Patterns and roots that one session takes from another machine. */
const MOST_TEXTS = 10_000

const flag: Rule = (value) => typeof value === 'boolean'
const text: Rule = (value) => typeof value === 'string'
const texts: Rule = (value) => Array.isArray(value) && value.length <= MOST_TEXTS && value.every(text)
const oneOf =
  (values: readonly unknown[]): Rule =>
  (value) =>
    values.includes(value)
const whole =
  (least: number, most: number): Rule =>
  (value) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most
const above0: Rule = (value) => typeof value === 'number' && value > 0 && Number.isFinite(value)

const RULES: { readonly [name in keyof Required<SessionFlags>]: Rule } = {
  region: texts,
  root: texts,
  scheme: oneOf(SCHEME_CHOICES),
  time: texts,
  include: texts,
  exclude: texts,
  jdk: flag,
  followThreads: flag,
  mode: oneOf(MODES),
  waits: flag,
  bba: text,
  reproducible: flag,
  profiler: text,
  every: text,
  callSites: flag,
  random: whole(0, MOST_COUNT),
  sampler: oneOf(SAMPLERS),
  debugInfo: flag,
  sampleEvery: whole(1, MOST_EVERY),
  maxOverhead: (value) => above0(value) && Number(value) <= MOST_OVERHEAD,
  slow: (value) => value === 'p99' || above0(value),
  liveness: flag,
  trace: whole(1, MOST_CALLS),
  maxContexts: whole(LEAST_CONTEXTS, MOST_CONTEXTS),
  yes: flag,
}

/**
 * What a client has sent, as its own command line would have taken it: whoever has the key of a proxy may speak without
 * one. Options that are none of a session do not matter here.
 *
 * @throws Malformed
 */
export function flagsFromAfar(sent: Readonly<Record<string, unknown>>): SessionFlags {
  const flags: Record<string, unknown> = {}
  for (const [name, isRight] of Object.entries(RULES)) {
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined
    if (value === undefined || value === null) continue
    if (!isRight(value)) throw new Malformed(`an option ${name} that is none`)
    flags[name] = value
  }
  if (flags.scheme === undefined) throw new Malformed('options without a scheme')
  return flags as unknown as SessionFlags
}
