// Selects the implementation of attach and record: for several JVMs, for a JVM on another machine, for sampling, or for recording calls.

import { checkNotSampled } from '../options/refusals.ts'
import type { Flags } from '../options/table.ts'
import { remoteAddress } from '../remote/address.ts'
import { checkAll } from './all.ts'
import type { Way } from './source.ts'
import { checkWait } from './wait-for.ts'
import { checkJdwp } from './way-in.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

/**
 * Imports only the selected implementation.
 *
 * @param calls  implementation that records calls
 * @returns the result of `calls` if that implementation is selected
 * @throws errors in the flags, before any JVM is examined
 */
export async function wayOf<T>(
  command: 'attach' | 'record',
  pidText: string | undefined,
  flags: Flags<'attach'> & Partial<Pick<Flags<'record'>, 'push'>>,
  calls: () => Promise<T>,
): Promise<Way | T> {
  checkAll(command, pidText, flags)
  checkWait(pidText, flags)
  if (flags.all !== undefined) {
    const { severalJvms } = await import('./several-jvms.ts')
    return await severalJvms(flags.all, flags)
  }
  checkJdwp(pidText, flags)
  const isSampled = isSampledByJvm(flags)
  if (isSampled) checkNotSampled(command, flags)
  const address = pidText === undefined ? null : remoteAddress(pidText)
  if (address !== null) {
    const { remoteJvm } = await import('./remote-jvm.ts')
    return await remoteJvm(command, address, flags)
  }
  if (!isSampled) return await calls()
  const { wholeJvm } = await import('./whole-jvm.ts')
  return wholeJvm(pidText, flags)
}
