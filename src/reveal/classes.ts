// The loaded classes, and the filters for instrumentation.

import { CLASS_JDK, CLASS_UNMODIFIABLE, type ClassInfo } from '../base/class-info.ts'
import { ACC_ABSTRACT } from '../classfile/access.ts'
import { type Chosen, isChosen, type Named, touches } from './chosen.ts'
import { deniedClass, deniedMethod } from './deny-list.ts'
import { Filters } from './filters.ts'
import { type ClassNode, Hierarchy, isHidden, isJdk, isOrdinary } from './hierarchy.ts'
import { hasCode, Linker, type MethodRef } from './linker.ts'
import type { MethodTarget } from './method-ids.ts'
import { type Mirror, Mirrors, type RevealPort } from './mirror.ts'
import { type ClassPattern, matchesClass } from './patterns.ts'

export interface ClassOptions {
  /** If not empty, only classes that match one of these patterns are included. */
  readonly include: readonly ClassPattern[]
  readonly exclude: readonly ClassPattern[]
  /** Whether JDK classes are included. */
  readonly jdk: boolean
  /** Intrinsics that get probes although the JVM may replace them, in the form "java/lang/Foo.bar()V". */
  readonly intrinsics?: ReadonlySet<string>
}

/** A class in the load hook. `flags` has the bits of `ClassInfo.flags`; undefined if the agent does not know them. */
export interface LoadingClass extends Pick<ClassInfo, 'id' | 'name' | 'loader'> {
  readonly flags?: number
}

/** Numbers of loaded classes that the user's target names: the named classes, or the classes that have the named method. */
export interface LookedUp {
  readonly classes: number
  /** Number of the named classes that the filters exclude. */
  readonly out: number
  /** Number of the excluded classes that may be instrumented. */
  readonly usable: number
  /** Number of the excluded classes that are JDK classes. */
  readonly jdk: number
}

/** Returns whether the filter selects the method. `className` is the internal name. */
export type MethodFilter = (className: string, name: string, descriptor: string) => boolean

const EVERY: MethodFilter = () => true
const PROXY = /\$Proxy\d+$/
/** Number of classes per request when classes are searched for a usable method. */
const CLASSES_A_STEP = 250

export class Classes {
  readonly hierarchy = new Hierarchy()
  readonly mirrors: Mirrors
  readonly linker: Linker
  readonly filters: Filters
  readonly #jdkPackages = new Set<string>()

  /** @param jdkIsReadInPart  called when a JDK class is excluded although other JDK classes are included */
  constructor(
    private readonly options: ClassOptions,
    port: RevealPort,
    private readonly jdkIsReadInPart: () => void,
  ) {
    this.mirrors = new Mirrors(port, this.hierarchy)
    this.linker = new Linker(this.hierarchy, this.mirrors, options.jdk)
    this.filters = new Filters(options.include, options.exclude, options.jdk)
  }

  /** Adds or updates defined classes. @returns new nodes, and nodes whose supertypes have changed */
  add(infos: readonly ClassInfo[]): ClassNode[] {
    const touched = this.hierarchy.add(infos)
    // A hidden class is included if its nest host is included. The nest host may be later in the list.
    for (const info of infos) {
      const node = this.hierarchy.node(info.id)
      this.#decide(node)
      // A proxy class of a non-public interface is in the package of this interface, so it is no evidence for a JDK package.
      if (isJdk(node) && !PROXY.test(node.name)) this.#jdkPackages.add(packageOf(node))
    }
    this.linker.forget()
    return touched
  }

  /** Adds a class in the load hook. @returns its node, and nodes of earlier classes that name the class as a supertype */
  loading(
    info: LoadingClass,
    bytes: Uint8Array,
  ): { node: ClassNode; waiters: ClassNode[]; mirror: Mirror | null } {
    const { id, name, loader, flags = this.#guessFlags(info) } = info
    const mirror = this.mirrors.put(id, bytes, (flags & CLASS_JDK) !== 0)
    const file = mirror ?? { access: 0, superName: null, interfaces: [] }
    const { node, waiters } = this.hierarchy.loading(id, name, loader, file, flags)
    this.#decide(node)
    this.linker.forget()
    return { node, waiters, mirror }
  }

  /** Guesses whether a class in the load hook is a JDK class. In one loader, all classes of a package belong to the same module. */
  #guessFlags(info: LoadingClass): number {
    const known = this.#jdkPackages.has(packageOf(info))
    return known || /^(?:java|jdk|sun)\//.test(info.name) ? CLASS_JDK : 0
  }

  unloaded(ids: ReadonlySet<number>): void {
    for (const id of ids) this.mirrors.drop(id)
    this.hierarchy.remove(ids)
    this.linker.forget()
  }

  includeRootClass(node: ClassNode): void {
    this.filters.addRootClass(node)
    this.#decide(node)
    this.linker.forget()
  }

  /**
   * Sets the targets that the user has included.
   *
   * @returns classes that are now included, or of which more methods are now included
   */
  include(added: readonly Chosen[]): ClassNode[] {
    const before = this.filters.added
    const fresh = added.filter((it) => !before.includes(it))
    if (fresh.length === 0 && added.length === before.length) return []
    this.filters.add(added)
    this.linker.opensJdk = this.options.jdk || added.length > 0
    const opened: ClassNode[] = []
    for (const node of this.hierarchy.nodes()) {
      const wasIncluded = node.included
      this.#decide(node)
      if (node.included && (!wasIncluded || (node.added && fresh.some((it) => touches(it, node.name)))))
        opened.push(node)
    }
    this.linker.forget()
    return opened
  }

