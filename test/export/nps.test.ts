import assert from 'node:assert/strict'
import { inflateSync } from 'node:zlib'
import { describe, it } from 'vitest'
import { DoesNotFit } from '../../src/export/errors.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { build, chain, profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { allocations, callSites, counted, exportedBytes, twoThreads, waits } from './exported.ts'

interface Nps {
  readonly comments: string
  readonly beganMs: number
  readonly takenMs: number
  readonly threads: readonly {
    readonly name: string
    readonly totalUs: number
    readonly calls: number
    /** Format: "main 1x 10/4" is 10 µs in total, 4 self; callees are in parentheses. */
    readonly tree: string
  }[]
}

/** Reads consecutive fields. */
class Input {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  take(length: number): Buffer {
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  int(bytes: number): number {
    return this.take(bytes).readUIntBE(0, bytes)
  }

  long(): number {
    return Number(this.take(8).readBigInt64BE())
  }

  text(): string {
    return this.take(this.int(2)).toString()
  }
}

function parsed(file: Buffer): Nps {
  const input = new Input(file)
  assert.equal(input.take(10).toString(), 'nBpRoFiLeR')
  assert.deepEqual([input.int(1), input.int(1), input.int(4)], [1, 2, 1])
  const [compressed, length] = [input.int(4), input.int(4)]
  const inner = new Input(inflateSync(input.take(compressed)))
  assert.equal(inner.bytes.length, length)
  input.take(input.int(4))
  const comments = input.text()
  assert.equal(input.at, file.length)

  assert.equal(inner.int(4), 1)
  const [beganMs, takenMs] = [inner.long(), inner.long()]
  assert.equal(inner.int(1), 0)
  const methods = Array.from({ length: inner.int(4) }, () => [inner.text(), inner.text(), inner.text()])
  const threads = Array.from({ length: inner.int(4) }, (_, at) => {
    assert.equal(inner.int(4), at + 1)
    const name = inner.text()
    assert.equal(inner.int(1), 0)
    const tree = inner.take(inner.int(4))
    assert.equal(inner.int(4), 18)
    inner.take(32)
    const totalUs = inner.long()
    inner.take(24)
    const calls = inner.long()
    assert.equal(inner.int(1), 0)
    return { name, totalUs, calls, tree: treeText(tree, methods) }
  })
  assert.equal(inner.at, length)
  return { comments, beganMs, takenMs, threads }
}

function treeText(bytes: Buffer, methods: readonly (readonly string[])[]): string {
  const offsetBytes = bytes.length > 0xffffff ? 4 : 3
  let seen = 0
  const textAt = (offset: number): string => {
    const node = new Input(bytes)
    node.at = offset
    seen++
    const [method, calls, total, self] = [node.int(2), node.int(4), node.int(5), node.int(5)]
    const children = Array.from({ length: node.int(2) }, () => textAt(node.int(offsetBytes)))
    const below = children.length === 0 ? '' : ` ( ${children.join(' ')} )`
    return method === 0 ? children.join(' ') : `${methods[method]![1]} ${calls}x ${total}/${self}${below}`
  }
  const text = textAt(0)
  assert.equal(bytes.length, seen * 18 + (seen - 1) * offsetBytes)
  return text
}

const npsOf = async (profile: Profile) => parsed(await exportedBytes(profile, 'nps'))
const us = (notation: string) => profileOf(notation.replace(/(-?\d+)us/g, '$1000ns'))

describe('the export format nps', () => {
  it('nps has the tree per thread in microseconds, with all metadata', async () => {
    const profile = us('main 1x 4us ( work 2x 54us ( leaf 3x 2us ) other 1x 1us )')
    const file = await npsOf({ ...profile, warnings: ['one'] })
    assert.deepEqual(file.threads, [
      {
        ...{ name: 'worker-1', totalUs: 61, calls: 7 },
        tree: 'main 1x 61/4 ( work 2x 56/54 ( leaf 3x 2/2 ) other 1x 1/1 )',
      },
    ])
    assert.equal(file.beganMs, Date.parse('2026-11-21T08:00:00.000Z'))
    assert.equal(file.takenMs - file.beganMs, 10_000)
    assert.equal(file.comments, 'jfluid, mode exact, roots: com.acme.App.main?warning: one')
  })

  it('nps rounds times so that self and children sum to the parent, and writes 0 for negative times', async () => {
    const { threads } = await npsOf(
      profileOf('main 1x 400ns ( a 1x 400ns b 1x 400ns ( c 1x 400ns ) d 9x -5000ns )'),
    )
    // 400, 800, 1200, 1600 round to 0, 1, 1, 2: one of a and one of c. 1600 - 5000 leaves -3400.
    assert.equal(threads[0]!.tree, 'main 1x 0/0 ( a 1x 1/1 b 1x 1/0 ( c 1x 1/1 ) d 9x 0/0 )')
  })

  it('nps has all threads with calls, with their names', async () => {
    const { threads } = await npsOf(twoThreads())
    assert.deepEqual(
      threads.map((it) => it.name),
      ['main', 'pool "1";?'],
    )
  })

  it.each([
    ['waits with their time', waits, 'lock 1x 1/0 ( (blocked on) 2x 1/1 )'],
    ['calls, if only calls are counted', () => counted('count'), 'main 5x 0/0 ( work 7x 0/0 )'],
    ['call sites', callSites, 'main 1x 0/0 ( work:7 1x 0/0 work:9 2x 0/0 )'],
    [
      'samples as the time between two samples',
      () => ({ ...counted('sample'), sampling: { every: 1e6, unit: 'ns', by: 'jfr' } }) as Profile,
      'main 5x 12000/5000 ( work 7x 7000/7000 )',
    ],
  ] as const)('nps has %s', async (_, make, tree) => {
    assert.equal((await npsOf(make())).threads[0]!.tree, tree)
  })

  it.each([
    ['bytecodes', () => counted('bytecodes'), /the costs of --mode bytecodes/],
    ['bytes', allocations, /the costs of --mode alloc/],
    ['samples by bytecodes', () => counted('sample'), /the costs of --mode sample/],
    ['calls of one context', () => profileOf('main 2147483648x 1ns'), /2,147,483,648 calls of one context/],
    ['times', () => profileOf('main 1x 1099511627776000ns'), /more than 12 days/],
    [
      'callees',
      () => {
        const nodes = Array.from({ length: 65_537 }, (_, node) => node)
        const tree = build(
          nodes.map((node) => (node === 0 ? -1 : 0)),
          nodes.map(() => 1),
          nodes,
          nodes,
        )
        return profileOfTree(tree, profileOf('main 1x 1ns').methodNames)
      },
      /65,536 callees of one context/,
    ],
    [
      'methods',
      () => {
        // Chains of 100: no context has too many callees, and none is too deep for the format.
        const nodes = Array.from({ length: 65_536 }, (_, node) => node)
        const tree = build(
          nodes.map((node) => (node % 100 === 0 ? -1 : node - 1)),
          nodes.map((node) => node + 1),
          nodes,
          nodes,
        )
        return profileOfTree(tree, profileOf('main 1x 1ns').methodNames)
      },
      /more than 65,535 methods/,
    ],
  ] as const)(
    'a profile that nps cannot contain is not written, and the command ends with exit code 64: %s',
    async (_, make, message) => {
      await assert.rejects(npsOf(make()), (error) => {
        assert.ok(error instanceof DoesNotFit)
        assert.equal(error.exitCode, 64)
        assert.match(error.message, message)
        return true
      })
    },
  )

  it('nps can contain the largest possible numbers of calls and times', async () => {
    const { threads } = await npsOf(profileOf('main 2147483647x 1099511627775000ns'))
    assert.equal(threads[0]!.tree, 'main 2147483647x 1099511627775/1099511627775')
  })

  it('nps has the first 1,000 levels of a recursion 3,000 deep, and the last level has the time of the omitted levels', async () => {
    const deep = profileOfTree(chain(3000), profileOf('deep 1x 1ns').methodNames)
    const selfNs = deep.merged.metrics.selfNs!.map(() => 1000)
    const file = await npsOf({
      ...deep,
      merged: { ...deep.merged, metrics: { ...deep.merged.metrics, selfNs } },
    })
    const rows = file.threads[0]!.tree.split(' ( ')
    assert.equal(rows.length, 1000)
    assert.equal(rows[0], 'deep 1x 3000/1')
    assert.match(rows[999]!, /^deep 1x 2001\/2001 /)
    assert.match(file.comments, /deeper than 1000 are merged into their callers/)
  })

  it('nps of an empty profile has a thread without calls', async () => {
    const { threads } = await npsOf(profileOf(''))
    assert.deepEqual(threads, [{ name: 'all threads', totalUs: 0, calls: 0, tree: '' }])
  })

  it('nps avoids compressed lengths just above a multiple of 512, where readers leave bytes unread', async () => {
    const names = Array.from({ length: 31 }, (_, id) => `m${id} 1x 1ns`).join(' ')
    const { methodNames } = profileOf(names)
    const seen = new Set<number>()
    for (let nodes = 2; nodes < 300; nodes++) {
      const file = await exportedBytes(
        profileOfTree(randomTree(nodes, 30, seeded(nodes)), methodNames),
        'nps',
      )
      parsed(file)
      seen.add(file.readUInt32BE(16) % 512)
    }
    assert.ok([...seen].every((rest) => rest === 0 || rest >= 16))
    assert.ok(seen.size > 100)
  })
})
