import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { chain, profileOf, profileOfTree } from '../profile/trees.ts'
import { callSites, exported, twoThreads } from './exported.ts'

/** Parses rows in the format of RFC 4180: CR LF ends a row, and two quotes inside quotes are one quote. */
function rowsOf(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, , quotes, plain, end] of text.matchAll(/(("(?:[^"]|"")*")|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)!.push(quotes === undefined ? plain! : quotes.slice(1, -1).replaceAll('""', '"'))
    if (end === '\r\n') rows.push([])
  }
  assert.deepEqual(rows.pop(), [])
  return rows
}

describe('the export format CSV', () => {
  it('a CSV export has a row of column names, and one row per context', async () => {
    const text = await exported(profileOf('main 1x 10.5ns ( work 2x -4ns )'), 'csv')
    assert.equal(
      text,
      [
        'node,parent,depth,path,class,method,descriptor,loader,calls,selfNs,totalNs,measuredNs,warmupCalls,warmupSelfNs',
        '0,,0,com.acme.App.main,com.acme.App,main,(I)V,app,1,10.5,6.5,11.5,0,0',
        '1,0,1,com.acme.App.main;com.acme.App.work,com.acme.App,work,(I)V,app,2,-4,-4,-2,0,0',
        '',
      ].join('\r\n'),
    )
  })

  it('a CSV export has rows per thread on request, and names may contain any characters', async () => {
    const rows = rowsOf(await exported(twoThreads(), 'csv', true))
    assert.deepEqual(
      rows.map((row) => row.slice(0, 5)),
      [
        ['threadId', 'thread', 'node', 'parent', 'depth'],
        ['1', 'main', '0', '', '0'],
        ['21', 'pool "1";\'\n', '1', '', '0'],
        ['21', 'pool "1";\'\n', '2', '1', '1'],
      ],
    )
  })

  it('a CSV export marks names that look like spreadsheet formulas, and every original name can be restored', async () => {
    const names = [
      '=1+1',
      '+1',
      '-main',
      '@SUM(A1)',
      '\tx',
      '\n=1',
      "'quoted",
      '＝1',
      'a=b',
      '<init>',
      'a;=1+1',
    ]
    const [, ...rows] = rowsOf(
      await exported(
        profileOf('main 1x -5ns', {
          threads: names.map((name, i) => ({ id: i, name, tree: profileOf('main 1x -5ns').merged })),
        }),
        'csv',
        true,
      ),
    )
    assert.equal(rows.length, names.length)
    for (const [i, row] of rows.entries()) {
      assert.doesNotMatch(row[1]!, /^[=+\-@\t\r\n＝]/)
      assert.doesNotMatch(row[1]!, /;[=+\-@]/)
      assert.equal(row[1]!.replace(/(?<=^|;)'/g, ''), names[i])
      assert.equal(row[11], '-5') // numbers are not quoted
    }
    for (const [name, safe] of [
      ['=1+1', "'=1+1.x"],
      ['＋1', "'＋1.x"],
      ["'q", "''q.x"],
    ] as const) {
      const none = { class: '', method: '', descriptor: '', loader: '' }
      const methodNames = [none, { ...none, class: 'A', method: 'm' }, { ...none, class: name, method: 'x' }]
      const [, , below] = rowsOf(
        await exported(profileOf('main 1x 1ns ( work 1x 1ns )', { methodNames }), 'csv'),
      )
      assert.equal(below![3], `A.m;${safe}`)
    }
    const clojure = profileOf('main 1x 1ns', {
      methodNames: [
        { class: '', method: '', descriptor: '', loader: '' },
        { class: '=cmd|x', method: '-main', descriptor: '()V', loader: '@app' },
      ],
    })
    const [, row] = rowsOf(await exported(clojure, 'csv'))
    assert.deepEqual(row!.slice(3, 8), ["'=cmd|x.-main", "'=cmd|x", "'-main", '()V', "'@app"])
  })

  it('a CSV export has call sites if the profile has call sites', async () => {
    const [head, , seven] = rowsOf(await exported(callSites(), 'csv'))
    assert.deepEqual(head!.slice(4, 10), ['class', 'method', 'descriptor', 'loader', 'bci', 'line'])
    assert.deepEqual(seven!.slice(3, 10), [
      'com.acme.App.main;com.acme.App.work:7',
      ...['com.acme.App', 'work', '(I)V', 'app', '3', '7'],
    ])
  })

  it('the length of rows in a CSV export is limited even for a recursion 3,000 deep', async () => {
    const deep = profileOfTree(chain(3000), profileOf('deep 1x 1ns').methodNames)
    const rows = rowsOf(await exported(deep, 'csv'))
    assert.equal(rows.length, 3001)
    const path = rows[3000]![3]!.split(';')
    assert.equal(path.length, 513)
    assert.equal(path[256], '[2488 frames]')
    assert.equal(rows[3000]![2], '2999')
  })
})
