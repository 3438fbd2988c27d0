import { describe, expect, it } from 'vitest'
import { STATES, stateOf } from '../../src/cct/sample-states.ts'

const THREAD_STATES = ['NEW', 'RUNNABLE', 'BLOCKED', 'WAITING', 'TIMED_WAITING', 'TERMINATED']

/** Returns the sampled state for frames in the format of a stack trace, innermost first. */
function doing(threadState: string, ...frames: string[]): string {
  const named = frames.map((it) => {
    const at = it.lastIndexOf('.')
    return { className: it.slice(0, at), method: it.slice(at + 1) }
  })
  return STATES[stateOf(THREAD_STATES.indexOf(threadState), (at) => named[at])]!
}

const PARK = ['jdk.internal.misc.Unsafe.park', 'java.util.concurrent.locks.LockSupport.park']
const AQS = 'java.util.concurrent.locks.AbstractQueuedSynchronizer'

describe('state of a sampled thread', () => {
  it.each([
    ['a thread that computes', 'cpu', 'RUNNABLE', ['a.B.compute', 'a.B.run']],
    ['a thread that copies in a native method', 'cpu', 'RUNNABLE', ['java.lang.System.arraycopy', 'a.B.run']],
    ['a thread that waits for a monitor', 'lock', 'BLOCKED', ['a.B.locked', 'a.B.run']],
    ['reading a socket, JDK 17', 'io', 'RUNNABLE', ['sun.nio.ch.SocketDispatcher.read0', 'a.B.run']],
    ['polling one socket', 'io', 'RUNNABLE', ['sun.nio.ch.Net.poll', 'sun.nio.ch.NioSocketImpl.park']],
    [
      'writing a file to disk, JDK 25',
      'io',
      'RUNNABLE',
      ['sun.nio.ch.UnixFileDispatcherImpl.force0', 'a.B.run'],
    ],
    ['reading a FileInputStream', 'io', 'RUNNABLE', ['java.io.FileInputStream.readBytes', 'a.B.run']],
    [
      'waiting for a selector',
      'io',
      'RUNNABLE',
      ['sun.nio.ch.EPoll.wait', 'sun.nio.ch.EPollSelectorImpl.doSelect'],
    ],
    ['looking up a host name', 'io', 'RUNNABLE', ['java.net.Inet6AddressImpl.lookupAllHostAddr', 'a.B.run']],
    ['Thread.sleep, JDK 17', 'sleep', 'TIMED_WAITING', ['java.lang.Thread.sleep', 'a.B.run']],
    [
      'Thread.sleep, JDK 25',
      'sleep',
      'TIMED_WAITING',
      ['java.lang.Thread.sleepNanos0', 'java.lang.Thread.sleepNanos', 'a.B.run'],
    ],
    [
      'Object.wait, JDK 25',
      'wait',
      'WAITING',
      ['java.lang.Object.wait0', 'java.lang.Object.wait', 'a.B.run'],
    ],
    [
      'waiting for a ReentrantLock',
      'lock',
      'WAITING',
      [...PARK, `${AQS}.acquire`, 'java.util.concurrent.locks.ReentrantLock.lock', 'a.B.run'],
    ],
    [
      'waiting for a condition',
      'wait',
      'WAITING',
      [...PARK, `${AQS}$ConditionObject.await`, 'java.util.concurrent.ArrayBlockingQueue.take'],
    ],
    [
      'waiting for a CountDownLatch',
      'wait',
      'WAITING',
      [...PARK, `${AQS}.acquire`, 'java.util.concurrent.CountDownLatch.await'],
    ],
    [
      'waiting for a CompletableFuture',
      'wait',
      'WAITING',
      [...PARK, 'java.util.concurrent.CompletableFuture$Signaller.block'],
    ],
    [
      'a virtual thread that waits for a socket',
      'io',
      'WAITING',
      [
        'java.lang.VirtualThread.park',
        'java.util.concurrent.locks.LockSupport.park',
        'sun.nio.ch.Poller.poll',
        'sun.nio.ch.NioSocketImpl.park',
      ],
    ],
    ['a thread that continued while its state was read', 'cpu', 'WAITING', ['a.B.compute', 'a.B.run']],
    ['a thread without a known stack', 'cpu', 'NEW', []],
  ])('the sampled state of %s is: %s', (_, expected, state, frames) => {
    expect(doing(state, ...frames)).toBe(expected)
  })
})
