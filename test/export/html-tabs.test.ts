// The tabs of the HTML page: which tabs a page has, the rows of their lists, and links to rows.

import assert from 'node:assert/strict'
import { inflateRawSync } from 'node:zlib'
import { describe, it } from 'vitest'
import { comparePage } from '../../src/export/html/compare-page.ts'
import { pagePieces } from '../../src/export/html/page.ts'
import type { PageData, PageList, PageRow } from '../../src/export/html/page-data.ts'
import { profilePage } from '../../src/export/html/profile-page.ts'
import { tabsOf } from '../../src/export/html/tabs.ts'
import { changesOf } from '../../src/profile/changes.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { ofRange } from '../../src/profile/range.ts'
import { TIMED } from '../profile/root-calls.ts'
import { build, Methods, profileOf, profileOfTree } from '../profile/trees.ts'
import { allTabs } from './all-tabs.ts'

const dataOf = (profile: Profile, most?: number): PageData => profilePage(profile, most).data
const tabs = (profile: Profile): string[] => tabsOf(dataOf(profile)).map(({ name }) => name)

/** Returns a row with its name as text. */
function readable({ names, classes }: PageData, [depth, name, note, ...cells]: PageRow) {
  if (typeof name === 'string') return [depth, name, note, ...cells]
  const [owner, member] = names[name]!
  return [depth, owner < 0 ? member : `${classes[owner]}.${member}`, note, ...cells]
}

function rowsOf(data: PageData, tab: string, list = 0): (string | number)[][] {
  return data.lists[tab]![list]!.rows.map((row) => readable(data, row))
}

const app = (method: string): string => `com.acme.App.${method}`

/** Facts of the first slow call. */
const FACTS = 'arg0.id=7, arg1.name=(not written), worker-1, threw java.sql.SQLTimeoutException'
const ORIGIN = [
  'called by com.acme.Filter.doFilter',
  'trace 4bf92f3577b34da6',
  '2 samples: too few to divide its time',
]

