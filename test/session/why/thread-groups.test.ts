import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type DumpedThread, parseDeadlocks, parseThreadDump } from '../../../src/attach/thread-dump.ts'
import { threadLines } from '../../../src/commands/threads.ts'
import { virtualFacts } from '../../../src/session/why/jvm-threads.ts'
import { Observed } from '../../../src/session/why/observed.ts'
import { groupThreads, initializerDeadlocks } from '../../../src/session/why/thread-groups.ts'

const lock = { address: '0x1', class: 'shop.Stock' }
const THREADS: readonly DumpedThread[] = [
  ...[1, 2].map((id) => ({
    ...{ id, name: `worker-${id}`, virtual: false, state: 'BLOCKED', awaited: lock },
    ...{ frames: ['shop.Stock.take', 'shop.Job.run'], places: ['Stock.java:4', 'Job.java:9'] },
  })),
  {
    ...{ id: 3, name: 'audit', virtual: false, state: 'RUNNABLE', held: [lock] },
    ...{
      frames: ['shop.Stock.audit', 'shop.Job$$Lambda/0x00007f.run'],
      places: ['Stock.java:12', 'Unknown Source'],
    },
  },
  { id: 4, name: 'pool-1-thread-1', virtual: false, state: 'CARRYING', frames: ['java.lang.Thread.run'] },
  {
    ...{ id: 5, name: '', virtual: true, carrier: 'pool-1-thread-1', state: 'RUNNABLE' },
    frames: ['java.lang.Object.wait0', 'shop.Mail.send'],
  },
  {
    id: 6,
    name: 'events',
    virtual: false,
    state: 'WAITING',
    frames: ['java.lang.Object.wait', 'java.lang.ref.Cleaner.run'],
  },
]
const of = { pid: 4711, mainClass: 'shop.Main', jdk: '25', stoppedMs: 1.234, virtual: null, deadlocks: [] }

it('threads with the same stack are shown as one group, with the holder of the lock that the group waits for', () => {
  const [blocked, ...others] = groupThreads(THREADS, [])
  expect(blocked).toMatchObject({
    state: 'lock',
    threads: ['worker-1', 'worker-2'],
    awaited: 'shop.Stock',
    holders: ['audit'],
    frames: ['shop.Stock.take(Stock.java:4)', 'shop.Job.run(Job.java:9)'],
  })
  expect(others.map(({ threads, pinnedAt, isIdle }) => [threads, pinnedAt, isIdle])).toEqual([
    [['audit'], null, false],
    [['virtual #5'], 'shop.Mail.send(Unknown Source)', false],
    [['events'], null, true],
  ])
})

it('the holder of a lock is found by the address of the lock, if threads of a deadlock have the same names', () => {
  const of = (id: number, name: string, held: string, awaited: string): DumpedThread => ({
    ...{
      id,
      name,
      virtual: false,
      state: 'BLOCKED',
      frames: ['shop.Stock.take'],
      places: [`Stock.java:${id}`],
    },
    held: [{ address: held, class: 'shop.Stock' }],
    awaited: { address: awaited, class: 'shop.Stock' },
  })
  const threads = [
    of(1, 'a', '0x1', '0x2'),
    of(2, 'b', '0x2', '0x1'),
    of(3, 'a', '0x3', '0x4'),
    of(4, 'c', '0x4', '0x3'),
  ]
  const pair = (one: string, two: string) => [
    { thread: one, awaited: 'shop.Stock', holder: two },
    { thread: two, awaited: 'shop.Stock', holder: one },
  ]
  const groups = groupThreads(threads, [pair('a', 'b'), pair('a', 'c')])
  expect(groups.map((it) => it.holders)).toEqual([['b'], ['a'], ['c'], ['a']])
})

