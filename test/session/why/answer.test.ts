// Answers of `jfluid why` for given stacks: the cause, and the text about methods, locks, pools and pauses.

import { describe, expect, it } from 'vitest'
import type { DumpedThread } from '../../../src/attach/thread-dump.ts'
import { type Answer, answerOf, type Counted } from '../../../src/session/why/answer.ts'
import { Observed } from '../../../src/session/why/observed.ts'
import { withFirst } from '../../../src/session/why/search.ts'
import { answerLines, headLines } from '../../../src/session/why/text.ts'

const POOL = ['java.util.concurrent.ThreadPoolExecutor.runWorker', 'java.lang.Thread.run']
const ROOT = 'shop.Orders.handle'
const REQUEST = [ROOT, ...POOL]
const IDLE = [
  'jdk.internal.misc.Unsafe.park',
  'java.util.concurrent.locks.LockSupport.park',
  'java.util.concurrent.LinkedBlockingQueue.take',
  'java.util.concurrent.ThreadPoolExecutor.getTask',
  ...POOL,
]
const SOCKET = ['sun.nio.ch.SocketDispatcher.read0', 'sun.nio.ch.NioSocketImpl.read']
const PARK = ['jdk.internal.misc.Unsafe.park', 'java.util.concurrent.locks.LockSupport.park']

const COUNTED: Counted = {
  durationMs: 5_000,
  collectionMs: 0,
  throttledShare: null,
  processors: { used: 0.5, most: 2, idle: 1.5, ours: 0 },
  ranMs: null,
  delayedMs: null,
}

function thread(id: number, frames: readonly string[], of: Partial<DumpedThread> = {}): DumpedThread {
  return { id, name: `http-1-exec-${id}`, virtual: false, state: 'RUNNABLE', frames, ...of }
}

const waiting = (id: number, frames: readonly string[], of: Partial<DumpedThread> = {}): DumpedThread =>
  thread(id, frames, { state: 'WAITING', ...of })

/** Returns the answer for dumps. Each dump is a list of threads. */
function answer(dumps: readonly (readonly DumpedThread[])[], counted: Partial<Counted> = {}) {
  const observed = new Observed()
  for (const threads of dumps) observed.add(threads, 1)
  return answerOf(observed, { ...COUNTED, ...counted }, [ROOT])
}

const DUMPS = { count: 9, meanMs: 1, worstMs: 2, seconds: 5, long: 0, mostMs: 50 }
const answered = (of: Answer, jdk = '25.0.3') => ({
  ...{ pid: 4711, target: { mainClass: 'shop.Main', jdk }, dumps: DUMPS },
  answer: of,
})

/** Sets 100 samples, since no cause is named for few samples. */
const enough = (...of: Parameters<typeof answer>) => answered({ ...answer(...of), samples: 100 })
const causeLine = (...of: Parameters<typeof answer>): string => answerLines(enough(...of))[0]!