describe('the tabs of the exported HTML page', () => {
  it('a page has a tab for each kind of data that the profile has', () => {
    const all = ['flame', 'tree', 'hot', 'callers', 'latency', 'slow', 'locks', 'timeline', 'traces', 'cost']
    assert.deepEqual(tabs(allTabs()), all)
    assert.deepEqual(tabs(profileOf('main 1x 1ns')), ['flame', 'tree', 'hot', 'callers', 'cost'])
    assert.deepEqual(tabs(profileOf('')), ['cost'])
  })

  it('a page contains the buttons and the panels of its tabs only', () => {
    const page = [...pagePieces(profilePage(profileOf('main 1x 1ns')))].join('')
    const found = [...page.matchAll(/role="tab" id="tab-(\w+)" aria-controls="panel-(\w+)"/g)]
    assert.deepEqual(
      found.map(([, tab, panel]) => [tab, panel]),
      tabs(profileOf('main 1x 1ns')).map((it) => [it, it]),
    )
    assert.doesNotMatch(page, /id="panel-(latency|slow|locks|timeline|traces)"/)
  })

  it('the tab of the latency has the percentiles of root calls, and their distribution', () => {
    const data = dataOf(allTabs())
    assert.deepEqual(rowsOf(data, 'latency').slice(0, 3), [
      [0, 'minimum', '', 9e5],
      [0, 'p50', 'median', 1.2e6],
      [0, 'p90', '', 2e6],
    ])
    const bars = rowsOf(data, 'latency', 1)
    assert.equal(
      bars.reduce((sum, [, , , calls]) => sum + Number(calls), 0),
      4252,
    )
    assert.equal(bars.at(-1)!.at(-1), 100)
    assert.match(String(bars[0]![1]), /^1\.20 ms to /)
  })

  it('the tab of slow calls lists the slowest calls, and the contexts with more self cost in slow calls', () => {
    const data = dataOf(allTabs())
    const [calls] = data.lists.slow as [PageList]
    assert.deepEqual(rowsOf(data, 'slow'), [
      [0, app('main'), FACTS, 45e6, 1.5e9, 2],
      ...ORIGIN.map((it) => [1, it, '', '', '', '']),
      [0, app('main'), 'worker-1', 2e6, 1.5e9, 1],
    ])
    // The recording has kept no tree of the second call.
    assert.deepEqual(calls.places, [...Array(4).fill({ tree: 4, node: 0 }), null])
    assert.equal(data.trees[4]!.title, 'slow call 2: 45.0 ms, worker-1, threw java.sql.SQLTimeoutException')
    const changes = rowsOf(data, 'slow', 2)
    assert.deepEqual(
      changes.map(([, name, , slow]) => [name, slow]),
      [
        [app('work'), 40e6],
        [app('reload'), 4e6],
        [app('main'), 1000],
      ],
    )
    assert.deepEqual(data.lists.slow![2]!.places, [
      { tree: 3, node: 1 },
      { tree: 3, node: 2 },
      { tree: 3, node: 0 },
    ])
    assert.deepEqual(
      data.trees.map(({ isSlow }) => isSlow === true),
      [false, false, false, true, true, true],
    )
  })

  it('the tab of slow calls lists the latest calls that an exception ended, also if they were not slow', () => {
    const data = dataOf(allTabs())
    assert.equal(data.lists.slow![1]!.title, '12 calls that an exception ended')
    assert.deepEqual(rowsOf(data, 'slow', 1), [
      [0, app('main'), 'worker-1, threw java.io.IOException', 1e6, 9e9, 3],
      [0, app('main'), FACTS, 45e6, 1.5e9, 2],
      ...ORIGIN.map((it) => [1, it, '', '', '', '']),
    ])
    // A call that is in both lists has one tree.
    const inBoth = { tree: 4, node: 0 }
    assert.deepEqual(data.lists.slow![1]!.places, [{ tree: 5, node: 0 }, ...Array(4).fill(inBoth)])
    assert.equal(data.trees[5]!.title, 'call 3: 1.00 ms, worker-1, threw java.io.IOException')
    const { slowCalls } = allTabs()
    const none = dataOf(allTabs({ slowCalls: { ...slowCalls!, slowest: [] } }))
    assert.deepEqual(
      none.lists.slow!.map(({ title }) => title),
      ['12 calls that an exception ended'],
    )
  })

  it('a context of slow calls that is too small for the page has no place in a tree', () => {
    // 42 contexts for 21 trees of slow calls: two contexts per tree.
    const { lists, trees } = dataOf(allTabs(), 42)
    assert.equal(trees[3]!.count, 2)
    assert.deepEqual(lists.slow![2]!.places, [{ tree: 3, node: 1 }, null, { tree: 3, node: 0 }])
  })

  it('the tab of locks lists each lock with the methods that waited for it', () => {
    assert.deepEqual(rowsOf(dataOf(allTabs()), 'locks'), [
      [0, '(blocked on com.acme.Cache)', '', 80_000, 100, 40, 2000],
      [1, app('work'), '', 80_000, 100, 40, 2000],
    ])
  })

  it('the tab of traces has the critical path of a call with tasks, its calls, and the calls of its tasks', () => {
    const rows = rowsOf(dataOf(allTabs()), 'traces')
    const second = rows.findIndex(([depth], row) => depth === 0 && row > 0)
    const first = rows.slice(0, second).map(([depth, name, note]) => [depth, name, note])
    assert.deepEqual(first[0], [0, app('main'), 'call 1, t1'])
    assert.deepEqual(first[1], [1, 'critical path', '3 steps'])
    const at = first.findIndex(([depth, name]) => depth === 1 && name === app('work'))
    assert.deepEqual(first.slice(at), [
      [1, app('work'), ''],
      [2, '(blocked on com.acme.Cache)', ''],
      [1, 'submitted task, in t2', ''],
      [2, app('run'), ''],
      [3, app('reload'), ''],
    ])
    assert.deepEqual(rows.slice(second), [
      [0, app('main'), 'call 2, t1', 1e6, 60, 100, 1],
      [1, app('work'), '', 5, 33, 55, 2],
    ])
  })

  it('the timeline has the values of complete seconds, and no chart without values', () => {
    const { timeline } = dataOf(allTabs())
    assert.equal(timeline?.first, 7)
    assert.deepEqual(
      timeline.charts.map(({ title, series }) => [title, ...series.map(({ values }) => values)]),
      [
        ['root calls', [2000, 52]],
        ['latency', [9e6, 180e6], [3e6, 20e6], [1e6, 5e6]],
        ['events', [40_000, 1000]],
        ['stalled', [0, 1e6]],
        ['pauses', [0, 30e6]],
      ],
    )
    const { course } = allTabs()
    const none = new Float64Array(3)
    const quiet = dataOf(allTabs({ course: { ...course!, waitNs: none, pauseNs: none } }))
    assert.deepEqual(
      quiet.timeline?.charts.map(({ title }) => title),
      ['root calls', 'latency', 'events'],
    )
  })

  it('the tab of the session cost has the facts on overhead, the instrumentation, and methods without probes', () => {
    const page = profilePage(allTabs())
    const labels = page.costFacts.map(([label]) => label)
    assert.ok(labels.includes('overhead') && labels.includes('probes'), labels.join())
    assert.ok(!page.facts.some(([label]) => labels.includes(label)))
    assert.deepEqual(rowsOf(page.data, 'cost')[0], [0, 'methods with probes', '', '12'])
    assert.deepEqual(rowsOf(page.data, 'cost', 1), [
      [0, 'native', '', 2],
      [1, 'com.acme.Late.a()', '', ''],
      [1, 'com.acme.Late.b()', '', ''],
    ])
  })

  it('rows of lists with any characters do not end the script of the exported page early', () => {
    const evil = '</script><script>alert(1)</script><!--<script>&"\''
    const { slowCalls, trace, ...profile } = allTabs()
    const thread = { id: 1, name: evil }
    const page = [
      ...pagePieces(
        profilePage({
          ...profile,
          slowCalls: {
            ...slowCalls!,
            slowest: slowCalls!.slowest.map((it) => ({
              ...it,
              thread,
              threw: evil,
              values: [evil],
              caller: evil,
            })),
          },
          trace: {
            ...trace!,
            calls: trace!.calls.map((it) => ({
              ...it,
              tracks: it.tracks.map((track) => ({ ...track, thread })),
            })),
          },
          instrumentation: { ...profile.instrumentation, skipped: [{ method: evil, reason: evil }] },
          methodNames: profile.methodNames.map((name) => ({ ...name, class: evil })),
        }),
      ),
    ].join('')
    // Blocks of six trees and of the segments, the data, and the script.
    assert.equal(page.match(/<script/gi)?.length, 9)
    assert.equal(page.match(/<\/script>/gi)?.length, 9)
    assert.doesNotMatch(page.replace(/<script.*?<\/script>/gs, ''), /<script|alert\(1\)<\/|<!--/)
  })

  it('rows that are sampled have their deviation and their thread state', () => {
    const methods = new Methods()
    for (const name of ['main', 'work', 'other']) methods.id(name)
    const tree = build([-1, 0, 0], [1, 2, 3], [10, 0, 0], [100, 700, 200])
    const column = (...values: number[]) => Float64Array.from(values)
    const metrics = {
      ...tree.metrics,
      ...{ known: column(0, 1, 1), samples: column(10, 7, 2), sdNs: column(0, 70, 50) },
      ...{ cpuNs: column(300, 0, 200), lockNs: column(700, 700, 0) },
      ...{ ioNs: column(0, 0, 0), sleepNs: column(0, 0, 0), waitNs: column(0, 0, 0) },
    }
    const [head] = dataOf(profileOfTree({ ...tree, metrics }, methods.names)).trees
    assert.deepEqual(head!.columns, ['calls', 'self', 'total', 'sd'])
    assert.deepEqual(head!.notes, [
      [0, '[lock 70 %]'],
      [1, '[lock 100 %]'],
    ])
  })
})

