// Finds reachable code and selects its methods. Schemes a and b share this part.
//
// A *site* is reached when the method that contains the site is *expanded*. Then the methods that the site can run in
// the loaded classes are selected, and the site is remembered for classes that are loaded later: by the name of its owner
// (which may not be loaded yet, or may be loaded again by another loader) and by the types on which it dispatches (later
// subtypes may override the method). *Selecting* a method (`take`) assigns an id, or a reason why the method is skipped.
// The scheme decides which methods are expanded, and when (`revealer.ts`, `lazy.ts`).
//
// A method with bytecode that is not instrumented (an intrinsic, a method refused by the JVM, or
// excluded application code) has no first-invocation event, so
// it is *passed through* once: its sites count as sites of its callers, to any depth. So calls that lead through excluded application code
// are found exactly.
//
// Callbacks from the JDK are found, too, but the JDK is not analysed. A call into the JDK can call back any override of a JDK type's
// method, so the call opens a *gate*: from then on those overrides, and lambdas whose interface is
// a JDK type, are reachable, in loaded classes and in classes loaded later. The gate has levels (`leaf-calls.ts`):
// JDK calls that provably call nothing back keep the gate closed, all other JDK calls open it, and calls of code that cannot be read
// also open it for overrides of methods of excluded application types. The gate selects many methods that are never called back: this is
// the price of missing no call without analysing the JDK. Scheme b opens the gate only when a method is entered that makes a JDK call
// itself or through excluded code. Methods that the JDK calls by reflection or through a method handle are not
// behind the gate: the target reports the method at the call (`Revealer.reflectiveTarget`).

import { addTo, append } from '../base/arrays.ts'
import { isJdkName } from '../base/jdk-names.ts'
import { ACC_ABSTRACT, ACC_FINAL, ACC_PRIVATE, ACC_STATIC } from '../classfile/access.ts'
import type { Classes } from './classes.ts'
import { type ClassNode, isHidden, isJdk, mayBeInitialised } from './hierarchy.ts'
import { GATE_ANY, GATE_CLOSED, GATE_FULL, OBJECT_SELECTORS } from './leaf-calls.ts'
import { keyOf, type Linked, type Linker, type LoadedSite, type MethodRef, OBJECT } from './linker.ts'
import type { MethodTarget } from './method-ids.ts'
import type { Mirror, MirrorMethod } from './mirror.ts'
import type { Taker } from './taker.ts'
import { jdkUpcalls, upcalls } from './upcalls.ts'

/** Maximum number of receiver classes for `calleesOf`. With more classes, the targets are not useful, and need too many method tables. */
const MANY_RECEIVERS = 16
const REFLECTIVE = new Set([
  'java/lang/reflect/Method.invoke',
  'java/lang/reflect/Constructor.newInstance',
  'java/lang/Class.newInstance',
])
export class Reach {
  readonly #reached = new Set<string>()
  /** Reached sites, keyed by the name of their owner. They are linked again when a class of that name is loaded. */
  readonly #byOwner = new Map<string, LoadedSite[]>()
  /** Selectors (name and descriptor) that reached sites dispatch on a type, keyed by class id. */
  readonly #dispatched = new Map<number, Set<string>>()
  /** Selectors of all reached virtual sites. Used for classes with unknown supertypes. */
  readonly #selectors = new Set<string>()
  /** Selectors declared by excluded types whose methods code behind the gate may call. */
  readonly #excludedSelectors = new Set<string>()
  /** Class ids of types that native code gets as arguments: native code may call any of their methods. */
  readonly #families = new Set<number>()
  readonly #initialised = new Set<string>()
  /** Names of JDK methods that are called without a call site, keyed by class name. Empty until there is a root. */
  #jdkUpcalls: ReturnType<typeof jdkUpcalls> = {}
  readonly #blocked = new Set<string>()
  #swept = GATE_CLOSED
  /** Whether only a part of the JDK is analysed: the other part may then call methods that the analysed part declares. */
  #isPartOfJdkRead = false
  readonly linker: Linker

  constructor(
    private readonly classes: Classes,
    readonly taker: Taker,
    /** Whether method bodies may be expanded while their class is in the load hook: with scheme a, or if there is excluded code. */
    private readonly expandsInHook: boolean,
  ) {
    this.linker = classes.linker
  }

