import { describe, expect, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import { StackWriter } from '../../src/cct/stacks.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { SINKS } from '../../src/measures/sinks.ts'
import { FREE, idOf, nameOf } from './notation.ts'

const path = (text: string): Int32Array => Int32Array.from(text.split('/').filter(Boolean), idOf)

/** Returns lines in the format `main 3: run 2`, one per node: name, observed calls, own samples, samples of the subtree. */
function lines(tree: Tree): string[] {
  const { calls, selfSamples, totalSamples } = tree.metrics
  const depth: number[] = []
  return Array.from(tree.method, (method, i) => {
    depth[i] = tree.parent[i] < 0 ? 0 : depth[tree.parent[i]] + 1
    return `${'  '.repeat(depth[i])}${nameOf(method)} ${calls[i]}x ${selfSamples[i]}/${totalSamples[i]}`
  })
}

function built(play: (writer: StackWriter, builder: CctBuilder) => void): string[] {
  const builder = new CctBuilder({ executed: true })
  play(new StackWriter(builder), builder)
  return lines(snapshotOf(builder, { sink: SINKS.sample, calibration: FREE, nsPerTick: 1 }).merged)
}

describe('building a tree from stacks', () => {
  it('a frame counts as a call only if the previous sample did not have the frame', () => {
    const tree = built((writer) => {
      writer.sample(1, path('main/serve/find'))
      writer.sample(1, path('main/serve/find'))
      writer.sample(1, path('main/serve'))
      writer.sample(1, path('main/serve/find/scan'))
      writer.sample(1, path('main/idle'))
      writer.sample(1, path('main/serve/find'))
    })
    expect(tree).toEqual([
      'main 1x 0/6',
      '  serve 2x 1/5',
      '    find 3x 3/4',
      '      scan 1x 1/1',
      '  idle 1x 1/1',
    ])
  })

  it('a stack that does not count as a sample ends the calls that the stack does not contain, and begins no call', () => {
    const tree = built((writer) => {
      writer.sample(1, path('main/serve/find'))
      writer.away(1, path('main/idle/wait'))
      writer.sample(1, path('main/serve/find'))
      writer.away(1, path('main/serve/find'))
      writer.sample(1, path('main/serve/find'))
      writer.away(2, path('main/idle'))
    })
    expect(tree).toEqual(['main 1x 0/3', '  serve 2x 0/3', '    find 2x 3/3'])
  })

  it('the position of a thread in the tree does not depend on other threads', () => {
    const tree = built((writer) => {
      writer.sample(1, path('main/serve'))
      writer.sample(2, path('main/idle'))
      writer.sample(1, path('main/serve'))
      writer.sample(2, path('main/idle'))
    })
    expect(tree).toEqual(['main 2x 0/4', '  serve 1x 2/2', '  idle 1x 2/2'])
  })

  it('a recursion in a sampled stack has the same depth in the tree', () => {
    const tree = built((writer) => {
      writer.sample(1, path('a/a/a'))
      writer.sample(1, path('a/a'))
      writer.sample(1, path('a/a/a'))
    })
    expect(tree).toEqual(['a 1x 0/3', '  a 1x 1/3', '    a 2x 2/2'])
  })

  it('a new thread that reuses a thread number begins without a stack', () => {
    const tree = built((writer) => {
      writer.sample(1, path('main/serve'))
      writer.leave(1)
      writer.sample(1, path('main/serve'))
    })
    expect(tree).toEqual(['main 2x 0/2', '  serve 2x 2/2'])
  })

  it('after a reset, all frames of the next sample count as new calls', () => {
    const tree = built((writer, builder) => {
      writer.sample(1, path('main/serve'))
      writer.leaveAll()
      builder.reset()
      writer.sample(1, path('main/serve'))
    })
    expect(tree).toEqual(['main 1x 0/1', '  serve 1x 1/1'])
  })

  it('a stack of thousands of frames counts as one sample', () => {
    const tree = built((writer) => writer.sample(1, new Int32Array(5000).fill(idOf('deep'))))
    expect(tree.length).toBe(5000)
    expect(tree[4999].trim()).toBe('deep 1x 1/1')
  })
})