describe('time ranges of the exported HTML page', () => {
  /** Returns the rows of each segment as names with calls, self and total cost. */
  function segmentRows(profile: Profile, most?: number) {
    const { data, ranges } = profilePage(profile, most)
    const { columns, count, segments, leftOut } = data.ranges!
    const bytes = inflateRawSync(ranges!())
    let at = 0
    const values = (length: number, width: number, read: (offset: number) => number): number[] => {
      at += length * width
      return Array.from({ length }, (_, i) => read(at - (length - i) * width))
    }
    const numbers = segments.map(({ rows }) =>
      columns.map(() => values(rows, 8, (offset) => bytes.readDoubleLE(offset))),
    )
    const integers = (length: number) => values(length, 4, (offset) => bytes.readInt32LE(offset))
    const [method, size] = [integers(count), integers(count)]
    const found = segments.map(({ rows }, segment) =>
      integers(rows).map((node, row) => [
        data.names[method[node]!]![1],
        ...numbers[segment]!.map((it) => it[row]!),
      ]),
    )
    assert.equal(at, bytes.length)
    return { found, size, leftOut }
  }

  it('the segments of the page have the costs of the ranges of a report', () => {
    const profile = allTabs()
    const ranged = profile.segments!.segments.map(({ beginMs, endMs }) => {
      const { merged, methodNames } = ofRange(profile, { fromMs: beginMs, toMs: endMs }, '')
      const { calls, selfNs, totalNs } = merged.metrics
      return Array.from(merged.method, (id, node) => [
        methodNames[id]!.method,
        ...[calls![node], selfNs![node], totalNs![node]],
      ])
    })
    const { found, size } = segmentRows(profile)
    assert.deepEqual(found, ranged)
    assert.deepEqual(
      found.map((rows) => rows.length),
      [2, 2],
    )
    assert.deepEqual(size, [3, 1, 1])
  })

  it('contexts that are left out do not change the costs of their callers in a segment', () => {
    const { found, leftOut } = segmentRows(allTabs(), 1)
    assert.equal(leftOut, 2)
    assert.deepEqual(found, [[['main', 60, 6000, 11_000]], [['main', 40, 3000, 7000]]])
  })

  it('a page without segments or with a single segment has no ranges', () => {
    const { segments } = allTabs()
    const single = { ...segments!, segments: segments!.segments.slice(0, 1) }
    assert.equal(dataOf(allTabs({ segments: single })).ranges, undefined)
    assert.equal(dataOf(profileOf('main 1x 1ns', TIMED)).ranges, undefined)
  })
})

