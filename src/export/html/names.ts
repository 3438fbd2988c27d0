// Names of methods for the page. Each class name is written once. Only methods in a tree or a list are written, each once.

import { Numbers } from '../../base/numbers.ts'
import { isAllocation } from '../../cct/allocation.ts'
import type { MethodName } from '../../cct/tree.ts'
import { anywhere, clean, fullName, isValueName, isWait, placeText, signature } from '../../profile/text.ts'
import type { PageData } from './page-data.ts'

/** Returns a key for a method on the page; methods of different loaders have the same key. */
export function pageKey(name: MethodName): string {
  return `${name.class}\n${name.method}\n${name.descriptor}\n${placeText(name)}`
}

export class PageNames {
  readonly #classes = new Numbers<string>()
  readonly #names: PageData['names'][number][] = []
  readonly #known = new Map<string, number>()

  /** Returns the number of a name; equal names have the same number. */
  take(name: MethodName): number {
    const place = placeText(name)
    const key = pageKey(name)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const number = this.#names.push(this.#entry(name, place)) - 1
    this.#known.set(key, number)
    return number
  }

  #entry(name: MethodName, place: string): PageData['names'][number] {
    if (isWait(name) || isAllocation(name) || isValueName(name)) return [-1, clean(fullName(name)), '']
    const parameters = signature(name).slice(clean(fullName(name)).length)
    const entry = [this.#classes.of(clean(name.class)), clean(name.method) + place, parameters] as const
    if (place === '') return entry
    return [...entry, this.take(anywhere(name))]
  }

  tables(): Pick<PageData, 'classes' | 'names'> {
    return { classes: [...this.#classes.keys()], names: this.#names }
  }
}
