// Selects the implementation of attach and record: for several JVMs, for a JVM on another machine, for sampling, or for recording calls.

import { UsageError } from '../base/errors.ts'
import type { Flags } from '../options/table.ts'
import { remoteAddress } from '../remote/address.ts'
import { checkAll } from './all.ts'
import type { Way } from './source.ts'
import { checkWait } from './wait-for.ts'
import { checkJdwp } from './way-in.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

/** A stream consists of snapshots of a session. A sampled JVM has no session. */
export class StreamNeedsCalls extends UsageError {
  static sample = () => new StreamNeedsCalls()
  readonly hint = 'Leave one of the two out.'
  constructor() {
    super('--stream cannot be combined with sampling by time, which records no calls')
  }
}

/**
 * Imports only the selected implementation.
 *
 * @param calls  implementation that records calls
 * @throws errors in the flags, before any JVM is examined
 */
export async function wayOf(
  command: 'attach' | 'record',
  pidText: string | undefined,
  flags: Flags<'attach'> & Partial<Pick<Flags<'record'>, 'push' | 'stream'>>,
  calls: () => Promise<Way>,
): Promise<Way> {
  checkAll(command, pidText, flags)
  checkWait(pidText, flags)
  if (flags.all !== undefined) {
    const { severalJvms } = await import('./several-jvms.ts')
    return await severalJvms(flags.all, flags)
  }
  checkJdwp(pidText, flags)
  const address = pidText === undefined ? null : remoteAddress(pidText)
  if (address !== null) {
    const { remoteJvm } = await import('./remote-jvm.ts')
    return await remoteJvm(command, address, flags)
  }
  if (!isSampledByJvm(flags)) return await calls()
  if (flags.stream === true) throw new StreamNeedsCalls()
  const { wholeJvm } = await import('./whole-jvm.ts')
  return wholeJvm(pidText, flags)
}
