// The roots the user named: which loaded methods they mean, which of them still wait for their
// class, and what to say when a name fits nothing.

import { CLASS_HIDDEN, CLASS_OURS } from '../base/class-info.ts'
import { ACC_ABSTRACT, ACC_NATIVE } from '../classfile/access.ts'
import { AbstractOrNativeRoot, RootNotFound } from './errors.ts'
import type { ClassNode } from './hierarchy.ts'
import type { Linker, MethodRef } from './linker.ts'
import { nearest } from './near.ts'
import {
  dotted,
  matchesMethod,
  RANK_NONE,
  RANK_SIMPLE,
  type RootPattern,
  readableParameters,
  rootRank,
} from './patterns.ts'

export interface RootReport {
  /** The root as the user wrote it. */
  readonly text: string
  /** Methods it stands for, overloads and classes of one name in several packages included. */
  readonly methods: number
  /** Classes those methods are in, dotted. */
  readonly classes: readonly string[]
  /** It matches nothing loaded yet, and waits. */
  readonly armed: boolean
  /** Matching methods that cannot be roots, and why: `com.foo.Bar.read() is native`. */
  readonly unusable: readonly string[]
  /** For an armed root: loaded classes with a similar name, as roots, closest first. */
  readonly near: readonly string[]
}

interface State {
  readonly pattern: RootPattern
  /** Best kind of match that had such a method. */
  rank: number
  methods: number
  readonly classes: Set<string>
  readonly unusable: string[]
}

/** What `match` needs to reach the rest of revelation. */
export interface RootSink {
  includeRootClass(node: ClassNode): void
  /** Takes the method; false if it is skipped (denied, unmodifiable …). */
  takeRoot(ref: MethodRef): boolean
}

export class Roots {
  readonly #states: readonly State[]

