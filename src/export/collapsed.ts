// Collapsed stacks, one line a context: `com.Foo.a;com.Foo.b 1234`, as flame graph tools read them
// (flamegraph.pl, speedscope, inferno). The number is self time in ns, rounded, or what else the mode measures.
//
// Contexts whose self time rounds to zero or below are dropped: the format has no negative numbers,
// and a context without self time adds nothing. Sums may therefore exceed those of other formats by
// what was negative. With `threads`, the first frame of a line is the thread.

import { isAllocation } from '../cct/allocation.ts'
import { costsOf, metricOf } from '../cct/metric.ts'
import type { Tree } from '../cct/tree.ts'
import type { ExportFormat } from './format.ts'
import { type FrameNames, frameNames, leftOut, leftOutText, moveTo, threadTitle, treesOf } from './frames.ts'

export const collapsed: ExportFormat = {
  name: 'collapsed',
  extension: '.collapsed',
  description: 'one line a context with its self time in ns (waits, bytecodes, …): flamegraph.pl, inferno',
  *pieces(profile, options) {
    const names = frameNames(profile)
    for (const { tree, thread } of treesOf(profile, options.threads)) {
      const first = thread === undefined ? '' : noSemicolon(`[${threadTitle(thread)}]`)
      yield* collapsedTree(tree, names, first)
    }
  },
}

function* collapsedTree(tree: Tree, names: FrameNames, first: string): Generator<string> {
  const { self } = costsOf(tree)
  const isBytes = metricOf(tree).hasClasses
  const path: number[] = []
  for (let i = 0; i < tree.count; i++) {
    moveTo(path, i, tree.size)
    const cost = Math.round(self[i]!)
    if (cost <= 0) continue
    // What a method allocates is what the rows of classes below it say.
    if (isBytes && !isAllocation(names.nameOf(tree.method[i]!))) continue
    let line = first
    const skip = leftOut(path)
    for (let at = 0; at < path.length; at++) {
      if (at === skip.from) {
        line += `;${leftOutText(skip)}`
        at = skip.to
      }
      const name = noSemicolon(names.frame(tree.method[path[at]!]!))
      line += line === '' ? name : `;${name}`
    }
    yield `${line} ${cost}\n`
  }
}

/** A frame holds no separator of the format. */
function noSemicolon(text: string): string {
  return text.includes(';') ? text.replaceAll(';', ':') : text
}
