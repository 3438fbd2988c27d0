import assert from 'node:assert/strict'
import { beforeAll, it } from 'vitest'
import { byMethod, parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture, compileLate } from '../fixtures/fixtures.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { itOnlyIf } from '../support/only-if.ts'
import { countCalls } from './oracle.ts'

const send = ['run', 'expect', 'quit']
const include = ['fix.*']

forNewestJdk((jdk) => {
  let classpath: string
  beforeAll(async () => {
    const [knownTree, callbacks, throws] = await Promise.all([
      compileFixture(jdk, 'KnownTree'),
      compileFixture(jdk, 'Callbacks'),
      compileFixture(jdk, 'Throws'),
    ])
    classpath = `${knownTree}:${callbacks}:${throws}`
  })

  it('the tree of the program KnownTree equals the computed tree, in one thread', async () => {
    const args = ['1', '10']
    const counts = await countCalls({
      ...{ jdk, classpath, mainClass: 'fix.KnownTree', args },
      ...{ root: 'fix.KnownTree.task', include, send },
    })
    assert.deepEqual(counts.contexts, sorted(parseExpectation(counts.stdout)))
    assert.deepEqual(counts.methods, sorted(byMethod(counts.contexts)))
  })

  it('the tree of the program KnownTree equals the computed tree, in three threads', async () => {
    const args = ['3', '5']
    const counts = await countCalls({
      ...{ jdk, classpath, mainClass: 'fix.KnownTree', args },
      ...{ root: 'fix.KnownTree.task(I)J', include, send },
    })
    assert.deepEqual(counts.contexts, sorted(parseExpectation(counts.stdout)))
  })

  it('every callback through the JDK in the program Callbacks is counted', async () => {
    const counts = await countCalls({
      ...{ jdk, classpath, mainClass: 'fix.Callbacks', args: ['12'] },
      ...{ root: 'fix.Callbacks.root', include, send },
    })
    assert.deepEqual(counts.methods, sorted(parseExpectation(counts.stdout)))
  })

  it('after exceptions in the program Throws, each call is below its real caller', async () => {
    const counts = await countCalls({
      ...{ jdk, classpath, mainClass: 'fix.Throws', args: ['13'] },
      ...{ root: 'fix.Throws.root', include, send },
    })
    assert.deepEqual(counts.contexts, sorted(parseExpectation(counts.stdout)))
  })

  it('calls of classes that the program Late loads while its root runs are counted, in both class loaders', async () => {
    const { classes, a, b } = await compileLate(jdk)
    const send = ['load a', 'inside b', 'expect', 'service a', 'expect', 'quit']
    const counts = await countCalls({
      ...{ jdk, classpath: classes, mainClass: 'fix.Late', args: [a, b] },
      ...{ root: 'fix.Late.run', include, send },
    })
    const expected = new Map<string, number>()
    for (const [name, calls] of parseExpectation(counts.stdout)) {
      const method = name.replace(/@late-[ab]$/, '') // class names in a debugger contain no loader
      expected.set(method, (expected.get(method) ?? 0) + calls)
    }
    assert.deepEqual(counts.methods, sorted(expected))
  })

  const itWithVirtualThreads = itOnlyIf(jdk.version >= 21, 'virtual threads need JDK 21')
  itWithVirtualThreads(
    'calls by the virtual threads of the program Virtual are counted on any carrier thread',
    async () => {
      const counts = await countCalls({
        ...{ jdk, classpath: await compileFixture(jdk, 'Virtual'), mainClass: 'fix.Virtual' },
        ...{ root: 'fix.Virtual.task', include, send: ['run 10', 'expect 10', 'quit'] },
      })
      assert.deepEqual(counts.contexts, sorted(parseExpectation(counts.stdout)))
    },
  )

  it('the tree of a root that is never called contains no calls', async () => {
    const counts = await countCalls({
      ...{ jdk, classpath, mainClass: 'fix.Throws', args: ['4'] },
      ...{ root: 'fix.Throws.overflows', include, send },
    })
    assert.deepEqual([counts.methods.size, counts.contexts.size], [0, 0])
    assert.ok(counts.events > 100)
  })
})

function sorted(calls: Map<string, number>): Map<string, number> {
  return new Map([...calls].sort(([a], [b]) => (a < b ? -1 : 1)))
}
