import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { differenceByName } from '../../src/profile/changes.ts'
import { correlationOf, hotEdgesOf, overlapOf } from '../../src/profile/overlap.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { Methods, profileOf, treeOf } from './trees.ts'

function profile(notation: string): Profile {
  const methods = new Methods()
  return { ...profileOf(notation), merged: treeOf(notation, methods), methodNames: methods.names }
}

const overlap = (one: Profile, other: Profile): number => overlapOf(differenceByName(one, other))
const correlation = (one: Profile, other: Profile): number => correlationOf(differenceByName(one, other))
const hotEdgeCoverage = (one: Profile, other: Profile, threshold?: number): number =>
  hotEdgesOf(differenceByName(one, other), threshold).coverage

describe('overlap of two profiles', () => {
  it('two profiles overlap fully if each context has equal shares in both, for any total cost and any order of contexts', () => {
    const one = profile('main 1x 10ns ( work 2x 50ns ( leaf 1x 20ns ) other 1x 20ns )')
    const other = profile('main 9x 100ns ( other 1x 200ns work 2x 500ns ( leaf 1x 200ns ) )')
    assert.ok(Math.abs(overlap(one, other) - 1) < 1e-12)
    assert.equal(hotEdgeCoverage(one, other), 1)
  })

  it("overlap is the sum, over all contexts, of the smaller of the context's two shares", () => {
    // 10, 50, 40 % and 20, 30, 50 %: 10 + 30 + 40
    const one = profile('main 1x 10ns ( a 1x 50ns b 1x 40ns )')
    const other = profile('main 1x 20ns ( a 1x 30ns b 1x 50ns )')
    assert.ok(Math.abs(overlap(one, other) - 0.8) < 1e-12)
  })

  it('overlap compares the shares of contexts, not of methods', () => {
    const one = profile('main 1x 0ns ( a 1x 0ns ( leaf 1x 10ns ) )')
    const other = profile('main 1x 0ns ( b 1x 0ns ( leaf 1x 10ns ) )')
    assert.equal(overlap(one, other), 0)
    assert.equal(hotEdgeCoverage(one, other), 0)
  })

  it('the correlation is 1 for profiles with equal shares, and negative if the shares are swapped', () => {
    const one = profile('main 1x 10ns ( a 1x 60ns b 1x 30ns )')
    assert.ok(Math.abs(correlation(one, profile('main 1x 20ns ( b 1x 60ns a 1x 120ns )')) - 1) < 1e-12)
    // Differences from the mean of a third: -7/30, 8/30, -1/30 and 8/30, -7/30, -1/30.
    const other = correlation(one, profile('main 1x 60ns ( a 1x 10ns b 1x 30ns )'))
    assert.ok(Math.abs(other - -111 / 114) < 1e-12, String(other))
  })

  it("an edge from caller to callee is hot if the callee's total cost has a large enough share; a tree's top node is not an edge", () => {
    const exact = profile('main 1x 50ns ( a 1x 1ns ( leaf 1x 48ns ) cold 1x 1ns )')
    const sampled = profile('main 1x 60ns ( a 1x 40ns )')
    assert.equal(hotEdgeCoverage(exact, sampled, 0.1), 0.5)
    assert.equal(hotEdgeCoverage(profile('main 1x 5ns'), sampled), 1)
  })
})
