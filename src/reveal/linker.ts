// Resolves the name at a call site to the methods that the call can run in the loaded classes (JVMS 5.4.3.3,
// 5.4.6), by class hierarchy analysis.
//
// Linking does not change the state of revelation. Missing method tables are
// collected in `wanted`; the caller fetches all of these tables at once and links again, so that many
// call sites need few round trips.
//
// Excluded application code is resolved like included code: its methods are targets, and their calls are analysed.
// JDK classes are not fetched just to resolve a name: if the search through the superclasses leaves the followed
// classes, the call enters the JDK, and only its effect on the gate
// matters (`leaf-calls.ts`).

import { ACC_ABSTRACT, ACC_FINAL, ACC_NATIVE, ACC_PRIVATE, ACC_STATIC } from '../classfile/access.ts'
import { type LambdaSite, type Site, siteKey } from './call-sites.ts'
import {
  type ClassNode,
  type Hierarchy,
  isHidden,
  isInterface,
  isJdk,
  mayBeInitialised,
} from './hierarchy.ts'
import { GATE_ANY, GATE_CLOSED, GATE_FULL, gateOf } from './leaf-calls.ts'
import type { Mirror, MirrorMethod, Mirrors } from './mirror.ts'

export interface MethodRef {
  readonly node: ClassNode
  readonly method: MirrorMethod
}

/** A site, and the class loader of its code. The loader determines the classes that names in the site mean. */
export interface LoadedSite {
  readonly site: Site
  readonly loader: number
}

export interface Linked {
  /** Methods that the site can run, each once, including methods of excluded application classes. */
  readonly targets: readonly MethodRef[]
  /** Level to which the site opens the gate for callbacks from excluded code: GATE_…. */
  readonly gate: number
  /** Sites that this site leads to: method handles of lambdas, a method of a superclass that is not loaded yet. */
  readonly onward: readonly LoadedSite[]
  /** Types on which the site dispatches. The site can also reach subtypes that are loaded later. */
  readonly dispatchers: readonly ClassNode[]
  /** Hidden classes that may run and cannot be instrumented. */
  readonly opaque: readonly ClassNode[]
}

/** A `Linked` under construction. */
class Sink {
  readonly targets = new Map<string, MethodRef>()
  gate = GATE_CLOSED
  readonly onward = new Map<string, LoadedSite>()
  readonly dispatchers = new Set<ClassNode>()
  readonly opaque = new Set<ClassNode>()
  /** False if a method table was needed that is not available. */
  complete = true

  target(node: ClassNode, method: MirrorMethod): void {
    this.targets.set(placeOf({ node, method }), { node, method })
  }

  lead(site: Site, loader: number): void {
    this.onward.set(keyOf({ site, loader }), { site, loader })
  }

  finish(): Linked | null {
    if (!this.complete) return null
    return {
      targets: [...this.targets.values()],
      gate: this.gate,
      onward: [...this.onward.values()],
      dispatchers: [...this.dispatchers],
      opaque: [...this.opaque],
    }
  }
}

export const OBJECT = 'java/lang/Object'
const PROBES = 'java/lang/JFluid'
const OBJECT_METHODS = new Set(
  `<init>()V getClass()Ljava/lang/Class; hashCode()I equals(Ljava/lang/Object;)Z clone()Ljava/lang/Object;
  toString()Ljava/lang/String; notify()V notifyAll()V wait()V wait(J)V wait(JI)V finalize()V`.split(/\s+/),
)
const INITIALISER = { name: '<clinit>', descriptor: '()V' }
const LAMBDA_PROXY = /\$\$Lambda/

export class Linker {
  /** Classes whose method table is needed to continue. */
  readonly wanted = new Set<number>()
  /** Classes whose class file is needed, since they create lambdas. */
  readonly wantedFiles = new Set<number>()
  readonly #closed = new Map<number, boolean>()
  /** Whether calls of JDK classes may be analysed. */
  opensJdk: boolean

  constructor(
    readonly hierarchy: Hierarchy,
    readonly mirrors: Mirrors,
    readonly jdk: boolean,
  ) {
    this.opensJdk = jdk
  }

  /** Called when the hierarchy or the filters have changed. */
  forget(): void {
    this.#closed.clear()
  }

