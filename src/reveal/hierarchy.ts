// The loaded class hierarchy, by id: supertypes and subtypes, and resolution of names.
//
// Two classes may share a name in two loaders, and a class in the load hook may have supertypes that are
// not loaded yet. So supertypes are ids if known, and names (`missing`) otherwise. When a class whose name is in
// `missing` of other classes is loaded, it becomes their supertype, and those classes are returned, to be processed
// again. The agent does not report which loader is the parent of another loader: see `resolve`.

import { addTo } from '../base/arrays.ts'
import {
  CLASS_HIDDEN,
  CLASS_JDK,
  CLASS_OURS,
  CLASS_UNINITIALISED,
  type ClassInfo,
} from '../base/class-info.ts'
import { ACC_INTERFACE } from '../classfile/access.ts'

export class ClassNode {
  access = 0
  flags = 0
  /** Id of the nest host of a hidden class, otherwise 0. */
  nestHost = 0
  /** Id of the superclass. Several ids only while the class is being loaded and several loaders define a class of the superclass's name. */
  supers: readonly number[] = []
  interfaces: readonly number[] = []
  /** Names of direct supertypes for which no loaded class is known. */
  missing: readonly string[] = []
  /** Name of the superclass if it is in `missing`. */
  missingSuper: string | null = null
  /** Direct subclasses and implementors. */
  readonly subtypes = new Set<number>()
  /** Whether the class came through the load hook, so that its `<clinit>` had not run before. */
  hooked = false
  /** Whether the JVM has defined the class, so that the agent has reported its ClassInfo. */
  defined = false
  /** Whether the filters include the class, so that its methods may be instrumented. Set by `Classes`. */
  included = false
  /** Whether the class is included only by the user during the session. Then possibly only some of its methods are included. */
  added = false
  /** Whether the calls that the class makes are analysed: see `Filters.follows`. */
  followed = false

  constructor(
    readonly id: number,
    readonly name: string,
    readonly loader: number,
  ) {}
}

export class Hierarchy {
  readonly #nodes = new Map<number, ClassNode>()
  readonly #byName = new Map<string, ClassNode[]>()
  readonly #waiting = new Map<string, Set<ClassNode>>()
  readonly #ancestors = new Map<number, readonly ClassNode[]>()

  get(id: number): ClassNode | undefined {
    return this.#nodes.get(id)
  }

  node(id: number): ClassNode {
    const node = this.#nodes.get(id)
    if (node === undefined) throw new Error(`no class has id ${id}`)
    return node
  }

  nodes(): IterableIterator<ClassNode> {
    return this.#nodes.values()
  }

  named(name: string): readonly ClassNode[] {
    return this.#byName.get(name) ?? []
  }

