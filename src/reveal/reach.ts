// What is reachable so far, and what follows from it: the part that schemes A and B share.
//
// A *site* is reached when a method holding it is expanded. Reaching it takes the methods it can
// run now, and remembers it for classes that are loaded later: by the owner's name (an owner not
// loaded yet, or loaded once more by another loader) and by the types it dispatches on (later
// overriders and implementors). *Taking* a method gives it an id, or a reason why it is skipped.
// Which methods are expanded, and when, is the scheme's business (`revealer.ts`, `lazy.ts`).
//
// A method that is not instrumented although it has bytecode (an intrinsic, one that the JVM refused,
// one of application code that the filters leave out) will never announce its first invocation, so
// it is *passed through*, once: its sites count as its callers', to any depth. So left-out code of
// the application is transparent without being guessed at.
//
// The JDK is transparent too, but not read. A call into it can come back anywhere a JDK type's method
// is overridden, so it opens a *gate*: from then on those overriders, and lambdas whose interface is
// a JDK type, are reachable, in classes loaded now or later. The gate has levels (`leaf-calls.ts`):
// calls that provably call nothing back leave it shut, all others open it, and what cannot be read at
// all to the overriders of left-out application types as well. This over-approximates a lot. It is the price of missing nothing without reading the
// JDK; scheme B still opens the gate only when a method holding such a call, or one that leads to it
// through left-out code, is entered. What the JDK calls by reflection or through a method handle is not
// behind the gate: the target asks when it happens (`Revealer.reflectiveTarget`).

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

/** What a call may reach in so many classes tells nobody anything, and costs their method tables. */
const MANY_RECEIVERS = 16
const REFLECTIVE = new Set([
  'java/lang/reflect/Method.invoke',
  'java/lang/reflect/Constructor.newInstance',
  'java/lang/Class.newInstance',
])
export class Reach {
  readonly #reached = new Set<string>()
  /** Reached sites by the name of their owner, to be linked again when a class of that name comes. */
  readonly #byOwner = new Map<string, LoadedSite[]>()
  /** Selectors dispatched on a type, by class id. */
  readonly #dispatched = new Map<number, Set<string>>()
  /** Every selector of a reached virtual site: all there is to go by while supertypes are unknown. */
  readonly #selectors = new Set<string>()
  /** Selectors that the types behind the gate declare. */
  readonly #excludedSelectors = new Set<string>()
  /** Types of objects that native code is given, by class id: it may call any method of theirs. */
  readonly #families = new Set<number>()
  readonly #initialised = new Set<string>()
  #jdkUpcalls = jdkUpcalls(false)
  readonly #blocked = new Set<string>()
  #swept = GATE_CLOSED
  /** Some of the JDK is read and some is not, which may call what the former declares. */
  #isPartOfJdkRead = false
  readonly linker: Linker

  constructor(
    private readonly classes: Classes,
    readonly taker: Taker,
    /** A body may be expanded in the load hook of its class: scheme A, or code that is left out. */
    private readonly expandsInHook: boolean,
  ) {
    this.linker = classes.linker
  } /**
   * Classes that were left out have methods now that are added by hand, as the filter says: what has been reached of them is
   * taken, by what had led to it before.
   */
  async opened(nodes: readonly ClassNode[]): Promise<void> {
    const { hierarchy } = this.linker
    const reached = nodes
      .flatMap((node) => this.linker.methodsOf(node))
      .filter((it) => this.taker.isDecided(it))
    this.taker.takeAgain(reached.map(({ node, method }) => ({ classId: node.id, methodIndex: method.index })))
    // Sites of a supertype have led to them before, or opened the gate.
    const owners = new Set(nodes.flatMap((it) => hierarchy.subtypesOf(it)).map((it) => it.name))
    const sites = [...owners].flatMap((name) => this.#byOwner.get(name) ?? [])
    await this.reach(sites, true)
    await this.appeared(nodes)
  }

  /** The session reads the JDK, but for classes that it leaves out: one of them is there. */
  jdkIsReadInPart(): void {
    if (this.#isPartOfJdkRead) return
    this.#isPartOfJdkRead = true
    this.#swept = GATE_CLOSED // what it may call back was passed over before
  }

  /** Those whose classes are still there. */
  refsOf(targets: readonly MethodTarget[]): MethodRef[] {
    return targets.map((it) => this.classes.refOf(it)).filter((it) => it !== null)
  }

  /** Opens the gate as far as these methods will when they are entered. */
  async openGateFor(targets: readonly MethodTarget[]): Promise<void> {
    const refs = this.refsOf(targets)
    await this.linker.mirrors.fetchFiles(refs.map((it) => it.node.id))
    const linked = await this.linkAll(refs.flatMap((it) => this.sitesOf(it)))
    for (const { gate } of linked) this.taker.openGate(gate)
    await this.expandPassed()
  }

  /**
   * Takes what may be called without any call site. Once, at the start.
   *
   * @param threads  what the JVM calls in a new thread, too
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

  /** Reaches every site of these methods, and of what is passed through on the way. */
  async expand(refs: readonly MethodRef[]): Promise<void> {
    let queue: readonly MethodRef[] = refs
    do {
      await this.linker.mirrors.fetchFiles(queue.map((it) => it.node.id))
      await this.reach([...this.taker.owed.splice(0), ...queue.flatMap((it) => this.sitesOf(it))])
      queue = this.taker.passed.splice(0)
    } while (queue.length + this.taker.owed.length > 0)
  }

  /** Does what is still owed: sites of methods passed through, a gate that was opened on the way. */
  async expandPassed(): Promise<void> {
    if (this.taker.passed.length + this.taker.owed.length > 0) await this.expand([])
    else await this.reach([])
  }

  /** Sites of the method that are not reached yet. Its class file must be there (`filesFor`). */
  sitesOf({ node, method }: MethodRef): LoadedSite[] {
    return this.linker.mirrors
      .body(node.id, method.index)
      .sites.map((site) => ({ site, loader: node.loader }))
      .filter((it) => !this.isReached(it))
  }

  /** Methods that the body calls, in its order, as far as they are loaded. Takes nothing. */
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

  /** Reaches sites and all they lead to; opens the gate where they ask for it. */
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

  /** Links all sites, fetching the method tables they need in as few batches as possible. */
  async linkAll(sites: readonly LoadedSite[]): Promise<Linked[]> {
    const done: (Linked | null)[] = sites.map(() => null)
    return await this.#untilKnown(() => {
      for (const [i, site] of sites.entries()) done[i] ??= this.linker.link(site)
      return done.some((it) => it === null) ? null : (done as Linked[])
    })
  }

