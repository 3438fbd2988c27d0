// What is reachable so far, and what follows from it: the part that schemes A and B share.
//
// A *site* is reached when a method holding it is expanded. Reaching it takes the methods it can
// run now, and remembers it for classes that are loaded later: by the owner's name (an owner not
// loaded yet, or loaded once more by another loader) and by the types it dispatches on (later
// overriders and implementors). *Taking* a method gives it an id, or a reason why it is skipped.
// Which methods are expanded, and when, is the scheme's business (`eager.ts`, `lazy.ts`).
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

import { append } from '../base/arrays.ts'
import { CLASS_HIDDEN, CLASS_JDK, CLASS_UNMODIFIABLE } from '../base/class-info.ts'
import { debug } from '../base/debug.ts'
import { isJdkName } from '../base/jdk-names.ts'
import { ACC_ABSTRACT, ACC_FINAL, ACC_NATIVE, ACC_PRIVATE, ACC_STATIC } from '../classfile/access.ts'
import { classNames } from '../classfile/descriptor.ts'
import { siteKey } from './call-sites.ts'
import { type Chosen, isChosen } from './chosen.ts'
import { deniedClass, deniedMethod } from './deny-list.ts'
import { type ClassNode, mayBeInitialised } from './hierarchy.ts'
import { GATE_ANY, GATE_CLOSED, GATE_FULL, gateOf, OBJECT_SELECTORS } from './leaf-calls.ts'
import type { Linked, Linker, LoadedSite, MethodRef } from './linker.ts'
import type { MethodIds, MethodTarget } from './method-ids.ts'
import type { Mirror, MirrorMethod } from './mirror.ts'
import { jdkUpcalls, upcalls } from './upcalls.ts'

export interface Skipped {
  /** Internal name. */
  readonly className: string
  /** `*` when it is the whole class. */
  readonly method: string
  readonly descriptor: string
  readonly reason: string
}

/** A method that has been reached and has no id. */
type WithoutId = Omit<MethodTarget, 'id' | 'root'>

/** Internal name of the class. */
export type MethodFilter = (className: string, name: string, descriptor: string) => boolean

