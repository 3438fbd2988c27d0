// The HTML page: one file without requests, with the data of the profile, whatever its names contain.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { describe, it } from 'vitest'
import { backTraces } from '../../src/cct/back-traces.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { comparePage } from '../../src/export/html/compare-page.ts'
import { pagePieces } from '../../src/export/html/page.ts'
import type { PageData, PageTree } from '../../src/export/html/page-data.ts'
import { profilePage } from '../../src/export/html/profile-page.ts'
import { pageScript, pageStyle } from '../../src/export/html/script.ts'
import { changesOf } from '../../src/profile/changes.ts'
import type { Profile } from '../../src/profile/profile.ts'
import {
  build,
  chain,
  Methods,
  profileOf,
  profileOfTree,
  randomTree,
  seeded,
  treeOf,
} from '../profile/trees.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { FULL } from '../support/lane.ts'
import { callSites } from './exported.ts'

const pageOf = (profile: Profile, most?: number): string =>
  [...pagePieces(profilePage(profile, most))].join('')

function dataOf(page: string): PageData {
  const [, json] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)!
  return JSON.parse(json!) as PageData
}

/** Decodes a block in the format of src/export/html/page-data.ts. */
function decode(page: string, { block, count, columns, leftOut }: PageTree) {
  const [, text] = new RegExp(`id="${block}">([A-Za-z0-9+/=]*)</script>`).exec(page)!
  const bytes = inflateRawSync(Buffer.from(text!, 'base64'))
  assert.equal(bytes.length, count * (8 * columns.length + 4 * (leftOut > 0 ? 3 : 2)))
  let at = 0
  const read = (size: 4 | 8): number[] =>
    Array.from({ length: count }, () => {
      const value = size === 8 ? bytes.readDoubleLE(at) : bytes.readInt32LE(at)
      at += size
      return value
    })
  const numbers = Object.fromEntries(columns.map((name) => [name, read(8)]))
  return { numbers, method: read(4), size: read(4), left: leftOut > 0 ? read(4) : [] }
}

