import { expect, it } from 'vitest'
import { parseThreadDump } from '../../src/attach/thread-dump.ts'

// JDK 17, shortened.
const SEVENTEEN = `2026-11-22 20:42:35
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):

Threads class SMR info:
_java_thread_list=0x00007f311c002320, length=12, elements={
0x00007f316802a890
}

"main" #1 prio=5 os_prio=0 cpu=59.81ms elapsed=2.01s tid=0x00007f2c8c02a530 nid=0x6c2b runnable  [0x00007f2c93dfe000]
   java.lang.Thread.State: RUNNABLE
	at shop.Main.<init>(Main.java:4)
	- locked <0x00000000ff0a1d50> (a java.lang.Object)
	at shop.Main$$Lambda$1/0x00007f2c1c000a08.run(Unknown Source)
	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

"a "quoted" #name" #12 daemon prio=5 os_prio=0 cpu=0.31ms elapsed=1s tid=0x1 nid=0x2 waiting on condition  [0x0]
   java.lang.Thread.State: TIMED_WAITING (sleeping)
	at java.lang.Thread.sleep(java.base@17.0.15/Native Method)

"Signal Dispatcher" #4 daemon prio=9 os_prio=0 cpu=0.21ms elapsed=2s tid=0x1 nid=0x3 runnable  [0x0000000000000000]
   java.lang.Thread.State: RUNNABLE

"VM Thread" os_prio=0 cpu=4.33ms elapsed=2.00s tid=0x00007f2c8c0f5ff0 nid=0x6c30 runnable  

JNI global refs: 6, weak refs: 0
`

// JDK 25 also names the operating system's thread, and shows the virtual thread of a carrier.
const TWENTY_FIVE = `"ForkJoinPool-1-worker-1" #23 [11022] daemon prio=5 os_prio=0 cpu=2002.39ms elapsed=2.77s tid=0x0  [0x0]
   Carrying virtual thread #22
	at jdk.internal.vm.Continuation.run(java.base@25.0.3/Continuation.java:251)
   Mounted virtual thread #22
	at V.spin(V.java:1)
	at jdk.internal.vm.Continuation.enter(java.base@25.0.3/Continuation.java:316)

`

it('threads of a dump are read with their Java frames, innermost first, for any thread name', () => {
  expect(parseThreadDump(SEVENTEEN)).toEqual([
    {
      id: 1,
      name: 'main',
      virtual: false,
      state: 'RUNNABLE',
      frames: ['shop.Main.<init>', 'shop.Main$$Lambda$1/0x00007f2c1c000a08.run', 'java.lang.Thread.run'],
    },
    {
      id: 12,
      name: 'a "quoted" #name',
      virtual: false,
      state: 'TIMED_WAITING',
      frames: ['java.lang.Thread.sleep'],
    },
  ])
})

it('a virtual thread in a dump is read separately from its carrier', () => {
  expect(parseThreadDump(TWENTY_FIVE)).toEqual([
    {
      ...{ id: 23, name: 'ForkJoinPool-1-worker-1', virtual: false, state: 'CARRYING' },
      frames: ['jdk.internal.vm.Continuation.run'],
    },
    {
      ...{ id: 22, name: '', virtual: true, state: 'RUNNABLE' },
      frames: ['V.spin', 'jdk.internal.vm.Continuation.enter'],
    },
  ])
})

it('text that is not a thread dump contains no threads', () => {
  expect(parseThreadDump('')).toEqual([])
  expect(parseThreadDump('"x\n\n"y" #1\n')).toEqual([])
})
