// Calls of a method from two call sites are two contexts of one method.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { CallIds, leastOfMethod } from '../../src/cct/call-ids.ts'
import { ImpossibleCall } from '../../src/cct/impossible.ts'
import { hotMethods, snapshotOf } from '../../src/cct/snapshot.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { decodeEvents, WriterState } from '../../src/events/decode.ts'
import {
  CONTROL_SITE,
  FIRST_METHOD_BESIDE_CLASSES,
  KIND_CATCH,
  KIND_CONTROL,
} from '../../src/events/event-layout.ts'
import { enterWord, exitWord } from '../events/fake-target.ts'
import { FREE } from './notation.ts'

const NAMES = ['', 'main', 'work', 'leaf']
const OPEN = { mayBegin: () => true, mayTakeUp: () => true }

/**
 * Parses the format "main> work@7> work< main<": an entry from site 7, then exits; "work^" is a handler of work. Each word takes a tick.
 */
function words(text: string): Uint32Array {
  const out: number[] = []
  for (const [tick, word] of text.trim().split(/\s+/).entries()) {
    const [, name, site] = /^(\w+)(?:@(\d+))?[<>^]$/.exec(word)!
    const method = NAMES.indexOf(name)
    if (site !== undefined) out.push(Number(site), ((KIND_CONTROL << 30) | (CONTROL_SITE << 8)) >>> 0)
    if (word.endsWith('>')) out.push(...enterWord(method, tick))
    else if (word.endsWith('<')) out.push(...exitWord(method, tick))
    else out.push(tick, ((KIND_CATCH << 30) | (method << 8)) >>> 0)
  }
  return Uint32Array.from(out)
}

/** @param piece number of words read at once; 0 for all */
function built(text: string, piece = 0): CctBuilder {
  const builder = new CctBuilder({ callSites: true })
  const all = words(text)
  const state = new WriterState(1)
  for (let at = 0; at < all.length; ) {
    const to = piece === 0 ? all.length : Math.min(all.length, at + 2 * piece)
    const stop = decodeEvents(all, at, to, state, builder, OPEN)
    assert.equal(stop, to)
    at = stop
  }
  assert.equal(state.lastTicks, text.trim().split(/\s+/).length - 1)
  assert.equal(state.events - builder.siteWords, text.match(/[<>]/g)!.length)
  return builder
}

function treeOf(builder: CctBuilder): Tree {
  const { merged } = snapshotOf(builder, { calibration: FREE, nsPerTick: 1 })
  return { ...merged, methodOf: leastOfMethod(builder.callTable!) }
}

/** Returns the tree in the format "main 1 (work@7 2 (leaf@9 2))". */
function show(builder: CctBuilder): string {
  const { method, site } = builder.callTable!
  const tree = treeOf(builder)
  let text = ''
  for (let node = 0; node < tree.count; node++) {
    const id = tree.method[node]
    const depth = (at: number): number => (at < 0 ? 0 : 1 + depth(tree.parent[at]))
    const place = site[id] === 0 ? '' : `@${site[id]}`
    text += `${'.'.repeat(depth(tree.parent[node]))}${NAMES[method[id]]}${place} ${tree.metrics.calls[node]} `
  }
  return text.trim()
}

describe('calls distinguished by call site', () => {
  const TWO = 'main> work@7> work< work@8> work< work@7> work< main<'

  it('calls from two call sites have two contexts, even if the words of an event are split between two reads', () => {
    for (const piece of [0, 1, 2, 3]) {
      assert.equal(show(built(TWO, piece)), 'main 1 .work@7 2 .work@8 1', `${piece}`)
    }
  })

  it('a method with several call sites is one entry in the list of hot methods and in the list of called methods', () => {
    const builder = built(TWO)
    assert.deepEqual(
      hotMethods(treeOf(builder)).map(({ calls }) => calls),
      [1, 3],
    )
    assert.equal(builder.methods, 2)
    assert.equal(builder.isCalled(2), true)
    assert.equal(builder.isCalled(3), false)
  })

  it('a call without a call site word gets the call site of the latest call by the same caller', () => {
    const back = 'main> work@7> leaf@9> leaf< work< work> leaf@9> leaf< work< main<'
    assert.equal(show(built(back)), 'main 1 .work@7 2 ..leaf@9 2')
    // `work` has no earlier call with a call site.
    assert.equal(show(built('main> work> work< main<')), 'main 1 .work 1')
  })

  it('recursion from two call sites has two contexts', () => {
    const text = 'main> work@7> work@3> work< work@4> work< work< main<'
    assert.equal(show(built(text)), 'main 1 .work@7 1 ..work@3 1 ..work@4 1')
  })

  it('in a session with call sites, frames without exits are closed when a caller exits or handles an exception', () => {
    const lost = built('main> work@7> leaf@9> work< work@8> leaf@9> work^ leaf@2> leaf< work< main<')
    assert.equal(show(lost), 'main 1 .work@7 1 ..leaf@9 1 .work@8 1 ..leaf@9 1 ..leaf@2 1')
    assert.equal(lost.healed, 1)
  })
})

it('a call from an invalid call site is refused before a table is allocated', () => {
  const builder = new CctBuilder({ callSites: true })
  const all = words(`main@7> work@${2 ** 31}>`)
  assert.throws(() => decodeEvents(all, 0, all.length, new WriterState(1), builder, OPEN), ImpossibleCall)
  assert.ok(builder.bytes < 2 ** 24, `${builder.bytes} bytes`)
})

describe('CallIds, the ids of pairs of method and call site', () => {
  it('ids of allocated classes are unchanged, up to the maximum number of classes', () => {
    const ids = new CallIds(FIRST_METHOD_BESIDE_CLASSES)
    const id = ids.of(FIRST_METHOD_BESIDE_CLASSES + 5, 9)
    assert.equal(id, FIRST_METHOD_BESIDE_CLASSES)
    const { method, site } = ids.table
    assert.deepEqual([method[30_000], site[30_000]], [30_000, 0])
    assert.deepEqual([method[id], site[id]], [FIRST_METHOD_BESIDE_CLASSES + 5, 9])
  })

  it('a pair of method and call site keeps its id while the id table grows, and ids of waits are unchanged', () => {
    const ids = new CallIds(256)
    const first = Array.from({ length: 5000 }, (_, i) => ids.of(256 + (i % 70), i))
    assert.equal(new Set(first).size, 5000)
    assert.deepEqual(
      first,
      Array.from({ length: 5000 }, (_, i) => ids.of(256 + (i % 70), i)),
    )
    const { method, site } = ids.table
    assert.equal(method[200], 200)
    assert.deepEqual([method[first[4321]], site[first[4321]]], [256 + (4321 % 70), 4321])
  })
})