describe('the exported HTML page', () => {
  it('the exported page contains no external address, and its security policy allows only its own script and style', () => {
    const page = pageOf(profileOf('main 1x 1ns ( work 2x 3ns )'))
    // The namespace of SVG is a name, not an address that the browser opens.
    assert.doesNotMatch(
      page.replace("'http://www.w3.org/2000/svg'", ''),
      /https?:|\bsrc=|href=|@import "|url\(|\bfetch\(|XMLHttpRequest/,
    )
    const [, policy] = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(page)!
    const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    const [, script] = /<script type="module">(.*?)<\/script>/s.exec(page)!
    const [, style] = /<style>(.*?)<\/style>/s.exec(page)!
    assert.equal(
      policy,
      `default-src 'none'; script-src ${hash(script!)}; style-src ${hash(style!)}; base-uri 'none'; form-action 'none'`,
    )
    assert.deepEqual([pageScript().text, pageStyle().text], [script, style])
    assert.ok(!/ style="| on\w+="/.test(page), 'the policy would forbid it')
  })

  it('the script of the exported page is valid: it has no duplicate name and no module syntax', () => {
    const { text } = pageScript()
    assert.doesNotMatch(text, /^(import|export) /m)
    const file = join(temporaryDirectory(), 'page.mjs')
    writeFileSync(file, text)
    execFileSync(process.execPath, ['--check', file])
  })

  it('the exported page contains the tree with names, columns and sizes', () => {
    const page = pageOf(profileOf('main 1x 10ns ( work 2x 30ns ( leaf 3x -4ns ) other 1x 20ns )'))
    const { classes, names, trees, metric } = dataOf(page)
    const { numbers, method, size } = decode(page, trees[0]!)
    assert.deepEqual([metric, trees.length, size], ['time', 1, [4, 2, 1, 1]])
    assert.deepEqual(
      method.map((id) => `${classes[names[id]![0]]}.${names[id]![1]}${names[id]![2]}`),
      ['main', 'work', 'leaf', 'other'].map((name) => `com.acme.App.${name}(int)`),
    )
    assert.deepEqual(numbers, { calls: [1, 2, 3, 1], self: [10, 30, -4, 20], total: [56, 26, -4, 20] })
    assert.deepEqual(trees[0]!.hot[0], [method[1], 2, 30, 26])
  })

  it('the exported page has one tree per thread if the profile has several threads', () => {
    const one = profileOf('main 1x 10ns')
    const other = { id: 7, name: 'b', tree: one.merged }
    assert.deepEqual(
      dataOf(pageOf({ ...one, threads: [...one.threads, other] })).trees.map(({ title }) => title),
      ['all threads', 'worker-1 (21)', 'b (7)'],
    )
  })

  it('names with any characters do not end the script of the exported page early', () => {
    const evil = '</script><script>alert(1)</script><!--<script>&"\'\u2028]]>\ud800'
    const profile = profileOf('main 1x 1ns', {
      ...{ warnings: [evil], roots: [evil], threads: [] },
      target: { pid: 1, jdk: evil, vm: evil, mainClass: evil },
    })
    const { instrumentation } = profile
    const page = pageOf({
      ...profile,
      instrumentation: { ...instrumentation, skipped: [{ method: evil, reason: evil }] },
      methodNames: profile.methodNames.map((name) => ({ ...name, class: evil, method: evil })),
      threads: [1, 2].map((id) => ({ id, name: evil, tree: profile.merged })),
    })
    // Blocks of three trees, the data, and the script.
    assert.equal(page.match(/<script/gi)?.length, 5)
    assert.equal(page.match(/<\/script>/gi)?.length, 5)
    assert.equal(dataOf(page).classes[0], evil.replace(/[\u2028\ud800]/g, '?'))
    assert.doesNotMatch(page.replace(/<script.*?<\/script>/gs, ''), /<script|alert\(1\)<\/|<!--/)
  })

  it('the exported page of a large tree reports how many contexts are omitted, and the shown sums include the omitted contexts', () => {
    const seed = 5
    const names = new Methods()
    for (let i = 0; i < 20; i++) names.id(`App.m${i}`)
    const tree = randomTree(5000, 20, seeded(seed))
    const page = pageOf(profileOfTree(tree, names.names), 100)
    const [head] = dataOf(page).trees
    const { size, left, numbers } = decode(page, head!)
    assert.equal(head!.count, 100)
    assert.equal(head!.count + head!.leftOut, tree.count)
    assert.equal(
      left.reduce((sum, it) => sum + it, 0),
      head!.leftOut,
    )
    assert.equal(size[0], 100)
    assert.equal(numbers.total![0], tree.metrics.totalNs![0])
    // A shown value is never smaller than the values below it.
    for (let i = 0; i < 100; i++) {
      for (let child = i + 1; child < i + size[i]!; child += size[child]!) {
        assert.ok(numbers.total![child]! <= numbers.total![i]!)
      }
    }
  })

  it('the exported page of an empty profile states that the profile is empty', () => {
    const page = pageOf(profileOf(''))
    assert.match(page, /nothing was recorded: there is no call to show/)
    assert.deepEqual(decode(page, dataOf(page).trees[0]!).method, [])
  })

  it('the exported page can contain a recursion 100,000 deep', () => {
    const names = new Methods()
    names.id('App.again')
    const page = pageOf(profileOfTree(chain(100_000), names.names))
    assert.equal(dataOf(page).trees[0]!.count, 100_000)
  })

  it('the exported page is smaller than 30 MB even for very many contexts', () => {
    const count = FULL ? 1_000_000 : 300_000
    const random = seeded(9)
    const names = new Methods()
    for (let i = 0; i < 1000; i++) names.id(`App.method${i}`)
    const parent = Array.from({ length: count }, (_, i) => (i === 0 ? -1 : i % 10 === 0 ? 0 : i - 1))
    const method = parent.map((_, i) => 1 + (i % 1000))
    const ones = parent.map(() => 1)
    const self = parent.map(() => random() * 1e6)
    let bytes = 0
    const tree = build(parent, method, ones, self)
    const call = { method: 1, time: 1, atMs: 1, tree, thread: { id: 1, name: 'a' } }
    const parts: Partial<Profile> = {
      threads: [1, 2].map((id) => ({ id, name: `worker-${id}`, tree })),
      slowCalls: {
        ...{ unit: 'ns', threshold: 'p99', thresholdNow: 1, count: 10, dropped: 0, tree },
        ...{ slowest: Array.from({ length: 10 }, (_, i) => ({ ...call, number: i + 1 })), latest: null },
      },
    }
    const profile = profileOfTree(tree, names.names, FULL ? parts : {})
    for (const piece of pagePieces(profilePage(profile))) bytes += piece.length
    assert.ok(bytes < 30e6 && bytes > 1e6, `${bytes} bytes`)
  })

  it('the exported page of a comparison has the costs of the two profiles, per root call', () => {
    const methods = new Methods()
    const before = treeOf('main 10x 100ns ( work 20x 300ns )', methods)
    const after = treeOf('main 20x 400ns ( fresh 20x 60ns )', methods)
    const of = (tree: Tree) => profileOfTree(tree, methods.names)
    const [one, other] = [of(before), of(after)]
    const changes = changesOf(one, other)
    const compared = (path: string, profile: Profile) => ({ path, profile })
    const page = [...pagePieces(comparePage(compared('a', one), compared('b', other), changes, []))].join('')
    const { trees, isComparison, names } = dataOf(page)
    const { numbers, method } = decode(page, trees[0]!)
    assert.equal(isComparison, true)
    assert.deepEqual(
      method.map((id) => names[id]![1]),
      ['main', 'work', 'fresh'],
    )
    assert.deepEqual(numbers, {
      ...{ calls: [1, 0, 1], self: [20, 0, 3], total: [23, 0, 3] },
      ...{ calls0: [1, 2, 0], self0: [10, 30, 0], total0: [40, 30, 0] },
    })
  })
})

