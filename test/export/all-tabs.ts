// A profile with data for every tab of the HTML page.

import type { SegmentState, SegmentTimes } from '../../src/cct/segments.ts'
import type { SlowCallTimes, SlowTimes } from '../../src/cct/slow-times.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { bucketOf } from '../../src/regions/histogram.ts'
import { slowCallsOf, TIMED } from '../profile/root-calls.ts'
import { traceOf } from '../profile/traced.ts'
import { Methods, profileOfTree, treeOf } from '../profile/trees.ts'

/**
 * All calls: main ( work ( wait for a lock ) other ), in two threads. Two slow calls with main ( work ( reload ) ). Two traced calls: the
 * first submits a task.
 * The first slow call has all facts. A third call was not slow, and ended with an exception.
 */
export function allTabs(more: Partial<Profile> = {}): Profile {
  const methods = new Methods()
  const merged = withWaits(
    'main 100x 9000ns ( work 100x 5000ns ( lock 40x 80000ns ) other 300x 4000ns )',
    methods,
  )
  const slow = treeOf('main 1x 1000ns ( work 1x 40000000ns ( reload 3x 4000000ns ) )', methods)
  const trace = traceOf(
    methods,
    'main> 0 hand 1 5 work> 5 lock> 8 lock< 20 work< 20 main< 30 | run> 6 reload> 7 reload< 18 run< 19',
    'main> 0 work> 5 work< 20 work> 22 work< 40 main< 60',
  )
  const methodNames = methods.names.map((name) =>
    name.method === 'lock'
      ? { class: 'com.acme.Cache', method: '(blocked on)', descriptor: '', loader: '' }
      : name,
  )
  const { instrumentation } = profileOfTree(merged, methodNames)
  const skipped = ['a', 'b'].map((it) => ({ method: `com.acme.Late.${it}()`, reason: 'native' }))
  return profileOfTree(merged, methodNames, {
    ...TIMED,
    slowCalls: withFacts(slowCallsOf(slow)),
    trace,
    instrumentation: { ...instrumentation, skipped },
    segments: segmentsOf(methods),
    threads: [1, 2].map((id) => ({ id, name: `worker-${id}`, tree: merged })),
    ...more,
  })
}

function withFacts(slow: SlowTimes): SlowTimes {
  const [first, second] = slow.slowest as [SlowCallTimes, SlowCallTimes]
  const threw = { ...first, number: 3, time: 1e6, atMs: 9000, threw: 'java.io.IOException' }
  const facts = {
    ...{ values: ['7', null], threw: 'java.sql.SQLTimeoutException', caller: 'com.acme.Filter.doFilter' },
    ...{ traceId: '4bf92f3577b34da6', samples: 2 },
  }
  return {
    ...{ ...slow, shows: ['arg0.id', 'arg1.name'], slowest: [{ ...first, ...facts }, second] },
    threw: { count: 12, latest: [threw, { ...first, ...facts }] },
  }
}

/** main calls work in the first 8 s, and other in the two seconds afterwards. */
function segmentsOf(methods: Methods): SegmentTimes {
  const segment = (
    [beginMs, endMs]: readonly [number, number],
    rows: readonly (readonly [row: number, calls: number, self: number])[],
    durations: readonly number[],
  ): SegmentState => ({
    ...{ beginMs, endMs, epoch: 0 },
    row: Int32Array.from(rows, ([row]) => row),
    calls: Float64Array.from(rows, ([, calls]) => calls),
    self: Float64Array.from(rows, ([, , self]) => self),
    rootCalls: {
      sum: durations.reduce((sum, it) => sum + it, 0),
      bucket: Int32Array.from(durations, bucketOf),
      count: new Float64Array(durations.length).fill(1),
    },
  })
  const [main, work, other] = ['main', 'work', 'other'].map((it) => methods.id(it)) as [
    number,
    number,
    number,
  ]
  return {
    ...{ widthMs: 5000, isCut: false, perTick: 1 },
    method: Int32Array.of(main, work, other),
    parent: Int32Array.of(-1, 0, 0),
    size: Int32Array.of(3, 1, 1),
    segments: [
      segment(
        [0, 8000],
        [
          [0, 60, 6000],
          [1, 60, 5000],
        ],
        [1e6, 2e6],
      ),
      segment(
        [8000, 10_000],
        [
          [0, 40, 3000],
          [2, 300, 4000],
        ],
        [1e8],
      ),
    ],
  }
}

function withWaits(notation: string, methods: Methods): Profile['merged'] {
  const tree = treeOf(notation, methods)
  const waiting = tree.method.indexOf(methods.id('lock'))
  const blocked = tree.metrics.selfNs!.map((ns, node) => (node === waiting ? ns : 0))
  const none = new Float64Array(tree.count)
  const columns = { blockedNs: blocked, waitedNs: none, totalBlockedNs: blocked, totalWaitedNs: none }
  return { ...tree, metrics: { ...tree.metrics, ...columns } }
}