describe('the cause of waiting that jfluid why prints', () => {
  it('a request that reads a socket below executeQuery waits for a database', () => {
    const query = [
      ...SOCKET,
      'com.acme.Driver.read',
      'jdk.proxy2.$Proxy5.executeQuery',
      'shop.Dao.find',
      ...REQUEST,
    ]
    expect(causeLine([[thread(1, query)]])).toBe(
      'requests wait for a database for 100 % of their time in Driver.read < Dao.find < Orders.handle',
    )
  })

  it('a database inside the JVM is named as the cause if the database uses the CPU', () => {
    const query = [
      'org.h2.table.Table.scan',
      'org.h2.jdbc.JdbcPreparedStatement.executeQuery',
      'shop.Dao.find',
      ...REQUEST,
    ]
    expect(causeLine([[thread(1, query)]])).toBe(
      'requests use the CPU for 100 % of their time, for a database inside the JVM, in Dao.find < Orders.handle',
    )
  })

  it('a method of the program that is named executeBatch or execute and makes an HTTP call is not classified as a database, also behind a proxy', () => {
    const call = [...SOCKET, 'org.apache.http.impl.client.CloseableHttpClient.execute', 'shop.Rates.fetch']
    for (const outer of ['shop.Importer.executeBatch', 'jdk.proxy2.$Proxy9.executeBatch'])
      expect(causeLine([[thread(1, [...call, outer, ...REQUEST])]])).toContain('another HTTP service')
    for (const outer of ['shop.Importer.executeBatch', 'shop.IfStatement.execute'])
      expect(causeLine([[thread(1, [...SOCKET, 'shop.Rates.fetch', outer, ...REQUEST])]])).toContain(
        'wait for the network',
      )
  })

  it('a driver that calls its database by HTTP waits for a database', () => {
    const query = [
      ...SOCKET,
      'org.apache.http.impl.client.CloseableHttpClient.execute',
      'com.mysql.cj.jdbc.StatementImpl.executeQuery',
      'shop.Dao.find',
      ...REQUEST,
    ]
    expect(causeLine([[thread(1, query)]])).toContain('wait for a database')
  })

  it('a request in HttpClient.send waits for another HTTP service, although its thread waits for a future', () => {
    const call = [
      ...PARK,
      'java.util.concurrent.CompletableFuture.get',
      'jdk.internal.net.http.HttpClientImpl.send',
      'shop.Rates.fetch',
      ...REQUEST,
    ]
    expect(causeLine([[waiting(1, call)]])).toContain('wait for another HTTP service for 100 %')
  })

  it('a request in Semaphore.acquire waits for a pool, and the line about the cause shows what other requests do', () => {
    const borrow = [...PARK, 'java.util.concurrent.Semaphore.acquire', 'shop.Pool.borrow', ...REQUEST]
    const report = ['java.lang.Thread.sleep', 'shop.Reports.build', ...REQUEST]
    const dump = [waiting(1, borrow), waiting(2, borrow), waiting(3, report)]
    expect(causeLine([dump])).toBe(
      'requests wait for a free entry of a pool or queue for 67 % of their time in Pool.borrow < Orders.handle; meanwhile others are in Reports.build < Orders.handle (sleep)',
    )
  })

  it('a request in FutureTask.get waits for the result of another thread', () => {
    const get = [...PARK, 'java.util.concurrent.FutureTask.get', 'shop.Join.all', ...REQUEST]
    expect(causeLine([[waiting(1, get)]])).toContain('wait for the result of another thread')
  })

  it('garbage collection is named as the cause if it takes a tenth of the time and requests only compute', () => {
    const [first, second] = [0, 50 << 20].map((allocated) =>
      thread(1, ['shop.Json.copy', ...REQUEST], { allocated, allocatedStep: 1 << 20 }),
    )
    expect(causeLine([[first!], [second!]], { collectionMs: 1_500 })).toBe(
      'garbage collection stops all threads for 30 % of the time; 10.5 MB/s are allocated, 100 % of them by http-1-exec-*, computing in Json.copy',
    )
  })

  it('a CPU quota that throttles the JVM is named as the cause, with the method that uses the CPU', () => {
    const [first, second] = [0, 900].map((cpuMs) => thread(1, ['shop.Spin.loop', ...REQUEST], { cpuMs }))
    const processors = { used: 0.3, most: 0.3, idle: 1, ours: 0 }
    expect(causeLine([[first!], [second!]], { throttledShare: 0.7, processors })).toBe(
      'the processor quota (0.3 processors) stops the JVM in 70 % of its periods; of the CPU time 100 % in Spin.loop',
    )
  })

  it('a thread outside requests that computes all the time is named, even if other threads used more processor time', () => {
    const busy = (cpuMs: number) => thread(1, ['shop.Json.parse', ...REQUEST], { cpuMs })
    const loop = (cpuMs: number) =>
      thread(7, ['shop.Feed.poll', 'shop.Feed.run', 'java.lang.Thread.run'], { name: 'feed', cpuMs })
    const processors = { used: 0.2, most: 0.3, idle: 0, ours: 0 }
    const counted = { processors, ranMs: 1_000, delayedMs: 3_000 }
    expect(
      causeLine(
        [
          [busy(0), loop(0)],
          [busy(950), loop(50)],
        ],
        counted,
      ),
    ).toMatch(/; of the CPU time 95 % in Json\.parse; feed computes all the time in Feed\.poll$/)
  })

  it('a quota is named beside a lack of processors', () => {
    const [first, second] = [0, 900].map((cpuMs) => thread(1, ['shop.Spin.loop', ...REQUEST], { cpuMs }))
    const processors = { used: 0.3, most: 0.3, idle: 0, ours: 0 }
    const counted = { throttledShare: 0.2, processors, ranMs: 1_000, delayedMs: 3_000 }
    expect(causeLine([[first!], [second!]], counted)).toBe(
      'requests wait for a processor for 75 % of their time: 0.3 of 0.3 processors; 0.0 are idle; the processor quota (0.3 processors) stops the JVM in 20 % of its periods; of the CPU time 100 % in Spin.loop',
    )
  })

  it('threads that are ready but have no processor wait for a processor', () => {
    const spin = thread(1, ['shop.Spin.loop', ...REQUEST])
    const { cause, states } = answer([[spin]], {
      ranMs: 1_000,
      delayedMs: 3_000,
      processors: { used: 1.9, most: 2, idle: 0.1, ours: 0 },
    })
    expect(cause).toBe('processor')
    expect(states).toEqual([
      { state: 'processor', share: 0.75 },
      { state: 'cpu', share: 0.25 },
    ])
  })
})