  /** Marks a linked site as reached and takes its targets. `onward` is left to the caller. */
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

  /** Classes that are new, or whose supertypes are now known better. */
  async appeared(nodes: readonly ClassNode[]): Promise<void> {
    const open = nodes.filter((it) => !this.linker.closed(it))
    const onward: LoadedSite[] = []
    // Calls by name. Those of JDK classes too: a call into one that was not loaded opens the gate.
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
   * Whether every site of the method is dealt with. Sites that would take nothing are dealt with on
   * the spot. Fetches nothing: a method whose class file is not at hand is left as it is.
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

  /** Sites that were not free a moment ago may be now. */
  unblock(): void {
    this.#blocked.clear()
  }

  /** Committing it would take no method and open no gate. */
  isFree(linked: Linked): boolean {
    return (
      linked.gate <= this.taker.gate &&
      linked.onward.every((it) => this.isReached(it)) &&
      linked.opaque.length === 0 &&
      linked.targets.every((it) => this.taker.isDecided(it))
    )
  }

  /**
   * Nothing loaded answers to the site yet. Committing it before its method is entered would arm it
   * on suspicion, and take methods as classes are loaded that nobody may ever call.
   */
  isGuess({ site, loader }: LoadedSite, linked: Linked): boolean {
    if (site.kind === 'record' || linked.targets.length > 0) return false
    // Of what is on the deny-list, a method handle's or a variable handle's methods have descriptors that none declares.
    if (linked.dispatchers.some((it) => it.followed && (it.included || !isJdk(it)))) return true
    return (
      this.linker.hierarchy.resolve(site.owner, loader).length === 0 && !/^(?:java\/|\[)/.test(site.owner)
    )
  }

  /** Forgets what is remembered for code that is gone: sites seen from these loaders, and the classes. */
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

  /** Subtypes the receiver of a site may have, from the hierarchy alone. */
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
    // Of a class in the hook the supertypes may be known by name only, or not be linked yet.
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

  /** Reached sites that may now mean this class. */
  #remembered(node: ClassNode): LoadedSite[] {
    if (isHidden(node)) return []
    return (this.#byOwner.get(node.name) ?? []).filter((it) =>
      this.linker.hierarchy.resolve(node.name, it.loader).includes(node),
    )
  }

  /** Selectors dispatched on any supertype, those of excluded types apart. */
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
   * A class in the load hook whose supertypes are not all loaded: what it overrides is not known
   * yet, and it will be used before we can ask again. A method that bears the name and descriptor
   * of any reached virtual call counts as an override of it; when excluded code may call back, so
   * does one that bears a selector of a known excluded type, and any at all if the missing
   * supertype looks like the JDK's own. A missing supertype of the application may be expanded in its
   * own hook, with calls back to any method of this class: then all of them are taken, provided that
   * something reached makes or uses the class.
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
   * Takes what the open gate admits in these classes: followed methods that override a method of
   * a supertype behind the gate, also those inherited by a class that adds that type.
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
      // Every class has Object above it, and a class in a row without its superclass has too.
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
          // A class cannot inherit an interface's default where a class above declares the method;
          // that costs precision only.
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

  /** What the JDK that is not read may call of its own, by whatever name: all that is added of it. */
  async #takeBehind(nodes: readonly ClassNode[]): Promise<void> {
    await this.linker.mirrors.fetch(nodes.map((it) => it.id))
    for (const node of nodes) {
      for (const ref of this.linker.methodsOf(node))
        if (ref.method.name !== '<clinit>' && this.classes.includes(node, ref.method)) this.taker.take(ref)
    }
  }

  /** Does the type behind the gate declare something the selector can override? Unreadable types may. */
  #mayDeclare(type: ClassNode, selector: string): boolean {
    if (type.name === OBJECT) return OBJECT_SELECTORS.has(selector)
    const mirror = this.linker.mirrors.get(type.id)
    if (!mirror) return true
    const method = mirror.bySelector.get(selector)
    if (method === undefined || !isOverrider(method, true)) return false
    if ((method.access & ACC_FINAL) !== 0) return false
    return true
  }

  /** Runs `attempt`, fetching what it wants, until it has an answer. */
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

/** Is the type excluded, and one whose methods code behind a gate of that level may call? */
function isBehind(level: number, type: ClassNode): boolean {
  // What is added by hand changes nothing for others.
  if (type.added) return level >= (isJdk(type) ? GATE_FULL : GATE_ANY)
  return type.followed ? !type.included && level >= GATE_ANY : level >= GATE_FULL
}

/** Can it override, or be overridden? Abstract ones only `declare`. */
function isOverrider(method: MirrorMethod, declares = false): boolean {
  const never = ACC_STATIC | ACC_PRIVATE | (declares ? 0 : ACC_ABSTRACT)
  return (method.access & never) === 0 && !method.name.startsWith('<')
}
