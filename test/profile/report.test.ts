import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { methodsNamed } from '../../src/profile/find-method.ts'
import { reportJsonPieces } from '../../src/profile/report/json.ts'
import { terminalOptions } from '../../src/profile/report/page.ts'
import { reportText } from '../../src/profile/report.ts'
import { width, wrap } from '../../src/profile/text.ts'
import { callSites } from '../export/exported.ts'
import { chain, Methods, profileOf, profileOfTree, treeOf } from './trees.ts'

const order = profileOf(
  `OrderService.process 4x 1000000ns (
     OrderService.validate 4x 2500000ns
     com.acme.shop.pricing.PriceCalculator.priceOf 12x 40000000ns ( Cache.get 1234567x 6000000ns )
     Log.debug 40x -300ns
     Tiny.one 1x 100ns )`,
  {
    roots: ['com.acme.OrderService.process'],
    warnings: ['3 classes were loaded while the client was busy and are not instrumented'],
  },
)

describe('the text report', () => {
  it('the report fits 80 columns', () => {
    assert.equal(
      reportText(order, { top: 3 }),
      `jfluid profile of com.acme.Main
target    pid 4711, JDK 17.0.15, OpenJDK 64-Bit Server VM
root      com.acme.OrderService.process
recorded  10.0 s from 2026-11-21T08:00:00.000Z, scheme b
calls     4 calls of the root in 1 thread
methods   12 instrumented, 4 called; 2 redefinitions took 8 ms, max pause 3 ms
overhead  application threads stalled by jfluid: 2 ms (0.0 %); 2.00k events
warning   3 classes were loaded while the client was busy and are not
          instrumented

Calling context tree, all threads, 2 smaller nodes left out
    total      self  % root      calls  per call  method
 49.50 ms  1.000 ms   100.0          4  12.37 ms  com.acme.OrderService.process
 46.00 ms  40.00 ms    92.9         12  3.833 ms    PriceCalculator.priceOf
 6.000 ms  6.000 ms    12.1  1,234,567      5 ns      com.acme.Cache.get
 2.500 ms  2.500 ms     5.1          4  625.0 µs    c.a.OrderService.validate

Hot methods, by self time, 3 of 6
     self     total  % self      calls  per call  method
 40.00 ms  46.00 ms    80.8         12  3.833 ms  PriceCalculator.priceOf
 6.000 ms  6.000 ms    12.1  1,234,567      5 ns  com.acme.Cache.get
 2.500 ms  2.500 ms     5.1          4  625.0 µs  com.acme.OrderService.validate

Details
probes    11.5 ns inside each call (t_I) and 13.3 ns in its caller (t_O),
          removed from all times
clock     counterTime
`,
    )
  })

  it('the report is not wider than requested, and shows complete names if possible', () => {
    for (const cells of [66, 80, 120, 200]) {
      const lines = reportText(order, { width: cells, top: 10 }).split('\n')
      for (const line of lines) assert.ok(width(line) <= cells, `${cells}: ${line}`)
    }
    assert.match(reportText(order, { width: 120 }), /com\.acme\.shop\.pricing\.PriceCalculator\.priceOf/)
  })

  it('the report shows the number of followed tasks separately from root calls', () => {
    const worker = {
      id: 7,
      name: 'pool-1',
      tree: profileOf('OrderService.process 0x 0ns ( Job.run 5x 7ns )').merged,
    }
    const followed = { ...order, followedTasks: 5, threads: [...order.threads, worker] }
    assert.match(
      reportText(followed),
      /^calls {5}4 calls of the root in 1 thread; 5 tasks followed, into 2 threads in\n {10}total$/m,
    )
  })

  it('if rows were recorded from a later time on, the report shows the number of all root calls and the number of root calls in rows', () => {
    const stacks = {
      ...{
        samples: 0,
        unseenPart: null,
        missed: 0,
        dropped: 0,
        costMs: 0,
        longestStallMs: 0,
        stallAtMs: 0,
        stallCause: null,
        suspendedMs: 0,
      },
      ...{
        pauses: [],
        rowsFromMs: 6_000,
        coldUntilMs: null,
        rootCalls: 300,
        timedOneOf: 1,
      },
    }
    const times = { unit: 'ns', count: 10, total: 1e8, min: 1e6, mean: 1e7, max: 2e7, buckets: [] } as const
    const percentiles = { 50: 1e7, 90: 1e7, 95: 1e7, 99: 1e7, 99.9: 1e7 }
    const later = { ...order, stacks, rootCalls: { ...times, percentiles } }
    assert.match(reportText(later), /^calls {5}10 calls of the root \(4 of them in rows\) in 1 thread$/m)
    assert.match(
      reportText({ ...later, stacks: { ...stacks, rowsFromMs: 0 } }),
      /^calls {5}4 calls of the root in 1 thread$/m,
    )
    assert.match(
      reportText({ ...later, stacks: { ...stacks, timedOneOf: 64 } }),
      /^calls {5}300 calls of the root \(4 of them in rows\) in 1 thread$/m,
    )
  })

  it('the report marks rows with missed calls, and explains the mark', () => {
    const { merged } = order
    const zeros = new Float64Array(merged.count)
    const unseen = zeros.slice()
    unseen[1] = 7
    const adaptive = (column: Float64Array) => ({
      ...order,
      merged: { ...merged, metrics: { ...merged.metrics, known: zeros, samples: zeros, unseen: column } },
    })
    const text = reportText(adaptive(unseen))
    const lines = text.split('\n').filter((line) => line.endsWith(' !'))
    assert.equal(lines.length, 2, text) // one in the tree, one among the hot methods
    assert.match(text, /^! samples show calls of this method that its probes did not record:/m)
    assert.ok(text.split('\n').every((line) => line.length <= 80))
    assert.doesNotMatch(reportText(adaptive(zeros)), /!/)
  })

  it('the report shows the error of times, and warns if times are clearly too long or too short', () => {
    const bareCalls = { calls: 64, bareNs: 1_000_000, chargedNs: 3_400_000, low: 3.1, high: 3.7 }
    const text = reportText({ ...order, bareCalls }, { width: 400 })
    assert.match(
      text,
      /^accuracy {2}reported time of a root call 3\.40 ms, time without probes below the root 1\.00 ms \(medians, 64 calls\): charged\/bare 3\.40 \(3\.10 to 3\.70\)$/m,
    )
    const warned = /^warning {3}times are too long: the reported time of root calls is 3\.40 times/m
    assert.match(text, warned)
    assert.doesNotMatch(
      reportText({ ...order, bareCalls: { ...bareCalls, low: 1.29 } }, { width: 400 }),
      warned,
    )
    const less = { ...bareCalls, chargedNs: 100_000, low: -0.1, high: 0.2 }
    const understated = /^warning {3}times are too short: the reported time of root calls is 0\.10 times/m
    assert.match(reportText({ ...order, bareCalls: less }, { width: 400 }), understated)
    const nearly = { ...less, high: 0.8 }
    assert.doesNotMatch(reportText({ ...order, bareCalls: nearly }, { width: 400 }), understated)
  })

  it('the report marks unreliable times, and does not mark reliable times', () => {
    const bareCalls = { calls: 64, bareNs: 1_000_000, chargedNs: 1_000_000, low: 0.2, high: 1.8 }
    assert.match(
      reportText({ ...order, bareCalls }, { width: 400 }),
      /^warning {3}times are uncertain: the reported time of root calls is 0\.20 to 1\.80 times/m,
    )
    const right = { ...bareCalls, low: 0.9, high: 1.2 }
    assert.doesNotMatch(reportText({ ...order, bareCalls: right }, { width: 400 }), /^warning {3}times are/m)
  })

  it('the report of scheme adaptive has the cost of stacks and probes, and no line about waiting threads', () => {
    const stacks = {
      ...{
        samples: 0,
        unseenPart: null,
        missed: 0,
        dropped: 0,
        costMs: 300,
        longestStallMs: 0,
        stallAtMs: 0,
      },
      ...{ stallCause: null, suspendedMs: 0, pauses: [], rowsFromMs: 0, coldUntilMs: null, rootCalls: 0 },
      ...{ timedOneOf: 1 },
    }
    // 2,000,000 calls of 25 ns are 50 ms of 10 s.
    const calibration = { innerNs: 11, outerNs: 14, clock: 'rdtsc' as const }
    const cost = { durationMs: 10_000, events: { count: 4_000_000, waitMs: 2 }, calibration }
    assert.match(
      reportText({ ...order, ...cost, scheme: 'adaptive', stacks }, { width: 400 }),
      /^overhead {2}3\.5 % of a processor: stacks 300 ms, probes about 50 ms \(4\.00M events\); application threads spent 2 ms on switching event buffers$/m,
    )
  })

  it('the report shows negative time as ~0', () => {
    assert.match(
      reportText(order, { minPercent: -1 }),
      / {4}~0 {8}~0 {9}~0 {9}40 {5}~0 {7}com\.acme\.Log\.debug/,
    )
  })

  it('the report merges the roots of all threads, and lists every thread on request', () => {
    const text = reportText(
      { ...order, threads: [...order.threads, { id: 7, name: 'idle', tree: profileOf('').merged }] },
      { threads: true },
    )
    assert.match(text, /\nThread worker-1 \(21\)/)
    assert.doesNotMatch(text, /idle/)
  })

  it('the report contains no escape sequence that is part of a method name', () => {
    const evil = '\x1b]0;title\x07\x1b[2J\u202e\u200b\r\n\x9b31m'
    const profile = profileOf('main 1x 1000ns', {
      target: { pid: 1, jdk: evil, vm: evil, mainClass: evil },
      roots: [evil],
      warnings: [evil],
      truncated: evil,
      methodNames: [
        { class: '', method: '', descriptor: '', loader: '' },
        { class: evil, method: evil, descriptor: evil, loader: evil },
      ],
    })
    const named = { ...profile, threads: [{ id: 1, name: evil, tree: profile.merged }] }
    const text = reportText(named, { threads: true, color: false, width: 200 })
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]/)
  })

  it('the report of an empty profile says that the profile is empty', () => {
    assert.match(reportText(profileOf('')), /Nothing was recorded: no root was called\.\n$/)
  })

  it('the report of a recursion 100,000 levels deep fits one page', () => {
    const deep = profileOfTree(chain(100_000), profileOf('deep 1x 1ns').methodNames)
    const text = reportText(deep, { maxRows: 40 })
    assert.ok(text.split('\n').length < 64)
    assert.match(text, / {6}\[39\] \S*App\.deep\n/)
  })

  it('a report with colour has the same text as a report without colour', () => {
    const colored = reportText(order, { color: true })
    assert.match(colored, /\x1b\[1m/)
    assert.equal(colored.replaceAll(/\x1b\[[\d;]*m/g, ''), reportText(order))
  })
})