describe('the holder of a lock that requests wait for', () => {
  const lock = { address: '0x1', class: 'shop.Inventory' }
  const blocked = (id: number): DumpedThread =>
    thread(id, ['shop.Inventory.reserve', ...REQUEST], { state: 'BLOCKED', awaited: lock })

  it('the holder of a monitor is the thread that holds the monitor in the same thread dump', () => {
    const audit = ['java.lang.Thread.sleep', 'shop.Inventory.audit', ...POOL]
    const holder = waiting(9, audit, { name: 'audit-1', held: [lock] })
    expect(causeLine([[blocked(1), blocked(2), holder]])).toBe(
      'requests wait for a lock for 100 % of their time: Inventory.reserve waits for Inventory, held by audit-1 in Inventory.audit (sleep)',
    )
  })

  it('the assumed holder of a ReentrantLock is a thread inside the method that called lock()', () => {
    const awaited = { address: '0x2', class: 'java.util.concurrent.locks.ReentrantLock$NonfairSync' }
    const enter = [...PARK, 'java.util.concurrent.locks.ReentrantLock.lock', 'shop.Cache.get', ...REQUEST]
    const inside = ['shop.Cache.load', 'shop.Cache.get', ...REQUEST]
    const [found] = answer([[waiting(1, enter, { awaited }), thread(2, inside)]]).locks
    expect(found).toMatchObject({
      share: 0.5,
      holder: {
        activity: 'cpu',
        methods: [{ name: 'shop.Cache.load' }, { name: 'shop.Cache.get' }, { name: ROOT }],
      },
    })
  })

  it('the assumed holder of a ReentrantLock is the most frequent one behind the line of lock(), also outside of requests', () => {
    const awaited = { address: '0x2', class: 'java.util.concurrent.locks.ReentrantLock$NonfairSync' }
    const at = (line: number) => ({ places: ['Cache.java:1', `Cache.java:${line}`] })
    const enter = [...PARK, 'java.util.concurrent.locks.ReentrantLock.lock', 'shop.Cache.get', ...REQUEST]
    const places = ['', '', '', 'Cache.java:10']
    const inside = (name: string) => [name, 'shop.Cache.get', ...POOL]
    const refresh = thread(9, inside('shop.Cache.load'), { ...at(12), name: 'refresh-1' })
    const dump = [
      waiting(1, enter, { awaited, places }),
      thread(2, ['shop.Cache.hash', 'shop.Cache.get', ...REQUEST], at(8)),
      thread(3, ['shop.Cache.log', 'shop.Cache.get', ...REQUEST], at(14)),
      refresh,
    ]
    const [found] = answer([dump, [waiting(1, enter, { awaited, places }), refresh]]).locks
    expect(found!.holder).toMatchObject({ thread: 'refresh-*', isGuess: true })
    expect(found!.holder!.methods[0]!.name).toBe('shop.Cache.load')
    const before = answer([dump.slice(0, 2)]).locks
    expect(before[0]!.holder).toBeNull()
  })

  it('if no holder is found, the line about the lock says that the holder was not seen', () => {
    expect(causeLine([[blocked(1)]])).toContain('its holder was not seen')
  })
})

