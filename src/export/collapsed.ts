// Writes collapsed stacks, one line per context: `com.Foo.a;com.Foo.b 1234`, for flame graph tools (flamegraph.pl, speedscope, inferno).
// The number is the self cost, rounded: time in ns, or the measure of the mode.
// Contexts with a self cost that rounds to zero or below are dropped: the format has no negative numbers, and a context without self cost
// does not change a sum. Without the negative values, sums may be larger than in other formats. With `threads`, the first frame of a line
// is the thread.

import type { Tree } from '../cct/tree.ts'
import type { ExportFormat } from './format.ts'
import { type FrameNames, frameNames, moveTo, ownCosts, shownFrames, threadTitle, treesOf } from './frames.ts'

export const collapsed: ExportFormat = {
  name: 'collapsed',
  extension: '.collapsed',
  description: 'one line per context with its self time in ns (waits, bytecodes, …): flamegraph.pl, inferno',
  *pieces(profile, options) {
    const names = frameNames(profile)
    for (const { tree, thread } of treesOf(profile, options.threads)) {
      const first = thread === undefined ? [] : [noSemicolon(`[${threadTitle(thread)}]`)]
      yield* collapsedTree(tree, names, first)
    }
  },
}

function* collapsedTree(tree: Tree, names: FrameNames, first: readonly string[]): Generator<string> {
  const costOf = ownCosts(tree, names)
  const frameOf = (node: number) => noSemicolon(names.frame(tree.method[node]!))
  const path: number[] = []
  for (let i = 0; i < tree.count; i++) {
    moveTo(path, i, tree.size)
    const cost = Math.round(costOf(i))
    if (cost <= 0) continue
    yield `${[...first, ...shownFrames(path, frameOf, String)].join(';')} ${cost}\n`
  }
}

/** Replaces semicolons in a frame, since the format separates frames by semicolons. */
function noSemicolon(text: string): string {
  return text.includes(';') ? text.replaceAll(';', ':') : text
}
