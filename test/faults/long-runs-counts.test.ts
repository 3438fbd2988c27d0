// Counters and trees with the values of weeks: calls beyond 2^32, times beyond 2^53 ns, recursions of a million levels. No value is
// truncated to 32 bits from the builder to files and exports.

import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Profile as Pprof } from 'pprof-format'
import { describe, expect, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { NODE } from '../../src/cct/nodes.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { readProfile, writeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { Histogram } from '../../src/regions/histogram.ts'
import { built, FREE, idOf, play, treeOf } from '../cct/notation.ts'
import { enterWord, exitWord } from '../events/fake-target.ts'
import { enter, exit } from '../events/sinks.ts'
import { exported, exportedBytes } from '../export/exported.ts'
import { Methods, profileOfTree, treeOf as treeFrom } from '../profile/trees.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { FULL } from '../support/lane.ts'

const TWO_32 = 2 ** 32
/** A number above 2^32 that is not round. */
const CALLS = 3 * TWO_32 + 7
/** More than a day, in ns. */
const NS = 10 ** 14 + 1

describe('counters beyond 2^32', () => {
  /** Returns a builder whose second node looks as if it had been called 2^32 times. */
  function preloaded(): CctBuilder {
    const builder = built('main> 0  work> 10  work< 40  main< 100')
    const work = 3 // node 0 is unused, node 1 is the thread's top, node 2 is main
    builder.floats[work * NODE.FLOATS + NODE.CALLS] += TWO_32 - 2
    builder.floats[work * NODE.FLOATS + NODE.TICKS] += NS
    return builder
  }

  it('counters beyond 2^32 increase by one, and the subtracted probe cost of more than 2^32 calls is exact', () => {
    const builder = preloaded()
    play(builder, 'main> 200  work> 210 work< 215  work> 220 work< 225  main< 300')
    const tree = treeOf(builder, { innerTicks: 3, outerTicks: 2 })
    const { calls, measuredNs, selfNs } = tree.metrics
    expect([...calls!]).toEqual([2, TWO_32 + 1])
    // work: 30 + 5 + 5 plus its earlier time, minus 3 per call.
    expect([measuredNs![1], selfNs![1]]).toEqual([NS + 40, NS + 40 - 3 * (TWO_32 + 1)])
    // main: 70 + 90, minus 3 per call and 2 per call of work.
    expect(selfNs![0]).toBe(160 - 3 * 2 - 2 * (TWO_32 + 1))
  })

  it('histograms of durations beyond 2^53 ns keep exact counts', () => {
    const histogram = new Histogram()
    for (const value of [2 ** 53 + 2, 2 ** 57, 5]) histogram.record(value)
    expect([...histogram.buckets().count]).toEqual([1, 1, 1])
    expect([histogram.count, histogram.max]).toEqual([3, 2 ** 57])
    histogram.remove(2 ** 57)
    expect([...histogram.buckets().count]).toEqual([1, 1])
  })
})

describe('a profile of many calls', () => {
  const methods = new Methods()
  const merged = treeFrom(`main 1x 10ns ( work ${CALLS}x ${NS}ns )`, methods)
  const profile: Profile = profileOfTree(merged, methods.names, {
    threads: [{ id: 21, name: 'worker-1', tree: merged }],
  })

  it('a profile of many calls is unchanged after writing and reading', async () => {
    const file = join(temporaryDirectory(), 'p.jfluid')
    await writeProfile(profile, file)
    const read = await readProfile(file)
    expect([...read.merged.metrics.calls!]).toEqual([1, CALLS])
    expect([...read.merged.metrics.selfNs!]).toEqual([10, NS])
  })

  it.each([
    ['json', [CALLS, NS]],
    ['csv', [CALLS, NS]],
    ['collapsed', [NS]],
    ['speedscope', [NS / 1e6]],
  ])('a profile of many calls exported to %s contains all digits of its numbers', async (format, numbers) => {
    const text = await exported(profile, format)
    // Some formats have times in the unit of their readers.
    for (const number of numbers)
      expect([text.includes(String(number)), text.includes(String(number * 1e6))]).toContain(true)
  })

  it('a profile of many calls exported to pprof contains all digits of its numbers', async () => {
    const message = Pprof.decode(gunzipSync(await exportedBytes(profile, 'pprof')))
    const values = message.sample.flatMap((it) => it.value.map(Number))
    expect(values).toEqual(expect.arrayContaining([CALLS, NS]))
  })
})

describe('a recursion of very many levels', () => {
  const LEVELS = FULL ? 1_000_000 : 200_000

  function down(): CctBuilder {
    const builder = new CctBuilder()
    builder.thread(1, -1)
    enter(builder, idOf('top'), 0)
    feed(builder, (level) => enterWord(idOf('deep'), level))
    return builder
  }

  /** Passes all events in one call, since one call per event takes ten times as long. */
  function feed(builder: CctBuilder, wordOf: (level: number) => [number, number]): void {
    const words = new Uint32Array(2 * LEVELS)
    for (let level = 1; level <= LEVELS; level++) words.set(wordOf(level), 2 * level - 2)
    expect(builder.calls(words, 0, words.length, 0)).toBe(words.length)
  }

  const shape = (tree: Tree) => [
    tree.count,
    tree.size[0],
    tree.metrics.totalNs![0],
    tree.metrics.calls![LEVELS],
  ]

  it('a recursion of a million levels is counted exactly if each level returns', { timeout: 120_000 }, () => {
    const builder = down()
    feed(builder, (level) => exitWord(idOf('deep'), LEVELS + level))
    exit(builder, idOf('top'), 2 * LEVELS + 1)
    const { merged } = snapshotOf(builder, { calibration: FREE, nsPerTick: 1 })
    expect(shape(merged)).toEqual([LEVELS + 1, LEVELS + 1, 2 * LEVELS + 1, 1])
    expect(builder.healed).toBe(0)
  })

  it('one event of the caller closes a recursion of a million levels, if the caller handles the exception or returns', {
    timeout: 120_000,
  }, () => {
    const caught = down()
    caught.caught(idOf('top'), LEVELS + 5)
    exit(caught, idOf('top'), LEVELS + 9)
    expect([shape(treeOf(caught))[2], caught.healed]).toEqual([LEVELS + 9, 0])
    const lost = down()
    exit(lost, idOf('top'), LEVELS + 9)
    expect([shape(treeOf(lost))[2], lost.healed]).toEqual([LEVELS + 9, LEVELS])
  })
})
