import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Profile } from '../../src/profile/profile.ts'
import { chain, profileOf, profileOfTree } from '../profile/trees.ts'
import { exported, ofEveryMetric, twoThreads } from './exported.ts'

interface Table {
  readonly length: number
  readonly [column: string]: unknown
}

interface Thread {
  readonly name: string
  readonly pid: string
  readonly tid: number
  readonly isMainThread: boolean
  readonly stringArray: readonly string[]
  readonly funcTable: Table & { readonly name: readonly number[] }
  readonly frameTable: Table & { readonly func: readonly number[] }
  readonly stackTable: Table & {
    readonly frame: readonly number[]
    readonly prefix: readonly (number | null)[]
  }
  readonly samples: Table & {
    readonly stack: readonly number[]
    readonly time: readonly number[]
    readonly weight: readonly number[]
    readonly weightType: string
  }
  readonly markers: Table
  readonly resourceTable: Table
  readonly nativeSymbols: Table
}

interface Firefox {
  readonly meta: {
    readonly preprocessedProfileVersion: number
    readonly startTime: number
    readonly product: string
  }
  readonly threads: readonly Thread[]
}

/** Columns of version 48 of the format. */
const COLUMNS = {
  funcTable: ['name', 'isJS', 'relevantForJS', 'resource', 'fileName', 'lineNumber', 'columnNumber'],
  frameTable: [
    ...['func', 'address', 'inlineDepth', 'category', 'subcategory', 'nativeSymbol', 'innerWindowID'],
    ...['implementation', 'line', 'column'],
  ],
  stackTable: ['frame', 'prefix', 'category', 'subcategory'],
  samples: ['stack', 'time', 'weight'],
  markers: ['data', 'name', 'startTime', 'endTime', 'phase', 'category'],
  resourceTable: ['lib', 'name', 'host', 'type'],
  nativeSymbols: ['libIndex', 'address', 'name', 'functionSize'],
} as const

async function firefoxOf(profile: Profile, threads = false): Promise<Firefox> {
  const file = JSON.parse(await exported(profile, 'firefox', threads)) as Firefox
  assert.equal(file.meta.preprocessedProfileVersion, 48)
  for (const thread of file.threads) {
    for (const name of Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]) {
      const { length, weightType, ...columns } = thread[name]
      assert.deepEqual(Object.keys(columns).sort(), [...COLUMNS[name]].sort(), name)
      for (const [column, values] of Object.entries(columns)) {
        assert.ok(Array.isArray(values), `${name}.${column}`)
        assert.equal(values.length, length, `${name}.${column}`)
      }
    }
    // Indices are valid, and a stack's prefix precedes the stack.
    assert.ok(thread.funcTable.name.every((at) => typeof thread.stringArray[at] === 'string'))
    assert.ok(thread.frameTable.func.every((at) => at < thread.funcTable.length))
    assert.ok(thread.stackTable.frame.every((at) => at < thread.frameTable.length))
    assert.ok(thread.stackTable.prefix.every((before, at) => before === null || before < at))
    assert.ok(thread.samples.stack.every((at) => at < thread.stackTable.length))
  }
  return file
}

/** Format: "main;work 54@10": weight and time, for all samples from a given one on. */
function stacks({ samples, stackTable, frameTable, funcTable, stringArray }: Thread, from = 0): string[] {
  return samples.stack.slice(from).map((stack, i) => {
    const sample = from + i
    const path: string[] = []
    for (let at: number | null = stack; at !== null; at = stackTable.prefix[at]!) {
      path.push(stringArray[funcTable.name[frameTable.func[stackTable.frame[at]!]!]!]!)
    }
    const names = path.reverse().join(';').replaceAll('com.acme.App.', '')
    return `${names} ${samples.weight[sample]}@${samples.time[sample]}`
  })
}

describe('the export format firefox', () => {
  it('firefox has one sample per context with self time, one after the other, in ms', async () => {
    const profile = profileOf(
      'main 1x 1000000ns ( work 2x 5400000ns ( main 1x 0ns ( leaf 1x 3ns ) ) other 1x -3ns )',
    )
    const { meta, threads } = await firefoxOf(profile)
    assert.equal(meta.startTime, Date.parse('2026-11-21T08:00:00.000Z'))
    assert.equal(threads.length, 1)
    assert.deepEqual(stacks(threads[0]!), ['main 1@0', 'main;work 5.4@1', 'main;work;main;leaf 0.000003@6.4'])
    assert.equal(threads[0]!.samples.weightType, 'tracing-ms')
  })

  it('firefox has on request one thread for each thread with calls', async () => {
    const { threads } = await firefoxOf(twoThreads(), true)
    assert.deepEqual(
      threads.map(({ name, tid, pid, isMainThread }) => [name, tid, pid, isMainThread]),
      [
        ['main', 1, '4711', true],
        ['pool "1";?', 21, '4711', false],
      ],
    )
    assert.deepEqual(stacks(threads[1]!), ['main 0.00002@0', 'main;work 0.000054@0.00002'])
  })

  const counts = { type: 'samples', expected: ['main 5@0', 'main;work 7@1'] }
  it.each(
    ofEveryMetric({
      waits: { type: 'tracing-ms', expected: ['lock;(blocked on com.acme.Lock) 0.0007@0'] },
      bytecodes: counts,
      calls: counts,
      samples: counts,
      bytes: { type: 'bytes', expected: ['main;new java.lang.String 48@0', 'main;work;new byte[] 100@1'] },
      'call sites': {
        type: 'tracing-ms',
        expected: ['main 0.000005@0', 'main;work:7 0.00001@0.000005', 'main;work:9 0.00002@0.000015'],
      },
    }),
  )('firefox has %s as weights of samples', async (_, profile, { type, expected }) => {
    const [thread] = (await firefoxOf(profile)).threads
    assert.equal(thread!.samples.weightType, type)
    assert.deepEqual(stacks(thread!), expected)
  })

  it('firefox of an empty profile is a thread without samples', async () => {
    assert.deepEqual(stacks((await firefoxOf(profileOf(''))).threads[0]!), [])
  })

  it('firefox of a recursion 3,000 deep is complete', async () => {
    const deep = profileOfTree(chain(3000), profileOf('deep 1x 1ns').methodNames)
    const [last] = stacks((await firefoxOf(deep)).threads[0]!, 2999)
    assert.equal(last!.split(';').length, 3000)
  })
})