describe('threads outside of requests', () => {
  it('threads that wait for work are counted per pool, and not as samples', () => {
    const { samples, allSamples, pools } = answer([
      [thread(1, REQUEST), waiting(2, IDLE), waiting(3, IDLE)],
      [waiting(1, IDLE), waiting(2, IDLE), waiting(3, IDLE)],
    ])
    expect([samples, allSamples]).toEqual([1, 1])
    expect(pools).toEqual([{ name: 'http-1-exec-*', threads: 3, idle: 2.5 }])
  })

  it('work in other threads is shown with the mean number of threads that do this work', () => {
    const task = thread(7, ['shop.Mail.render', ...POOL], { name: 'mail-7' })
    const { others } = answer([[thread(1, REQUEST), task], [thread(1, REQUEST)]])
    expect(others).toMatchObject([{ group: 'mail-*', threads: 0.5, holder: { activity: 'cpu' } }])
  })

  it('without a root, all working threads are counted', () => {
    const observed = new Observed()
    observed.add([thread(1, ['shop.Batch.run', ...POOL])], 1)
    const found = answerOf(observed, COUNTED, [])
    expect(answerLines(answered({ ...found, samples: 100 }))[0]).toBe(
      'working threads use the CPU for 100 % of their time in Batch.run',
    )
  })
})

it('with fewer than ten samples no cause is named', () => {
  expect(answerLines(answered(answer([[thread(1, REQUEST)]])))[0]).toBe(
    'only 1 sample of requests, too few to name a cause: requests are short or rare (0.5 of 2 processors; 1.5 are idle)',
  )
})

it('all work of the pool in which the root was seen counts as requests, and the outermost method that returns is named as the root', () => {
  const observed = new Observed()
  const idle = waiting(3, IDLE)
  const task = ['shop.Orders.serve', ...POOL]
  observed.add([thread(1, ['shop.Pool.borrow', ...task]), thread(2, ['shop.Report.build', ...task]), idle], 1)
  const found = answerOf(observed, COUNTED, ['shop.Pool.borrow'])
  expect([found.samples, found.root]).toEqual([2, 'shop.Orders.serve'])
})

it('outside known thread pools, only a method that was seen to begin or end is named as the root', () => {
  const observed = new Observed()
  const loop = ['shop.Batch.heavy', 'shop.Batch.serve', 'shop.Batch.lambda$main$0', 'java.lang.Thread.run']
  observed.add([thread(1, loop)], 1)
  expect(answerOf(observed, COUNTED, ['shop.Batch.heavy', 'shop.Batch.serve']).root).toBe('shop.Batch.serve')
})

it.each([
  [7, 'cpu'],
  [3, 'sleep'],
])('if %i of 10 samples compute, the cause is: %s', (computing, cause) => {
  const threads = Array.from({ length: 10 }, (_, id) =>
    id < computing
      ? thread(id, ['shop.Spin.loop', ...REQUEST])
      : waiting(id, ['java.lang.Thread.sleep', 'shop.Nap.take', ...REQUEST]),
  )
  expect(answer([threads]).cause).toBe(cause)
})

it('samples of a root that is a constructor are found by the frame of the constructor', () => {
  const observed = new Observed()
  observed.add(
    [thread(1, ['shop.Orders.<init>', ...POOL]), thread(2, ['shop.Other.run', ...POOL], { name: 'other' })],
    1,
  )
  expect(answerOf(observed, COUNTED, ['shop.Orders.new']).samples).toBe(1)
})

