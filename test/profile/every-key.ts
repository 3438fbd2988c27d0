// Profiles that together have all data that a profile can have.

import { ALLOCATION } from '../../src/cct/allocation.ts'
import { STATE_COLUMNS, UNKNOWN_STATE } from '../../src/cct/merge-samples.ts'
import type { SlowTimes } from '../../src/cct/slow-times.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { UNSEEN } from '../../src/cct/unseen.ts'
import { WAIT_COLUMNS } from '../../src/cct/waits.ts'
import { METRICS, type Mode } from '../../src/measures/columns.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { LIVE_COLUMNS } from '../../src/profile/survivors.ts'
import { jvmFacts } from '../../src/profile/together.ts'
import { REGION } from './region.ts'
import { slowCallsOf, TIMED } from './root-calls.ts'
import { callOf } from './traced.ts'
import { Methods, profileOf } from './trees.ts'

/** A profile of times with all keys that the JSON of such a profile can have. */
export function profileWithEveryKey(): Profile {
  const profile = profileOf('main 2x 10ns ( work 3x -4ns )', { warnings: ['one'] })
  const full = {
    ...profile,
    jvmStartedAt: '2026-11-21T07:00:00.000Z',
    jvms: [jvmFacts(profile)],
    callSites: true as const,
    methodNames: [...profile.methodNames, BY].map((name) => ({ ...name, bci: 1, line: 1 })),
    instrumentation: {
      ...profile.instrumentation,
      skipped: [{ method: 'a.B.c()V', reason: 'native' }],
      overflows: [{ method: 'a.B.c()V', errors: 1 }],
    },
    calibration: { ...profile.calibration, innerSpreadNs: 1, outerSpreadNs: 1, readNs: 1, clockMHz: 1 },
    detach: {
      ...{ ms: 1, proofMs: 1, restoredClasses: 1, refusedClasses: 0, pauseMs: 1, lambdaClasses: 0 },
      code: {
        ...{ checkedClasses: 1, checkedMethods: 1, originalClasses: 0, unchecked: 'no time' },
        different: ['a.B.c()V'],
      },
      ...{ left: ['thread jfluid-agent'], unseen: ['mappings'] },
    },
    stacks: {
      ...{ samples: 1, unseenPart: 0, missed: 1, dropped: 1, costMs: 1 },
      ...{
        longestStallMs: 1,
        stallAtMs: 1,
        stallCause: 'processor' as const,
        suspendedMs: 0,
        rowsFromMs: 1,
        coldUntilMs: 1,
        rootCalls: 1,
        timedOneOf: 1,
      },
      pauses: [{ predictedMs: 1, measuredMs: 1, classes: 1 }],
    },
    shortMethods: [{ class: 'a.B', method: 'd', callsPerSecond: 1, meanNs: 1 }],
    bareCalls: { calls: 64, bareNs: 1, chargedNs: 2, low: 1.9, high: 2.1 },
    range: {
      fromMs: 5,
      toMs: 10,
      segmentMs: 5,
      rowsFromMs: 5,
      rowsToMs: 10,
      ofMs: 20,
      recordingStartedAt: '2026-11-29T10:00:00.000Z',
    },
    regions: [REGION],
    values: {
      ...{ show: ['arg0.id'], by: 'arg1', dropped: 1, redacted: true as const },
      getters: { calls: 1, ns: 1, longestNs: 1, late: 1, threw: 1 },
    },
    ...TIMED,
    selection: {
      ...{ include: [], exclude: [], jdk: false },
      byHand: [{ what: 'exclude' as const, text: 'a.B', atMs: 1, methods: 1 }],
    },
    trace: {
      asked: 1,
      ofSlow: { tooLong: 0 },
      calls: [{ ...callOf('main> 0 work> 1 work< 4 main< 5', new Methods()), slowCall: 1 }],
    },
    rootCalls: { ...TIMED.rootCalls, threw: [{ class: 'a.E', calls: 1 }] },
    slowCalls: withEveryFact(slowCallsOf(profile.merged), profile.methodNames.length),
  }
  const ones = new Float64Array(full.merged.count).fill(1)
  Object.assign(full.merged.metrics, {
    ...Object.fromEntries(
      ['known', 'samples', 'sdNs', UNSEEN, ...STATE_COLUMNS, UNKNOWN_STATE].map((it) => [it, ones]),
    ),
  })
  full.merged.metrics.warmupCalls!.fill(1)
  full.merged.metrics.warmupSelfNs!.fill(1)
  return full
}

/** The columns that a mode has besides its own cost. */
const COLUMNS: Readonly<Partial<Record<Mode, readonly string[]>>> = {
  locks: ['selfNs', 'totalNs', 'measuredNs', ...WAIT_COLUMNS],
  alloc: ['objects', 'totalObjects', ...LIVE_COLUMNS],
}

/** A profile of any mode: main calls work, which allocates in mode `alloc`. All costs are 1. */
export function profileOfMode(mode: Mode, more: Partial<Profile> = {}): Profile {
  const { merged, methodNames, threads, ...profile } = profileOf(
    'main 2x 1ns ( work 3x 1ns ( Text 1x 1ns ) )',
  )
  const { self, total } = METRICS[mode]
  const names = ['calls', self, total, ...(COLUMNS[mode] ?? [])]
  const ones = new Float64Array(merged.count).fill(1)
  const tree: Tree = { ...merged, metrics: Object.fromEntries(names.map((name) => [name, ones])) }
  return {
    ...profile,
    mode,
    methodNames: methodNames.map((it) =>
      mode === 'alloc' && it.method === 'Text' ? { ...it, method: ALLOCATION, descriptor: '' } : it,
    ),
    merged: tree,
    threads: threads.map((it) => ({ ...it, tree })),
    ...more,
  }
}

/** Returns profiles of all modes, with the facts that only the mode has. */
export const profilesOfAllModes = (): readonly Profile[] => [
  profileOfMode('exact'),
  profileOfMode('locks'),
  profileOfMode('bytecodes', { blocks: 'default' }),
  profileOfMode('count'),
  profileOfMode('alloc', {
    allocation: { sampleEvery: 1, jvmBytes: 1, liveness: { collections: 1, untracked: 0 } },
  }),
  profileOfMode('sample', {
    sampling: { every: 1e6, unit: 'ns', by: 'stacks', outside: 1, dumps: 1, stoppedNs: 1 },
  }),
]

/** Name of a pseudo method of `--by`. */
const BY = { class: '', loader: '', method: 'by=/orders', descriptor: '' }

/** Adds all optional facts to slow calls. */
function withEveryFact(slow: SlowTimes, first: number): SlowTimes {
  const facts = { first, threw: 'a.E', values: ['7'], caller: 'a.F.next', traceId: '4bf9', samples: 3 }
  const slowest = slow.slowest.map((it) => ({ ...it, ...facts }))
  return {
    ...slow,
    knownAtMs: 1,
    ...{ treeFromMs: 1, treeCount: 1 },
    ofRecording: { count: 9, threwCount: 2 },
    shows: ['arg0'],
    slowest,
    threw: { count: 1, latest: slowest },
  }
}