  constructor(
    patterns: readonly RootPattern[],
    readonly linker: Linker,
    readonly sink: RootSink,
    readonly fetch: (ids: readonly number[]) => Promise<void>,
  ) {
    this.#states = patterns.map((pattern) => ({
      pattern,
      rank: RANK_NONE,
      methods: 0,
      classes: new Set(),
      unusable: [],
    }))
  }

  /**
   * Takes the methods of these classes that a root names.
   *
   * @param strict  throw if a root's class is among them and has no such method
   * @throws RootNotFound
   * @throws AbstractOrNativeRoot
   */
  async match(nodes: Iterable<ClassNode>, strict: boolean): Promise<void> {
    const all = [...nodes].filter((it) => (it.flags & (CLASS_HIDDEN | CLASS_OURS)) === 0)
    const found = this.#states.map((state) => {
      const wildcard = state.pattern.className.includes('*')
      return all
        .map((node) => ({ node, rank: rootRank(state.pattern, node.name) }))
        .filter((it) => it.rank > RANK_NONE && it.rank >= state.rank && (!wildcard || it.node.included))
    })
    const ids = new Set(found.flat().map((it) => it.node.id))
    if (ids.size > 0) await this.fetch([...ids])
    for (const [i, state] of this.#states.entries()) {
      const candidates = found[i].map((it) => ({ ...it, methods: this.#methodsOf(state.pattern, it.node) }))
      const rank = Math.max(
        RANK_NONE,
        ...candidates.filter((it) => it.methods.length > 0).map((it) => it.rank),
      )
      if (rank > RANK_NONE) await this.#take(state, rank, candidates, strict)
      else if (strict && state.methods === 0) await this.#complain(state.pattern, candidates)
    }
  }

  report(): RootReport[] {
    return this.#states.map((state) => ({
      text: state.pattern.text,
      methods: state.methods,
      classes: [...state.classes],
      armed: state.methods === 0,
      unusable: state.unusable,
      near: state.methods === 0 ? this.#nearClasses(state.pattern) : [],
    }))
  }

  #methodsOf(pattern: RootPattern, node: ClassNode): MethodRef[] {
    const methods = this.linker.mirrors.get(node.id)?.methods ?? []
    return methods
      .filter((it) => matchesMethod(pattern, it.name, it.descriptor))
      .map((method) => ({ node, method }))
  }

  async #take(
    state: State,
    rank: number,
    candidates: readonly { node: ClassNode; rank: number; methods: MethodRef[] }[],
    strict: boolean,
  ): Promise<void> {
    const refs = candidates.filter((it) => it.rank === rank).flatMap((it) => it.methods)
    const usable = refs.filter((it) => (it.method.access & (ACC_ABSTRACT | ACC_NATIVE)) === 0)
    state.rank = rank
    for (const ref of refs) {
      if (!usable.includes(ref)) state.unusable.push(`${show(ref)} is ${kindOf(ref)}`)
    }
    for (const ref of usable) {
      this.sink.includeRootClass(ref.node)
      if (this.sink.takeRoot(ref)) {
        state.methods++
        state.classes.add(dotted(ref.node.name))
      } else state.unusable.push(`${show(ref)} is never instrumented`)
    }
    if (strict && usable.length === 0 && state.methods === 0) {
      const kind = kindOf(refs[0])
      throw new AbstractOrNativeRoot(
        state.pattern.text,
        kind,
        kind === 'abstract' ? await this.#implementationsOf(refs) : [],
      )
    }
  }

  /** Concrete methods below abstract ones, at most five. */
  async #implementationsOf(refs: readonly MethodRef[]): Promise<string[]> {
    const below = new Set(refs.flatMap((it) => this.linker.hierarchy.subtypesOf(it.node)))
    const open = [...below].filter((it) => (it.flags & CLASS_HIDDEN) === 0).slice(0, 200)
    await this.fetch(open.map((it) => it.id))
    const selectors = new Set(refs.map((it) => it.method.name + it.method.descriptor))
    const found: string[] = []
    for (const node of open) {
      for (const method of this.linker.mirrors.get(node.id)?.methods ?? []) {
        if (!selectors.has(method.name + method.descriptor)) continue
        if ((method.access & (ACC_ABSTRACT | ACC_NATIVE)) === 0)
          found.push(`${dotted(node.name)}.${method.name}`)
      }
    }
    return [...new Set(found)].slice(0, 5)
  }

  /** The class is there and the method is not: say so now, it cannot appear later. */
  async #complain(
    pattern: RootPattern,
    candidates: readonly { node: ClassNode; rank: number }[],
  ): Promise<void> {
    // Cut short, the name may mean a class still to come rather than one of the JDK's or a nested one.
    const searched = candidates
      .filter((it) => it.rank > RANK_SIMPLE || (it.rank === RANK_SIMPLE && it.node.included))
      .map((it) => it.node)
    if (searched.length === 0 || pattern.className.includes('*')) return
    const above = searched.flatMap((it) => this.linker.hierarchy.ancestors(it)).filter((it) => it.included)
    await this.fetch(above.map((it) => it.id))
    const exact: string[] = []
    const names: string[] = []
    for (const node of [...searched, ...above]) {
      for (const method of this.linker.mirrors.get(node.id)?.methods ?? []) {
        const name = `${dotted(node.name)}.${method.name === '<init>' ? 'new' : method.name}`
        // Right method, other parameters; or declared by a supertype.
        if (method.name === pattern.method) exact.push(show({ node, method }))
        else if (method.name !== '<clinit>') names.push(name)
      }
    }
    const simple = new Map(names.map((it) => [it.slice(it.lastIndexOf('.') + 1), it]))
    const near = nearest(pattern.method, simple.keys()).map((it) => simple.get(it) ?? it)
    throw new RootNotFound(
      pattern.text,
      searched.map((it) => dotted(it.name)),
      [...exact, ...near].slice(0, 5),
    )
  }

  /** Loaded classes named like the root's, compared on as many name parts as the user wrote. */
  #nearClasses(pattern: RootPattern): string[] {
    const parts = pattern.className.split('.').length
    const full = new Map<string, string>()
    for (const node of this.linker.hierarchy.nodes()) {
      if (!node.included || (node.flags & CLASS_HIDDEN) !== 0) continue
      const name = dotted(node.name)
      const tail = name.split('.').slice(-parts).join('.')
      if (!full.has(tail)) full.set(tail, name)
    }
    const method = pattern.method === '<init>' ? 'new' : pattern.method
    return nearest(pattern.className, full.keys()).map((it) => `${full.get(it)}.${method}`)
  }
}

function kindOf(ref: MethodRef): 'abstract' | 'native' {
  return (ref.method.access & ACC_NATIVE) !== 0 ? 'native' : 'abstract'
}

function show({ node, method }: MethodRef): string {
  const name = method.name === '<init>' ? 'new' : method.name
  return `${dotted(node.name)}.${name}(${readableParameters(method.descriptor).join(', ')})`
}
