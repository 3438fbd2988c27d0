import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Tree } from '../../src/cct/tree.ts'
import { compareProfiles } from '../../src/profile/compare.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { reproducible } from '../../src/profile/reproducible.ts'
import { chain, Methods, profileOf, treeOf } from './trees.ts'

/** Returns a profile of mode `bytecodes` from the notation of trees, in which nanoseconds stand for bytecodes. */
function counted(notations: readonly string[], facts: Partial<Profile> = {}): Profile {
  const methods = new Methods()
  const trees = notations.map((it) => bytecodes(treeOf(it, methods)))
  return {
    ...profileOf(''),
    mode: 'bytecodes',
    blocks: 'default',
    methodNames: methods.names,
    merged: trees[0]!,
    threads: trees.map((tree, i) => ({ id: 100 + i, name: 'worker', tree })),
    ...facts,
  }
}

function bytecodes(tree: Tree): Tree {
  const { calls, selfNs, totalNs } = tree.metrics
  return { ...tree, metrics: { calls: calls!, selfBytecodes: selfNs!, totalBytecodes: totalNs! } }
}

describe('a reproducible profile', () => {
  it('a reproducible profile does not depend on the order of methods and threads', () => {
    const one = counted(['a 1x 5ns ( b 2x 7ns ( c 1x 1ns ) d 1x 2ns )', 'a 1x 5ns ( d 9x 1ns )'])
    const other = counted(['a 1x 5ns ( d 1x 2ns b 2x 7ns ( c 1x 1ns ) )', 'a 1x 5ns ( d 9x 1ns )'], {
      startedAt: '2027-01-01T00:00:00.000Z',
      durationMs: 4711,
      target: { ...one.target, pid: 99 },
      instrumentation: { ...one.instrumentation, hotSwapMs: 77, redefinitions: 12 },
    })
    const swapped = { ...other, threads: [...other.threads].reverse() }
    const bytes = encodeProfile(reproducible(one))
    assert.ok(bytes.equals(encodeProfile(reproducible(swapped))))
    assert.ok(
      !bytes.equals(
        encodeProfile(
          reproducible(counted(['a 1x 5ns ( b 2x 8ns ( c 1x 1ns ) d 1x 2ns )', 'a 1x 5ns ( d 9x 1ns )'])),
        ),
      ),
    )
    const read = decodeProfile(bytes, 'p')
    assert.deepEqual(read, reproducible(read))
    assert.equal(read.merged.metrics.totalBytecodes![0], 15)
  })

  it('a reproducible profile keeps names and parents of nodes in a tree 100,000 levels deep', () => {
    const names = profileOf('m 1x 1ns').methodNames
    const tree = bytecodes(chain(100_000))
    const { merged } = reproducible({
      ...counted(['m 1x 1ns']),
      methodNames: names,
      merged: tree,
      threads: [],
    })
    assert.deepEqual(merged, tree)
  })
})

describe('a comparison of two profiles', () => {
  const before = counted(['root 2x 10ns ( b 4x 80ns c 1x 10ns )'])

  it('two profiles are compared per root call', () => {
    const after = counted(['root 4x 20ns ( b 8x 160ns c 2x 21ns )'])
    const found = compareProfiles(before, after)
    assert.equal(found.growth, 201 / 4 / (100 / 2) - 1)
    assert.deepEqual([found.before, found.after, found.unit], [100, 201, 'bytecodes'])
  })

  it('changes are listed largest first, and contexts are grouped by method', () => {
    const after = counted(['root 2x 10ns ( b 4x 70ns ( c 1x 9ns ) c 1x 10ns d 1x 3ns )'])
    assert.deepEqual(
      compareProfiles(before, after).methods.map((it) => [it.method, it.before, it.after]),
      [
        ['com.acme.App.b(I)V', 80, 70],
        ['com.acme.App.c(I)V', 10, 19],
        ['com.acme.App.d(I)V', 0, 3],
      ],
    )
  })
})
