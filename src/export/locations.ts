// Locations for pprof and OTLP. A location is a method and, if call sites are known, the line at which it calls the next method of the
// stack. Locations are numbered in the order of first use.

import { Numbers } from '../base/numbers.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { fullName } from '../profile/text.ts'
import { type FrameNames, leftOut, leftOutText, printable } from './frames.ts'

export interface Location {
  /** Number of the function, from 1 on. The function is written with the first location that refers to it. */
  readonly function: number
  readonly line: number
  /** Whether this is the first location of its function. */
  readonly isFirst: boolean
  readonly name: string
  /** Name with descriptor; empty for omitted frames. */
  readonly systemName: string
}

export class Locations {
  readonly nameOf: (id: number) => MethodName
  /** Locations. A key combines method and line in one number; the key of omitted frames is their text. */
  readonly #places = new Numbers<number | string>()

  constructor(names: FrameNames) {
    this.nameOf = names.nameOf
  }

  /** Returns the numbers of a stack's locations, from the context up to the top node. */
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

  /** Yields all locations used so far in the order of their numbers, which begin at 1. */
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

/** Larger than any line number in a class file. */
const LINES = 65_536