const OBJECT = 'java/lang/Object'
const HIDDEN =
  'hidden class, defined before the session or outside a root: its own calls, and what only it calls, are missing'
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
  readonly #decided = new Set<string>()
  readonly #skippedOnce = new Set<string>()
  #jdkUpcalls = jdkUpcalls(false)
  readonly #blocked = new Set<string>()
  #gate = GATE_CLOSED
  #swept = GATE_CLOSED
  #reflection = false

  /** Taken since the scheme last looked. */
  fresh: MethodTarget[] = []
  /** Skipped since the session was last told. */
  skipped: Skipped[] = []
  /** Some of the JDK is read and some is not, which may call what the former declares. */
  #isPartOfJdkRead = false
  /** Of a class of which only methods that are added by hand are included. */
  readonly #isAdded: MethodFilter
  /** Those that the user leaves out, while the session runs. */
  #isLeftOut: MethodFilter = () => false
  readonly #leftOut = new Map<string, WithoutId>()
  #isFull = false
  #passThrough: MethodRef[] = []
  /** What methods that were not passed through have led to. */
  #owed: LoadedSite[] = []

  constructor(
    readonly linker: Linker,
    readonly ids: MethodIds,
    /** A body may be expanded in the load hook of its class: scheme A, or code that is left out. */
    readonly expandsInHook: boolean,
    /** Methods that get probes although they are intrinsics, by class, name and descriptor. */
    readonly intrinsicsToTake: ReadonlySet<string> = new Set(),
    isAdded: MethodFilter = () => false,
    /** Methods that are taken at most, besides roots. */
    readonly mostMethods = Number.POSITIVE_INFINITY,
  ) {
    this.#isAdded = isAdded
  }

  /** A reached call may use reflection: Method.invoke and Constructor.newInstance need their hook. */
  get reflection(): boolean {
    return this.#reflection
  }

  /** Whether a method was not taken because there were too many. */
  get isFull(): boolean {
    return this.#isFull
  }

  get gate(): number {
    return this.#gate
  }

  refOf(target: MethodTarget): MethodRef | null {
    const node = this.linker.hierarchy.get(target.classId)
    const method = this.linker.mirrors.get(target.classId)?.methods[target.methodIndex]
    return node && method ? { node, method } : null
  }

  /** Gives the method an id, or a reason why not, unless that has been done. */
  take(ref: MethodRef, root = false): MethodTarget | null {
    const { node, method } = ref
    if ((method.access & ACC_ABSTRACT) !== 0) return null
    const place = placeOf(ref)
    if (this.#decided.has(place)) return null
    // A class initialiser may have run long ago.
    if (method.name === '<clinit>' && !mayBeInitialised(node) && !root) return null
    this.#decided.add(place)
    if (node.followed && !root && !this.#isIncluded(ref)) {
      const denied = isJdk(node) ? deniedClass(node.name) : null
      if (denied !== null) this.skip(node.name, '*', '', denied)
      if ((method.access & ACC_NATIVE) === 0) this.#passThrough.push(ref)
      else if (isJdk(node)) this.openGate(gateOf([node.name], method.name, method.descriptor))
      else this.#enterNative(ref)
      return null
    }
    const reason = this.#reasonToSkip(ref)
    if (reason !== null) {
      this.skip(node.name, method.name, method.descriptor, reason)
      return null
    }
    const { index: methodIndex, name, descriptor } = method
    if (!root && this.#isLeftOut(node.name, name, descriptor)) {
      this.#leftOut.set(place, { classId: node.id, methodIndex, className: node.name, name, descriptor })
      return null
    }
    if (!root && this.ids.size >= this.mostMethods) {
      this.#isFull = true
      return null
    }
    const target = this.ids.add({
      classId: node.id,
      methodIndex,
      className: node.name,
      name,
      descriptor,
      root,
    })
    this.fresh.push(target)
    return target
  }

  #isIncluded({ node, method }: MethodRef): boolean {
    return node.included && (!node.added || this.#isAdded(node.name, method.name, method.descriptor))
  }

  /**
   * Classes that were left out have methods now that are added by hand, as the filter says: what has been reached of them is
   * taken, by what had led to it before.
   */
  async opened(nodes: readonly ClassNode[]): Promise<void> {
    const { hierarchy, mirrors } = this.linker
    const reached = nodes.flatMap((node) =>
      (mirrors.get(node.id)?.methods ?? [])
        .filter((method) => this.#decided.has(placeOf({ node, method })))
        .map(({ index, name, descriptor }) => ({
          ...{ classId: node.id, methodIndex: index, className: node.name, name, descriptor },
        })),
    )
    this.#takeAgain(reached)
    // Sites of a supertype have led to them before, or opened the gate.
    const owners = new Set(nodes.flatMap((it) => hierarchy.subtypesOf(it)).map((it) => it.name))
    const sites = [...owners].flatMap((name) => this.#byOwner.get(name) ?? [])
    await this.reach(sites, true)
    await this.appeared(nodes)
  }

  /**
   * From now on these methods are left out, and what only they call is not looked for.
   *
   * @returns those of them that were left out before, and are not any more: they are taken now
   */
  leaveOut(isLeftOut: MethodFilter): MethodTarget[] {
    this.#isLeftOut = isLeftOut
    const back = [...this.#leftOut].filter(
      ([, { className, name, descriptor }]) => !isLeftOut(className, name, descriptor),
    )
    for (const [place] of back) this.#leftOut.delete(place)
    return this.#takeAgain(back.map(([, method]) => method))
  }

  /** The session reads the JDK, but for classes that it leaves out: one of them is there. */
  jdkIsReadInPart(): void {
    if (this.#isPartOfJdkRead) return
    this.#isPartOfJdkRead = true
    this.#swept = GATE_CLOSED // what it may call back was passed over before
  }

  /** Of what was decided before, and has no id. */
  #takeAgain(methods: readonly WithoutId[]): MethodTarget[] {
    const taken: MethodTarget[] = []
    for (const { classId, methodIndex } of methods) {
      const node = this.linker.hierarchy.get(classId)
      const method = this.linker.mirrors.get(classId)?.methods[methodIndex]
      if (!node || !method || this.ids.find(classId, methodIndex) !== undefined) continue
      this.#decided.delete(placeOf({ node, method }))
      const target = this.take({ node, method })
      if (target !== null) taken.push(target)
    }
    return taken
  }

  /** Whether it could be a root. Changes nothing. */
  isUsable({ node, method }: MethodRef): boolean {
    return (
      (method.access & (ACC_ABSTRACT | ACC_NATIVE)) === 0 &&
      deniedMethod(node.name, method.name) === null &&
      (node.flags & (CLASS_HIDDEN | CLASS_UNMODIFIABLE)) === 0 &&
      !this.#isIntrinsic({ node, method })
    )
  }

  /** Whether a class has a method that is chosen, named by the filter, and could have probes. Its table must be there. */
  hasUsable(node: ClassNode, chosen: Chosen, filter: MethodFilter = () => true): boolean {
    const methods = this.linker.mirrors.get(node.id)?.methods ?? []
    return methods.some(
      (method) =>
        isChosen(chosen, { className: node.name, name: method.name, descriptor: method.descriptor }) &&
        filter(node.name, method.name, method.descriptor) &&
        this.isUsable({ node, method }),
    )
  }

  #isIntrinsic({ node, method }: MethodRef): boolean {
    return method.intrinsic && !this.intrinsicsToTake.has(`${node.name}.${method.name}${method.descriptor}`)
  }

  #reasonToSkip(ref: MethodRef): string | null {
    const { node, method } = ref
    if ((method.access & ACC_NATIVE) !== 0) {
      if ((node.flags & CLASS_JDK) === 0) {
        this.#enterNative(ref)
        return 'native: what it calls by name, in classes that it is not handed, may be missing'
      }
      this.openGate(gateOf([node.name], method.name, method.descriptor)) // native code can call back, and reflect
      return node.included ? 'native: what it calls in the JDK by name may be missing' : 'native'
    }
    const denied = deniedMethod(node.name, method.name)
    if (denied !== null) return denied
    if ((node.flags & CLASS_HIDDEN) !== 0) return HIDDEN
    if (this.#isIntrinsic(ref)) {
      this.#passThrough.push(ref)
      return 'intrinsic: the compiler may replace it, its time is its caller’s'
    }
    if ((node.flags & CLASS_UNMODIFIABLE) !== 0) {
      this.#passThrough.push(ref)
      return 'the JVM does not let its class be changed'
    }
    return null
  }

  /**
   * Native code of the application. JNI finds methods by name, private ones too: in the class of the method,
   * and in those of the objects that it is given.
   */
  #enterNative({ node, method }: MethodRef): void {
    this.openGate(GATE_ANY)
    for (const owner of new Set([node.name, ...classNames(method.descriptor)])) {
      this.#owed.push({ site: { kind: 'any', owner, family: true }, loader: node.loader })
    }
  }

  skip(className: string, method: string, descriptor: string, reason: string): void {
    const key = `${className}.${method}${descriptor}`
    if (this.#skippedOnce.has(key)) return
    this.#skippedOnce.add(key)
    this.skipped.push({ className, method, descriptor, reason })
  }

  /** The method will never announce its first invocation: what it calls counts as called. */
  passThrough(ref: MethodRef): void {
    this.#passThrough.push(ref)
  }

  openGate(level: number): void {
    if (level > this.#gate) {
      this.#gate = level
      debug.reveal?.(`code that is not read may call back from now on: gate level ${level} of ${GATE_FULL}`)
    }
    if (level >= GATE_FULL) this.#reflection = true
  }

  /** Opens the gate as far as these methods will when they are entered. */
  async openGateFor(targets: readonly MethodTarget[]): Promise<void> {
    const refs = targets.map((it) => this.refOf(it)).filter((it) => it !== null)
    await this.#fetchFiles(refs.map((it) => it.node.id))
    const linked = await this.linkAll(refs.flatMap((it) => this.sitesOf(it)))
    for (const { gate } of linked) this.openGate(gate)
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
          for (const ref of linked.targets) this.take(ref)
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
    await this.#fetchFiles(called.map(({ id }) => id))
    for (const node of called) {
      for (const method of this.linker.mirrors.get(node.id)?.methods ?? []) {
        if (this.#jdkUpcalls[node.name]!.includes(method.name)) this.take({ node, method })
      }
    }
  }

  /** Reaches every site of these methods, and of what is passed through on the way. */
  async expand(refs: readonly MethodRef[]): Promise<void> {
    let queue: readonly MethodRef[] = refs
    do {
      await this.#fetchFiles(queue.map((it) => it.node.id))
      await this.reach([...this.#owed.splice(0), ...queue.flatMap((it) => this.sitesOf(it))])
      queue = this.#passThrough.splice(0)
    } while (queue.length + this.#owed.length > 0)
  }

  /** Does what is still owed: sites of methods passed through, a gate that was opened on the way. */
  async expandPassed(): Promise<void> {
    if (this.#passThrough.length + this.#owed.length > 0) await this.expand([])
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
    await this.#fetchFiles([ref.node.id])
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

  async filesFor(refs: readonly MethodRef[]): Promise<void> {
    await this.#fetchFiles(refs.map((it) => it.node.id))
  }

  /** Reaches sites and all they lead to; opens the gate where they ask for it. */
  async reach(sites: readonly LoadedSite[], again = false): Promise<void> {
    let frontier = sites
    let force = again
    while (frontier.length > 0 || this.#swept < this.#gate) {
      const unique = new Map(frontier.map((it) => [keyOf(it), it]))
      const open = [...unique.values()].filter((it) => force || !this.isReached(it))
      const onward: LoadedSite[] = []
      for (const [i, linked] of (await this.linkAll(open)).entries()) {
        this.commit(open[i], linked)
        append(onward, linked.onward)
      }
      if (this.#swept < this.#gate) {
        this.#swept = this.#gate
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
        const remembered = this.#byOwner.get(site.owner)
        if (remembered) remembered.push(it)
        else this.#byOwner.set(site.owner, [it])
      }
      if (site.kind === 'init') this.#initialise(site.owner)
      if (site.kind === 'virtual') this.#selectors.add(site.name + site.descriptor)
      if (site.kind === 'exact' || site.kind === 'virtual') {
        if (REFLECTIVE.has(`${site.owner}.${site.name}`)) this.#reflection = true
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
      this.#gate >= GATE_FULL ? open : open.filter((it) => this.#initialised.has(it.name)),
    )
    if (this.#gate > GATE_CLOSED) append(onward, await this.#sweep(open))
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
      linked.gate <= this.#gate &&
      linked.onward.every((it) => this.isReached(it)) &&
      linked.opaque.length === 0 &&
      linked.targets.every((it) => this.isDecided(it))
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
      const methods = this.linker.mirrors.get(id)?.methods ?? []
      for (const { index } of methods) {
        this.#decided.delete(`${id}:${index}`)
        this.#leftOut.delete(`${id}:${index}`)
      }
    }
    this.#passThrough = this.#passThrough.filter((it) => !classes.has(it.node.id))
    if (loaders.size === 0) return
    this.#owed = this.#owed.filter((it) => !loaders.has(it.loader))
    for (const [owner, sites] of this.#byOwner) {
      const living = sites.filter((it) => !loaders.has(it.loader))
      if (living.length === sites.length) continue
      for (const it of sites) if (loaders.has(it.loader)) this.#reached.delete(keyOf(it))
      if (living.length > 0) this.#byOwner.set(owner, living)
      else this.#byOwner.delete(owner)
    }
  }

  isDecided(ref: MethodRef): boolean {
    return this.#decided.has(placeOf(ref))
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
    for (const ref of linked.targets) this.take(ref)
    for (const node of linked.opaque) if (node.included) this.skip(node.name, '*', '', HIDDEN)
    this.openGate(linked.gate)
  }

  #dispatch(type: ClassNode, selector: string): void {
    const known = this.#dispatched.get(type.id)
    if (known) known.add(selector)
    else this.#dispatched.set(type.id, new Set([selector]))
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
    const { mirrors, hierarchy } = this.linker
    const mayRun = nodes.filter(
      (it) => it.followed && (it.flags & CLASS_HIDDEN) === 0 && mayBeInitialised(it),
    )
    await mirrors.fetch(
      mayRun.map((it) => it.id),
      (id) => isJdk(hierarchy.get(id)),
      false,
    )
    for (const node of mayRun) {
      const method = mirrors.get(node.id)?.bySelector.get('<clinit>()V')
      if (method) this.take({ node, method })
    }
  }

  /** Reached sites that may now mean this class. */
  #remembered(node: ClassNode): LoadedSite[] {
    if ((node.flags & CLASS_HIDDEN) !== 0) return []
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
    if (!node.followed || (node.flags & CLASS_HIDDEN) !== 0) return
    const missing = this.linker.hierarchy.missingAbove(node)
    if (missing.length === 0) return
    const gate = this.#gate
    const any = gate >= GATE_FULL && missing.some((it) => isJdkName(it))
    const all =
      this.expandsInHook &&
      node.hooked &&
      !node.defined &&
      missing.some((it) => !isJdkName(it)) &&
      this.linker.hierarchy.subtypesOf(node).some((it) => this.#byOwner.has(it.name))
    for (const method of this.linker.mirrors.get(node.id)?.methods ?? []) {
      if (all && method.name !== '<clinit>') this.take({ node, method })
      if (all || !isOverrider(method)) continue
      const selector = method.name + method.descriptor
      const called =
        this.#selectors.has(selector) ||
        (gate > GATE_CLOSED && this.#excludedSelectors.has(selector)) ||
        (gate >= GATE_FULL && OBJECT_SELECTORS.has(selector))
      if (any || called) this.take({ node, method })
    }
  }

  /**
   * Takes what the open gate admits in these classes: followed methods that override a method of
   * a supertype behind the gate, also those inherited by a class that adds that type.
   *
   * @returns handles of lambdas behind excluded functional interfaces
   */
  async #sweep(nodes: readonly ClassNode[]): Promise<LoadedSite[]> {
    const level = this.#gate
    if (level === GATE_CLOSED) return []
    const { hierarchy, mirrors } = this.linker
    const candidates: { node: ClassNode; types: ClassNode[]; declaring: ClassNode[] }[] = []
    await this.#takeBehind(nodes.filter((it) => it.added && isJdk(it) && (it.flags & CLASS_HIDDEN) === 0))
    const lambdas: ClassNode[] = []
    const tables = new Set<number>()
    for (const node of nodes) {
      if (this.linker.closed(node)) continue
      const ancestors = hierarchy.ancestors(node)
      const isCalledBack = this.#isPartOfJdkRead && level >= GATE_FULL && !isJdk(node)
      const types = ancestors.filter((it) => isBehind(level, it) || (isCalledBack && isJdk(it)))
      // Every class has Object above it, and a class in a row without its superclass has too.
      if (types.length === 0) continue
      if ((node.flags & CLASS_HIDDEN) !== 0) {
        if (types.every((it) => it.name === OBJECT)) continue
        if (this.linker.isLambdaProxy(node)) lambdas.push(node)
        else if (node.included) this.skip(node.name, '*', '', HIDDEN)
        continue
      }
      const declaring = [node, ...ancestors].filter((it) => it.followed && (it.flags & CLASS_HIDDEN) === 0)
      for (const it of declaring) tables.add(it.id)
      for (const it of types) if (it.name !== OBJECT) tables.add(it.id)
      candidates.push({ node, types, declaring })
    }
    await mirrors.fetch([...tables], (id) => isJdk(hierarchy.get(id)), false)
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
          if (types.some((type) => this.#mayDeclare(type, selector))) this.take({ node: owner, method })
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
        else if (proxy.included) this.skip(proxy.name, '*', '', HIDDEN)
      }
      return complete ? handles : null
    })
    return handles
  }

  /** What the JDK that is not read may call of its own, by whatever name: all that is added of it. */
  async #takeBehind(nodes: readonly ClassNode[]): Promise<void> {
    const { mirrors } = this.linker
    await mirrors.fetch(
      nodes.map((it) => it.id),
      () => true,
      false,
    )
    for (const node of nodes) {
      for (const method of mirrors.get(node.id)?.methods ?? [])
        if (method.name !== '<clinit>' && this.#isIncluded({ node, method })) this.take({ node, method })
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

  async #fetchFiles(ids: readonly number[]): Promise<void> {
    const { mirrors, hierarchy } = this.linker
    await mirrors.fetch([...new Set(ids)], (id) => isJdk(hierarchy.get(id)), true)
  }

  /** Runs `attempt`, fetching what it wants, until it has an answer. */
  async #untilKnown<T>(attempt: () => T | null): Promise<T> {
    const { wanted, wantedFiles, mirrors, hierarchy } = this.linker
    for (;;) {
      wanted.clear()
      wantedFiles.clear()
      const answer = attempt()
      if (answer !== null && wanted.size === 0) return answer
      if (wanted.size + wantedFiles.size === 0) throw new Error('linking waits for nothing')
      const jdk = (id: number) => isJdk(hierarchy.get(id))
      const files = [...wantedFiles]
      const tables = [...wanted].filter((id) => !wantedFiles.has(id))
      await mirrors.fetch(tables, jdk, false)
      await mirrors.fetch(files, jdk, true)
    }
  }
}

/** Is the type excluded, and one whose methods code behind a gate of that level may call? */
function isBehind(level: number, type: ClassNode): boolean {
  // What is added by hand changes nothing for others.
  if (type.added) return level >= (isJdk(type) ? GATE_FULL : GATE_ANY)
  return type.followed ? !type.included && level >= GATE_ANY : level >= GATE_FULL
}

function isJdk(node: ClassNode | undefined): boolean {
  return node !== undefined && (node.flags & CLASS_JDK) !== 0
}

/** Can it override, or be overridden? Abstract ones only `declare`. */
function isOverrider(method: MirrorMethod, declares = false): boolean {
  const never = ACC_STATIC | ACC_PRIVATE | (declares ? 0 : ACC_ABSTRACT)
  return (method.access & never) === 0 && !method.name.startsWith('<')
}

function keyOf({ site, loader }: LoadedSite): string {
  return `${loader}${siteKey(site)}`
}

function placeOf({ node, method }: MethodRef): string {
  return `${node.id}:${method.index}`
}
