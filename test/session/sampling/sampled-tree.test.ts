import { describe, expect, it } from 'vitest'
import { parseRoot } from '../../../src/reveal/patterns.ts'
import { SampledTree } from '../../../src/session/sampling/sampled-tree.ts'

const THREAD = { id: 7, name: 'main', virtual: false }

/** Returns the tree of samples. Each sample is a list of `Class.method`, outermost frame first. */
function treeOf(roots: readonly string[], ...stacks: readonly string[]): SampledTree {
  const tree = new SampledTree(roots.map(parseRoot))
  for (const stack of stacks) {
    const ids = stack.split(' ').map((frame) => {
      const dot = frame.lastIndexOf('.')
      return tree.idOf({
        class: frame.slice(0, dot),
        method: frame.slice(dot + 1),
        descriptor: '()V',
        loader: '',
      })
    })
    tree.sample(THREAD, Int32Array.from(ids))
  }
  return tree
}

/** Returns lines in the format `method samples`, indented by depth. */
function shown(tree: SampledTree): string[] {
  const { merged } = tree.snapshot(false)
  const depths: number[] = []
  return Array.from(merged.method, (id, node) => {
    const above = merged.parent[node]!
    depths[node] = above < 0 ? 0 : depths[above]! + 1
    return `${'  '.repeat(depths[node]!)}${tree.methodNames[id]!.method} ${merged.metrics.totalSamples![node]}`
  })
}

describe('samples inside roots', () => {
  it('samples inside roots are kept from the outermost root down, and samples outside roots are only counted', () => {
    const tree = treeOf(
      ['A.serve'],
      'M.main A.serve A.work A.serve',
      'M.main A.serve',
      'M.main B.other',
      'A.serve A.work',
    )
    expect(shown(tree)).toEqual(['serve 3', '  work 2', '    serve 1'])
    expect(tree).toMatchObject({ samples: 3, outside: 1, rootNames: ['A.serve'] })
    tree.reset()
    expect(tree).toMatchObject({ samples: 0, outside: 0 })
  })

  it('samples inside roots count a new call after the thread was seen outside the root', () => {
    const tree = treeOf(['A.serve'], 'M.main A.serve', 'M.main A.serve', 'M.main B.other', 'M.main A.serve')
    expect([...tree.snapshot(false).merged.metrics.calls!]).toEqual([2])
  })

  it('samples inside roots exclude a thread that waits for work, and the calls of this thread end', () => {
    const tree = treeOf(['A.serve'], 'M.main A.serve')
    const ids = ['M.main', 'M.take'].map((it) => {
      const [className, method] = it.split('.')
      return tree.idOf({ class: className!, method: method!, descriptor: '()V', loader: '' })
    })
    tree.away(THREAD, Int32Array.from(ids))
    tree.away({ ...THREAD, id: 8 }, Int32Array.of(-1))
    tree.sample(
      THREAD,
      Int32Array.of(tree.idOf({ class: 'A', method: 'serve', descriptor: '()V', loader: '' })),
    )
    expect([...tree.snapshot(false).merged.metrics.calls!]).toEqual([2])
    expect(tree).toMatchObject({ samples: 2, outside: 0 })
  })

  it('samples inside several roots start at the outermost root, and roots without samples keep their given name', () => {
    const tree = treeOf(['A.serve', 'C.run', 'D.never'], 'C.run A.serve', 'A.serve C.run')
    expect(shown(tree).toSorted()).toEqual(['  run 1', '  serve 1', 'run 1', 'serve 1'])
    expect(tree.rootNames.toSorted()).toEqual(['A.serve', 'C.run', 'D.never'])
  })

  it('samples inside a wildcard root exclude JDK and hidden classes; samples inside an exact root include these classes', () => {
    const stack = 'java.lang.Thread.run com.acme.App$$Lambda.run com.acme.Task.run com.acme.Task.work'
    expect(shown(treeOf(['*.run'], stack))).toEqual(['run 1', '  work 1'])
    expect(shown(treeOf(['java.lang.Thread.run'], stack))).toEqual([
      'run 1',
      '  run 1',
      '    run 1',
      '      work 1',
    ])
  })

  it('samples inside a wildcard root exclude lambdas and classes of JDK loaders', () => {
    const tree = new SampledTree([parseRoot('**.service')])
    const id = (owner: string, loader: string) =>
      tree.idOf({ class: owner, method: 'service', descriptor: '()V', loader })
    const path = [
      id('java.util.Timer', 'bootstrap'),
      id('com.acme.Main$$Lambda$14', 'app'),
      id('javax.servlet.http.HttpServlet', 'org.apache.Loader@7'),
    ]
    tree.sample(THREAD, Int32Array.from(path))
    expect(tree.rootNames).toEqual(['javax.servlet.http.HttpServlet.service'])
    expect(shown(tree)).toEqual(['service 1'])
  })

  it('samples inside roots are complete if the stack is truncated above the root', () => {
    const tree = new SampledTree([parseRoot('A.serve')])
    const [cut, serve] = [
      tree.truncation,
      tree.idOf({ class: 'A', method: 'serve', descriptor: '()V', loader: '' }),
    ]
    tree.sample(THREAD, Int32Array.of(cut, serve), true)
    expect(tree).toMatchObject({ samples: 1, outside: 0, truncated: 0 })
    tree.sample(THREAD, Int32Array.of(cut), true)
    expect(tree).toMatchObject({ samples: 1, outside: 1, truncated: 1 })
  })
})

describe('samples per line in a sampled tree', () => {
  it('samples per line are counted only for the root and frames below the root, and a reset discards these samples', () => {
    const tree = new SampledTree([parseRoot('A.serve')])
    const [main, serve] = ['main', 'serve'].map((method) =>
      tree.idOf({ class: 'A', method, descriptor: '()V', loader: '' }),
    ) as [number, number]
    tree.sample(THREAD, Int32Array.of(main, serve), false, Int32Array.of(3, 7))
    tree.sample(THREAD, Int32Array.of(main), false, Int32Array.of(3))
    expect(tree.lines.of(main)).toBeUndefined()
    expect(tree.lines.of(serve)).toEqual({ samples: 1, total: 1, lines: [{ line: 7, self: 1, total: 1 }] })
    tree.reset()
    expect(tree.lines.of(serve)).toBeUndefined()
  })
})