  /** Returns whether neither the class nor any supertype is followed, so that a search in the class and its supertypes finds nothing. */
  closed(node: ClassNode): boolean {
    if (node.followed) return false
    if (isJdk(node) && !this.opensJdk) return true
    let closed = this.#closed.get(node.id)
    if (closed === undefined) {
      const above = this.hierarchy.ancestors(node)
      closed =
        above.every((it) => !it.followed && (it.missing.length === 0 || isJdk(it))) &&
        node.missing.length === 0
      this.#closed.set(node.id, closed)
    }
    return closed
  }

  /** Returns the methods that the site can reach in the loaded classes; null if method tables must be fetched first (`wanted`). */
  link({ site, loader }: LoadedSite): Linked | null {
    const sink = new Sink()
    // Class bytes that are requested later in the session may contain jfluid's own probes. Calls of the probes are no sites.
    if (site.owner.startsWith(PROBES)) return sink.finish()
    const owners = this.hierarchy.resolve(site.owner, loader)
    switch (site.kind) {
      case 'exact':
      case 'virtual':
        if (owners.length === 0 && !this.jdk && site.owner.startsWith('java/')) {
          sink.gate = gateOf([site.owner], site.name, site.descriptor) // the class is not loaded yet, but it is certainly a JDK class
        }
        for (const owner of owners) {
          if (site.kind === 'exact') this.#exact(owner, site, sink)
          else this.#virtual(owner, site, sink)
        }
        break
      case 'init':
        for (const owner of owners) this.#init(owner, sink)
        break
      case 'any':
        for (const owner of owners) {
          if (!site.family) this.#any(owner, sink)
          else if (!isJdk(owner)) this.#family(owner, sink)
        }
        break
      case 'record':
        sink.gate = GATE_FULL
        break
    }
    return sink.finish()
  }

  /**
   * Returns the methods that run when one of `selectors` or `overriding` is invoked on an instance of exactly the class `node`, or
   * the handles if `node` is a lambda proxy. The selectors in `overriding` were dispatched on excluded types, so an implementation
   * that is inherited from an excluded type is no target.
   */
  linkReceiver(node: ClassNode, selectors: Iterable<string>, overriding: Iterable<string>): Linked | null {
    const sink = new Sink()
    for (const selector of selectors) this.#receiver(node, memberOf(selector), sink)
    for (const selector of overriding) this.#overrider(node, memberOf(selector), sink)
    return sink.finish()
  }

  /** Returns the methods that override the selector in subtypes of an excluded type. The JVM itself may invoke them. */
  linkOverriders(type: ClassNode, selector: string): Linked | null {
    const sink = new Sink()
    sink.dispatchers.add(type)
    this.#overriders(type, memberOf(selector), sink)
    return sink.finish()
  }

  /** Returns the method handles of the lambdas that a proxy class may implement; null if class files must be fetched first. */
  lambdaHandles(proxy: ClassNode): readonly LoadedSite[] | null {
    const host = this.#lambdaHost(proxy)
    if (host === undefined || this.closed(host)) return []
    if (!this.mirrors.hasLambdas(host.id) && !this.mirrors.hasFile(host.id)) {
      this.wantedFiles.add(host.id)
      return null
    }
    const names = new Set(proxy.interfaces.map((id) => this.hierarchy.get(id)?.name))
    return this.mirrors
      .lambdas(host.id)
      .filter((it: LambdaSite) => names.has(it.interfaceName))
      .flatMap((it) => it.handles.map((site) => ({ site, loader: host.loader })))
  }