  /**
   * Adds or updates defined classes.
   *
   * @returns new nodes, and nodes whose supertypes have changed
   */
  add(infos: readonly ClassInfo[]): ClassNode[] {
    const touched = new Set<ClassNode>()
    for (const info of infos) {
      let node = this.#nodes.get(info.id)
      if (node === undefined) {
        node = this.#create(info.id, info.name, info.loader)
        touched.add(node)
      }
      node.access = info.access
      node.flags = info.flags
      node.nestHost = info.nestHost
      node.defined = true
    }
    for (const info of infos) {
      const node = this.node(info.id)
      const supers = info.superId === 0 ? [] : [info.superId]
      const same =
        node.missing.length === 0 &&
        sameIds(node.supers, supers) &&
        sameIds(node.interfaces, info.interfaceIds)
      if (same) continue
      // The agent's row may lack the superclass, although the class file in the load hook named it.
      if (info.superId === 0 && !isInterface(node) && (node.supers.length > 0 || node.missingSuper !== null))
        continue
      this.#unlink(node)
      node.supers = supers
      node.interfaces = info.interfaceIds
      node.missing = []
      node.missingSuper = null
      this.#link(node)
      touched.add(node)
    }
    for (const node of [...touched]) for (const waiter of this.#appeared(node)) touched.add(waiter)
    return [...touched]
  }

  /**
   * Adds a class that is being loaded. Its supertypes are names from its class file.
   *
   * @returns the node, and nodes of classes that were loaded earlier and name this class as a supertype
   */
  loading(
    id: number,
    name: string,
    loader: number,
    file: { access: number; superName: string | null; interfaces: readonly string[] },
    flags: number,
  ): { node: ClassNode; waiters: ClassNode[] } {
    const node = this.#nodes.get(id) ?? this.#create(id, name, loader)
    node.hooked = true
    node.access = file.access
    node.flags |= flags
    if (!node.defined) {
      this.#unlink(node)
      const missing: string[] = []
      const find = (wanted: string): number[] => {
        const found = this.resolve(wanted, loader).filter((it) => it !== node)
        // The name may mean a class of another loader, or a class that this loader defines next.
        // Both are possible until the agent reports the class with the ids of its supertypes.
        const sure = found.some((it) => it.loader === loader || isJdk(it))
        if (!sure) missing.push(wanted)
        return found.map((it) => it.id)
      }
      // The class file of an interface names Object as superclass. This superclass is ignored, as in the agent's rows.
      node.supers = file.superName === null || isInterface(node) ? [] : find(file.superName)
      node.missingSuper = missing[0] ?? null
      node.interfaces = file.interfaces.flatMap(find)
      node.missing = missing
      for (const it of missing) this.#waiting.set(it, (this.#waiting.get(it) ?? new Set()).add(node))
      this.#link(node)
    }
    return { node, waiters: this.#appeared(node) }
  }

  /**
   * Returns the classes that a name in code of `loader` can mean: the class that the loader itself defines (the JVM
   * resolves the name to this class), otherwise every class of that name.
   */
  resolve(name: string, loader: number): readonly ClassNode[] {
    const all = this.#byName.get(name)
    if (all === undefined) return []
    const own = all.filter((it) => it.loader === loader)
    if (own.length > 0) return own
    // A name in code of the bootstrap loader means only the bootstrap loader's class: every loader delegates to it first.
    const bootstrap = all.filter((it) => it.loader === 0)
    return isJdk(bootstrap[0]) ? bootstrap : all
  }

  /** Returns each known supertype once, without the class itself, nearest superclasses first. */
  ancestors(node: ClassNode): readonly ClassNode[] {
    const known = this.#ancestors.get(node.id)
    if (known !== undefined) return known
    const found = new Set<ClassNode>()
    const walk = (it: ClassNode) => {
      for (const id of [...it.supers, ...it.interfaces]) {
        const above = this.#nodes.get(id)
        if (above === undefined || above === node || found.has(above)) continue
        found.add(above)
        walk(above)
      }
    }
    walk(node)
    const list = [...found]
    this.#ancestors.set(node.id, list)
    return list
  }

  /** Returns the node and all known subtypes, breadth first. */
  subtypesOf(node: ClassNode): ClassNode[] {
    return this.#closure(node, (it) => it.subtypes)
  }

  /** Returns the class and its known superclasses. */
  superclasses(node: ClassNode): ClassNode[] {
    return this.#closure(node, (it) => it.supers)
  }

  #closure(node: ClassNode, next: (node: ClassNode) => Iterable<number>): ClassNode[] {
    const found = new Set([node])
    for (const it of found) {
      for (const id of next(it)) {
        const other = this.#nodes.get(id)
        if (other !== undefined) found.add(other)
      }
    }
    return [...found]
  }

  /** Returns names of direct and indirect supertypes for which no loaded class is known. */
  missingAbove(node: ClassNode): string[] {
    return [...new Set([node, ...this.ancestors(node)].flatMap((it) => it.missing))]
  }

  /** Removes unloaded classes. Ignores unknown ids. */
  remove(ids: Iterable<number>): void {
    for (const id of ids) {
      const node = this.#nodes.get(id)
      if (node === undefined) continue
      this.#unlink(node)
      this.#nodes.delete(id)
      this.#ancestors.delete(id)
      this.#early.delete(id)
      const others = this.named(node.name).filter((it) => it !== node)
      if (others.length > 0) this.#byName.set(node.name, others)
      else this.#byName.delete(node.name)
    }
  }

  #create(id: number, name: string, loader: number): ClassNode {
    const node = new ClassNode(id, name, loader)
    this.#nodes.set(id, node)
    addTo(this.#byName, name, node)
    // A class may be reported before its supertype.
    const early = this.#early.get(id)
    if (early !== undefined) {
      for (const below of early) node.subtypes.add(below)
      this.#early.delete(id)
      this.#ancestors.clear()
    }
    return node
  }

  readonly #early = new Map<number, number[]>()

  #link(node: ClassNode): void {
    for (const id of [...node.supers, ...node.interfaces]) {
      const above = this.#nodes.get(id)
      if (above !== undefined) above.subtypes.add(node.id)
      else addTo(this.#early, id, node.id)
    }
    if (this.#ancestors.size > 0) this.#forget(node)
  }

  #unlink(node: ClassNode): void {
    for (const id of [...node.supers, ...node.interfaces]) this.#nodes.get(id)?.subtypes.delete(node.id)
    for (const name of node.missing) {
      const waiting = this.#waiting.get(name)
      if (waiting?.delete(node) && waiting.size === 0) this.#waiting.delete(name)
    }
  }

  /** Drops cached data of a class whose supertypes have changed, and of all its subtypes. */
  #forget(node: ClassNode): void {
    for (const it of this.subtypesOf(node)) this.#ancestors.delete(it.id)
  }

  #appeared(node: ClassNode): ClassNode[] {
    const waiting = this.#waiting.get(node.name)
    if (waiting === undefined || isHidden(node)) return []
    const linked: ClassNode[] = []
    for (const waiter of [...waiting]) {
      if (waiter === node || !this.resolve(node.name, waiter.loader).includes(node)) continue
      if (waiter.missingSuper === node.name) waiter.supers = [...waiter.supers, node.id]
      else waiter.interfaces = [...waiter.interfaces, node.id]
      waiter.missing = waiter.missing.filter((it) => it !== node.name)
      if (waiter.missingSuper === node.name) waiter.missingSuper = null
      waiting.delete(waiter)
      node.subtypes.add(waiter.id)
      this.#forget(waiter)
      linked.push(waiter)
    }
    return linked
  }
}

export function isJdk(node: ClassNode | undefined): boolean {
  return node !== undefined && (node.flags & CLASS_JDK) !== 0
}

export function isHidden(node: ClassNode): boolean {
  return (node.flags & CLASS_HIDDEN) !== 0
}

/** Returns the internal name; of a hidden class without the number that the JVM adds, which is different in each definition. */
export function plainName({ flags, name }: Pick<ClassNode, 'flags' | 'name'>): string {
  return (flags & CLASS_HIDDEN) === 0 ? name : name.replace(/\+[^+]*$/, '')
}

/** Returns whether the class is neither hidden nor a class of jfluid. */
export function isOrdinary(node: ClassNode): boolean {
  return (node.flags & (CLASS_HIDDEN | CLASS_OURS)) === 0
}

export function isInterface(node: ClassNode): boolean {
  return (node.access & ACC_INTERFACE) !== 0
}

function sameIds(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((it, i) => it === b[i])
}

/** Returns whether the `<clinit>` of the class may still run. */
export function mayBeInitialised(node: ClassNode): boolean {
  return node.hooked || (node.flags & CLASS_UNINITIALISED) !== 0
}
