// The user's roots: finds their methods in the loaded classes, keeps roots whose
// class is not loaded yet, and creates messages for roots without a match.

import { maxOf } from '../base/arrays.ts'
import { CLASS_GONE, NEVER_DEFINED } from '../base/refusal.ts'
import { ACC_NATIVE, ACC_SYNTHETIC } from '../classfile/access.ts'
import {
  AbstractOrNativeRoot,
  RootInHiddenClass,
  RootNeverInstrumented,
  RootNotFound,
  RootNotLoaded,
  type RootProblem,
  RootRefused,
} from './errors.ts'
import { type ClassNode, isHidden, isOrdinary, plainName } from './hierarchy.ts'
import { hasCode, type Linker, type MethodRef } from './linker.ts'
import type { MethodTarget } from './method-ids.ts'
import { nearest } from './near.ts'
import {
  dotted,
  matchesMethod,
  RANK_NONE,
  RANK_SIMPLE,
  type RootOption,
  type RootPattern,
  readableParameters,
  rootRank,
} from './patterns.ts'

export interface RootReport {
  /** The root as written by the user. */
  readonly text: string
  /** Option that named the root. */
  readonly option: RootOption
  /** Number of methods that the root names. It may name several overloads, and methods of several classes with the same name. */
  readonly methods: number
  /** Dotted names of the classes that declare the root's methods. */
  readonly classes: readonly string[]
  /** Whether the root matches no loaded method yet, so that it waits for a class to be loaded. */
  readonly armed: boolean
  /** Reason why no loaded class with the root's class name is suitable; null unless the root is armed. */
  readonly problem: RootProblem | null
  /** Matching methods that cannot be roots, each with the reason: `com.foo.Bar.read() is native`. */
  readonly unusable: readonly string[]
  /** For an armed root: suggestions in the syntax of --root, of loaded classes with similar names, most similar first. */
  readonly near: readonly string[]
}

/** Data about a root that is known without a search. */
export interface RootProgress {
  readonly text: string
  /** Ids of the root's methods. */
  readonly ids: ReadonlySet<number>
  /** Whether the root has no method, although a class that the root names unambiguously has been loaded. */
  readonly failed: boolean
}

class State {
  /** Highest rank (RANK_…) among the matching classes that have a usable method. */
  rank = RANK_NONE
  readonly ids = new Set<number>()
  /** Dotted class name of each method, keyed by method id. */
  readonly classOf = new Map<number, string>()
  /** Reasons why selected methods could not be instrumented, keyed by method. */
  readonly refused = new Map<string, string>()
  readonly unusable = new Set<string>()
  /** Classes that the root names and that have no usable method, keyed by name. Of several classes with the same name, one is kept. */
  readonly searched = new Map<string, { readonly node: ClassNode; readonly sure: boolean }>()
  /** Methods that the root names and that are abstract, native, or never instrumented, keyed by their text. */
  readonly useless = new Map<string, MethodRef>()

  constructor(readonly pattern: RootPattern) {}
}

/** Functions of the caller that `match` uses. */
export interface RootSink {
  includeRootClass(node: ClassNode): void
  /** Selects the method and returns its id; null if it is skipped (denied, unmodifiable …). */
  takeRoot(ref: MethodRef): number | null
}

export class Roots {
  readonly #states: readonly State[]

  constructor(
    patterns: readonly RootPattern[],
    readonly linker: Linker,
    readonly sink: RootSink,
  ) {
    this.#states = patterns.map((pattern) => new State(pattern))
  }

