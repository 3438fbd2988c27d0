// Determines a thread's state from its Thread.State and its innermost frames.

import type { FrameName } from '../base/frame-name.ts'

/** Thread states, in the order of the tree columns `cpuNs`, … */
export const STATES = ['cpu', 'lock', 'io', 'sleep', 'wait'] as const
export const CPU = 0
export const LOCK = 1
export const IO = 2
export const SLEEP = 3
export const WAIT = 4

/** Ordinal of Thread.State.BLOCKED. */
const BLOCKED = 2

/** Number of innermost frames that are checked. The caller of park() is one of the innermost frames. */
const MAX_CHECKED_FRAMES = 12

/**
 * Native methods of the JDK in which a thread waits for a file, a socket or a process, although its Thread.State is RUNNABLE.
 */
const IO_LEAVES =
  /^(?:sun\.nio\.ch\.(?:EPoll|Net|IOUtil|UnixDispatcher|(?:Unix)?(?:File|Datagram|Socket)\w*Dispatcher\w*|(?:Unix)?FileDispatcherImpl|UnixDomainSockets|PollSelectorImpl)|java\.io\.(?:File(?:In|Out)putStream|RandomAccessFile|FileDescriptor|UnixFileSystem|Console)|java\.net\.(?:(?:Plain)?SocketInputStream|SocketOutputStream|PlainSocketImpl|PlainDatagramSocketImpl|Inet\d?AddressImpl|Inet4AddressImpl|Inet6AddressImpl)|java\.lang\.ProcessImpl|java\.lang\.ProcessHandleImpl|sun\.nio\.fs\.UnixNativeDispatcher)$/

/** Classes whose methods call park(): locks, conditions, and waits for a socket. */
const LOCKS = /^java\.util\.concurrent\.locks\.(?:ReentrantLock|ReentrantReadWriteLock|StampedLock)(?:\$.*)?$/
const CONDITION = /^java\.util\.concurrent\.locks\.AbstractQueuedSynchronizer\$ConditionObject$/
const POLLER = /^sun\.nio\.ch\.(?:Poller|NioSocketImpl|SelChImpl|SocketChannelImpl)(?:\$.*)?$/

/** Innermost frames of a thread that is parked, waits, sleeps or yields its processor. */
const PARKS =
  /^(?:jdk\.internal\.misc\.Unsafe\.park|java\.lang\.(?:Object\.wait0?|Thread\.(?:sleep|yield)\w*|VirtualThread\.\w+)|jdk\.internal\.vm\.Continuation\.\w+)$/

/**
 * Returns the state of a sampled thread. The innermost frame is more reliable than the thread state: the thread state is read slightly
 * later, and the thread may have continued in between.
 * @param threadState  ordinal of Thread.State
 * @param frame        frame of the stack, 0 is innermost; undefined beyond its end
 */
export function stateOf(threadState: number, frame: (at: number) => FrameName | undefined): number {
  const leaf = frame(0)
  if (leaf === undefined) return CPU
  if (PARKS.test(`${leaf.className}.${leaf.method}`)) return waitingFor(frame)
  if (IO_LEAVES.test(leaf.className)) return IO
  return threadState === BLOCKED ? LOCK : CPU
}

function waitingFor(frame: (at: number) => FrameName | undefined): number {
  for (let at = 0; at < MAX_CHECKED_FRAMES; at++) {
    const it = frame(at)
    if (it === undefined) break
    if (/^java\.lang\.(?:Virtual)?Thread$/.test(it.className) && it.method.startsWith('sleep')) return SLEEP
    if (CONDITION.test(it.className)) return WAIT
    if (LOCKS.test(it.className)) return LOCK
    if (POLLER.test(it.className)) return IO
  }
  return WAIT
}
