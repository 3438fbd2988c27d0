import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { hotMethods } from '../../src/cct/snapshot.ts'
import { nameOf, type Profile } from '../../src/profile/profile.ts'
import { signature } from '../../src/profile/text.ts'
import { profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { exported, ofEveryMetric, twoThreads } from './exported.ts'

interface Cost {
  self: number[]
  /** Sum of its callers' lines. */
  inclusive: number[]
  calls: number
}

interface Callgrind {
  readonly events: readonly string[]
  readonly totals: readonly number[]
  /** Keyed by class and name. */
  readonly functions: ReadonlyMap<string, Cost>
  /** Format: "main:7 → work 1x 10". */
  readonly calls: readonly string[]
}

const short = (name: string) =>
  name
    .replace(/^(com\.acme\.App|\?\?\?):/, '')
    .replaceAll('com.acme.App.', '')
    .replace(/\(int\)$/, '')

/** Reads the format as specified: a name is a number after its first use. */
function parsed(text: string): Callgrind {
  const names = new Map<string, string>()
  const named = (kind: string, value: string): string => {
    const [, number, name] = /^\((\d+)\)(?: (.+))?$/.exec(value)!
    if (name !== undefined) names.set(kind + number, name)
    const known = names.get(kind + number)
    assert.ok(known !== undefined, `${kind} ${value} is not known yet`)
    return known
  }
  const functions = new Map<string, Cost>()
  const calls: string[] = []
  const costOf = (name: string): Cost => {
    const cost = functions.get(name) ?? { self: [], inclusive: [], calls: 0 }
    functions.set(name, cost)
    return cost
  }
  const add = (sums: number[], costs: readonly number[]) => {
    for (const [at, cost] of costs.entries()) sums[at] = (sums[at] ?? 0) + cost
  }
  let [file, caller, calledFile, callee, times] = ['', '', '', '', 0]
  const [head, ...blocks] = text.split('\n\n')
  for (const line of blocks.join('\n').split('\n')) {
    const [, key = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (key === 'fl') file = named('file', value)
    else if (key === 'fn') caller = `${file}:${named('fn', value)}`
    else if (key === 'cfi') calledFile = named('file', value)
    else if (key === 'cfn') callee = `${calledFile}:${named('fn', value)}`
    else if (key === 'calls') times = Number(/^(\d+) 0$/.exec(value)![1])
    else if (/^\d/.test(line)) {
      const [at, ...costs] = line.split(' ').map(Number)
      if (times === 0) add(costOf(caller).self, costs)
      else {
        add(costOf(callee).inclusive, costs)
        costOf(callee).calls += times
        calls.push(
          `${short(caller)}${at === 0 ? '' : `:${at}`} → ${short(callee)} ${times}x ${costs.join(' ')}`,
        )
      }
      times = 0
    }
  }
  return {
    events: /^events: (.*)$/m.exec(head!)![1]!.split(' '),
    totals: /^totals: (.*)$/m.exec(text)![1]!.split(' ').map(Number),
    functions,
    calls,
  }
}

const callgrindOf = async (profile: Profile, threads = false) =>
  parsed(await exported(profile, 'callgrind', threads))

describe('the export format callgrind', () => {
  it('callgrind has for each method the self cost, and the calls with their inclusive cost', async () => {
    assert.equal(
      await exported(profileOf('main 1x 10ns ( work 2x 54ns ( leaf 3x -1ns ) )'), 'callgrind'),
      `# callgrind format
version: 1
creator: jfluid
pid: 4711
cmd: com.acme.Main
desc: Mode: exact, JDK 17.0.15
desc: Roots: com.acme.App.main
positions: line
events: Nanoseconds

fl=(1) ???
fn=(1) [all threads]
0 0
cfi=(2) com.acme.App
cfn=(2) com.acme.App.main(int)
calls=1 0
0 63

fl=(2)
fn=(2)
0 10
cfi=(2)
cfn=(3) com.acme.App.work(int)
calls=2 0
0 53

fl=(2)
fn=(3)
0 54
cfi=(2)
cfn=(4) com.acme.App.leaf(int)
calls=3 0
0 0

fl=(2)
fn=(4)
0 0

totals: 64
`,
    )
  })

  it('callgrind counts recursion once: the inclusive cost is the time in which the method is active', async () => {
    // a: 1 + 2 + 4 + 8 = 15 from its outermost call; b: 2 + 4 + 8 = 14.
    const { calls, functions } = await callgrindOf(
      profileOf('a 1x 1ns ( b 1x 2ns ( a 1x 4ns ( b 1x 8ns ) ) )'),
    )
    assert.deepEqual(calls, ['[all threads] → a 1x 15', 'a → b 2x 14', 'b → a 1x 0'])
    assert.deepEqual(functions.get('com.acme.App:com.acme.App.b(int)'), {
      self: [10],
      inclusive: [14],
      calls: 2,
    })
  })

  it('the callgrind sums of each method equal the sums of the tree, for any recursion', async () => {
    const tree = randomTree(3000, 12, seeded(11))
    const names = Array.from({ length: 12 }, (_, id) => `m${id} 1x 1ns`).join(' ')
    const profile = profileOfTree(tree, profileOf(names).methodNames)
    const { functions, totals } = await callgrindOf(profile)
    const hot = hotMethods(tree)
    assert.equal(hot.length, 12)
    for (const { method, calls, self, total } of hot) {
      const name = nameOf(profile.methodNames, method)
      const known = functions.get(`${name.class}:${signature(name)}`)
      assert.deepEqual(known, { self: [self], inclusive: [total], calls })
    }
    assert.equal(
      totals[0],
      hot.reduce((sum, { self }) => sum + self, 0),
    )
  })

  it('callgrind has on request one caller per thread, which calls the top nodes of the thread', async () => {
    assert.deepEqual((await callgrindOf(twoThreads(), true)).calls, [
      '[main id=1] → main 1x 10',
      '[pool "1";? id=21] → main 2x 74',
      'main → work 2x 54',
    ])
  })

  it.each(
    ofEveryMetric({
      waits: {
        events: ['WaitNanoseconds', 'Nanoseconds'],
        call: 'lock → com.acme.Lock:(blocked on com.acme.Lock) 2x 700 700',
      },
      bytecodes: { events: ['Bytecodes'], call: 'main → work 7x 7' },
      calls: { events: ['Calls'], call: 'main → work 7x 7' },
      samples: { events: ['Samples'], call: 'main → work 7x 7' },
      bytes: { events: ['Bytes', 'Objects'], call: 'work → byte[]:new byte[] 1x 100 1' },
      'call sites': { events: ['Nanoseconds'], call: 'main:9 → work 2x 20' },
    }),
  )('callgrind has %s', async (_, profile, { events, call }) => {
    const file = await callgrindOf(profile)
    assert.deepEqual(file.events, events)
    assert.equal(file.calls.at(-1), call)
    // Each context of the tree once.
    const [, root] = [...file.functions.values()]
    assert.deepEqual(file.totals, root!.inclusive)
  })

  it('callgrind of an empty profile is a header without cost', async () => {
    assert.deepEqual(await callgrindOf(profileOf('')), {
      ...{ events: ['Nanoseconds'], totals: [0] },
      ...{ functions: new Map(), calls: [] },
    })
  })
})
