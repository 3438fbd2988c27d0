// What a session knows of the target's classes besides their code: names, loaders, what is still to be defined.

import { CLASS_JDK, CLASS_OURS, type ClassInfo } from '../base/class-info.ts'
import type { LoadedClasses } from '../wire/messages.ts'

/** `a/B$C` as `Class.getName()` gives it. */
export function sourceName(internal: string): string {
  return internal.replaceAll('/', '.')
}

export class TargetClasses {
  readonly #loaders = new Map<number, string>([[0, 'bootstrap']])
  readonly #jdkClasses = new Set<string>()
  /** Ids of classes of the bootstrap loader, by internal name. */
  readonly bootClasses = new Map<string, number>()
  /** Loader of a class, by ids. */
  readonly #loaderOf = new Map<number, number>()
  /** Classes that passed the load hook and have not been seen among the loaded ones. */
  readonly #coming = new Set<number>()

  /** The class is in the load hook. */
  comes(id: number, loader: number): void {
    this.#loaderOf.set(id, loader)
    this.#coming.add(id)
  }

  isComing(id: number): boolean {
    return this.#coming.has(id)
  }

  /** These have been defined. */
  add(loaders: LoadedClasses['loaders'], classes: readonly ClassInfo[]): void {
    for (const loader of loaders) this.#loaders.set(loader.id, loader.name)
    for (const c of classes) {
      this.#coming.delete(c.id)
      this.#loaderOf.set(c.id, c.loader)
      if (c.loader === 0) this.bootClasses.set(c.name, c.id)
      if ((c.flags & (CLASS_JDK | CLASS_OURS)) !== 0) this.#jdkClasses.add(sourceName(c.name))
    }
  }

  /** @param isNamed  whether a profile may name the class */
  unloaded(classes: Iterable<number>, loaders: readonly number[], isNamed: (id: number) => boolean): void {
    for (const id of classes) {
      this.#coming.delete(id)
      if (!isNamed(id)) this.#loaderOf.delete(id)
    }
    if (loaders.length === 0) return
    const named = new Set(this.#loaderOf.values())
    for (const id of loaders) if (!named.has(id)) this.#loaders.delete(id)
  }

  /** The id of its loader, 0 for the bootstrap one. */
  loaderOf(classId: number): number {
    return this.#loaderOf.get(classId) ?? 0
  }

  loaderName(classId: number): string {
    return this.#loaders.get(this.loaderOf(classId)) ?? 'bootstrap'
  }

  /** @param name  with dots */
  isJdk(name: string): boolean {
    return this.#jdkClasses.has(name)
  }
}