describe('allocated bytes in the answer of jfluid why', () => {
  const copy = (id: number, allocated: number, allocatedStep = 1 << 20): DumpedThread =>
    thread(id, ['shop.Json.copy', ...REQUEST], { allocated, allocatedStep })
  const wait = (id: number, allocated: number): DumpedThread =>
    thread(id, [...SOCKET, 'shop.Client.read', ...REQUEST], {
      ...{ allocated, allocatedStep: 1 << 20, name: `client-${id}` },
    })

  it('a thread that waits in every dump can be named as the main allocator, but its method is unknown', () => {
    const { allocation } = answer([
      [copy(1, 0), wait(2, 0)],
      [copy(1, 10 << 20), wait(2, 90 << 20)],
    ])
    expect(allocation).toMatchObject({ group: 'client-*', method: null, share: 0.9 })
  })

  it('for a thread that began after the first dump, all allocated bytes are counted; for an older thread that is seen later, none are counted', () => {
    const { allocation } = answer([[copy(5, 0)], [copy(5, 0), copy(4, 900 << 20), copy(6, 50 << 20)]])
    expect(allocation).toMatchObject({ bytesPerSecond: 10 << 20 })
  })

  it('no allocation share is shown for a thread that has allocated so much that the steps of its counter are too coarse', () => {
    expect(answer([[copy(1, 200 << 30, 1 << 30)], [copy(1, 201 << 30, 1 << 30)]]).allocation).toBeNull()
  })
})

it('the processor time of a thread is assigned to the methods in which the thread computes, and not to methods in which the thread waits', () => {
  const parse = thread(1, ['shop.Json.parse', ...REQUEST], { cpuMs: 0 })
  const read = thread(1, [...SOCKET, 'shop.Client.read', ...REQUEST], { cpuMs: 800 })
  expect(answer([[parse], [read]]).computing).toMatchObject([
    { share: 1, method: { name: 'shop.Json.parse' } },
  ])
})

it('equal samples are one entry; if different threads hold the lock, the entry names the group of these threads', () => {
  const lock = (at: number) => ({ address: `0x${at}`, class: 'shop.Stock' })
  const observed = new Observed()
  for (const at of [1, 2, 3]) {
    const holder = waiting(at, ['java.lang.Thread.sleep', 'shop.Stock.audit', ...REQUEST], {
      held: [lock(at)],
    })
    observed.add(
      [thread(9, ['shop.Stock.take', ...REQUEST], { state: 'BLOCKED', awaited: lock(at) }), holder],
      1,
    )
  }
  expect(observed.samples.map(({ count, holder }) => [count, holder?.thread])).toEqual([
    [3, 'http-1-exec-*'],
    [3, undefined],
  ])
})

it('if there are more than 10,000 different samples, the rarest samples are dropped', () => {
  const observed = new Observed()
  const deep = (depth: number): DumpedThread => thread(1, [`shop.Deep.call${depth}`, ...REQUEST])
  for (let depth = 0; depth < 10_000; depth++) observed.add([deep(depth), thread(2, REQUEST)], 1)
  expect(observed.samples).toHaveLength(5_000)
  expect(observed.samples.some(({ count }) => count === 10_000)).toBe(true)
})

