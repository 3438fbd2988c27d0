// Reachable code and its consequences: the part shared by schemes a and b.
//
// A *site* is reached when the method that contains it is expanded. Reaching it selects the methods it can
// run now, and remembers it for classes loaded later: by the owner's name (an owner not
// loaded yet, or loaded again by another loader) and by the types it dispatches on (later
// overriders and implementors). *Selecting* a method (`take`) assigns an id, or a reason why it is skipped.
// The scheme decides which methods are expanded, and when (`revealer.ts`, `lazy.ts`).
//
// A method with bytecode that is not instrumented (an intrinsic, a method refused by the JVM, or
// excluded application code) has no first-invocation event, so
// it is *passed through* once: its sites count as sites of its callers, to any depth. So excluded application code is transparent without
// guesses.
//
// The JDK is transparent too, but not analysed. A call into it can call back any override of a JDK type's
// method, so it opens a *gate*: from then on those overriders, and lambdas whose interface is
// a JDK type, are reachable, in classes loaded now or later. The gate has levels (`leaf-calls.ts`):
// calls that provably call nothing back keep it closed, all others open it, and code that cannot be read
// opens it also to overriders of excluded application types. This over-approximates much, and is the cost of missing no call without analysing the
// JDK. Scheme b still opens the gate only when a method with such a call, or one that leads to it
// through excluded code, is entered. Methods that the JDK calls by reflection or through a method handle are not
// behind the gate: the target asks at the call (`Revealer.reflectiveTarget`).

import { addTo, append } from '../base/arrays.ts'
import { isJdkName } from '../base/jdk-names.ts'
import { ACC_ABSTRACT, ACC_FINAL, ACC_PRIVATE, ACC_STATIC } from '../classfile/access.ts'
import type { Classes } from './classes.ts'
import { type ClassNode, isHidden, isJdk, mayBeInitialised } from './hierarchy.ts'
import { GATE_ANY, GATE_CLOSED, GATE_FULL, OBJECT_SELECTORS } from './leaf-calls.ts'
import { keyOf, type Linked, type Linker, type LoadedSite, type MethodRef, OBJECT } from './linker.ts'
import type { MethodTarget } from './method-ids.ts'
import type { Mirror, MirrorMethod } from './mirror.ts'
import { HIDDEN, type Taker } from './taker.ts'
import { jdkUpcalls, upcalls } from './upcalls.ts'

/** Above this number of classes, possible targets of a call are uninformative, and would need all their method tables. */
const MANY_RECEIVERS = 16
const REFLECTIVE = new Set([
  'java/lang/reflect/Method.invoke',
  'java/lang/reflect/Constructor.newInstance',
  'java/lang/Class.newInstance',
])
export class Reach {
  readonly #reached = new Set<string>()
  /** Reached sites by the name of their owner, to be linked again when a class of that name is loaded. */
  readonly #byOwner = new Map<string, LoadedSite[]>()
  /** Selectors dispatched on a type, by class id. */
  readonly #dispatched = new Map<number, Set<string>>()
  /** Every selector of a reached virtual site, for classes with unknown supertypes. */
  readonly #selectors = new Set<string>()
  /** Selectors declared by the types behind the gate. */
  readonly #excludedSelectors = new Set<string>()
  /** Types of arguments of native code, by class id: it may call any of their methods. */
  readonly #families = new Set<number>()
  readonly #initialised = new Set<string>()
  #jdkUpcalls = jdkUpcalls(false)
  readonly #blocked = new Set<string>()
  #swept = GATE_CLOSED
  /** Whether a part of the JDK is analysed: the rest may call methods declared by that part. */
  #isPartOfJdkRead = false
  readonly linker: Linker

  constructor(
    private readonly classes: Classes,
    readonly taker: Taker,
    /** Whether bodies are expanded in the load hook of their class: scheme a, or excluded code. */
    private readonly expandsInHook: boolean,
  ) {
    this.linker = classes.linker
  }

