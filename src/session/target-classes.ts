// Facts about the target's classes other than their code: names, loaders, and classes that are being defined.

import { CLASS_JDK, CLASS_OURS, type ClassInfo } from '../base/class-info.ts'
import type { LoadedClasses } from '../wire/messages.ts'

/** Converts an internal name `a/B$C` to the form of `Class.getName()`. */
export function sourceName(internal: string): string {
  return internal.replaceAll('/', '.')
}

export class TargetClasses {
  readonly #loaders = new Map<number, string>([[0, 'bootstrap']])
  readonly #jdkClasses = new Set<string>()
  /** Ids of classes of the bootstrap loader, keyed by internal name. */
  readonly bootClasses = new Map<string, number>()
  /** Loader ids, keyed by class id. */
  readonly #loaderOf = new Map<number, number>()
  /** Classes that passed the load hook and have not been listed as loaded yet. */
  readonly #coming = new Set<number>()

  /** Registers a class that is in the load hook. */
  comes(id: number, loader: number): void {
    this.#loaderOf.set(id, loader)
    this.#coming.add(id)
  }

  isComing(id: number): boolean {
    return this.#coming.has(id)
  }

  /** Registers classes that have been defined. */
  add(loaders: LoadedClasses['loaders'], classes: readonly ClassInfo[]): void {
    for (const loader of loaders) this.#loaders.set(loader.id, loader.name)
    for (const c of classes) {
      this.#coming.delete(c.id)
      this.#loaderOf.set(c.id, c.loader)
      if (c.loader === 0) this.bootClasses.set(c.name, c.id)
      if ((c.flags & (CLASS_JDK | CLASS_OURS)) !== 0) this.#jdkClasses.add(sourceName(c.name))
    }
  }

  /** Removes unloaded classes and loaders. @param isNamed  returns whether a profile may contain the name of the class */
  unloaded(classes: Iterable<number>, loaders: readonly number[], isNamed: (id: number) => boolean): void {
    for (const id of classes) {
      this.#coming.delete(id)
      if (!isNamed(id)) this.#loaderOf.delete(id)
    }
    if (loaders.length === 0) return
    const named = new Set(this.#loaderOf.values())
    for (const id of loaders) if (!named.has(id)) this.#loaders.delete(id)
  }

  /** Returns the loader id of a class; 0 for the bootstrap loader. */
  loaderOf(classId: number): number {
    return this.#loaderOf.get(classId) ?? 0
  }

  /** Returns the name of a class's loader. It is not known if the target has ended before it has named a new loader. */
  loaderName(classId: number): string {
    return this.#loaders.get(this.loaderOf(classId)) ?? 'unknown'
  }

  /** Returns whether a class belongs to the JDK. @param name  class name with dots */
  isJdk(name: string): boolean {
    return this.#jdkClasses.has(name)
  }
}
