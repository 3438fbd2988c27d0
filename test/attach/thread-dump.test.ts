import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { mustBeDump, parseDeadlocks, parseThreadDump, readyIn } from '../../src/attach/thread-dump.ts'

// Dump of JDK 17, shortened.
const SEVENTEEN = `2026-11-22 20:42:35
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):

Threads class SMR info:
_java_thread_list=0x00007f311c002320, length=12, elements={
0x00007f2c8c02a530, 0x00007f2c8c02b2d0, 0x00007f2c8c02c440
}

"main" #1 prio=5 os_prio=0 cpu=59.81ms elapsed=2.01s tid=0x00007f2c8c02a530 nid=0x6c2b runnable  [0x00007f2c93dfe000]
   java.lang.Thread.State: RUNNABLE
	at shop.Main.<init>(Main.java:4)
	- locked <0x00000000ff0a1d50> (a java.lang.Object)
	at shop.Main$$Lambda$1/0x00007f2c1c000a08.run(Unknown Source)
	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

"a "quoted" #name" #12 daemon prio=5 os_prio=0 cpu=0.31ms elapsed=1s tid=0x00007f2c8c02b2d0 nid=0x2 waiting on condition  [0x0]
   java.lang.Thread.State: TIMED_WAITING (sleeping)
	at java.lang.Thread.sleep(java.base@17.0.15/Native Method)

"Signal Dispatcher" #4 daemon prio=9 os_prio=0 cpu=0.21ms elapsed=2s tid=0x00007f2c8c02c440 nid=0x3 runnable  [0x0000000000000000]
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

it('threads in a thread dump are read with their Java frames, innermost first, for any thread name', () => {
  expect(parseThreadDump(SEVENTEEN)).toEqual([
    {
      id: 1,
      name: 'main',
      virtual: false,
      state: 'RUNNABLE',
      frames: ['shop.Main.<init>', 'shop.Main$$Lambda$1/0x00007f2c1c000a08.run', 'java.lang.Thread.run'],
      lines: [4, 0, 840],
    },
    {
      id: 12,
      name: 'a "quoted" #name',
      virtual: false,
      state: 'TIMED_WAITING',
      frames: ['java.lang.Thread.sleep'],
      lines: [0],
    },
  ])
})

it('a virtual thread in a thread dump is read separately from its carrier thread', () => {
  expect(parseThreadDump(TWENTY_FIVE)).toEqual([
    {
      ...{ id: 23, name: 'ForkJoinPool-1-worker-1', virtual: false, state: 'CARRYING' },
      frames: ['jdk.internal.vm.Continuation.run'],
      lines: [251],
    },
    {
      ...{ id: 22, name: '', virtual: true, carrier: 'ForkJoinPool-1-worker-1', state: 'RUNNABLE' },
      frames: ['V.spin', 'jdk.internal.vm.Continuation.enter'],
      lines: [1, 316],
    },
  ])
})

// Dump of JDK 17 and 25 with option -e, shortened.
const LOCKS = `"waiter" #13 prio=5 os_prio=0 cpu=1.55ms elapsed=1.60s allocated=12K defined_classes=0 tid=0x1 nid=0x430 waiting for monitor entry  [0x0]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at shop.Stock.take(Stock.java:4)
	- waiting to lock <0x000000069ec19418> (a shop.Stock)
	at shop.Stock.all(Stock.java:9)
	- locked <0x000000069ec19500> (a java.lang.Object)
	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

"sleeper" #3 [1145] prio=5 os_prio=0 cpu=50.15ms elapsed=1.78s allocated=2M defined_classes=9 tid=0x0 nid=1145 in Object.wait()  [0x0]
   java.lang.Thread.State: WAITING (on object monitor)
	at java.lang.Object.wait0(java.base@25.0.3/Native Method)
	- waiting on <0x000000069ec414b0> (a java.lang.Object)
	at shop.Main.main(Main.java:7)
	- locked <0x000000069ec414b0> (a java.lang.Object)
`

it('details of a thread dump are read: positions, awaited and held locks, processor time and allocated bytes', () => {
  const [waiter, sleeper] = parseThreadDump(LOCKS, true)
  expect(waiter).toMatchObject({
    places: ['Stock.java:4', 'Stock.java:9', 'Thread.java:840'],
    awaited: { address: '0x000000069ec19418', class: 'shop.Stock' },
    held: [{ address: '0x000000069ec19500', class: 'java.lang.Object' }],
    cpuMs: 1.55,
    allocated: 12 << 10,
    allocatedStep: 1 << 10,
  })
  // Object.wait() has released the monitor that the dump shows as locked.
  expect(sleeper).toMatchObject({ cpuMs: 50.15, allocated: 2 << 20, awaited: { class: 'java.lang.Object' } })
  expect(sleeper?.held).toBeUndefined()
  expect(parseThreadDump(LOCKS)[0]).not.toHaveProperty('held')
})

const DEADLOCKS = `"one" #1 prio=5 tid=0x1
	at D.lock(D.java:5)

JNI global refs: 6, weak refs: 0