  /**
   * Called after the user has included methods of these classes. Selects the included methods that were reached before, while
   * they were excluded.
   */
  async opened(nodes: readonly ClassNode[]): Promise<void> {
    const { hierarchy } = this.linker
    const reached = nodes
      .flatMap((node) => this.linker.methodsOf(node))
      .filter((it) => this.taker.isDecided(it))
    this.taker.takeAgain(reached.map(({ node, method }) => ({ classId: node.id, methodIndex: method.index })))
    // Links the sites of these classes again: the sites may have been resolved to supertypes, or may only have opened the gate.
    const owners = new Set(nodes.flatMap((it) => hierarchy.subtypesOf(it)).map((it) => it.name))
    const sites = [...owners].flatMap((name) => this.#byOwner.get(name) ?? [])
    await this.reach(sites, true)
    await this.appeared(nodes)
  }

  /** Called when an excluded JDK class is loaded in a session that analyses the JDK. */
  jdkIsReadInPart(): void {
    if (this.#isPartOfJdkRead) return
    this.#isPartOfJdkRead = true
    this.#swept = GATE_CLOSED // selects methods again, since methods that the JDK may call back were not selected before
  }

  /** Returns the methods whose classes are still loaded. */
  refsOf(targets: readonly MethodTarget[]): MethodRef[] {
    return targets.map((it) => this.classes.refOf(it)).filter((it) => it !== null)
  }

  /** Opens the gate to the level to which these methods will open it when they are entered. */
  async openGateFor(targets: readonly MethodTarget[]): Promise<void> {
    const refs = this.refsOf(targets)
    await this.linker.mirrors.fetchFiles(refs.map((it) => it.node.id))
    const linked = await this.linkAll(refs.flatMap((it) => this.sitesOf(it)))
    for (const { gate } of linked) this.taker.openGate(gate)
    await this.expandPassed()
  }

  /**
   * Selects methods that are called without a call site. Called once, and again only after it has failed.
   *
   * @param threads  whether to include methods that the JVM calls in a new thread
   */
  async takeUpcalls(threads: boolean): Promise<void> {
    for (const [name, selectors] of Object.entries(upcalls(threads))) {
      for (const type of this.linker.hierarchy.named(name)) {
        for (const selector of selectors) {
          const linked = await this.#untilKnown(() => this.linker.linkOverriders(type, selector))
          for (const ref of linked.targets) this.taker.take(ref)
          this.#dispatch(type, selector)
        }
      }
    }
    const { hierarchy } = this.linker
    this.#jdkUpcalls = jdkUpcalls(threads)
    await this.#takeJdkUpcalls(Object.keys(this.#jdkUpcalls).flatMap((name) => [...hierarchy.named(name)]))
  }

  async #takeJdkUpcalls(nodes: readonly ClassNode[]): Promise<void> {
    const called = nodes.filter((it) => this.#jdkUpcalls[it.name] !== undefined && isJdk(it) && it.followed)
    if (called.length === 0) return
    await this.linker.mirrors.fetchFiles(called.map(({ id }) => id))
    for (const node of called) {
      for (const ref of this.linker.methodsOf(node))
        if (this.#jdkUpcalls[node.name]!.includes(ref.method.name)) this.taker.take(ref)
    }
  }

  /** Reaches every site of these methods, and of methods that are passed through meanwhile. */
  async expand(refs: readonly MethodRef[]): Promise<void> {
    let queue: readonly MethodRef[] = refs
    do {
      await this.linker.mirrors.fetchFiles(queue.map((it) => it.node.id))
      await this.reach([...this.taker.owed.splice(0), ...queue.flatMap((it) => this.sitesOf(it))])
      queue = this.taker.passed.splice(0)
    } while (queue.length + this.taker.owed.length > 0)
  }

  /** Processes the work left by earlier calls of `reach`: sites of methods passed through, and methods behind a gate that was opened. */
  async expandPassed(): Promise<void> {
    if (this.taker.passed.length + this.taker.owed.length > 0) await this.expand([])
    else await this.reach([])
  }

  /** Returns the sites of the method that are not reached yet. Its class file must be available (`filesFor`). */
  sitesOf({ node, method }: MethodRef): LoadedSite[] {
    return this.linker.mirrors
      .body(node.id, method.index)
      .sites.map((site) => ({ site, loader: node.loader }))
      .filter((it) => !this.isReached(it))
  }

  /** Returns the methods of loaded classes that a method may call, in code order. Selects nothing. */
  async calleesOf(ref: MethodRef): Promise<MethodRef[]> {
    await this.linker.mirrors.fetchFiles([ref.node.id])
    const { sites } = this.linker.mirrors.body(ref.node.id, ref.method.index)
    const calls = sites
      .filter((it) => it.kind === 'exact' || it.kind === 'virtual')
      .map((site) => ({ site, loader: ref.node.loader }))
      .filter((it) => this.receivers(it) <= MANY_RECEIVERS)
    const linked = await this.linkAll(calls)
    return linked.flatMap((it) => it.targets)
  }

  isReached(it: LoadedSite): boolean {
    return this.#reached.has(keyOf(it))
  }

  /** Reaches sites: selects their targets, and opens the gate if the sites require this. */
  async reach(sites: readonly LoadedSite[], again = false): Promise<void> {
    let frontier = sites
    let force = again
    while (frontier.length > 0 || this.#swept < this.taker.gate) {
      const unique = new Map(frontier.map((it) => [keyOf(it), it]))
      const open = [...unique.values()].filter((it) => force || !this.isReached(it))
      const onward: LoadedSite[] = []
      for (const [i, linked] of (await this.linkAll(open)).entries()) {
        this.commit(open[i], linked)
        append(onward, linked.onward)
      }
      if (this.#swept < this.taker.gate) {
        this.#swept = this.taker.gate
        append(onward, await this.#sweep([...this.linker.hierarchy.nodes()]))
      }
      frontier = onward
      force = false
    }
  }

  /** Links all sites, and fetches missing method tables in as few batches as possible. */
  async linkAll(sites: readonly LoadedSite[]): Promise<Linked[]> {
    const done: (Linked | null)[] = sites.map(() => null)
    return await this.#untilKnown(() => {
      for (const [i, site] of sites.entries()) done[i] ??= this.linker.link(site)
      return done.some((it) => it === null) ? null : (done as Linked[])
    })
  }

  /** Marks a linked site as reached and selects its targets. The caller processes `onward`. */
  commit(it: LoadedSite, linked: Linked): void {
    const { site } = it
    const key = keyOf(it)
    if (!this.#reached.has(key)) {
      this.#reached.add(key)
      if (site.kind !== 'record') {
        addTo(this.#byOwner, site.owner, it)
      }
      if (site.kind === 'init') this.#initialise(site.owner)
      if (site.kind === 'virtual') this.#selectors.add(site.name + site.descriptor)
      if (site.kind === 'exact' || site.kind === 'virtual') {
        if (REFLECTIVE.has(`${site.owner}.${site.name}`)) this.taker.reflection = true
      }
    }
    this.#commitTargets(linked)
    if (site.kind === 'virtual') {
      for (const type of linked.dispatchers) this.#dispatch(type, site.name + site.descriptor)
    }
    if (site.kind === 'any') for (const type of linked.dispatchers) this.#families.add(type.id)
  }

  /** Handles new classes, and classes with newly known supertypes. */
  async appeared(nodes: readonly ClassNode[]): Promise<void> {
    const open = nodes.filter((it) => !this.linker.closed(it))
    const onward: LoadedSite[] = []
    // Sites that name these classes, including JDK classes: a call into a JDK class that was not loaded opens the gate only now.
    const again = nodes.flatMap((it) => this.#remembered(it))
    if (again.length > 0) await this.reach(again, true)
    await this.#takeJdkUpcalls(nodes)

    const work = open.map((node) => ({ node, ...this.#selectorsFor(node) }))
    const linked = await this.#untilKnown(() => {
      const all = work.map((it) => this.linker.linkReceiver(it.node, it.selectors, it.overriding))
      return all.includes(null) ? null : (all as Linked[])
    })
    for (const it of linked) {
      this.#commitTargets(it)
      append(onward, it.onward)
    }
    for (const node of open) {
      this.#takeByName(node)
      if (!this.linker.hierarchy.ancestors(node).some((it) => this.#families.has(it.id))) continue
      onward.push({ site: { kind: 'any', owner: node.name }, loader: node.loader })
    }
    await this.#takeInitialisers(
      this.taker.gate >= GATE_FULL ? open : open.filter((it) => this.#initialised.has(it.name)),
    )
    if (this.taker.gate > GATE_CLOSED) append(onward, await this.#sweep(open))
    await this.reach(onward)
  }

  /** Handles a class in the load hook whose initialiser is reached: it also initialises its supertypes, which may be loaded later. */
  hooked(node: ClassNode, mirror: Mirror | null): void {
    if (!this.#initialised.has(node.name) || mirror === null) return
    for (const name of [mirror.superName, ...mirror.interfaces]) if (name !== null) this.#initialise(name)
  }

  /**
   * First reaches the sites of the method that would select nothing. Returns whether every site of the method is then reached.
   * Fetches nothing: returns false if the class file of the method is not available.
   */
  settled(ref: MethodRef): boolean {
    if (!this.linker.mirrors.hasFile(ref.node.id)) return false
    let settled = true
    for (const it of this.sitesOf(ref)) {
      const key = keyOf(it)
      if (this.#blocked.has(key)) {
        settled = false
        continue
      }
      const linked = this.linker.link(it)
      if (linked !== null && this.isFree(linked) && !this.isGuess(it, linked)) this.commit(it, linked)
      else {
        this.#blocked.add(key)
        settled = false
      }
    }
    this.linker.wanted.clear()
    this.linker.wantedFiles.clear()
    return settled
  }

  /** Called when sites that were not free (`isFree`) may be free now. */
  unblock(): void {
    this.#blocked.clear()
  }

  /** Returns whether committing the site would select no method and open no gate. */
  isFree(linked: Linked): boolean {
    return (
      linked.gate <= this.taker.gate &&
      linked.onward.every((it) => this.isReached(it)) &&
      linked.opaque.length === 0 &&
      linked.targets.every((it) => this.taker.isDecided(it))
    )
  }

  /**
   * Returns whether no loaded class provides a target for the site yet. If such a site were reached before its method is entered, methods
   * of classes that are loaded later would be selected, although they may never be called.
   */
  isGuess({ site, loader }: LoadedSite, linked: Linked): boolean {
    if (site.kind === 'record' || linked.targets.length > 0) return false
    // Not for JDK types: methods of method handles and variable handles have descriptors that no class declares.
    if (linked.dispatchers.some((it) => it.followed && (it.included || !isJdk(it)))) return true
    return (
      this.linker.hierarchy.resolve(site.owner, loader).length === 0 && !/^(?:java\/|\[)/.test(site.owner)
    )
  }

  /** Removes the data of unloaded classes, and the sites in code of unloaded loaders. */
  unloaded(classes: ReadonlySet<number>, loaders: ReadonlySet<number>): void {
    for (const id of classes) {
      this.#dispatched.delete(id)
      this.#families.delete(id)
    }
    this.taker.unloaded(classes, loaders)
    if (loaders.size === 0) return
    for (const [owner, sites] of this.#byOwner) {
      const living = sites.filter((it) => !loaders.has(it.loader))
      if (living.length === sites.length) continue
      for (const it of sites) if (loaders.has(it.loader)) this.#reached.delete(keyOf(it))
      if (living.length > 0) this.#byOwner.set(owner, living)
      else this.#byOwner.delete(owner)
    }
  }

  /** Returns the number of classes that the receiver of a site may have. Uses only the hierarchy, no method tables. */
  receivers(it: LoadedSite): number {
    let count = 0
    for (const owner of this.linker.hierarchy.resolve(it.site.owner, it.loader)) {
      if (!this.linker.closed(owner)) count += this.linker.hierarchy.subtypesOf(owner).length
    }
    return count
  }

  #commitTargets(linked: Linked): void {
    for (const ref of linked.targets) this.taker.take(ref)
    for (const node of linked.opaque) if (node.included) this.taker.skipHidden(node)
    this.taker.openGate(linked.gate)
  }

  #dispatch(type: ClassNode, selector: string): void {
    this.#dispatched.set(type.id, (this.#dispatched.get(type.id) ?? new Set()).add(selector))
  }

  #initialise(name: string): void {
    if (this.#initialised.has(name)) return
    this.#initialised.add(name)
    // Of a class in the load hook, only the names of some supertypes may be known.
    for (const node of this.linker.hierarchy.named(name)) {
      if (this.linker.closed(node)) continue
      for (const above of [node, ...this.linker.hierarchy.ancestors(node)]) {
        if (above.followed) this.#initialised.add(above.name)
        for (const missing of above.missing) this.#initialised.add(missing)
      }
    }
  }

  async #takeInitialisers(nodes: readonly ClassNode[]): Promise<void> {
    const { mirrors } = this.linker
    const mayRun = nodes.filter((it) => it.followed && !isHidden(it) && mayBeInitialised(it))
    await mirrors.fetch(mayRun.map((it) => it.id))
    for (const node of mayRun) {
      const method = mirrors.get(node.id)?.bySelector.get('<clinit>()V')
      if (method) this.taker.take({ node, method })
    }
  }

  /** Returns reached sites whose owner name may mean this class. */
  #remembered(node: ClassNode): LoadedSite[] {
    if (isHidden(node)) return []
    return (this.#byOwner.get(node.name) ?? []).filter((it) =>
      this.linker.hierarchy.resolve(node.name, it.loader).includes(node),
    )
  }

  /** Returns selectors dispatched on the class and its supertypes: `overriding` for excluded types, `selectors` for other types. */
  #selectorsFor(node: ClassNode): { selectors: Set<string>; overriding: Set<string> } {
    const selectors = new Set<string>()
    const overriding = new Set<string>()
    for (const above of [node, ...this.linker.hierarchy.ancestors(node)]) {
      const dispatched = this.#dispatched.get(above.id)
      if (dispatched === undefined) continue
      const into = this.linker.closed(above) ? overriding : selectors
      for (const selector of dispatched) into.add(selector)
    }
    return { selectors, overriding }
  }

  /**
   * Handles a class in the load hook with a supertype that is not loaded yet. It is unknown which methods of the class
   * are overrides, and the class may run before the next request. So a method is selected if it has the name and descriptor
   * of any reached virtual call. If excluded code may call back, a method is also selected if it has a selector of a known
   * excluded type; if the missing supertype seems to be a JDK class, all methods that can be overrides are selected.
   * If the missing supertype is an application class, its methods may be expanded in its own load hook and may call any method
   * of this class. Then all methods are selected if reached code uses the class or one of its subtypes.
   */
  #takeByName(node: ClassNode): void {
    if (!node.followed || isHidden(node)) return
    const missing = this.linker.hierarchy.missingAbove(node)
    if (missing.length === 0) return
    const gate = this.taker.gate
    const any = gate >= GATE_FULL && missing.some((it) => isJdkName(it))
    const all =
      this.expandsInHook &&
      node.hooked &&
      !node.defined &&
      missing.some((it) => !isJdkName(it)) &&
      this.linker.hierarchy.subtypesOf(node).some((it) => this.#byOwner.has(it.name))
    for (const method of this.linker.mirrors.get(node.id)?.methods ?? []) {
      if (all && method.name !== '<clinit>') this.taker.take({ node, method })
      if (all || !isOverrider(method)) continue
      const selector = method.name + method.descriptor
      const called =
        this.#selectors.has(selector) ||
        (gate > GATE_CLOSED && this.#excludedSelectors.has(selector)) ||
        (gate >= GATE_FULL && OBJECT_SELECTORS.has(selector))
      if (any || called) this.taker.take({ node, method })
    }
  }

  /**
   * Selects the methods of these classes that excluded code may call back at the level of the gate: methods that override a method of
   * an excluded supertype, including inherited methods if the class itself adds that supertype.
   *
   * @returns method handles of lambdas that implement excluded functional interfaces
   */
  async #sweep(nodes: readonly ClassNode[]): Promise<LoadedSite[]> {
    const level = this.taker.gate
    if (level === GATE_CLOSED) return []
    const { hierarchy, mirrors } = this.linker
    const candidates: { node: ClassNode; types: ClassNode[]; declaring: ClassNode[] }[] = []
    await this.#takeBehind(nodes.filter((it) => it.added && isJdk(it) && !isHidden(it)))
    const lambdas: ClassNode[] = []
    const tables = new Set<number>()
    for (const node of nodes) {
      if (this.linker.closed(node)) continue
      const ancestors = hierarchy.ancestors(node)
      const isCalledBack = this.#isPartOfJdkRead && level >= GATE_FULL && !isJdk(node)
      const types = ancestors.filter((it) => isBehind(level, it) || (isCalledBack && isJdk(it)))
      // Without a supertype behind the gate, no method of the class can be called back.
      if (types.length === 0) continue
      if (isHidden(node)) {
        if (types.every((it) => it.name === OBJECT)) continue
        if (this.linker.isLambdaProxy(node)) lambdas.push(node)
        else if (node.included) this.taker.skipHidden(node)
        continue
      }
      const declaring = [node, ...ancestors].filter((it) => it.followed && !isHidden(it))
      for (const it of declaring) tables.add(it.id)
      for (const it of types) if (it.name !== OBJECT) tables.add(it.id)
      candidates.push({ node, types, declaring })
    }
    await mirrors.fetch([...tables])
    if (level >= GATE_FULL) await this.#takeInitialisers(candidates.map((it) => it.node))

    for (const type of new Set(candidates.flatMap((it) => it.types))) {
      for (const method of mirrors.get(type.id)?.methods ?? []) {
        if (isOverrider(method, true)) this.#excludedSelectors.add(method.name + method.descriptor)
      }
    }
    for (const { types, declaring } of candidates) {
      for (const owner of declaring) {
        for (const method of mirrors.get(owner.id)?.methods ?? []) {
          if (!isOverrider(method)) continue
          const selector = method.name + method.descriptor
          // If a superclass declares the method, the class does not inherit a default method of an interface.
          // Ignoring this only selects more methods than necessary.
          if (types.some((type) => this.#mayDeclare(type, selector))) this.taker.take({ node: owner, method })
        }
      }
    }

    const handles: LoadedSite[] = []
    await this.#untilKnown(() => {
      handles.length = 0
      let complete = true
      for (const proxy of lambdas) {
        const found = this.linker.lambdaHandles(proxy)
        if (found === null) complete = false
        else if (found.length > 0) append(handles, found)
        else if (proxy.included) this.taker.skipHidden(proxy)
      }
      return complete ? handles : null
    })
    return handles
  }

  /** Selects all included methods of JDK classes that the user has added: JDK code that is not analysed may call any of them. */
  async #takeBehind(nodes: readonly ClassNode[]): Promise<void> {
    await this.linker.mirrors.fetch(nodes.map((it) => it.id))
    for (const node of nodes) {
      for (const ref of this.linker.methodsOf(node))
        if (ref.method.name !== '<clinit>' && this.classes.includes(node, ref.method)) this.taker.take(ref)
    }
  }

  /** Returns whether the excluded type declares a method with this selector that can be overridden. True if the type is unreadable. */
  #mayDeclare(type: ClassNode, selector: string): boolean {
    if (type.name === OBJECT) return OBJECT_SELECTORS.has(selector)
    const mirror = this.linker.mirrors.get(type.id)
    if (!mirror) return true
    const method = mirror.bySelector.get(selector)
    if (method === undefined || !isOverrider(method, true)) return false
    if ((method.access & ACC_FINAL) !== 0) return false
    return true
  }

  /** Repeats `attempt` until it returns a result. After each attempt, fetches the classes that the attempt requested. */
  async #untilKnown<T>(attempt: () => T | null): Promise<T> {
    const { wanted, wantedFiles, mirrors } = this.linker
    for (;;) {
      wanted.clear()
      wantedFiles.clear()
      const answer = attempt()
      if (answer !== null && wanted.size === 0) return answer
      if (wanted.size + wantedFiles.size === 0) throw new Error('linking waits for nothing')
      const files = [...wantedFiles]
      await mirrors.fetch([...wanted].filter((id) => !wantedFiles.has(id)))
      await mirrors.fetchFiles(files)
    }
  }
}

/** Returns whether the type is excluded and a gate of this level lets excluded code call overrides of its methods. */
function isBehind(level: number, type: ClassNode): boolean {
  // A type that the user included during the session counts as excluded here, so that the set of possible callbacks does not change.
  if (type.added) return level >= (isJdk(type) ? GATE_FULL : GATE_ANY)
  return type.followed ? !type.included && level >= GATE_ANY : level >= GATE_FULL
}

/** Returns whether the method can override or be overridden. Abstract methods count only with `declares`. */
function isOverrider(method: MirrorMethod, declares = false): boolean {
  const never = ACC_STATIC | ACC_PRIVATE | (declares ? 0 : ACC_ABSTRACT)
  return (method.access & never) === 0 && !method.name.startsWith('<')
}