  /**
   * Selects the methods of these classes that a root names.
   *
   * @param strict  whether to throw if a root's class is loaded but has no usable method; otherwise only `report` shows this problem
   * @throws RootProblem
   */
  async match(nodes: Iterable<ClassNode>, strict: boolean): Promise<void> {
    const all = [...nodes].filter(isOrdinary)
    const found = this.#states.map((state) => {
      const wildcard = state.pattern.className.includes('*')
      return all
        .map((node) => ({ node, rank: rootRank(state.pattern, node.name) }))
        .filter((it) => it.rank > RANK_NONE && it.rank >= state.rank && (!wildcard || it.node.included))
    })
    const ids = new Set(found.flat().map((it) => it.node.id))
    if (ids.size > 0) await this.linker.mirrors.fetch([...ids])
    for (const [i, state] of this.#states.entries()) {
      const candidates = found[i].map((it) => ({ ...it, methods: this.#methodsOf(state.pattern, it.node) }))
      const rank = maxOf(
        candidates.filter((it) => it.methods.length > 0).map((it) => it.rank),
        RANK_NONE,
      )
      if (rank > RANK_NONE) this.#take(state, rank, candidates)
      else if (state.ids.size === 0) this.#note(state, candidates)
      if (strict && state.ids.size + state.searched.size === 0) this.#refuseHidden(state.pattern)
      if (state.ids.size > 0 || candidates.length === 0) continue
      await this.#fetchAround(state)
      // Throws now if a loaded class of the root lacks the method, since a loaded class cannot get the method later.
      const problem = strict && isSure(state) ? this.#problemOf(state) : null
      if (problem !== null) throw problem
    }
  }

  /**
   * Checks whether these patterns, which are not roots of the session, could be roots. Selects nothing.
   *
   * @returns the methods that match, with provisional ids
   * @throws RootProblem | RootNotLoaded
   */
  async check(
    patterns: readonly RootPattern[],
    isUsable: (ref: MethodRef) => boolean,
  ): Promise<MethodTarget[]> {
    const usable: MethodTarget[] = []
    const others = new Roots(patterns, this.linker, {
      includeRootClass: () => {},
      takeRoot: (ref) => (isUsable(ref) ? usable.push(asRoot(ref)) : null),
    })
    await others.match(this.linker.hierarchy.nodes(), true)
    for (const { text, armed, problem, near } of others.report())
      if (armed) throw problem ?? new RootNotLoaded(text, near)
    return usable
  }

  /** Whether a root has a method. */
  get isFound(): boolean {
    return this.#states.some(({ ids }) => ids.size > 0)
  }

  report(): RootReport[] {
    return this.#states.map((state) => {
      const armed = state.ids.size === 0
      const problem = armed ? this.#problemOf(state) : null
      return {
        text: state.pattern.text,
        option: state.pattern.option ?? 'root',
        methods: state.ids.size,
        classes: [...new Set(state.classOf.values())],
        armed,
        problem,
        unusable: [...state.unusable],
        near: armed && problem === null ? this.#nearClasses(state.pattern) : [],
      }
    })
  }

  /** Handles a selected method that could not be instrumented. If the root has no other method, the root counts as not found. */
  refused({ id, className, name, descriptor }: MethodTarget, reason: string): void {
    const method = readableMethod(className, name, descriptor)
    for (const state of this.#states) {
      if (!state.ids.delete(id)) continue
      state.classOf.delete(id)
      if (reason === CLASS_GONE || reason === NEVER_DEFINED) continue // another class of that name may be loaded
      state.refused.set(method, reason)
      state.unusable.add(`${method}: ${reason}`)
    }
  }

  /** Returns the progress of all roots. Makes no search, so it is faster than `report`. */
  progress(): RootProgress[] {
    return this.#states.map((state) => ({
      text: state.pattern.text,
      ids: state.ids,
      failed: state.ids.size === 0 && isSure(state),
    }))
  }

  /** @throws RootInHiddenClass if a loaded hidden class has the class name of the root. The classes must include no other such class. */
  #refuseHidden({ className, text, option }: RootPattern): void {
    if (className.includes('*')) return
    for (const node of this.linker.hierarchy.nodes()) {
      if (!isHidden(node)) continue
      const name = plainName(node)
      const rank = rootRank({ className }, name)
      if (isNamedSurely(rank, node)) throw new RootInHiddenClass(text, dotted(name), option)
    }
  }

  #methodsOf(pattern: RootPattern, node: ClassNode): MethodRef[] {
    return this.linker
      .methodsOf(node)
      .filter(({ method }) => matchesMethod(pattern, method.name, method.descriptor))
  }

  #take(
    state: State,
    rank: number,
    candidates: readonly { node: ClassNode; rank: number; methods: MethodRef[] }[],
  ): void {
    state.rank = rank
    for (const ref of candidates.filter((it) => it.rank === rank).flatMap((it) => it.methods)) {
      if (!hasCode(ref)) {
        state.unusable.add(`${show(ref)} is ${kindOf(ref)}`)
        state.useless.set(show(ref), ref)
        continue
      }
      this.sink.includeRootClass(ref.node)
      const id = this.sink.takeRoot(ref)
      if (id === null) {
        state.unusable.add(`${show(ref)} is never instrumented`)
        state.useless.set(show(ref), ref)
      } else {
        state.ids.add(id)
        state.classOf.set(id, dotted(ref.node.name))
      }
    }
  }

  #note({ pattern, searched }: State, candidates: readonly { node: ClassNode; rank: number }[]): void {
    for (const { node, rank } of candidates) {
      const sure = isNamedSurely(rank, node) && !pattern.className.includes('*')
      searched.set(dotted(node.name), { node, sure })
    }
  }

  /** Fetches the method tables that the hint of an error needs. Tables of classes that are loaded later come from the load hook. */
  async #fetchAround({ pattern, searched, useless }: State): Promise<void> {
    if (pattern.className.includes('*')) return
    const { hierarchy } = this.linker
    const around = new Set<ClassNode>()
    for (const { node } of searched.values())
      for (const it of hierarchy.ancestors(node)) if (it.included) around.add(it)
    for (const ref of useless.values()) if (!hasCode(ref)) for (const it of this.#below(ref)) around.add(it)
    const living = [...around].filter((it) => hierarchy.get(it.id) === it)
    if (living.length > 0) await this.linker.mirrors.fetch(living.map((it) => it.id))
  }

  /** Returns the problem of a root. Fetches nothing, so that it can be called at any time. */
  #problemOf(state: State): RootProblem | null {
    const { pattern, refused, useless, searched } = state
    if (refused.size > 0) return new RootRefused(pattern.text, refused, pattern.option)
    const refs = [...useless.values()]
    const [codeless] = refs.filter((it) => !hasCode(it))
    if (refs.length > 0 && refs.some(hasCode)) return new RootNeverInstrumented(pattern.text, pattern.option)
    if (codeless !== undefined) {
      const kind = kindOf(codeless)
      return new AbstractOrNativeRoot(
        pattern.text,
        kind,
        kind === 'abstract' ? this.#implementationsOf(refs) : [],
        pattern.option,
      )
    }
    const all = [...searched.values()]
    const sure = all.filter((it) => it.sure)
    const nodes = (sure.length > 0 ? sure : all).map((it) => it.node)
    return nodes.length === 0 ? null : this.#notFound(pattern, nodes)
  }

  /** Returns at most 200 classes that may implement an abstract method. */
  #below(ref: MethodRef): ClassNode[] {
    return this.linker.hierarchy
      .subtypesOf(ref.node)
      .filter((it) => !isHidden(it))
      .slice(0, 200)
  }

  /** Returns at most five concrete methods that implement these abstract methods. */
  #implementationsOf(refs: readonly MethodRef[]): string[] {
    const selectors = new Set(refs.map((it) => it.method.name + it.method.descriptor))
    const found = new Set<string>()
    for (const node of new Set(refs.flatMap((it) => this.#below(it)))) {
      for (const ref of this.linker.methodsOf(node)) {
        const { name, descriptor } = ref.method
        if (selectors.has(name + descriptor) && hasCode(ref)) found.add(`${dotted(node.name)}.${name}`)
      }
    }
    return [...found].slice(0, 5)
  }

  #notFound(pattern: RootPattern, searched: readonly ClassNode[]): RootNotFound {
    const above = searched.flatMap((it) => this.linker.hierarchy.ancestors(it)).filter((it) => it.included)
    const exact = new Set<string>()
    const simple = new Map<string, string>()
    for (const node of new Set([...searched, ...above])) {
      for (const ref of this.linker.methodsOf(node)) {
        const { method } = ref
        const name = method.name === '<init>' ? 'new' : method.name
        // A method with the root's name: it has other parameters, or a supertype declares it.
        if (method.name === pattern.method) exact.add(show(ref))
        else if (method.name !== '<clinit>' && isSuggested(ref))
          simple.set(name, `${dotted(node.name)}.${name}`)
      }
    }
    const near = nearest(pattern.method, simple.keys()).map((it) => simple.get(it) ?? it)
    return new RootNotFound(
      pattern.text,
      searched.map((it) => dotted(it.name)),
      [...exact, ...near].slice(0, 5),
      pattern.option,
    )
  }

  /** Returns loaded classes with similar names. If the user wrote n parts of a class name, compares the last n parts of each name. */
  #nearClasses(pattern: RootPattern): string[] {
    const parts = pattern.className.split('.').length
    const full = new Map<string, string>()
    for (const node of this.linker.hierarchy.nodes()) {
      if (!node.included || isHidden(node)) continue
      const name = dotted(node.name)
      const tail = name.split('.').slice(-parts).join('.')
      // A class with exactly the written name is no suggestion: it has already been searched.
      if (tail !== pattern.className && !full.has(tail)) full.set(tail, name)
    }
    const method = pattern.method === '<init>' ? 'new' : pattern.method
    return nearest(pattern.className, full.keys()).map((it) => `${full.get(it)}.${method}`)
  }
}