  /**
   * Handles classes that now have methods included by the user, by the filter: reached methods of these classes are
   * selected, from the sites that led to them before.
   */
  async opened(nodes: readonly ClassNode[]): Promise<void> {
    const { hierarchy } = this.linker
    const reached = nodes
      .flatMap((node) => this.linker.methodsOf(node))
      .filter((it) => this.taker.isDecided(it))
    this.taker.takeAgain(reached.map(({ node, method }) => ({ classId: node.id, methodIndex: method.index })))
    // Sites of a supertype have reached these methods before, or have opened the gate.
    const owners = new Set(nodes.flatMap((it) => hierarchy.subtypesOf(it)).map((it) => it.name))
    const sites = [...owners].flatMap((name) => this.#byOwner.get(name) ?? [])
    await this.reach(sites, true)
    await this.appeared(nodes)
  }

  /** Called when the session analyses the JDK and an excluded JDK class is loaded. */
  jdkIsReadInPart(): void {
    if (this.#isPartOfJdkRead) return
    this.#isPartOfJdkRead = true
    this.#swept = GATE_CLOSED // overriders that the JDK may call back were skipped before
  }

  /** Returns the methods whose classes are still loaded. */
  refsOf(targets: readonly MethodTarget[]): MethodRef[] {
    return targets.map((it) => this.classes.refOf(it)).filter((it) => it !== null)
  }

  /** Opens the gate as far as these methods will open it when they are entered. */
  async openGateFor(targets: readonly MethodTarget[]): Promise<void> {
    const refs = this.refsOf(targets)
    await this.linker.mirrors.fetchFiles(refs.map((it) => it.node.id))
    const linked = await this.linkAll(refs.flatMap((it) => this.sitesOf(it)))
    for (const { gate } of linked) this.taker.openGate(gate)
    await this.expandPassed()
  }

  /**
   * Selects methods that are called without a call site. Called once, at the start.
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

  /** Reaches every site of these methods, and of methods passed through on the way. */
  async expand(refs: readonly MethodRef[]): Promise<void> {
    let queue: readonly MethodRef[] = refs
    do {
      await this.linker.mirrors.fetchFiles(queue.map((it) => it.node.id))
      await this.reach([...this.taker.owed.splice(0), ...queue.flatMap((it) => this.sitesOf(it))])
      queue = this.taker.passed.splice(0)
    } while (queue.length + this.taker.owed.length > 0)
  }

  /** Processes pending work: sites of methods passed through, and a gate opened on the way. */
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

  /** Returns the loaded methods that the body calls, in order. Selects nothing. */
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

  /** Reaches sites and their targets; opens the gate if they require it. */
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
    // Calls by name, including JDK classes: a call into a JDK class that was not loaded opens the gate.
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

  /** A class in the load hook: initialising it will initialise its supertypes, loaded after it. */
  hooked(node: ClassNode, mirror: Mirror | null): void {
    if (!this.#initialised.has(node.name) || mirror === null) return
    for (const name of [mirror.superName, ...mirror.interfaces]) if (name !== null) this.#initialise(name)
  }

  /**
   * Returns whether every site of the method is processed. Sites that would select nothing are processed
   * at once. Fetches nothing: returns false for a method without an available class file.
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

  /** Called when sites that were not free before may be free now. */
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
   * Returns whether no loaded class provides a target for the site yet. Committing the site before its method is entered would arm the site
   * on a guess, and select methods of later classes that may never be called.
   */
  isGuess({ site, loader }: LoadedSite, linked: Linked): boolean {
    if (site.kind === 'record' || linked.targets.length > 0) return false
    // Methods of method handles and variable handles have descriptors that no class declares.
    if (linked.dispatchers.some((it) => it.followed && (it.included || !isJdk(it)))) return true
    return (
      this.linker.hierarchy.resolve(site.owner, loader).length === 0 && !/^(?:java\/|\[)/.test(site.owner)
    )
  }

  /** Removes data of unloaded code: sites of these loaders, and the classes. */
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

  /** Returns the subtypes that the receiver of a site may have, from the hierarchy only. */
  receivers(it: LoadedSite): number {
    let count = 0
    for (const owner of this.linker.hierarchy.resolve(it.site.owner, it.loader)) {
      if (!this.linker.closed(owner)) count += this.linker.hierarchy.subtypesOf(owner).length
    }
    return count
  }

  #commitTargets(linked: Linked): void {
    for (const ref of linked.targets) this.taker.take(ref)
    for (const node of linked.opaque) if (node.included) this.taker.skip(node.name, '*', '', HIDDEN)
    this.taker.openGate(linked.gate)
  }

  #dispatch(type: ClassNode, selector: string): void {
    this.#dispatched.set(type.id, (this.#dispatched.get(type.id) ?? new Set()).add(selector))
  }

  #initialise(name: string): void {
    if (this.#initialised.has(name)) return
    this.#initialised.add(name)
    // Supertypes of a class in the hook may be known by name only, or not be linked yet.
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

  /** Returns reached sites that may now mean this class. */
  #remembered(node: ClassNode): LoadedSite[] {
    if (isHidden(node)) return []
    return (this.#byOwner.get(node.name) ?? []).filter((it) =>
      this.linker.hierarchy.resolve(node.name, it.loader).includes(node),
    )
  }

  /** Returns selectors dispatched on any supertype, except those of excluded types. */
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
   * Handles a class in the load hook whose supertypes are not all loaded: its overrides are not known
   * yet, and it will be used before the next request. A method with the name and descriptor
   * of any reached virtual call counts as an override of it. If excluded code may call back, so
   * does a method with a selector of a known excluded type, and any method if the missing
   * supertype seems to be a JDK class. A missing supertype of the application may be expanded in its
   * own hook, with calls back to any method of this class: then all methods are selected, provided that
   * reached code creates or uses the class.
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
   * Selects the methods that the open gate admits in these classes: followed methods that override a method of
   * a supertype behind the gate, including methods inherited by a class that adds that type.
   *
   * @returns handles of lambdas behind excluded functional interfaces
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
      // Every class has Object above it, also a class in a row without its superclass.
      if (types.length === 0) continue
      if (isHidden(node)) {
        if (types.every((it) => it.name === OBJECT)) continue
        if (this.linker.isLambdaProxy(node)) lambdas.push(node)
        else if (node.included) this.taker.skip(node.name, '*', '', HIDDEN)
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
          // A class cannot inherit an interface's default if a superclass declares the method;
          // ignoring that costs precision only.
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
        else if (proxy.included) this.taker.skip(proxy.name, '*', '', HIDDEN)
      }
      return complete ? handles : null
    })
    return handles
  }

  /** Selects methods of included JDK classes that unread JDK code may call under any name: all of them. */
  async #takeBehind(nodes: readonly ClassNode[]): Promise<void> {
    await this.linker.mirrors.fetch(nodes.map((it) => it.id))
    for (const node of nodes) {
      for (const ref of this.linker.methodsOf(node))
        if (ref.method.name !== '<clinit>' && this.classes.includes(node, ref.method)) this.taker.take(ref)
    }
  }

  /** Returns whether the type behind the gate declares a method that the selector can override. True for unreadable types. */
  #mayDeclare(type: ClassNode, selector: string): boolean {
    if (type.name === OBJECT) return OBJECT_SELECTORS.has(selector)
    const mirror = this.linker.mirrors.get(type.id)
    if (!mirror) return true
    const method = mirror.bySelector.get(selector)
    if (method === undefined || !isOverrider(method, true)) return false
    if ((method.access & ACC_FINAL) !== 0) return false
    return true
  }

  /** Repeats `attempt`, fetching the classes that it requests in between, until it returns a result. */
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

/** Returns whether the type is excluded, and code behind a gate of that level may call its methods. */
function isBehind(level: number, type: ClassNode): boolean {
  // Types included by the user count as excluded here: expected callbacks do not change.
  if (type.added) return level >= (isJdk(type) ? GATE_FULL : GATE_ANY)
  return type.followed ? !type.included && level >= GATE_ANY : level >= GATE_FULL
}

/** Returns whether the method can override or be overridden. Abstract methods count only with `declares`. */
function isOverrider(method: MirrorMethod, declares = false): boolean {
  const never = ACC_STATIC | ACC_PRIVATE | (declares ? 0 : ACC_ABSTRACT)
  return (method.access & never) === 0 && !method.name.startsWith('<')
}