describe('lines of jfluid why on a terminal', () => {
  const caller = 'shop.orders.processing.OrderConfirmationService.confirmAndNotify'
  const lock = { address: '0x1', class: 'shop.Inventory' }
  const holder = waiting(
    9,
    ['java.lang.Thread.sleep', 'shop.Inventory.synchroniseWithTheWarehouse', caller, ...REQUEST],
    { held: [lock], places: ['Thread.java:1', 'Inventory.java:77', 'OrderConfirmationService.java:8', ''] },
  )
  const places = ['Inventory.java:12', 'OrderConfirmationService.java:9', '', '', '']
  const blocked = thread(1, ['shop.Inventory.reserve', caller, ...REQUEST], {
    state: 'BLOCKED',
    awaited: lock,
    places,
  })

  it('long lines are wrapped with an indent, and still contain the holder of the lock and the source line', () => {
    const lines = answerLines(enough([[blocked, holder]]), 80)
    expect(Math.max(...lines.map((it) => it.length))).toBeLessThanOrEqual(80)
    const text = lines.join('\n')
    expect(lines.slice(0, 4)).toEqual([
      'requests wait for a lock for 50 % of their time: Inventory.reserve waits for',
      '   Inventory, held by http-1-exec-9 in Inventory.synchroniseWithTheWarehouse',
      '   < OrderConfirmationService.confirmAndNotify < Orders.handle (sleep)',
      'time of requests (100 samples): lock 50 %, sleep 50 %',
    ])
    expect(text).toContain('1. 50 %  lock  Inventory.reserve (Inventory.java:12) < …')
    expect(text).toContain('sleep  Inventory.synchroniseWithTheWarehouse (Inventory.java:77) < …')
  })

  it('without a terminal, no line is wrapped and no caller is omitted', () => {
    const lines = answerLines(enough([[blocked, holder]]))
    expect(lines.join('\n')).not.toMatch(/…|^ /m)
    expect(lines[2]).toBe(
      '1. 50 %  lock  Inventory.reserve (Inventory.java:12) < OrderConfirmationService.confirmAndNotify < Orders.handle',
    )
  })

  it.each([
    ['25.0.3', 'jfluid attach 4711 --mode sample'],
    [
      '17.0.15',
      'jfluid attach 4711 --mode sample --sampler jfr (once in the life of this JVM, this discards all compiled code)',
    ],
  ])(
    'after long thread dumps of JDK %s, a line reports these dumps and names the command for the flight recorder',
    (jdk, command) => {
      const long = { ...answered(answer([[thread(1, REQUEST)]]), jdk), dumps: { ...DUMPS, long: 2 } }
      expect(answerLines(long).at(-1)).toBe(
        `2 thread dumps stopped the JVM for more than 50 ms, so fewer were taken; the flight recorder needs none: ${command}`,
      )
      expect(headLines(long)[0]).toContain('9 thread dumps stopped the JVM for 1.0 ms each, at most 2.0 ms')
    },
  )
})

it('the root in the line "next:" is the first row of the table', () => {
  const row = (root: string) => ({ root, share: 1, samples: 9, seen: 2, depth: 0, threads: [], below: 0 })
  const candidates = { roots: [row('a.A.a'), row('b.B.b')], stays: [row('c.C.c')], samples: 9 }
  const order = (first: string | null) => {
    const { roots, stays } = withFirst(candidates, first)
    return [roots, stays].map((rows) => rows.map(({ root }) => root))
  }
  expect(order('b.B.b')).toEqual([['b.B.b', 'a.A.a'], ['c.C.c']])
  expect(order('c.C.c')).toEqual([['c.C.c', 'a.A.a', 'b.B.b'], []])
  expect(order('x.X.x')).toEqual(order(null))
})

it('with few samples, a lack of processors is detected by the counters of the system', () => {
  const [first, second] = [0, 900].map((cpuMs) => thread(1, ['shop.Spin.loop', ...REQUEST], { cpuMs }))
  const processors = { used: 0.3, most: 0.3, idle: 1, ours: 0 }
  const [line] = answerLines(answered(answer([[first!], [second!]], { processors })))
  expect(line).toContain('(0.3 of 0.3 processors; 1.0 are idle; of the CPU time 100 % in Spin.loop)')
})

it('the line about the cause names the wait for a pool and the longer wait of the threads that use the pool', () => {
  const borrow = waiting(1, [
    ...PARK,
    'java.util.concurrent.Semaphore.acquire',
    'shop.Pool.borrow',
    ...REQUEST,
  ])
  const upload = ['java.lang.Thread.sleep', 'shop.Reports.upload', ...REQUEST]
  expect(causeLine([[borrow, waiting(2, upload), waiting(3, upload)]])).toBe(
    'requests sleep for 67 % of their time in Reports.upload < Orders.handle; 33 % pool or queue in Pool.borrow < Orders.handle',
  )
})