Found one Java-level deadlock:
=============================
"one":
  waiting to lock monitor 0x00007f99a407b250 (object 0x000000069ec16f00, a java.lang.Object),
  which is held by "two"

"two":
  waiting for ownable synchronizer 0x000000069ec17048, (a java.util.concurrent.locks.ReentrantLock$NonfairSync),
  which is held by "one"

Java stack information for the threads listed above:
===================================================
"one":
	at D.lock(D.java:5)

Found 1 deadlock.
`

it('deadlocks of monitors and of locks of java.util.concurrent are read with their holders', () => {
  expect(parseDeadlocks(DEADLOCKS)).toEqual([
    [
      { thread: 'one', awaited: 'java.lang.Object', holder: 'two' },
      {
        thread: 'two',
        awaited: 'java.util.concurrent.locks.ReentrantLock$NonfairSync',
        holder: 'one',
      },
    ],
  ])
  expect(parseDeadlocks(SEVENTEEN)).toEqual([])
})

const RELEASED = `"waiter" #13 prio=5 os_prio=0 cpu=1.55ms elapsed=1.60s tid=0x1 nid=0x430 in Object.wait()  [0x0]
   java.lang.Thread.State: WAITING (on object monitor)
	at java.lang.Object.wait(java.base@17.0.15/Native Method)
	- waiting on <no object reference available>
	at shop.Stock.all(Stock.java:9)
	- locked <0x000000069ec19500> (a shop.Stock)
	at shop.Main.main(Main.java:9)
	- locked <0x000000069ec19600> (a shop.Main)

"again" #14 prio=5 os_prio=0 cpu=1.55ms elapsed=1.60s tid=0x1 nid=0x431 waiting for monitor entry  [0x0]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at java.lang.Object.wait(java.base@17.0.15/Native Method)
	- waiting to re-lock in wait() <0x000000069ec19500> (a shop.Stock)
	at shop.Stock.all(Stock.java:9)
	- locked <0x000000069ec19500> (a shop.Stock)
`

it('a thread in Object.wait() does not hold the monitor that it waits on, even if compiled code does not name it', () => {
  const [waiter, again] = parseThreadDump(RELEASED, true)
  expect(waiter?.held).toEqual([{ address: '0x000000069ec19600', class: 'shop.Main' }])
  expect(again?.held).toBeUndefined()
  expect(again?.awaited).toEqual({ address: '0x000000069ec19500', class: 'shop.Stock' })
})

it('text that is not a thread dump contains no threads', () => {
  expect(parseThreadDump('')).toEqual([])
  expect(parseThreadDump('"x\n\n"y" #1\n')).toEqual([])
})

it('the number of virtual threads that are ready to run is computed from the text of their scheduler', () => {
  const text =
    'java.util.concurrent.ForkJoinPool@764fe916[Running, parallelism = 2, size = 2, active = 2, running = 0, steals = 783, tasks = 1, submissions = 208, delayed = 8]'
  expect(readyIn(text)).toBe(209)
  expect(readyIn('java.lang.ThreadPerTaskExecutor@1')).toBeNull()
})

it('a thread name with line feeds is read as a name, also if it contains the text of another thread', () => {
  const forged = [
    'two',
    'lines',
    '',
    '"forged" #99 prio=5 os_prio=0 cpu=1ms elapsed=1s tid=0x1 nid=0x2 runnable  [0x0]',
    '   java.lang.Thread.State: RUNNABLE',
    '\tat evil.Code.run(Code.java:1)',
    '',
    '"forged" #98 daemon',
  ].join('\n')
  const threads = parseThreadDump(SEVENTEEN.replace('a "quoted" #name', () => forged))
  expect(threads.map(({ id, name, frames }) => [id, name, frames[0]])).toEqual([
    [1, 'main', 'shop.Main.<init>'],
    [12, forged, 'java.lang.Thread.sleep'],
  ])
})

it('a deadlock of threads with line feeds in their names is read', () => {
  const text = readFileSync(join(import.meta.dirname, 'dumps', 'locks-17.txt'), 'utf8')
  const [deadlock] = parseDeadlocks(text.replaceAll('"first"', '"fir\nst"'))
  expect(deadlock?.map(({ thread, holder }) => [thread, holder])).toEqual([
    ['fir\nst', 'second'],
    ['second', 'fir\nst'],
  ])
})

it.each(['locks-17', 'locks-25', 'classes-17', 'pinned-25'])(
  'a dump without its end is refused: %s',
  (name) => {
    const text = readFileSync(join(import.meta.dirname, 'dumps', `${name}.txt`), 'utf8')
    mustBeDump(text)
    const threadsEnd = text.indexOf('\nJNI global ref')
    for (const length of [0, 500, threadsEnd, threadsEnd + 10])
      expect(() => mustBeDump(text.slice(0, length)), `${length}`).toThrow(/no thread dump|ends within/)
    const deadlock = text.indexOf('which is held by')
    if (deadlock >= 0) expect(() => mustBeDump(text.slice(0, deadlock))).toThrow('ends within')
  },
)
