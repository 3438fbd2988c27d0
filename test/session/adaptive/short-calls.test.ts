import { describe, expect, it } from 'vitest'
import { type NamedCount, shortCalls } from '../../../src/session/adaptive/short-calls.ts'

/** Threads spend half a second per second in the roots. */
const COSTS = { nsPerCall: 50, rootNsPerSecond: 500e6, budget: 0.05 }

let id = 0
const counted = (method: string, callsPerSecond: number, share: number): NamedCount => ({
  ...{ id: id++, class: 'a.B', method, callsPerSecond, share },
})
const found = (...methods: NamedCount[]) => shortCalls(methods, COSTS, 1).map((it) => it.method)

describe('methods with short calls', () => {
  it('are those with calls below 2 µs, with their rate and mean duration', () => {
    // 10 % of half a second: with 50,000 calls 1 µs per call, with 10,000 calls 5 µs per call.
    expect(shortCalls([counted('short', 50_000, 0.1), counted('long', 10_000, 0.1)], COSTS, 1)).toEqual([
      { class: 'a.B', method: 'short', callsPerSecond: 50_000, meanNs: 1_000 },
    ])
  })

  it('are not methods without calls or without samples', () => {
    expect(found(counted('idle', 0, 0.1), counted('unseen', 50_000, 0))).toEqual([])
  })

  it('are not recursive methods whose activations together take long', () => {
    // The outermost activations have 10 % of the time, all activations 90 %: 9 µs per call.
    expect(found(counted('walk', 50_000, 0.9))).toEqual([])
  })

  it('are methods of which each called overload is short', () => {
    expect(found(counted('both', 50_000, 0.1), counted('both', 90_000, 0.1))).toEqual(['both'])
    expect(found(counted('one', 50_000, 0.1), counted('one', 100, 0.1))).toEqual([])
    expect(found(counted('idle', 50_000, 0.1), counted('idle', 0, 0.1))).toEqual(['idle'])
  })

  it('have the rate of all root calls if only some root calls are timed', () => {
    expect(shortCalls([counted('hot', 50_000, 0.1)], COSTS, 64)[0]!.callsPerSecond).toBe(3_200_000)
  })
})