describe('the exported page of a profile with call sites or counted calls', () => {
  it('the exported page lists each hot method once, and the total of a method counts nested calls once', () => {
    const methods = new Methods()
    const tree = treeOf('main 1x 10ns ( run 1x 5ns ( twin 3x 7ns ) twin 1x 1ns )', methods)
    const twins = methods.names.map((it) =>
      it.method === 'twin' ? { ...it, method: 'run', loader: 'other' } : it,
    )
    const { names, trees } = dataOf(pageOf(profileOfTree(tree, twins)))
    assert.deepEqual(
      trees[0]!.hot.map(([id, ...sums]) => [names[id]![1], ...sums]),
      [
        ['run', 5, 13, 13],
        ['main', 1, 10, 23],
      ],
    )
  })

  it('hot methods in the exported page have no line number', () => {
    const page = pageOf(callSites())
    const { names, trees } = dataOf(page)
    const member = (id: number | undefined) => names[id!]![1]
    assert.deepEqual(trees[0]!.hot.map(([id]) => member(id)).sort(), ['main', 'work'])
    const { method } = decode(page, trees[0]!)
    assert.deepEqual(method.map(member), ['main', 'work:7', 'work:9'])
    assert.equal(names[method[1]!]![3], trees[0]!.hot.find(([id]) => member(id) === 'work')![0])
  })
})

