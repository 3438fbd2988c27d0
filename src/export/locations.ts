// Locations, as pprof and OTLP have them: a method, with the line of the call that leads on where call sites are told. They get
// their numbers when they are first asked for.

import { Numbers } from '../base/numbers.ts'
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
  /** By method and line in one number; of frames that are left out, by what stands for them. */
  readonly #places = new Numbers<number | string>()

  constructor(names: FrameNames) {
    this.nameOf = names.nameOf
  }

  /** Numbers of the locations of a stack, from the context up to the top node. */
  stackOf(tree: Tree, path: readonly number[]): number[] {
    const skip = leftOut(path)
    const stack: number[] = []
    for (let at = path.length - 1; at >= 0; at--) {
      if (at < skip.to && at >= skip.from) {
        stack.push(this.#places.of(leftOutText(skip)) + 1)
        at = skip.from
        continue
      }
      const called = path[at + 1]
      const line = called === undefined ? 0 : (this.nameOf(tree.method[called]!).line ?? 0)
      const id = tree.method[path[at]!]!
      stack.push(this.#places.of((tree.methodOf?.[id] ?? id) * LINES + line) + 1)
    }
    return stack
  }

  /** All that stacks have asked for, in the order of their numbers, which begin at 1. */
  *all(): Generator<Location> {
    const functions = new Numbers<number | string>()
    for (const place of this.#places.keys()) {
      const known = functions.count
      if (typeof place === 'string') {
        const number = functions.of(place) + 1
        yield { function: number, line: 0, isFirst: number > known, name: place, systemName: '' }
        continue
      }
      const method = Math.floor(place / LINES)
      const number = functions.of(method) + 1
      const own = this.nameOf(method)
      const name = printable(fullName(own))
      const systemName = name + printable(own.descriptor)
      yield { function: number, line: place % LINES, isFirst: number > known, name, systemName }
    }
  }
}

/** More than a class file can number. */
const LINES = 65_536