it('threads that wait for work are listed without their stacks, unless --idle is given', () => {
  const groups = groupThreads(THREADS, [])
  expect(threadLines({ ...of, groups })).toEqual([
    '4711  shop.Main (JDK 25): 5 threads, 4 stacks',
    'the dump stopped the JVM for 1.2 ms',
    '',
    '   2  lock; waits for shop.Stock, held by audit: worker-1, worker-2',
    '      at shop.Stock.take(Stock.java:4)',
    '      at shop.Job.run(Job.java:9)',
    '',
    '   1  CPU; holds shop.Stock: audit',
    '      at shop.Stock.audit(Stock.java:12)',
    '      at shop.Job$$Lambda.run(Unknown Source)',
    '',
    '   1  other wait; pinned at shop.Mail.send(Unknown Source); on pool-1-thread-1: virtual #5',
    '      at java.lang.Object.wait0(Unknown Source)',
    '      at shop.Mail.send(Unknown Source)',
    '',
    'threads that wait for work (--idle prints their stacks):',
    '   1  events',
  ])
  expect(threadLines({ ...of, groups }, true).at(-1)).toBe(
    '      at java.lang.ref.Cleaner.run(Unknown Source)',
  )
})

it('a deadlock is listed first in the text about threads', () => {
  const deadlocks = [
    [
      { thread: 'a', awaited: 'X', holder: 'b' },
      { thread: 'b', awaited: 'Y', holder: 'a' },
    ],
  ]
  expect(threadLines({ ...of, deadlocks, groups: [] }).slice(2)).toEqual([
    '',
    'deadlock of 2 threads:',
    '  a waits for X, held by b',
    '  b waits for Y, held by a',
  ])
})

it('on a terminal, long lines are wrapped, frames are cut, and a group has at most four names', () => {
  const frame = `shop.${'Long'.repeat(20)}.run`
  const many = Array.from({ length: 6 }, (_, id) => ({
    ...{ id, name: `request-worker-of-the-shop-${id}`, virtual: false, state: 'BLOCKED', awaited: lock },
    ...{ frames: [frame], places: ['Long.java:1'] },
  }))
  const [, , , ...lines] = threadLines({ ...of, groups: groupThreads(many, []) }, false, 80)
  expect(lines).toEqual([
    '   6  lock; waits for shop.Stock: request-worker-of-the-shop-0,',
    '      request-worker-of-the-shop-1, request-worker-of-the-shop-2,',
    '      request-worker-of-the-shop-3, and 2 more',
    `      at ${frame}`.slice(0, 80),
  ])
})

/** Reads a dump of fix.Deadlock or fix.Virtual, recorded with option -e. */
function recorded(name: string) {
  const text = readFileSync(join(import.meta.dirname, `../../attach/dumps/${name}.txt`), 'utf8')
  const threads = parseThreadDump(text, true)
  const deadlocks = [...parseDeadlocks(text), ...initializerDeadlocks(threads)]
  return { threads, deadlocks, groups: groupThreads(threads, deadlocks) }
}

it.each([17, 25])('a deadlock with a lock of java.util.concurrent is found in a dump of JDK %i', (jdk) => {
  const { deadlocks, groups } = recorded(`locks-${jdk}`)
  const sync = 'java.util.concurrent.locks.ReentrantLock$NonfairSync'
  expect(deadlocks).toEqual([
    [
      { thread: 'first', awaited: sync, holder: 'second' },
      { thread: 'second', awaited: 'fix.Deadlock$Left', holder: 'first' },
    ],
  ])
  expect(groups.find(({ threads }) => threads.includes('first'))).toMatchObject({
    ...{ state: 'lock', awaited: sync, holders: ['second'], held: ['fix.Deadlock$Left'] },
  })
})

it('jfluid why shows a wait for a static initializer as a wait for a lock, with the thread that executes the initializer', () => {
  const observed = new Observed()
  observed.add(recorded('classes-25').threads, 1)
  expect(observed.samples.find(({ group }) => group === 'first')).toMatchObject({
    state: 'lock',
    awaited: 'static initializer of fix.Deadlock$Egg',
    holder: { thread: 'second', state: 'lock' },
  })
})