describe('the tabs of the exported page of a comparison', () => {
  const compared = (path: string, profile: Profile) => ({ path, profile })
  const dataOfBoth = (before: Profile, after: Profile): PageData =>
    comparePage(compared('a', before), compared('b', after), changesOf(before, after), []).data

  it('the first tab has the changes of the root calls, then the methods that have changed most', () => {
    const before = profileOf(
      'main 100x 1000000ns ( work 200x 5000000ns gone 100x 1000000ns same 1x 1000ns )',
      TIMED,
    )
    const after = profileOf(
      'main 100x 1000000ns ( work 200x 9000000ns fresh 100x 2000000ns same 1x 1000ns )',
      TIMED,
    )
    const data = dataOfBoth(before, after)
    assert.deepEqual(
      tabsOf(data).map(({ name }) => name),
      ['changes', 'flame', 'tree', 'hot', 'callers', 'latency', 'cost'],
    )
    assert.deepEqual(
      rowsOf(data, 'changes').map(([, name, , ...cells]) => [name, ...cells]),
      [
        ['root calls per second', '1,417/s', '1,417/s', '0.0 %'],
        ['mean', '70.01 µs', '120.0 µs', '+71.4 %'],
        ...['p50', 'p95', 'p99'].map((it, i) => [
          it,
          ...Array(2).fill(['1.20 ms', '3.40 ms', '12.0 ms'][i]),
          '0.0 %',
        ]),
      ],
    )
    assert.deepEqual(rowsOf(data, 'changes', 1), [
      [0, app('work'), '', 4e4, 5e4, 9e4],
      [0, app('fresh'), '', 2e4, 'new', 2e4],
      [0, app('gone'), '', -1e4, 1e4, 'gone'],
    ])
    const { title, notes } = data.lists.changes![1]!
    assert.equal(title, '3 methods changed by more than 1 % of a root call')
    assert.match(notes.join(' '), /The noise is unknown/)
  })

  it('the latency of a comparison has both profiles, and shares of the root calls of each', () => {
    const slower = {
      ...TIMED.rootCalls,
      max: 360e6,
      buckets: [
        [9e5, 2e6, 100],
        [1e7, 2e8, 300],
      ] as const,
    }
    const data = dataOfBoth(
      profileOf('main 1x 1ns', TIMED),
      profileOf('main 1x 2ns', { ...TIMED, rootCalls: { ...slower, count: 400 } }),
    )
    assert.deepEqual(rowsOf(data, 'latency').at(-2), [0, 'maximum', '', 180e6, 360e6, 180e6])
    const bars = rowsOf(data, 'latency', 1).map(([, , , before, after]) => [Number(before), Number(after)])
    const sums = [0, 1].map((side) => bars.reduce((sum, it) => sum + it[side]!, 0))
    assert.deepEqual(sums.map(Math.round), [100, 100])
    assert.deepEqual(bars.at(0), [(100 * 4000) / 4252, 25])
    assert.deepEqual(bars.at(-1), [(100 * 252) / 4252, 75])
  })

  it('a comparison without durations of root calls has no tab of the latency', () => {
    const data = dataOfBoth(profileOf('main 1x 1ns', TIMED), profileOf('main 1x 2ns'))
    assert.ok(!tabsOf(data).some(({ name }) => name === 'latency'))
  })
})

