// Locations, as pprof and OTLP have them: a method, with the line of the call that leads on where call sites are told. They get
// their numbers when they are first asked for.

import type { MethodName, Tree } from '../cct/tree.ts'
import { fullName } from '../profile/text.ts'
import { type FrameNames, leftOut, leftOutText, printable } from './frames.ts'

export interface Location {
  /** Number of the function, from 1 on; it is first told with the location that names it. */
  readonly function: number
  readonly line: number
  /** The function, where this location is the first of it. */
  readonly isFirst: boolean
  readonly name: string
  /** With its descriptor; empty for frames that are left out. */
  readonly systemName: string
}

export class Locations {
  readonly nameOf: (id: number) => MethodName
  /** Of a method, by line; numbers from 1. */
  readonly #locations = new Map<number, number>()
  readonly #gaps = new Map<string, number>()
  readonly #added: { readonly method: number; readonly line: number; readonly gap?: string }[] = []

  constructor(names: FrameNames) {
    this.nameOf = names.nameOf
  }

  /** Numbers of the locations of a stack, from the context up to the top node. */
  stackOf(tree: Tree, path: readonly number[]): number[] {
    const skip = leftOut(path)
    const stack: number[] = []
    for (let at = path.length - 1; at >= 0; at--) {
      if (at < skip.to && at >= skip.from) {
        stack.push(this.#gap(leftOutText(skip)))
        at = skip.from
        continue
      }
      const called = path[at + 1]
      const line = called === undefined ? 0 : (this.nameOf(tree.method[called]!).line ?? 0)
      const id = tree.method[path[at]!]!
      stack.push(this.#location(tree.methodOf?.[id] ?? id, line))
    }
    return stack
  }

  /** All that stacks have asked for, in the order of their numbers, which begin at 1. */
  *all(): Generator<Location> {
    const functions = new Map<string | number, number>()
    for (const { method, line, gap } of this.#added) {
      const key = gap ?? method
      const known = functions.get(key)
      const number = known ?? functions.size + 1
      functions.set(key, number)
      const name = gap ?? printable(fullName(this.nameOf(method)))
      const systemName = gap === undefined ? name + printable(this.nameOf(method).descriptor) : ''
      yield { function: number, line, isFirst: known === undefined, name, systemName }
    }
  }

  #location(method: number, line: number): number {
    const key = method * LINES + line
    const known = this.#locations.get(key)
    if (known !== undefined) return known
    const id = this.#added.push({ method, line })
    this.#locations.set(key, id)
    return id
  }

  /** Stands for frames that are left out. */
  #gap(text: string): number {
    const id = this.#gaps.get(text) ?? this.#added.push({ method: -1, line: 0, gap: text })
    this.#gaps.set(text, id)
    return id
  }
}

/** More than a class file can number. */
const LINES = 65_536