it.each([17, 25])('a deadlock of static initializers is found in a dump of JDK %i', (jdk) => {
  const { deadlocks, groups } = recorded(`classes-${jdk}`)
  expect(deadlocks).toEqual([
    [
      { thread: 'first', awaited: 'static initializer of fix.Deadlock$Egg', holder: 'second' },
      { thread: 'second', awaited: 'static initializer of fix.Deadlock$Chicken', holder: 'first' },
    ],
  ])
  expect(groups.find(({ threads }) => threads.includes('first'))).toMatchObject({
    ...{ state: 'lock', holders: ['second'], isIdle: false },
  })
})

it('pinned virtual threads are grouped, with their carrier threads and the frame that pins them', () => {
  const { threads, deadlocks, groups } = recorded('pinned-25')
  expect(deadlocks).toEqual([])
  expect(virtualFacts(threads, groups)).toEqual({ mounted: 2, pinned: 2 })
  const pinned = groups.filter(({ pinnedAt }) => pinnedAt !== null)
  expect(pinned).toMatchObject([
    {
      state: 'wait',
      pinnedAt: expect.stringMatching(/^fix\.Virtual\$Initialized\.<clinit>\(Virtual\.java:\d+\)$/),
      carriers: [expect.stringMatching(/^ForkJoinPool-1-worker-\d$/)],
    },
    {
      state: 'lock',
      pinnedAt: expect.stringMatching(/^fix\.Virtual\.lambda\$pin\$1\(Virtual\.java:\d+\)$/),
      awaited: 'static initializer of fix.Virtual$Initialized',
      holders: pinned[0]!.threads,
    },
  ])
})

it.each([
  ['is leaving its carrier', ['jdk.internal.vm.Continuation.yield0', 'java.lang.VirtualThread.park'], null],
  ['enters a monitor', ['shop.Mail.send', 'shop.Mail.main'], null],
  [
    'enters a monitor below a native method',
    ['shop.Mail.send', 'java.lang.Class.forName0', 'shop.Mail.main'],
    1,
  ],
  ['waits in a method that the JVM has called', ['jdk.internal.misc.Unsafe.park', 'shop.Loader.load'], 1],
  ['runs', ['shop.Mail.send'], null],
  [
    'waits below a native method',
    ['jdk.internal.misc.Unsafe.park', 'java.lang.Class.forName0', 'shop.Mail.send'],
    1,
  ],
])('whether a virtual thread that %s is pinned is derived from its stack', (_, frames, pin) => {
  const places = frames.map((it) => (/park$|0$/.test(it) ? 'Native Method' : 'Mail.java:1'))
  const thread = { id: 7, name: '', virtual: true, carrier: 'c', state: 'RUNNABLE', frames, places }
  const awaited = frames.length > 1 ? { awaited: lock } : {}
  const [group] = groupThreads([{ ...thread, ...awaited }], [])
  expect(group?.pinnedAt).toBe(pin === null ? null : `${frames[pin]}(${places[pin]})`)
})

it('facts about virtual threads are absent if the JVM has no virtual threads', () => {
  expect(virtualFacts([THREADS[0]!], [])).toBeNull()
  expect(virtualFacts([{ ...THREADS[0]!, name: 'VirtualThread-unparker' }], [])).toEqual({
    ...{ mounted: 0, pinned: 0 },
  })
  const carrier = { ...THREADS[0]!, state: 'CARRYING' }
  expect(virtualFacts([carrier, carrier], []), 'before JDK 24').toEqual({ mounted: 2, pinned: null })
})

it.each([
  [
    { mounted: 4, pinned: 2, ready: 208 },
    '4 on carriers, 2 of them pinned; 208 ready to run without a carrier; a dump contains no others',
  ],
  [{ mounted: 0, pinned: 0, ready: 0 }, '0 on carriers; a dump contains no others'],
  [
    { mounted: 3, pinned: null, ready: null },
    '3 on carriers; before JDK 24 a dump contains no stacks of them',
  ],
])('the third line of the text shows the numbers of virtual threads: %o', (virtual, text) => {
  expect(threadLines({ ...of, virtual, groups: [] })[2]).toBe(`virtual threads: ${text}`)
})