describe('width and colour of a report', () => {
  const terminal = { isTTY: true, columns: 132, getColorDepth: () => 8 }
  it('the report has the width and the colours of the terminal', () => {
    assert.deepEqual(terminalOptions(terminal, {}), { width: 132, color: true })
  })
  it('a report written to a pipe has unlimited width, and no colour unless colour is forced', () => {
    assert.deepEqual(terminalOptions({}, {}), { width: Number.POSITIVE_INFINITY, color: false })
    assert.deepEqual(terminalOptions({}, { FORCE_COLOR: '1' }), {
      width: Number.POSITIVE_INFINITY,
      color: true,
    })
  })
  it('a report has no colour if NO_COLOR or FORCE_COLOR=0 is set', () => {
    assert.equal(terminalOptions(terminal, { NO_COLOR: '1' }).color, false)
    assert.equal(terminalOptions(terminal, { FORCE_COLOR: '0' }).color, false)
  })
})

describe('the report as JSON', () => {
  it("the report's JSON is the profile with fewer nodes and methods", () => {
    const report = JSON.parse([...reportJsonPieces(order, { top: 1 })].join(''))
    assert.deepEqual([report.command, report.version], ['report', 1])
    assert.equal(report.methods.length, 1)
    assert.equal(report.methods[0].method, 'priceOf')
    assert.equal(report.merged[0].calls, 4)
    assert.deepEqual(
      report.merged[0].children.map((node: { method: string }) => node.method),
      ['validate', 'priceOf'],
    )
    assert.equal(report.target.pid, 4711)
  })
})