describe('links to rows of the exported HTML page', () => {
  interface PageLink {
    readonly tab: string
    readonly tree: number
    readonly at: readonly number[]
    readonly range: readonly [fromMs: number, toMs: number] | undefined
    readonly page: string
  }
  interface Links {
    linkText(link: PageLink): string
    readLink(fragment: string): PageLink & { readonly unknown: readonly string[] }
  }
  const links = async (): Promise<Links> => {
    const module = new URL('../../src/export/html/client/link.js', import.meta.url).href
    return (await import(module)) as Links
  }

  it('a link is read as it was written', async () => {
    const { linkText, readLink } = await links()
    const all: PageLink[] = [
      { tab: 'tree', tree: 3, at: [71_000], range: [3100, 20_000], page: '3f9a2c1b' },
      { tab: 'callers', tree: 0, at: [0, 35, 36], range: undefined, page: '00000000' },
      { tab: 'cost', tree: 0, at: [], range: [0, 65_250], page: 'ffffffff' },
    ]
    for (const link of all) assert.deepEqual(readLink(linkText(link)), { ...link, unknown: [] })
    assert.equal(linkText(all[1]!), '#tab=callers&at=0.z.10&page=00000000')
    assert.equal(linkText(all[2]!), '#tab=cost&range=0-65.25&page=ffffffff')
  })

  it('parts of a link that are unknown, incomplete or not numbers are reported', async () => {
    const { readLink } = await links()
    const none = { tab: '', tree: 0, at: [], range: undefined, page: '' }
    assert.deepEqual(readLink(''), { ...none, unknown: [] })
    const unknown = ['x=1', 'at=', 'at=1..2', 'tree=-1', 'range=5', 'range=-5-7', 'tab', 'tab=<b>']
    assert.deepEqual(readLink(`#tab=hot&${unknown.join('&')}`), { ...none, tab: 'hot', unknown })
    assert.equal(readLink(`#${'x'.repeat(1000)}`).unknown[0]!.length, 40)
  })

  it('pages of different profiles have different ids', () => {
    const id = (profile: Profile) =>
      /<body data-page="([0-9a-f]{8})">/.exec([...pagePieces(profilePage(profile))].join(''))![1]
    const one = profileOf('main 1x 1ns ( work 2x 3ns )')
    assert.equal(id(one), id(one))
    assert.notEqual(id(one), id(profileOf('main 1x 2ns ( work 2x 3ns )')))
  })
})