  #decide(node: ClassNode): void {
    node.included = this.filters.admits(node, this.hierarchy)
    node.added = node.included && this.filters.isAdded(node)
    node.followed = node.included || this.filters.follows(node, this.hierarchy)
    if (this.options.jdk && isJdk(node) && isOrdinary(node) && !node.followed) this.jdkIsReadInPart()
  }

  /** Returns whether the filters or the user's inclusions include a method. True if its class is unloaded. */
  isIncluded({ classId, ...method }: Named & { readonly classId: number }): boolean {
    const node = this.hierarchy.get(classId)
    return node === undefined || this.includes(node, method)
  }

  includes(node: ClassNode, { name, descriptor }: Pick<Named, 'name' | 'descriptor'>): boolean {
    return node.included && (!node.added || this.filters.isMethodAdded(node.name, name, descriptor))
  }

  isIntrinsic({ node, method }: MethodRef): boolean {
    const { intrinsics } = this.options
    return method.intrinsic && intrinsics?.has(`${node.name}.${method.name}${method.descriptor}`) !== true
  }

  /** Returns whether the method could be a root. */
  isUsable(ref: MethodRef): boolean {
    const { node, method } = ref
    return (
      hasCode(ref) &&
      deniedMethod(node.name, method.name) === null &&
      !isHidden(node) &&
      (node.flags & CLASS_UNMODIFIABLE) === 0 &&
      !this.isIntrinsic(ref)
    )
  }

  /** Returns the method of a target; null if its class is unloaded. */
  refOf({ classId, methodIndex }: Pick<MethodTarget, 'classId' | 'methodIndex'>): MethodRef | null {
    const node = this.hierarchy.get(classId)
    const method = this.mirrors.get(classId)?.methods[methodIndex]
    return node && method ? { node, method } : null
  }

  /** Returns the classes that are neither hidden nor classes of jfluid. */
  ordinary(): ClassNode[] {
    return [...this.hierarchy.nodes()].filter(isOrdinary)
  }

  /** Counts the loaded classes that a target of the user names. Instruments nothing. */
  async lookUp(chosen: Chosen): Promise<LookedUp> {
    let nodes = this.ordinary().filter((it) => touches(chosen, it.name))
    if (chosen.method !== undefined) {
      await this.mirrors.fetch(nodes.map((it) => it.id))
      nodes = nodes.filter((node) => this.#hasUsable(node, chosen, EVERY))
      this.mirrors.trim()
    }
    const out = nodes.filter((it) => !it.included || it.added)
    return {
      classes: nodes.length,
      out: out.length,
      usable: out.filter((it) => deniedClass(it.name) === null).length,
      jdk: out.filter(isJdk).length,
    }
  }

  /**
   * Returns whether a loaded class has a method that the target names, that `filter` selects, and that may get probes. Instruments nothing.
   *
   * @param among  limits the search to these classes
   */
  async hasUsable(chosen: Chosen, among: readonly Chosen[], filter: MethodFilter): Promise<boolean> {
    const nodes = this.ordinary().filter(
      ({ name }) => touches(chosen, name) && among.some((other) => touches(other, name)),
    )
    for (let at = 0; at < nodes.length; at += CLASSES_A_STEP) {
      const step = nodes.slice(at, at + CLASSES_A_STEP)
      await this.mirrors.fetch(step.map((it) => it.id))
      const found = step.some((node) => this.#hasUsable(node, chosen, filter))
      this.mirrors.trim()
      if (found) return true
    }
    return false
  }

  /** Like `hasUsable`, for one class, whose method table must be available. */
  #hasUsable(node: ClassNode, chosen: Chosen, filter: MethodFilter): boolean {
    return this.linker
      .methodsOf(node)
      .some(
        ({ method }) =>
          isChosen(chosen, { className: node.name, name: method.name, descriptor: method.descriptor }) &&
          filter(node.name, method.name, method.descriptor) &&
          this.isUsable({ node, method }),
      )
  }

  /** Returns whether any loaded class matches. */
  has(pattern: ClassPattern): boolean {
    for (const { name } of this.hierarchy.nodes()) if (matchesClass(pattern, name)) return true
    return false
  }

  /** Returns whether a class is a subtype of another class. False if either class is unknown. */
  inherits(classId: number, fromId: number): boolean {
    const node = this.hierarchy.get(classId)
    return node !== undefined && this.hierarchy.ancestors(node).some((it) => it.id === fromId)
  }

  /** Returns the number of non-abstract methods with that name in a class; undefined if its methods are unknown. */
  countNamed(classId: number, name: string): number | undefined {
    return this.mirrors
      .get(classId)
      ?.methods.filter((it) => it.name === name && (it.access & ACC_ABSTRACT) === 0).length
  }
}

function packageOf(it: { readonly name: string; readonly loader: number }): string {
  return `${it.loader}:${it.name.slice(0, it.name.lastIndexOf('/') + 1)}`
}