describe('wrapping of text', () => {
  it('text is wrapped at spaces, and a word longer than a line is wrapped inside the word', () => {
    assert.deepEqual(wrap('aa bb cccccc d', 5), ['aa bb', 'ccccc', 'c d'])
    assert.deepEqual(wrap('', 5), [''])
    assert.deepEqual(wrap('aa bb cccccc d', 5, '  '), ['aa bb', '  ccc', '  ccc', '  d'])
  })
})

describe('back traces in the report', () => {
  // leaf: 5 of 11 ns through work, 6 through other, both below main
  const profile = profileOf(
    'main 1x 1ns ( work 2x 2ns ( leaf 3x 5000000ns ) other 1x 3ns ( leaf 4x 6000000ns ) )',
  )
  const backTraces = (text: string) => [
    { text, methods: methodsNamed(text, profile.merged, (id) => profile.methodNames[id]!) },
  ]

  it('a report of back traces shows the callers of each method below that method, and shows no call tree', () => {
    const text = reportText(profile, { backTraces: backTraces('App.leaf') })
    assert.doesNotMatch(text, /Calling context tree|Hot methods/)
    assert.match(text, /^Back traces of App\.leaf, all threads$/m)
    const rows = text.split('\n').filter((line) => /App\.\w+$/.test(line))
    assert.deepEqual(
      rows.slice(1).map((line) =>
        line
          .replace(/ ms/g, '')
          .trim()
          .split(/ +/)
          .filter((_, column) => column !== 1 && column !== 4),
      ),
      [
        ['11.00', '100.0', '7', 'com.acme.App.leaf'],
        ['6.000', '54.5', '4', 'com.acme.App.other'],
        ['6.000', '54.5', '4', 'com.acme.App.main'],
        ['5.000', '45.5', '3', 'com.acme.App.work'],
        ['5.000', '45.5', '3', 'com.acme.App.main'],
      ],
    )
  })

  it('back traces merge the call sites in a method, and therefore show no line numbers', () => {
    const sites = callSites()
    const methods = methodsNamed('App.work', sites.merged, (id) => sites.methodNames[id]!)
    const traced = { backTraces: [{ text: 'App.work', methods }] }
    const text = reportText(sites, traced)
    assert.match(text, /\.work\n.*\.main\n/)
    assert.doesNotMatch(text, /(work|main):\d/)
    assert.match(reportText(sites), /\.work:9\n/)
    const json = JSON.parse([...reportJsonPieces(sites, traced)].join('')) as {
      backTraces: object[]
      merged: { children: object[] }[]
    }
    assert.deepEqual(Object.keys(json.backTraces[0]!).slice(0, 4), ['class', 'method', 'descriptor', 'calls'])
    assert.ok('line' in json.merged[0]!.children[0]!)
  })

  it('back traces per thread omit threads without calls', () => {
    const idle = { id: 7, name: 'idle', tree: treeOf('main 1x 1ns', new Methods()) }
    const threads = [...profile.threads, idle]
    const text = reportText({ ...profile, threads }, { threads: true, backTraces: backTraces('App.leaf') })
    assert.match(text, /^Back traces of App\.leaf, thread worker-1 \(21\)$/m)
    assert.doesNotMatch(text, /idle/)
  })

  it("the report's JSON has back traces in addition to the tree, for all threads together and per thread", () => {
    const pieces = reportJsonPieces(profile, { threads: true, backTraces: backTraces('App.leaf') })
    type Node = { method: string; calls: number; totalNs: number; children: Node[] }
    const json = JSON.parse([...pieces].join('')) as { backTraces: Node[]; threads: { backTraces: Node[] }[] }
    const show = (nodes: Node[]): string =>
      nodes.map((it) => `${it.method} ${it.calls}x ${it.totalNs / 1e6} (${show(it.children)})`).join(' ')
    const expected = 'leaf 7x 11 (work 3x 5 (main 3x 5 ()) other 4x 6 (main 4x 6 ()))'
    assert.equal(show(json.backTraces), expected)
    assert.equal(show(json.threads[0]!.backTraces), expected)
    assert.ok(!('measuredNs' in json.backTraces[0]!))
  })
})
