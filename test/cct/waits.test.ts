// Time in which a thread is blocked or waits: separate rows, and columns that sum them.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { metricOf } from '../../src/cct/metric.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { FIRST_BLOCKED_CLASS, FIRST_METHOD_BESIDE_WAITS, WAIT_SLEEPING } from '../../src/events/wait-ids.ts'
import { SINKS } from '../../src/measures/sinks.ts'
import { enter, exit } from '../events/sinks.ts'
import { FREE } from './notation.ts'

const MAIN = FIRST_METHOD_BESIDE_WAITS
const WORK = MAIN + 1
const BLOCKED = FIRST_BLOCKED_CLASS

const NAMES = new Map([
  [MAIN, 'main'],
  [WORK, 'work'],
  [BLOCKED, '(blocked)'],
  [WAIT_SLEEPING, '(sleeping)'],
])

function builder(): CctBuilder {
  const made = new CctBuilder({ firstMethod: FIRST_METHOD_BESIDE_WAITS })
  made.thread(1, -1)
  return made
}

function snapshot(of: CctBuilder): Tree {
  const options = {
    sink: SINKS.locks,
    calibration: FREE,
    nsPerTick: 1,
    firstMethod: FIRST_METHOD_BESIDE_WAITS,
  }
  return snapshotOf(of, options).merged
}

/** Returns values of each node, keyed by its path. */
function rows(tree: Tree, ...columns: readonly string[]): Record<string, number[]> {
  const paths: string[] = []
  const found: Record<string, number[]> = {}
  for (let node = 0; node < tree.count; node++) {
    const above = tree.parent[node] < 0 ? '' : `${paths[tree.parent[node]]} `
    paths[node] = above + NAMES.get(tree.method[node])
    found[paths[node]] = columns.map((name) => tree.metrics[name][node])
  }
  return found
}

/** Returns a tree: main 0..100, asleep 10..30; inside main, work 40..90, blocked 50..65 and 70..75, asleep 80..81. */
function worked(): CctBuilder {
  const made = builder()
  enter(made, MAIN, 0)
  enter(made, WAIT_SLEEPING, 10)
  exit(made, WAIT_SLEEPING, 30)
  enter(made, WORK, 40)
  for (const [id, from, to] of [
    [BLOCKED, 50, 65],
    [BLOCKED, 70, 75],
    [WAIT_SLEEPING, 80, 81],
  ]) {
    enter(made, id, from)
    exit(made, id, to)
  }
  exit(made, WORK, 90)
  exit(made, MAIN, 100)
  return made
}

describe('rows and columns of waiting time', () => {
  it('waiting time is separate from self time, and is summed over the waiting method and its callers', () => {
    const columns = ['calls', 'selfNs', 'totalNs', 'blockedNs', 'waitedNs', 'totalBlockedNs', 'totalWaitedNs']
    assert.deepEqual(rows(snapshot(worked()), ...columns), {
      main: [1, 30, 100, 0, 20, 20, 21],
      'main (sleeping)': [1, 20, 20, 0, 0, 0, 0],
      'main work': [1, 29, 50, 20, 1, 20, 1],
      'main work (sleeping)': [1, 1, 1, 0, 0, 0, 0],
      'main work (blocked)': [2, 20, 20, 0, 0, 0, 0],
    })
  })

  it('a wait includes all JDK calls that the thread makes while it waits', () => {
    const made = worked()
    enter(made, MAIN, 200)
    enter(made, WAIT_SLEEPING, 210)
    enter(made, WORK, 220) // a JDK method with probes
    enter(made, BLOCKED, 230)
    exit(made, BLOCKED, 235)
    exit(made, WORK, 280)
    const probes = { innerTicks: 1, outerTicks: 2 }
    const options = {
      sink: SINKS.locks,
      calibration: probes,
      nsPerTick: 1,
      firstMethod: FIRST_METHOD_BESIDE_WAITS,
    }
    const before = rows(snapshotOf(made, { ...options, nowTicks: 281 }).merged, 'calls', 'waitedNs', 'selfNs')
    exit(made, WAIT_SLEEPING, 290)
    enter(made, WORK, 292)
    exit(made, WORK, 295)
    exit(made, MAIN, 300)
    const tree = snapshotOf(made, options).merged
    // Two sleeps of 20 and 80, each with a probe pair, and two more probes in the second.
    const slept = 20 + 80 - 2 - 2 * 3
    assert.deepEqual(rows(tree, 'calls', 'selfNs')['main (sleeping)'], [2, slept])
    assert.deepEqual(before['main (sleeping)'], [2, 0, slept - 9])
    assert.deepEqual(Object.keys(rows(tree)), [
      'main',
      'main (sleeping)',
      'main work',
      'main work (sleeping)',
      'main work (blocked)',
    ])
    assert.equal(rows(tree, 'waitedNs').main[0], slept)
    assert.equal(rows(tree, 'calls')['main work'][0], 2)
  })

  it('in a tree of waiting times, children and self sum to the parent', () => {
    const tree = snapshot(worked())
    assert.equal(metricOf(tree).kind, 'waits')
    assert.deepEqual(rows(tree, 'selfWaitNs', 'totalWaitNs'), {
      main: [0, 41],
      'main (sleeping)': [20, 20],
      'main work': [0, 21],
      'main work (sleeping)': [1, 1],
      'main work (blocked)': [20, 20],
    })
  })

  it('a wait is counted neither as a called method nor as a frame without an exit', () => {
    const made = worked()
    assert.equal(made.methods, 2)
    enter(made, MAIN, 200)
    enter(made, WAIT_SLEEPING, 210) // the sleep is interrupted and throws, which ends main
    exit(made, MAIN, 260)
    assert.equal(made.healed, 0)
    assert.deepEqual(rows(snapshot(made), 'selfNs', 'waitedNs').main, [40, 70])
  })

  it('a wait that a handler of its method has caught has ended once, and its exit counts as no lost call', () => {
    const made = builder()
    enter(made, MAIN, 0)
    enter(made, WORK, 10)
    enter(made, WAIT_SLEEPING, 10)
    made.caught(WORK, 40) // a handler in the waiting method, as in Object.wait of JDK 21
    exit(made, WAIT_SLEEPING, 45)
    exit(made, WORK, 50)
    exit(made, MAIN, 60)
    assert.equal(made.healed, 0)
    assert.deepEqual(rows(snapshot(made), 'calls', 'totalNs'), {
      main: [1, 60],
      'main work': [1, 40],
      'main work (sleeping)': [1, 30],
    })
  })
})