describe('widths of frames in the flame graph of the exported page', () => {
  interface Shown {
    readonly count: number
    readonly parent: Int32Array
    readonly columns: { readonly [name: string]: Float64Array }
  }
  const weights = async (tree: Shown, how: string) => {
    const module = new URL('../../src/export/html/client/weights.js', import.meta.url).href
    const { weightsOf } = (await import(module)) as { weightsOf(tree: Shown, how: string): Float64Array }
    return [...weightsOf(tree, how)]
  }

  it('in a comparison, the width of a frame is the larger self cost of the two profiles', async () => {
    // main 10 ( work 20, then 5; gone 30; fresh 40 )
    const tree = {
      count: 4,
      parent: Int32Array.of(-1, 0, 0, 0),
      columns: { total0: Float64Array.of(60, 20, 30, 0), total: Float64Array.of(55, 5, 0, 40) },
    }
    assert.deepEqual(await weights(tree, 'larger'), [100, 20, 30, 40])
    assert.deepEqual(await weights(tree, 'now'), [55, 5, 0, 40])
    assert.deepEqual(await weights(tree, 'before'), [60, 20, 30, 0])
  })

  it('in a flame graph of allocations, allocated bytes widen only the frame of the allocated class and its callers', async () => {
    // main allocates 100 bytes of strings, then 70; work allocates 50 of lists.
    const tree = {
      count: 4,
      parent: Int32Array.of(-1, 0, 0, 2),
      columns: {
        ...{ self0: Float64Array.of(100, 100, 50, 50), total0: Float64Array.of(150, 100, 50, 50) },
        ...{ self: Float64Array.of(70, 70, 50, 50), total: Float64Array.of(120, 70, 50, 50) },
      },
    }
    assert.deepEqual(await weights(tree, 'larger'), [150, 100, 50, 50])
  })

  it('frame widths include omitted contexts of a large tree', async () => {
    const tree = {
      count: 2,
      parent: Int32Array.of(-1, 0),
      columns: { total0: Float64Array.of(100, 30), total: Float64Array.of(90, 60) },
    }
    // Without the child: 70 before, 30 now.
    assert.deepEqual(await weights(tree, 'larger'), [130, 60])
  })
})

describe('back traces in the exported page', () => {
  it("back traces in the exported page report how much of a method's cost is in callers that are too small to be shown", async () => {
    const module = new URL('../../src/export/html/client/traces.js', import.meta.url).href
    const { partInPage } = (await import(module)) as {
      partInPage(head: object, trace: { method: number; sums: object }): number | undefined
    }
    const one = { hotColumns: ['calls', 'self', 'total'], hot: [[7, 40, 1, 2]] }
    assert.equal(partInPage(one, { method: 7, sums: { calls: 30, self: 1, total: 2 } }), 0.75)
    assert.equal(partInPage(one, { method: 8, sums: { calls: 30, self: 1, total: 2 } }), undefined)
    const two = {
      hotColumns: ['calls', 'self', 'total', 'calls0', 'self0', 'total0'],
      hot: [[7, 4, 1, 2, 6, 1, 2]],
    }
    assert.equal(partInPage(two, { method: 7, sums: { calls: 4, calls0: 1 } }), 0.5)
  })

  interface Trace {
    readonly method: number
    readonly sums: { readonly [column: string]: number }
  }
  interface Traces {
    traceOf(tree: object, method: number): Trace | undefined
    callersOf(tree: object, trace: Trace): Trace[]
  }

  it('back traces in the exported page equal the back traces in the report, for random trees', async () => {
    const module = new URL('../../src/export/html/client/traces.js', import.meta.url).href
    const { traceOf, callersOf } = (await import(module)) as Traces
    const seed = 20261123
    const random = seeded(seed)
    for (let round = 0; round < 20; round++) {
      const tree = randomTree(200, 6, random)
      const { calls, selfNs: self, totalNs: total } = tree.metrics
      const shown = { ...tree, anywhere: tree.method, columns: { calls, self, total } }
      for (let method = 1; method <= 6; method++) {
        const expected = backTraces(tree, [method]).tree
        const top = traceOf(shown, method)
        assert.equal(top === undefined, expected.count === 0)
        if (top === undefined) continue
        const left = [{ trace: top, node: 0 }]
        let rows = 0
        for (let next = left.pop(); next !== undefined; next = left.pop()) {
          const { trace, node } = next
          rows++
          const { calls: c, selfNs: s, totalNs: t } = expected.metrics
          const where = `seed ${seed}, round ${round}, method ${method}`
          assert.deepEqual(trace.sums, { calls: c![node], self: s![node], total: t![node] }, where)
          const end = node + expected.size[node]!
          for (let child = node + 1; child < end; child += expected.size[child]!) {
            const caller = callersOf(shown, trace).find((it) => it.method === expected.method[child])
            assert.ok(caller, where)
            left.push({ trace: caller, node: child })
          }
        }
        assert.equal(rows, expected.count)
      }
    }
  })
})
