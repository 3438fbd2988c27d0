import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { codeSpan } from '../../src/export/markdown.ts'
import { REGION } from '../profile/region.ts'
import { chain, profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { callSites, exported, ofEveryMetric, twoThreads } from './exported.ts'

describe('the export format Markdown', () => {
  it('a Markdown export has the program, the hottest path and the hot methods', async () => {
    const profile = profileOf(
      'main 2x 1000000ns ( work 2x 7000000ns ( leaf 9x 2000000ns ) other 1x 500000ns )',
    )
    assert.equal(
      await exported({ ...profile, warnings: ['one `two` <b>'] }, 'markdown'),
      `# Profile of \`com.acme.Main\`

- target: pid 4711, JDK \`17.0.15\`, \`OpenJDK 64-Bit Server VM\`
- root: \`com.acme.App.main\`
- recorded: 10.0 s from \`2026-11-21T08:00:00.000Z\`, mode exact
- total: 10.50 ms in 1 thread, 2 calls of roots
- methods: 12 instrumented, 4 called

## Warnings

- \`\` one \`two\` <b> \`\`

## Hottest path

| total | % of all | self | calls | method |
| --: | --: | --: | --: | --- |
| 10.50 ms | 100.0 | 1.000 ms | 2 | \`com.acme.App.main\` |
| 9.000 ms | 85.7 | 7.000 ms | 2 | \`com.acme.App.work\` |

## Hot methods, by self time

| self | % | total | calls | method |
| --: | --: | --: | --: | --- |
| 7.000 ms | 66.7 | 9.000 ms | 2 | \`com.acme.App.work\` |
| 2.000 ms | 19.0 | 2.000 ms | 9 | \`com.acme.App.leaf\` |
| 1.000 ms | 9.5 | 10.50 ms | 2 | \`com.acme.App.main\` |
| 500.0 µs | 4.8 | 500.0 µs | 1 | \`com.acme.App.other\` |
`,
    )
  })

  it('a Markdown export has line numbers on the hottest path, and no line numbers for hot methods', async () => {
    const [path, hot] = (await exported(callSites(), 'markdown')).split('## Hot methods')
    assert.match(path!, /`com\.acme\.App\.work:9`/)
    assert.match(hot!, /\| 85\.7 \| .* \| 3 \| `com\.acme\.App\.work` \|\n/)
    assert.doesNotMatch(hot!, /:\d+`/)
  })

  it('a Markdown export has names in code spans, even names with special characters', () => {
    assert.equal(codeSpan(''), '` `')
    assert.equal(codeSpan('a.B.<init>'), '`a.B.<init>`')
    assert.equal(codeSpan('a`b``c'), '``` a`b``c ```')
    assert.equal(codeSpan('a|b\n\x1b[31m'), '`a\\|b??[31m`')
    assert.ok(codeSpan('x'.repeat(10_000)).length < 170)
  })

  it('a Markdown export has fewer than 60 lines, and reports omitted rows', async () => {
    const names = Array.from({ length: 101 }, (_, id) => `m${id} 1x 1ns`).join(' ')
    const tree = randomTree(5000, 100, seeded(3))
    const many = (text: string) => Array.from({ length: 30 }, (_, at) => `${text} ${at}`)
    const profile = profileOfTree(tree, profileOf(names).methodNames, {
      ...{ roots: many('r'), warnings: many('w'), truncated: 'it had to end' },
      threads: Array.from({ length: 40 }, (_, id) => ({ id, name: `t${id}`, tree })),
    })
    const text = await exported(profile, 'markdown')
    assert.ok(text.split('\n').length < 60, `${text.split('\n').length} lines`)
    assert.match(text, /^- and 27 more$/m)
    assert.match(text, /`r 4`, and 25 more$/m)
    const deep = profileOfTree(chain(3000), profileOf('deep 1x 1ns').methodNames)
    assert.match(await exported(deep, 'markdown'), /^and 2,990 calls further down the path\.$/m)
  })

  it('a Markdown export has a table of threads on request', async () => {
    const text = await exported(twoThreads(), 'markdown', true)
    assert.match(
      text,
      /## Threads\n\n.*\n.*\n\| 74 ns \| 88\.1 \| 2 \| `pool "1";\?` \|\n\| 10 ns \| 11\.9 \| 1 \| `main` \|\n$/,
    )
  })

  const counts = /^\| 7 \| 58\.3 \| 7 \| 7 \| `com\.acme\.App\.work` \|$/m
  it.each(
    ofEveryMetric({
      waits: /^\| 700 ns \| 100\.0 \| 700 ns \| 2 \| `\(blocked on com\.acme\.Lock\)` \|$/m,
      bytecodes: counts,
      calls: counts,
      samples: counts,
      bytes: /^\| 100 \| 67\.6 \| 1 \| `new byte\[\]` \|$/m,
      'call sites': /`com\.acme\.App\.work:9`/,
    }),
  )('a Markdown export of a profile with %s has the right values', async (_, profile, row) => {
    assert.match(await exported(profile, 'markdown'), row)
  })

  it('a Markdown export has the times of regions, and a message if the profile is empty', async () => {
    const text = await exported(profileOf('main 1x 1ns', { regions: [REGION] }), 'markdown')
    assert.match(text, /## Gross time of regions\n\n\| count .*\n.*\n\| .*`com\.acme\.App\.main/)
    assert.match(await exported(profileOf(''), 'markdown'), /\nNothing was recorded\.\n$/)
  })
})
