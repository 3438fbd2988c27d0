// A target without free threads or file descriptors, by limits that are lowered from outside.

import type { Jdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { type Limit, limitOf, NOBODY } from './limits.ts'
import type { Outcome } from './trials.ts'
import { Witness } from './witness.ts'

export const IS_ROOT = process.getuid?.() === 0
export const ROOT_METHOD = ['--root', 'fix.Witness.root', '--root', 'fix.Witness.fresh']

interface Scarce {
  readonly what: string
  /** User of the target. */
  readonly user: typeof NOBODY | undefined
  limit(pid: number): Limit
  readonly refusal: RegExp
}

export const THREADS: Scarce = {
  what: 'threads',
  user: IS_ROOT ? NOBODY : undefined,
  limit: (pid) => limitOf(pid, ['nproc', 'Max processes'], 1),
  refusal: /cannot attach to JVM \d+: it can start no more threads/,
}
export const DESCRIPTORS: Scarce = {
  what: 'descriptors',
  user: undefined,
  limit: (pid) => limitOf(pid, ['nofile', 'Max open files'], 4),
  refusal: /cannot attach to JVM \d+: it can open no more files/,
}

export function start(jdk: Jdk, { user }: Scarce): Promise<Witness> {
  return Witness.start(jdk, { vm: ['-Xmx64m'], threads: 1, options: { ...user, cwd: '/' } })
}

/** Returns the errors after the limits are restored, including errors of the next attach. */
export async function outcome(witness: Witness, profile: Outcome['profile'], ms = {}) {
  const { harm, longest } = await witness.harm()
  const next = startRecording(witness.pid, ...ROOT_METHOD)
  witness.client(next.process.pid)
  await next.started
  await witness.load(3)
  const { truncated, warnings } = await next.stop()
  const wrong = truncated ? [`next attach: ${warnings}`] : []
  await witness.ownCode()
  harm.push(...(await witness.harm()).harm)
  const left = await witness.left()
  await witness.end()
  return { harm, wrong, profile, left, ms: { ...ms, 'stood still': longest } }
}
