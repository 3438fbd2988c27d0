// Collapsed stacks, one line a context: `com.Foo.a;com.Foo.b 1234`, as flame graph tools read them
// (flamegraph.pl, speedscope, inferno). The number is self time in ns, rounded, or what else the mode measures.
//
// Contexts whose self time rounds to zero or below are dropped: the format has no negative numbers,
// and a context without self time adds nothing. Sums may therefore exceed those of other formats by
// what was negative. With `threads`, the first frame of a line is the thread.

import { isAllocation } from '../cct/allocation.ts'
import { costsOf, metricOf } from '../cct/metric.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { nameOf, type Profile } from '../profile/profile.ts'
import { fullName, placeText } from '../profile/text.ts'
import type { ExportFormat } from './format.ts'

export const collapsed: ExportFormat = {
  name: 'collapsed',
  extension: '.collapsed',
  description:
    'one line a context with its self time in ns (waits, bytecodes, calls, bytes), for flame graphs',
  *pieces(profile, options) {
    const frame = frameNames(profile)
    if (!options.threads) {
      yield* collapsedTree(profile.merged, frame, '')
      return
    }
    for (const thread of profile.threads) {
      yield* collapsedTree(thread.tree, frame, `[${frameText(thread.name)} id=${thread.id}]`)
    }
  },
}

/**
 * A context's line repeats its whole path, so a tree 100,000 deep would have gigabytes of text; a line
 * keeps this many frames nearest the root and as many nearest the method, and says what is missing.
 */
const FRAMES_EACH_END = 256

function* collapsedTree(tree: Tree, frames: FrameNames, first: string): Generator<string> {
  const { frame, nameOf } = frames
  const { self } = costsOf(tree)
  const isBytes = metricOf(tree).kind === 'bytes'
  const path: number[] = []
  for (let i = 0; i < tree.count; i++) {
    while (path.length > 0 && i >= path[path.length - 1]! + tree.size[path[path.length - 1]!]!) path.pop()
    path.push(i)
    const cost = Math.round(self[i]!)
    if (cost <= 0) continue
    // What a method allocates is what the rows of classes below it say.
    if (isBytes && !isAllocation(nameOf(tree.method[i]!))) continue
    let line = first
    const skipFrom = path.length > 2 * FRAMES_EACH_END ? FRAMES_EACH_END : path.length
    const skipTo = path.length > 2 * FRAMES_EACH_END ? path.length - FRAMES_EACH_END : path.length
    for (let at = 0; at < path.length; at++) {
      if (at === skipFrom) {
        line += `;[${skipTo - skipFrom} frames]`
        at = skipTo
      }
      const name = frame(tree.method[path[at]!]!)
      line += line === '' ? name : `;${name}`
    }
    yield `${line} ${cost}\n`
  }
}

interface FrameNames {
  frame(id: number): string
  nameOf(id: number): MethodName
}

function frameNames(profile: Profile): FrameNames {
  const known: (string | undefined)[] = []
  const nameOfId = (id: number) => nameOf(profile.methodNames, id)
  const frame = (id: number): string => {
    known[id] ??= frameText(fullName(nameOfId(id)) + placeText(nameOfId(id)))
    return known[id]
  }
  return { frame, nameOf: nameOfId }
}

/** A frame holds no separator of the format: no semicolon, line end or other control character. */
function frameText(text: string): string {
  return text.replaceAll(';', ':').replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, '?')
}