/**
 * Returns whether a root names this class and no other. A class name without package, or without the outer class, may mean a class that is
 * loaded later: then a JDK class or a nested class is no proof that the user's class lacks the method.
 */
function isNamedSurely(rank: number, { included }: ClassNode): boolean {
  return rank > RANK_SIMPLE || (rank === RANK_SIMPLE && included)
}

/** Returns whether a class that the root names unambiguously has been loaded without a usable method. */
function isSure({ refused, searched, useless }: State): boolean {
  return refused.size + useless.size > 0 || [...searched.values()].some((it) => it.sure)
}

/** Returns whether a method is a useful suggestion: it has code and is not generated by the compiler. */
function isSuggested(ref: MethodRef): boolean {
  return hasCode(ref) && (ref.method.access & ACC_SYNTHETIC) === 0
}

function asRoot({ node, method }: MethodRef): MethodTarget {
  const { index: methodIndex, name, descriptor } = method
  return { id: 1, classId: node.id, methodIndex, className: node.name, name, descriptor, root: true }
}

function kindOf(ref: MethodRef): 'abstract' | 'native' {
  return (ref.method.access & ACC_NATIVE) !== 0 ? 'native' : 'abstract'
}

function show({ node, method }: MethodRef): string {
  return readableMethod(node.name, method.name, method.descriptor)
}

function readableMethod(className: string, name: string, descriptor: string): string {
  const shown = name === '<init>' ? 'new' : name
  return `${dotted(className)}.${shown}(${readableParameters(descriptor).join(', ')})`
}
