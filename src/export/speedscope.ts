// The format of https://www.speedscope.app: a table of frames, and a "sampled" profile of all threads or, with
// `threads`, one a thread. A sample is a context, its weight what the context costs by itself. Traced calls follow as
// "evented" profiles (speedscope-evented.ts).
//
// As in collapsed stacks, contexts whose cost rounds to zero or below are dropped. The schema is
// https://www.speedscope.app/file-format-schema.json.

import { isAllocation } from '../cct/allocation.ts'
import { costsOf, metricOf } from '../cct/metric.ts'
import type { Tree } from '../cct/tree.ts'
import { jsonText } from '../profile/json-text.ts'
import type { Profile } from '../profile/profile.ts'
import { clean } from '../profile/text.ts'
import type { ExportFormat } from './format.ts'
import { type FrameNames, frameNames, leftOut, leftOutText, moveTo, threadTitle, treesOf } from './frames.ts'
import { tracedProfiles } from './speedscope-evented.ts'

export const speedscope: ExportFormat = {
  name: 'speedscope',
  extension: '.speedscope.json',
  description: 'flame graphs in a browser: https://www.speedscope.app',
  *pieces(profile, options) {
    const frames = new FrameTable(frameNames(profile))
    yield '{"$schema":"https://www.speedscope.app/file-format-schema.json",\n"exporter":"jfluid",\n'
    yield `"name":${jsonText(titleOf(profile))},\n"profiles":[`
    let separator = '\n'
    for (const { tree, thread } of treesOf(profile, options.threads)) {
      yield separator
      yield* sampled(tree, thread === undefined ? 'all threads' : threadTitle(thread), frames)
      separator = ',\n'
    }
    for (const traced of tracedProfiles(profile, frames)) {
      yield separator
      yield* traced
      separator = ',\n'
    }
    // Behind the samples, as these tell which frames there are.
    yield '],\n"shared":{"frames":['
    yield* frames.pieces()
    yield ']}}\n'
  },
}

/** What a file of many tools is called there: "com.acme.Main, 2026-11-21T08:00:00.000Z". */
export function titleOf({ target, startedAt }: Profile): string {
  return clean(`${target.mainClass}, ${startedAt}`)
}

function* sampled(tree: Tree, name: string, frames: FrameTable): Generator<string> {
  const { unit } = metricOf(tree)
  yield `{"type":"sampled","name":${jsonText(name)},"unit":"${unit === 'count' ? 'none' : unit}","samples":[`
  let separator = '\n'
  const path: number[] = []
  const isShown = shownContexts(tree, frames.names)
  const weightOf = weights(tree)
  let sum = 0
  for (let i = 0; i < tree.count; i++) {
    moveTo(path, i, tree.size)
    if (!isShown(i)) continue
    sum += weightOf(i)
    yield `${separator}[${stackOf(tree, path, frames)}]`
    separator = ',\n'
  }
  yield '],"weights":['
  separator = '\n'
  for (let i = 0; i < tree.count; i++) {
    if (!isShown(i)) continue
    yield `${separator}${weightOf(i)}`
    separator = ','
  }
  yield `],"startValue":0,"endValue":${sum}}`
}

function weights(tree: Tree): (node: number) => number {
  const { self } = costsOf(tree)
  return (node) => Math.round(self[node]!)
}

/** Those with a cost of their own; what a method allocates is what the rows of classes below it say. */
function shownContexts(tree: Tree, { nameOf }: FrameNames): (node: number) => boolean {
  const weightOf = weights(tree)
  const isBytes = metricOf(tree).hasClasses
  return (node) => weightOf(node) > 0 && (!isBytes || isAllocation(nameOf(tree.method[node]!)))
}

function stackOf(tree: Tree, path: readonly number[], frames: FrameTable): string {
  const skip = leftOut(path)
  let stack = ''
  for (let at = 0; at < path.length; at++) {
    if (at === skip.from) {
      stack += `${frames.other(leftOutText(skip))},`
      at = skip.to
    }
    stack += frames.ofMethod(tree.method[path[at]!]!)
    if (at < path.length - 1) stack += ','
  }
  return stack
}

/** Frames get their numbers when they are first asked for. */
export class FrameTable {
  readonly names: FrameNames
  readonly #texts: string[] = []
  readonly #methods: (number | undefined)[] = []
  readonly #others = new Map<string, number>()

  constructor(names: FrameNames) {
    this.names = names
  }

  ofMethod(id: number): number {
    const known = this.#methods[id]
    if (known !== undefined) return known
    const index = this.#add(this.names.frame(id))
    this.#methods[id] = index
    return index
  }

  /** Of something that is no method. */
  other(name: string): number {
    const index = this.#others.get(name) ?? this.#add(name)
    this.#others.set(name, index)
    return index
  }

  /** Elements of the list of frames. */
  *pieces(): Generator<string> {
    let separator = '\n'
    for (const name of this.#texts) {
      yield `${separator}{"name":${jsonText(name)}}`
      separator = ',\n'
    }
  }

  #add(name: string): number {
    return this.#texts.push(name) - 1
  }
}