  /**
   * Returns the class that contains the lambda expression. Its name is a part of the proxy's name. This class may differ
   * from the nest host, which is the outermost enclosing class. Before JDK 15 a proxy has no nest host but itself.
   */
  #lambdaHost(proxy: ClassNode): ClassNode | undefined {
    const name = proxy.name.slice(0, proxy.name.search(LAMBDA_PROXY))
    const nestHost = this.hierarchy.get(proxy.nestHost)
    if (nestHost?.name === name) return nestHost
    return this.hierarchy.resolve(name, proxy.loader).find((it) => it.loader === proxy.loader) ?? nestHost
  }

  isLambdaProxy(node: ClassNode): boolean {
    return isHidden(node) && LAMBDA_PROXY.test(node.name)
  }

  /** Returns the mirror of a class; null if the class is unreadable. If the mirror is missing, adds to `wanted` and returns undefined. */
  mirror(node: ClassNode): Mirror | null | undefined {
    const mirror = this.mirrors.get(node.id)
    if (mirror === undefined) {
      this.wanted.add(node.id)
      // The search will probably continue in the superclasses: requests the followed superclasses in the same batch.
      for (const above of this.hierarchy.superclasses(node)) {
        if (above.followed && this.mirrors.get(above.id) === undefined) this.wanted.add(above.id)
      }
    }
    return mirror
  }

  /** Returns the methods that the class declares; an empty list if its method table is not available. */
  methodsOf(node: ClassNode): MethodRef[] {
    return (this.mirrors.get(node.id)?.methods ?? []).map((method) => ({ node, method }))
  }

  #exact(owner: ClassNode, member: Member, sink: Sink): void {
    if (this.closed(owner)) this.#enterExcluded(owner, member, sink)
    else this.#find(owner, member, sink)
  }

  #any(owner: ClassNode, sink: Sink): void {
    if (!owner.followed || isHidden(owner)) return
    const mirror = this.mirror(owner)
    if (mirror === undefined) sink.complete = false
    for (const method of mirror?.methods ?? []) {
      const runs = (method.access & ACC_ABSTRACT) === 0 && method.name !== INITIALISER.name
      if (runs) sink.target(owner, method)
    }
  }

  #family(owner: ClassNode, sink: Sink): void {
    sink.dispatchers.add(owner)
    for (const node of this.hierarchy.subtypesOf(owner)) this.#any(node, sink)
    for (const node of this.hierarchy.ancestors(owner)) if (!isJdk(node)) this.#any(node, sink)
  }

  #virtual(owner: ClassNode, member: Member, sink: Sink): void {
    if (this.closed(owner)) {
      this.#enterExcluded(owner, member, sink)
      // At level GATE_FULL, all overriding methods are selected in any case.
      if (sink.gate < GATE_FULL && owner.name !== OBJECT) {
        sink.dispatchers.add(owner)
        this.#overriders(owner, member, sink)
      }
      return
    }
    const declared = this.#declared(owner, member)
    if (declared === undefined) sink.complete = false
    else if (declared && (declared.access & (ACC_PRIVATE | ACC_STATIC | ACC_FINAL)) !== 0) {
      this.#found(owner, declared, member, sink)
      return
    }
    sink.dispatchers.add(owner)
    for (const below of this.hierarchy.subtypesOf(owner)) this.#receiver(below, member, sink)
  }

  #overriders(owner: ClassNode, member: Member, sink: Sink): void {
    for (const below of this.hierarchy.subtypesOf(owner)) {
      if (below !== owner && !this.closed(below)) this.#overrider(below, member, sink)
    }
  }

  #overrider(node: ClassNode, member: Member, sink: Sink): void {
    const { gate } = sink
    this.#receiver(node, member, sink)
    if (sink.opaque.size === 0) sink.gate = gate
  }

  /** Reaches the initialisers of a class and of its supertypes, except of classes that were initialised before the session. */
  #init(owner: ClassNode, sink: Sink): void {
    if (this.closed(owner)) return
    for (const node of [owner, ...this.hierarchy.ancestors(owner)]) {
      if (!node.followed || !mayBeInitialised(node)) continue
      const method = this.#declared(node, INITIALISER)
      if (method === undefined) sink.complete = false
      else if (method) sink.target(node, method)
    }
    for (const name of this.hierarchy.missingAbove(owner)) {
      sink.lead({ kind: 'init', owner: name }, owner.loader)
    }
  }

  #receiver(node: ClassNode, member: Member, sink: Sink): void {
    if (isHidden(node)) {
      if (this.isLambdaProxy(node)) {
        const handles = this.lambdaHandles(node)
        if (handles === null) sink.complete = false
        else if (handles.length === 0 && !this.closed(node)) {
          sink.opaque.add(node) // the program called the metafactory itself: the target of the lambda is unknown
          sink.gate = GATE_ANY
        } else for (const { site, loader } of handles) sink.lead(site, loader)
      } else if (!this.closed(node)) {
        sink.opaque.add(node)
        sink.gate = GATE_ANY
      }
      return
    }
    if (this.closed(node)) {
      this.#enterExcluded(node, member, sink)
      return
    }
    // Interfaces are searched, too: an instance may be a lambda, which inherits default methods of superinterfaces.
    const { gate } = sink
    this.#find(node, member, sink)
    // An abstract class has no direct instances. If its concrete subclasses inherit methods of excluded code, these methods open the gate
    // when the subclasses are searched.
    if ((node.access & ACC_ABSTRACT) !== 0) sink.gate = gate
  }

  /** Searches for a method in a class that is not closed, and in its supertypes. */
  #find(start: ClassNode, member: Member, sink: Sink): void {
    let outside: ClassNode | null = null
    const classes = this.hierarchy.superclasses(start)
    for (const node of classes) {
      if (this.closed(node)) {
        if (node.name === OBJECT && !OBJECT_METHODS.has(member.name + member.descriptor)) continue
        outside = node
        break
      }
      const declared = this.#declared(node, member)
      if (declared === undefined) sink.complete = false
      else if (declared) {
        this.#found(node, declared, member, sink)
        return
      }
      if (this.mirrors.get(node.id) === null) {
        sink.gate = GATE_ANY // the class is unreadable: the call may run any code
        return
      }
    }
    if (!sink.complete) return
    if (outside?.name === OBJECT) {
      this.#enterExcluded(outside, member, sink)
      return
    }
    const unknown = classes.map((it) => it.missingSuper).find((it) => it !== null)
    if (unknown) sink.lead({ kind: 'exact', ...member, owner: unknown }, start.loader)
    if (member.name.startsWith('<')) {
      if (outside) this.#enterExcluded(outside, member, sink)
      return
    }

    // No superclass declares the method: searches the superinterfaces for a default method, or for a static method of this name.
    const defaults: { node: ClassNode; method: MirrorMethod }[] = []
    let excludedInterface: ClassNode | null = null
    for (const node of this.hierarchy.ancestors(start)) {
      if (!isInterface(node)) continue
      if (this.closed(node)) {
        excludedInterface ??= node
        continue
      }
      const method = this.#declared(node, member)
      if (method === undefined) sink.complete = false
      else if (method) defaults.push({ node, method })
    }
    if (!sink.complete) return
    if (outside) {
      // A method of an excluded superclass takes precedence over default methods. Usually only one or two excluded superclasses exist.
      if (defaults.some((it) => (it.method.access & ACC_ABSTRACT) === 0)) {
        const above = this.hierarchy.superclasses(outside).map((it) => this.mirror(it))
        if (above.includes(undefined)) {
          sink.complete = false
          return
        }
        if (above.some((it) => it === null || it?.bySelector.has(member.name + member.descriptor)))
          defaults.length = 0
      }
      if (defaults.every((it) => (it.method.access & ACC_ABSTRACT) !== 0)) {
        this.#enterExcluded(outside, member, sink)
        return
      }
    }
    for (const it of defaults) {
      // A declaration in a subinterface hides the default method of its superinterface, even if the declaration is abstract.
      const shadowed = defaults.some(
        (other) => other !== it && this.hierarchy.ancestors(other.node).includes(it.node),
      )
      if (!shadowed) this.#found(it.node, it.method, member, sink)
    }
    if (defaults.length === 0 && excludedInterface && !isInterface(start)) {
      this.#enterExcluded(excludedInterface, member, sink)
    }
    for (const name of this.hierarchy.missingAbove(start)) {
      if (name !== unknown) sink.lead({ kind: 'exact', ...member, owner: name }, start.loader)
    }
  }

  /** Returns the method declared by the class itself; null if it declares none; undefined if unknown. */
  #declared(node: ClassNode, member: Member): MirrorMethod | null | undefined {
    const mirror = this.mirror(node)
    if (mirror === undefined) return undefined
    return mirror?.bySelector.get(member.name + member.descriptor) ?? null
  }

  #found(node: ClassNode, method: MirrorMethod, member: Member, sink: Sink): void {
    if ((method.access & ACC_ABSTRACT) !== 0) return
    if (node.followed) sink.target(node, method)
    else this.#enterExcluded(node, member, sink)
  }

  #enterExcluded(node: ClassNode, member: Member, sink: Sink): void {
    const gate = isJdk(node)
      ? gateOf(
          this.hierarchy.superclasses(node).map((it) => it.name),
          member.name,
          member.descriptor,
        )
      : GATE_ANY
    sink.gate = Math.max(sink.gate, gate)
  }
}

interface Member {
  readonly name: string
  readonly descriptor: string
}

function memberOf(selector: string): Member {
  const at = selector.indexOf('(')
  return { name: selector.slice(0, at), descriptor: selector.slice(at) }
}

export function hasCode({ method }: MethodRef): boolean {
  return (method.access & (ACC_ABSTRACT | ACC_NATIVE)) === 0
}

/** Returns the key of a site. */
export function keyOf({ site, loader }: LoadedSite): string {
  return `${loader}${siteKey(site)}`
}

/** Returns the key of a method. */
export function placeOf({ node, method }: MethodRef): string {
  return `${node.id}:${method.index}`
}
