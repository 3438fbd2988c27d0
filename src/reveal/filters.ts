// Decides which classes may be instrumented: by --include, --exclude, --jdk, the deny-list, the user's inclusions during a session, and
// a check for classes that can never be included.

import { CLASS_OURS } from '../base/class-info.ts'
import { type Chosen, isChosen, touches } from './chosen.ts'
import { deniedClass } from './deny-list.ts'
import { type ClassNode, type Hierarchy, isHidden, isJdk } from './hierarchy.ts'
import { type ClassPattern, matchesClass } from './patterns.ts'

export interface FilterReport {
  readonly option: 'include' | 'exclude'
  readonly text: string
  /** Number of classes that the pattern matched. JDK classes are counted only with --jdk. */
  readonly classes: number
}

export class Filters {
  readonly #include: readonly Counted[]
  readonly #exclude: readonly Counted[]
  readonly #rootClasses = new Set<number>()
  #added: readonly Chosen[] = []

  constructor(
    include: readonly ClassPattern[],
    exclude: readonly ClassPattern[],
    readonly jdk: boolean,
  ) {
    this.#include = include.map((pattern) => ({ pattern, classes: new Set() }))
    this.#exclude = exclude.map((pattern) => ({ pattern, classes: new Set() }))
  }

  /** Adds a root's class. Then an application class is included in spite of the patterns; of a JDK class, only the root method is. */
  addRootClass(node: ClassNode): void {
    this.#rootClasses.add(node.id)
  }

  /** Targets that the user has included during the session. */
  get added(): readonly Chosen[] {
    return this.#added
  }

  /** Sets the targets that the user has included. */
  add(added: readonly Chosen[]): void {
    this.#added = added
  }

  /** Returns whether the class is included only by the user during the session, and not by the options. */
  isAdded(node: ClassNode): boolean {
    return this.#added.length > 0 && this.#isTouched(node) && !this.#asked(node)
  }

  /** Returns whether one of the user's inclusions during the session includes this method. */
  isMethodAdded(className: string, name: string, descriptor: string): boolean {
    return this.#added.some((it) => isChosen(it, { className, name, descriptor }))
  }

  #isTouched(node: ClassNode): boolean {
    return this.#added.some((it) => touches(it, node.name))
  }

  admits(node: ClassNode, hierarchy: Hierarchy): boolean {
    return withHost(node, hierarchy, (it) => this.#wanted(it) && deniedClass(it.name) === null)
  }

  /**
   * Returns whether calls made by the class are analysed: the class is included, or excluded only by the deny-list, or is an application
   * class.
   */
  follows(node: ClassNode, hierarchy: Hierarchy): boolean {
    return withHost(node, hierarchy, (it) => !isJdk(it) || this.#wanted(it))
  }

  /** Returns whether the options or the user's inclusions include the class. Ignores the deny-list. */
  #wanted(node: ClassNode): boolean {
    return this.#asked(node) || this.#isTouched(node)
  }

  #asked(node: ClassNode): boolean {
    const jdk = isJdk(node)
    if (jdk && !this.jdk) return false
    // Evaluates every pattern, since each pattern counts the classes that it matches.
    const excluded = countMatches(this.#exclude, node)
    const included = countMatches(this.#include, node)
    if (!jdk && this.#rootClasses.has(node.id)) return true
    return !excluded && (included || this.#include.length === 0)
  }

  report(): FilterReport[] {
    const rows = (option: 'include' | 'exclude', all: readonly Counted[]) =>
      all.map((it) => ({ option, text: it.pattern.text, classes: it.classes.size }))
    return [...rows('include', this.#include), ...rows('exclude', this.#exclude)]
  }
}

/** Returns the result of `decide` for the class; for a hidden class, the result for its nest host. Always false for classes of jfluid. */
function withHost(node: ClassNode, hierarchy: Hierarchy, decide: (node: ClassNode) => boolean): boolean {
  if ((node.flags & CLASS_OURS) !== 0) return false
  if (!isHidden(node) || node.nestHost === 0 || node.nestHost === node.id) return decide(node)
  const host = hierarchy.get(node.nestHost)
  return host !== undefined && withHost(host, hierarchy, decide)
}

interface Counted {
  readonly pattern: ClassPattern
  readonly classes: Set<number>
}

function countMatches(all: readonly Counted[], node: ClassNode): boolean {
  let any = false
  for (const { pattern, classes } of all) {
    if (!matchesClass(pattern, node.name)) continue
    classes.add(node.id)
    any = true
  }
  return any
}
