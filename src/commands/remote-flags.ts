// What can be asked of a JVM on another machine.

import { NotFromAfar } from '../remote/errors.ts'
import type { SessionFlags } from './options.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

/** @throws NotFromAfar */
export function checkRemoteFlags(flags: SessionFlags): void {
  if (isSampledByJvm(flags)) throw new NotFromAfar('sampling without probes (no --root, or --sampler)')
  // Files of one machine mean nothing on the other, and are code.
  if (flags.profiler !== undefined) throw new NotFromAfar('--profiler')
  if (flags.bba !== undefined && flags.bba !== 'default' && flags.bba !== 'precise')
    throw new NotFromAfar('--bba with a file')
}
