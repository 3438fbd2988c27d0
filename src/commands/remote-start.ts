// From the call to a proxy until it records. Whoever has enough before that leaves the JVM as it was: a proxy whose
// client has only gone records for it until its grace is over.

import type { SessionFlags } from '../options/table.ts'
import type { RemoteAddress } from '../remote/address.ts'
import type { Caller } from '../remote/caller.ts'
import type { Progress } from '../tui/progress.ts'
import { RemoteSession } from './remote-session.ts'
import { type StopSignal, signalStatus } from './signals.ts'

export interface Start {
  readonly address: RemoteAddress
  /** As a proxy may have them: without what is done here with the profile. */
  readonly flags: SessionFlags
  readonly stop: StopSignal
  readonly progress: Progress
}

/**
 * @param found  told which JVM it is, before anything in it is touched
 * @returns null if a signal came first: that has been said, and is the exit status
 * @throws ProxySays: what a look for the JVM and an attach say there
 */
export async function startedFromAfar(
  caller: Caller,
  { address, flags, stop, progress }: Start,
  found: (pid: number) => Promise<void> = async () => {},
): Promise<RemoteSession | null> {
  const pid = await Promise.race([RemoteSession.find(caller, address.target), stop.fired])
  if (typeof pid === 'string') {
    progress.done('interrupted before anything was touched')
    process.exitCode = signalStatus(pid)
    return null
  }
  await found(pid)
  progress.phase(`attaching to ${pid} by ${address.where}`)
  const starting = RemoteSession.start(caller, pid, flags)
  const first = await Promise.race([starting, stop.fired])
  if (typeof first !== 'string') return first
  progress.phase(`leaving JVM ${pid} by ${address.where}; once more does not wait for it`)
  await starting.catch(() => {}) // it has not begun
  const how = (await caller.leave())
    ? 'the agent has left'
    : 'the proxy did not say whether the agent has left'
  progress.done(`interrupted before anything was recorded; ${how} JVM ${pid}`)
  process.exitCode = signalStatus(first)
  return null
}
