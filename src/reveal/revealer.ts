// Revelation: told about classes and first invocations, answers with the methods to instrument next.
//
// This file is the door: it keeps the order of events, turns them into questions to `reach.ts`, and
// packs the answers. Reading bytecode is `call-sites.ts`; resolving names `linker.ts`; changing code
// is `instrument/`; talking to the JVM is `session/`, seen from here as a RevealPort.
//
// Calls must not overlap; the session serialises them. A returned method may be in a class whose
// load hook has been answered but which the JVM has not defined yet (another class of the same load
// led to it): such a method goes in as soon as its class is defined.
//
// Invariant: a method is returned in `instrument` at most once per session.

import { performance } from 'node:perf_hooks'
import { append, maxOf } from '../base/arrays.ts'
import {
  CLASS_HIDDEN,
  CLASS_JDK,
  CLASS_OURS,
  CLASS_UNINITIALISED,
  type ClassInfo,
} from '../base/class-info.ts'
import { debug } from '../base/debug.ts'
import type { Scheme } from '../base/scheme.ts'
import { ACC_ABSTRACT, ACC_NATIVE, ACC_SYNTHETIC } from '../classfile/access.ts'
import { type Chosen, touches } from './chosen.ts'
import { deniedClass } from './deny-list.ts'
import { takeAll } from './eager.ts'
import { RootNotLoaded } from './errors.ts'
import { type FilterReport, Filters } from './filters.ts'
import { type ClassNode, Hierarchy } from './hierarchy.ts'
import { type Boldness, boldness, LOOK_AHEAD, lookAhead, readyAmong } from './lazy.ts'
import { Linker, type LoadedSite, type MethodRef } from './linker.ts'
import { MethodIds, type MethodTarget } from './method-ids.ts'
import { Mirrors, type RevealPort, sitesOf } from './mirror.ts'
import { NO_PAST, type Past } from './past.ts'
import {
  type ClassPattern,
  matchesClass,
  matchesMethod,
  RANK_NONE,
  type RootPattern,
  rootRank,
} from './patterns.ts'
import { type MethodFilter, Reach, type Skipped } from './reach.ts'
import { methodText, revelationText } from './revelation-text.ts'
import { type RootProgress, type RootReport, Roots } from './roots.ts'

export interface RevealOptions {
  /** `a` takes everything reachable at once, `b` on first invocations, `adaptive` the roots and what it is told to. */
  readonly scheme: Scheme
  readonly roots: readonly RootPattern[]
  /** If there are any, only classes that match one are included. */
  readonly include: readonly ClassPattern[]
  readonly exclude: readonly ClassPattern[]
  /** Include the JDK's classes. */
  readonly jdk: boolean
  /** Threads that are started inside the graph belong to it. */
  readonly followThreads?: boolean
  /** Scheme B: methods to take at most, in one of the first answers, beyond the direct callees. LOOK_AHEAD, unless a test sets it. */
  readonly lookAhead?: number
  /** Id of the first method; 1, unless given. */
  readonly firstId?: number
  /** Methods that are taken at most, besides roots. Default: any number. */
  readonly mostMethods?: number
  /** Intrinsics to take all the same, as "java/lang/Foo.bar()V". */
  readonly intrinsics?: ReadonlySet<string>
}

export interface Revelation {
  readonly instrument: MethodTarget[]
  /** Ids of methods whose callees are all dealt with: their probes need not ask. */
  readonly ready: number[]
  readonly skipped: Skipped[]
  /** True once: Method.invoke and Constructor.newInstance should get their hook now. */
  readonly reflection: boolean
}

export interface RevealCounters {
  readonly instrumentedMethods: number
  /** Time spent here, waiting for class bytes included. */
  readonly analysisMs: number
  readonly parsedClasses: number
  /** Classes and reflective targets that could not be looked into: calls may be missing there. */
  readonly gaps: number
}

/** Classes that what is to be added names, or in which there is a method of that name. */
export interface LookedUp {
  readonly classes: number
  /** Of these, the ones that the filters leave out, */
  readonly out: number
  /** of these, the ones that may be instrumented, */
  readonly usable: number
  /** and those of the JDK. */
  readonly jdk: number
}

/** A method by its names, all overloads of it. */
export interface Callee {
  /** Internal name. */
  readonly className: string
  readonly name: string
}

/** A class in the load hook. `flags` as in ClassInfo, if the agent can tell already. */
export interface LoadingClass {
  readonly id: number
  readonly name: string
  readonly loader: number
  readonly flags?: number
}

export class Revealer {
  readonly #options: RevealOptions
  readonly #hierarchy = new Hierarchy()
  readonly #mirrors: Mirrors
  readonly #filters: Filters
  readonly #linker: Linker
  readonly #ids: MethodIds
  /** Ids of methods that were to have probes and have none. */
  readonly #refused = new Set<number>()
  readonly #reach: Reach
  readonly #roots: Roots
  readonly #jdkPackages = new Set<string>()
  readonly #appeared = new Set<ClassNode>()
  readonly #invoked = new Set<number>()
  #started = false
  #reflectionTold = false
  /** Where it is known, nothing need be guessed. */
  #past: Past = NO_PAST
  /** First invocations that led to new methods. */
  #steps = 0
  /** Scheme B: methods taken with callees that are not dealt with, oldest first. */
  #backlog: MethodRef[] = []
  #analysisMs = 0
  #gaps = 0

  constructor(options: RevealOptions, port: RevealPort) {
    this.#options = options
    this.#ids = new MethodIds(options.firstId)
    this.#mirrors = new Mirrors(port, (id) => {
      const node = this.#hierarchy.get(id)
      // A class whose initialiser has failed shows no bytes, and will never run.
      return node === undefined || (node.included && (node.flags & CLASS_UNINITIALISED) === 0)
    })
    this.#filters = new Filters(options.include, options.exclude, options.jdk)
    this.#linker = new Linker(this.#hierarchy, this.#mirrors, options.jdk)
    const filtered = options.include.length + options.exclude.length > 0
    this.#reach = new Reach(
      this.#linker,
      this.#ids,
      options.scheme === 'a' || filtered,
      options.intrinsics,
      (className, name, descriptor) => this.#filters.isMethodAdded(className, name, descriptor),
      options.mostMethods,
    )
    this.#roots = new Roots(
      options.roots,
      this.#linker,
      {
        includeRootClass: (node) => {
          this.#filters.addRootClass(node)
          this.#decideInclusion(node)
          this.#linker.forget()
        },
        takeRoot: (ref) =>
          (this.#reach.take(ref, true) ?? this.#ids.find(ref.node.id, ref.method.index))?.id ?? null,
      },
      this.#fetchTables,
    )
  }

  readonly #fetchTables = (ids: readonly number[]) => this.#mirrors.fetch(ids, (id) => this.#isJdk(id), false)

  /** The initial list of loaded classes, and later deltas. Cheap: nothing is fetched or revealed. */
  addClasses(infos: readonly ClassInfo[]): void {
    const touched = this.#hierarchy.add(infos, () => {})
    // A hidden class follows its nest host, which may come later in the same list.
    for (const info of infos) {
      const node = this.#hierarchy.node(info.id)
      this.#decideInclusion(node)
      // The proxy of an interface that is not public lies in the interface's package.
      if ((node.flags & CLASS_JDK) !== 0 && !PROXY.test(node.name)) this.#jdkPackages.add(packageOf(node))
    }
    this.#linker.forget()
    if (this.#started) for (const node of touched) this.#appeared.add(node)
  }

  /**
   * Takes the roots that are loaded; the others stay armed. Scheme A: all that they reach, too.
   *
   * @throws RootNotFound if a root's class is loaded and has no such method
   * @throws AbstractOrNativeRoot if a root names nothing that has bytecode
   * @throws RootNeverInstrumented if a root names nothing that may be changed
   */
  async start(): Promise<Revelation> {
    const cause = () => `roots, scheme ${this.#options.scheme}`
    return await this.#answer(cause, async () => {
      this.#started = true
      await this.#roots.match(this.#hierarchy.nodes(), true)
      if (this.#options.scheme === 'adaptive') return
      // Without --jdk, what a thread runs is called back by code that is left out, like a task.
      await this.#reach.takeUpcalls(this.#options.jdk && this.#options.followThreads === true)
    })
  }

  /**
   * Scheme B: the roots are about to run. What they reach is taken as if they, and all methods behind them that are known
   * to run, had been entered: that saves a step for each, and takes nothing that those steps would not have taken.
   *
   * In steps, as all of it takes seconds in a server, and classes that are loaded meanwhile wait for their turn.
   *
   * @param past  of this JVM's methods
   */
  async *rootsWillRun(past: Past): AsyncGenerator<Revelation, void, void> {
    this.#past = past
    const taken: MethodTarget[] = []
    let level = [...this.#ids].filter((it) => it.root && !this.#invoked.has(it.id))
    while (level.length > 0) {
      const entered: number[] = []
      const step = level
      const cause = () => `${step.length} methods that will run with the roots`
      const revelation = await this.#answer(
        cause,
        async () => {
          level = await this.#enterLevel(step, entered)
        },
        entered,
      )
      append(taken, revelation.instrument)
      yield revelation
    }
    // Known to run, and entered by the step after the one that took them.
    this.#backlog = this.#backlog.filter(
      ({ node, method }) => !this.#invoked.has(this.#ids.find(node.id, method.index)?.id ?? 0),
    )
    // The first of them to be entered would open the gate, and wait for the dearest answer of all.
    const found = taken.length
    for (let at = 0; at < found; at += METHODS_A_STEP) {
      const step = taken.slice(at, Math.min(found, at + METHODS_A_STEP))
      const cause = () => `callbacks behind ${step.length} methods`
      const revelation = await this.#answer(cause, () => this.#reach.openGateFor(step))
      append(taken, revelation.instrument)
      yield revelation
    }
    const bold = this.#boldness(0)
    let budget = bold.budget
    for (let at = 0; at < taken.length && budget > 0; at += METHODS_A_STEP) {
      const step = taken.slice(at, at + METHODS_A_STEP)
      const cause = () => `look-ahead behind ${step.length} methods`
      const revelation = await this.#answer(cause, () =>
        lookAhead(this.#reach, { ...bold, budget }, this.#backlog, step),
      )
      budget -= revelation.instrument.length
      yield revelation
    }
  }

  /**
   * Takes methods by their names, of the classes that are known and that the filters include: of each pattern the best kind of match,
   * all overloads that have code.
   *
   * @returns what to instrument, and the patterns of which there is nothing to take
   */
  async takeNamed(
    patterns: readonly RootPattern[],
  ): Promise<{ revelation: Revelation; missing: RootPattern[] }> {
    const missing: RootPattern[] = []
    const cause = () => `${patterns.length} methods are to be timed`
    const revelation = await this.#answer(cause, async () => {
      for (const pattern of patterns) if (!(await this.#takeNamed(pattern))) missing.push(pattern)
    })
    return { revelation, missing }
  }

  async #takeNamed(pattern: RootPattern): Promise<boolean> {
    const named = [...this.#hierarchy.nodes()]
      .filter((it) => it.included && (it.flags & (CLASS_HIDDEN | CLASS_OURS)) === 0)
      .map((node) => ({ node, rank: rootRank(pattern, node.name) }))
      .filter(({ rank }) => rank > RANK_NONE)
    await this.#fetchTables(named.map(({ node }) => node.id))
    const found = named.flatMap(({ node, rank }) =>
      (this.#mirrors.get(node.id)?.methods ?? [])
        .filter((it) => matchesMethod(pattern, it.name, it.descriptor))
        .filter((it) => (it.access & (ACC_ABSTRACT | ACC_NATIVE)) === 0)
        .map((method) => ({ rank, ref: { node, method } })),
    )
    const best = maxOf(
      found.map(({ rank }) => rank),
      RANK_NONE,
    )
    for (const { rank, ref } of found) if (rank === best) this.#reach.take(ref)
    return found.length > 0
  }

  /** Before `start`: these methods are left out. */
  beginLeftOut(isLeftOut: MethodFilter): void {
    this.#reach.leaveOut(isLeftOut)
  }

  /** From now on these methods are left out; of those that were, and are not any more, what is to be instrumented. */
  async leaveOut(isLeftOut: MethodFilter): Promise<Revelation> {
    const cause = () => 'what is left out by hand has changed'
    return await this.#answer(cause, async () => {
      this.#reach.leaveOut(isLeftOut)
    })
  }

  /** Before `start`: these are added by hand. */
  beginAdded(added: readonly Chosen[]): void {
    this.#include(added)
  }

  /**
   * From now on these, and no others, are added by hand: what is reached of them is taken, whatever the filters say. What has
   * been taken of others keeps its id; it is the caller's to leave it out.
   */
  async add(added: readonly Chosen[]): Promise<Revelation> {
    const cause = () => 'what is added by hand has changed'
    return await this.#answer(cause, async () => {
      const opened = this.#include(added)
      if (opened.length > 0) await this.#reach.opened(opened)
    })
  }

  /** @returns classes that are included because of it, and were not, or not for all of that */
  #include(added: readonly Chosen[]): ClassNode[] {
    const before = this.#filters.added
    const fresh = added.filter((it) => !before.includes(it))
    if (fresh.length === 0 && added.length === before.length) return []
    this.#filters.add(added)
    this.#linker.opensJdk = this.#options.jdk || added.length > 0
    const opened: ClassNode[] = []
    for (const node of this.#hierarchy.nodes()) {
      const wasIncluded = node.included
      this.#decideInclusion(node)
      if (node.included && (!wasIncluded || (node.added && fresh.some((it) => touches(it, node.name)))))
        opened.push(node)
    }
    this.#linker.forget()
    return opened
  }

  /** Whether the filters and what is added by hand include a method that has an id. Of a class that has gone, they do. */
  isIncluded({ classId, className, name, descriptor }: MethodTarget): boolean {
    const node = this.#hierarchy.get(classId)
    if (node === undefined) return true
    return node.included && (!node.added || this.#filters.isMethodAdded(className, name, descriptor))
  }

  /** What there is of what somebody wants to add, of the loaded classes. Takes nothing. */
  async lookUp(chosen: Chosen): Promise<LookedUp> {
    let nodes = [...this.#hierarchy.nodes()].filter(
      (it) => (it.flags & (CLASS_HIDDEN | CLASS_OURS)) === 0 && touches(chosen, it.name),
    )
    if (chosen.method !== undefined) {
      await this.#fetchTables(nodes.map((it) => it.id))
      nodes = nodes.filter((node) => this.#reach.hasUsable(node, chosen))
      this.#mirrors.trim()
    }
    const out = nodes.filter((it) => !it.included || it.added)
    return {
      classes: nodes.length,
      out: out.length,
      usable: out.filter((it) => deniedClass(it.name) === null).length,
      jdk: out.filter((it) => (it.flags & CLASS_JDK) !== 0).length,
    }
  }

  /**
   * Whether a loaded class has a method that is chosen, may have probes, and that the filter names. Takes nothing.
   *
   * @param among  in classes of which one of these may be a part
   */
  async hasUsable(chosen: Chosen, among: readonly Chosen[], filter: MethodFilter): Promise<boolean> {
    const nodes = [...this.#hierarchy.nodes()].filter(
      (it) =>
        (it.flags & (CLASS_HIDDEN | CLASS_OURS)) === 0 &&
        touches(chosen, it.name) &&
        among.some((other) => touches(other, it.name)),
    )
    for (let at = 0; at < nodes.length; at += CLASSES_A_STEP) {
      const step = nodes.slice(at, at + CLASSES_A_STEP)
      await this.#fetchTables(step.map((it) => it.id))
      const found = step.some((node) => this.#reach.hasUsable(node, chosen, filter))
      this.#mirrors.trim()
      if (found) return true
    }
    return false
  }

  /** Whether a loaded class matches. */
  hasClass(pattern: ClassPattern): boolean {
    for (const { name } of this.#hierarchy.nodes()) if (matchesClass(pattern, name)) return true
    return false
  }

  /**
   * Takes what these methods call, and what is called behind it by methods that are known to run.
   *
   * @param entered  gets the ids of all of which the callees have been taken
   */
  async #enter(targets: readonly MethodTarget[], entered: number[]): Promise<void> {
    let level = targets
    while (level.length > 0) level = await this.#enterLevel(level, entered)
  }

  /** @returns those of the callees that are known to run */
  async #enterLevel(targets: readonly MethodTarget[], entered: number[]): Promise<MethodTarget[]> {
    const refs: MethodRef[] = []
    for (const target of targets) {
      if (this.#invoked.has(target.id)) continue
      this.#invoked.add(target.id)
      entered.push(target.id)
      const ref = this.#reach.refOf(target)
      if (ref !== null) refs.push(ref)
    }
    const before = this.#reach.fresh.length
    await this.#reach.expand(refs)
    return this.#past.thatRan(this.#reach.fresh.slice(before))
  }

  #boldness(steps: number): Boldness {
    return boldness(this.#options.lookAhead ?? LOOK_AHEAD, steps)
  }

  /** Scheme B: a method is about to run for the first time. Its id comes back in `ready`. */
  async firstInvocation(methodId: number): Promise<Revelation> {
    const target = this.#ids.get(methodId)
    const entered: number[] = []
    const cause = () => `first call of ${methodText(target)}`
    return await this.#answer(
      cause,
      async () => {
        entered.push(methodId)
        if (this.#options.scheme === 'a' || this.#invoked.has(methodId)) return
        await this.#enter([target], entered)
        const cautious = this.#past.isKnown ? KNOWING_STEPS : 0
        const bold = this.#boldness(Math.max(0, this.#steps - cautious))
        await lookAhead(this.#reach, bold, this.#backlog)
        if (this.#reach.fresh.length > 0) this.#steps++
      },
      entered,
    )
  }

  /**
   * A class is in the load hook: not defined yet, its supertypes possibly not even loaded. Methods
   * of this very class may be returned; the hook rewrites them.
   */
  async classLoading(info: LoadingClass, bytes: Uint8Array): Promise<Revelation> {
    const cause = () => `class ${info.name.replaceAll('/', '.')} is being loaded`
    return await this.#answer(cause, async () => {
      const flags = info.flags ?? this.#guessFlags(info)
      const mirror = this.#mirrors.put(info.id, bytes, (flags & CLASS_JDK) !== 0)
      const { node, waiters } = this.#hierarchy.loading(
        info.id,
        info.name,
        info.loader,
        mirror ?? { access: 0, superName: null, interfaces: [] },
        flags,
      )
      this.#decideInclusion(node)
      this.#linker.forget()
      this.#appeared.delete(node)
      await this.#roots.match([node], false)
      this.#reach.hooked(node, mirror)
      await this.#reach.appeared([node, ...waiters])
    })
  }

  /** After `addClasses` of a delta: classes that did not pass the hook, lambda proxies among them. */
  async classesAppeared(): Promise<Revelation> {
    const cause = () => 'classes have appeared'
    return await this.#answer(cause, async () => {})
  }

  /** A method is about to be invoked by reflection. Nothing is revealed if it is excluded. */
  async reflectiveTarget(classId: number, name: string, descriptor: string): Promise<Revelation> {
    const cause = () => `${name}${descriptor} of class ${classId} is called by reflection or a handle`
    return await this.#answer(cause, async () => {
      const node = this.#hierarchy.get(classId)
      if (node === undefined) {
        this.#gaps++
        return
      }
      const member = { owner: node.name, name, descriptor }
      const sites: LoadedSite[] = [
        { site: { kind: name === '<init>' ? 'exact' : 'virtual', ...member }, loader: node.loader },
        { site: { kind: 'init', owner: node.name }, loader: node.loader },
      ]
      await this.#reach.reach(sites.filter((it) => !this.#reach.isReached(it)))
      await this.#reach.expand([])
    })
  }

  /**
   * A hidden class is about to be defined: its own calls cannot be counted, and its bytes are never seen
   * again. What any method of it calls counts as called.
   *
   * @param hostId  class in whose name it is defined: the loader and the nest are this one's
   */
  async hiddenClass(hostId: number, bytes: Uint8Array): Promise<Revelation> {
    const cause = () => `a hidden class is being defined for class ${hostId}`
    return await this.#answer(cause, async () => {
      const host = this.#hierarchy.get(hostId)
      if (host?.followed !== true) return
      const found = sitesOf(bytes)
      if (found === null) {
        this.#gaps++
        return
      }
      if (host.included) this.#reach.skip(found.className, '*', '', HIDDEN_HERE)
      await this.#reach.reach(found.sites.map((site) => ({ site, loader: host.loader })))
    })
  }

  /** Another agent has given the classes other code: what has been looked at in them is looked at again. */
  async classesChanged(classIds: readonly number[]): Promise<Revelation> {
    const cause = () => `another agent has redefined ${classIds.length} classes`
    return await this.#answer(cause, async () => {
      if (this.#options.scheme === 'adaptive') return
      const again: MethodRef[] = []
      for (const id of classIds) {
        const node = this.#hierarchy.get(id)
        if (node === undefined) continue
        this.#mirrors.forgetFile(id)
        for (const method of this.#mirrors.get(id)?.methods ?? []) {
          const ref = { node, method }
          const target = this.#ids.find(id, method.index)
          const waits = this.#options.scheme === 'b' && target !== undefined && !this.#invoked.has(target.id)
          if (this.#reach.isDecided(ref) && !waits) again.push(ref)
        }
      }
      if (again.length > 0) await this.#reach.expand(again)
    })
  }

  /** The JVM or the rewriter refused the method. What it calls is revealed with the next answer. */
  refused(methodId: number, reason: string): void {
    const target = this.#ids.get(methodId)
    this.#refused.add(methodId)
    this.#roots.refused(target, reason)
    this.#reach.skip(target.className, target.name, target.descriptor, reason)
    const ref = this.#reach.refOf(target)
    // In scheme A, and if it ran before it was refused, its callees have been dealt with.
    if (ref !== null && this.#options.scheme === 'b' && !this.#invoked.has(methodId)) {
      this.#invoked.add(methodId)
      this.#reach.passThrough(ref)
    }
  }

  /**
   * Classes and loaders that the target has dropped: nothing of them will run again. Their methods keep
   * ids and names.
   */
  unloaded(classes: readonly number[], loaders: readonly number[]): void {
    const gone = new Set(classes)
    this.#reach.unloaded(gone, new Set(loaders))
    this.#backlog = this.#backlog.filter((it) => !gone.has(it.node.id))
    for (const node of this.#appeared) if (gone.has(node.id)) this.#appeared.delete(node)
    for (const id of gone) this.#mirrors.drop(id)
    this.#hierarchy.remove(gone)
    this.#linker.forget()
  }

  /** Whether a class has the members of another one. False if one is not known. */
  inherits(classId: number, fromId: number): boolean {
    const node = this.#hierarchy.get(classId)
    return node !== undefined && this.#hierarchy.ancestors(node).some((it) => it.id === fromId)
  }

  /** Whether a method of the class has been returned, so that a profile may name it. */
  hasMethodsOf(classId: number): boolean {
    return this.#ids.hasMethodsOf(classId)
  }

  /** Whether there are more methods than are taken at most. */
  get isFull(): boolean {
    return this.#reach.isFull
  }

  hasMethod(id: number): boolean {
    return this.#ids.has(id)
  }

  /** Methods that `takeNamed` has given, and that get no probes after all. */
  dropped(ids: Iterable<number>): void {
    for (const id of ids) this.#refused.add(id)
  }

  /** Methods that were `dropped`, or are new, and get probes. */
  takenAfterAll(ids: Iterable<number>): void {
    for (const id of ids) this.#refused.delete(id)
  }

  /** An id that no method will have, for rows of something else. */
  reserveId(): number {
    return this.#ids.reserve()
  }

  method(id: number): MethodTarget {
    return this.#ids.get(id)
  }

  /** How many methods of a class have that name, abstract ones excluded; undefined if its methods are not known. */
  countNamed(classId: number, name: string): number | undefined {
    return this.#mirrors
      .get(classId)
      ?.methods.filter((it) => it.name === name && (it.access & ACC_ABSTRACT) === 0).length
  }

  methods(): IterableIterator<MethodTarget> {
    return this.#ids[Symbol.iterator]()
  }

  /** What each root stands for, armed ones with close names. */
  roots(): RootReport[] {
    return this.#roots.report()
  }

  /**
   * Whether these could be roots, of the classes that are loaded. Takes nothing.
   *
   * @returns their methods, with ids that are of no use yet
   * @throws RootNotFound, AbstractOrNativeRoot, RootNeverInstrumented, RootNotLoaded
   */
  async checkRoots(patterns: readonly RootPattern[]): Promise<MethodTarget[]> {
    const usable: MethodTarget[] = []
    const sink = {
      includeRootClass: () => {},
      takeRoot: (ref: MethodRef) => (this.#reach.isUsable(ref) ? usable.push(asRoot(ref)) : null),
    }
    const roots = new Roots(patterns, this.#linker, sink, this.#fetchTables)
    await roots.match(this.#hierarchy.nodes(), true)
    for (const { text, armed, problem, near } of roots.report()) {
      if (!armed) continue
      throw problem ?? new RootNotLoaded(text, near)
    }
    this.#mirrors.trim()
    return usable
  }

  /** Which methods each root has come to, without close names. */
  rootProgress(): RootProgress[] {
    return this.#roots.progress()
  }

  /**
   * What these methods call themselves and could be roots instead, in the order of their code.
   *
   * @param enough  how many will do: nothing else is answered until they are found
   */
  async callees(methodIds: Iterable<number>, enough: number): Promise<Callee[]> {
    const found = new Map<string, Callee>()
    for (const id of methodIds) {
      if (found.size >= enough) break
      const ref = this.#reach.refOf(this.#ids.get(id))
      for (const { node, method } of ref === null ? [] : await this.#reach.calleesOf(ref)) {
        const own = node === ref?.node && method === ref.method
        if (own || !node.included || (node.flags & CLASS_HIDDEN) !== 0) continue
        if ((method.access & (ACC_ABSTRACT | ACC_NATIVE | ACC_SYNTHETIC)) !== 0) continue
        const callee = { className: node.name, name: method.name }
        found.set(`${callee.className}.${callee.name}`, callee)
      }
    }
    this.#mirrors.trim()
    return [...found.values()]
  }

  /** What each include and exclude pattern matched so far. */
  filters(): FilterReport[] {
    return this.#filters.report()
  }

  get counters(): RevealCounters {
    return {
      instrumentedMethods: this.#ids.size - this.#refused.size,
      analysisMs: this.#analysisMs,
      parsedClasses: this.#mirrors.parsed,
      gaps: this.#gaps + this.#mirrors.unreadable,
    }
  }

  /**
   * Runs one event, with what has appeared since the last one, and packs what was taken.
   *
   * @param cause  names the event in the debug log
   */
  async #answer(
    cause: () => string,
    event: () => Promise<void>,
    settled: readonly number[] = [],
  ): Promise<Revelation> {
    const started = performance.now()
    try {
      if (this.#appeared.size > 0) {
        const nodes = [...this.#appeared]
        this.#appeared.clear()
        await this.#roots.match(nodes, false)
        if (this.#options.scheme !== 'adaptive') await this.#reach.appeared(nodes)
      }
      await event()
      const ready = [...settled]
      let instrument: MethodTarget[]
      if (this.#options.scheme === 'adaptive') {
        instrument = this.#reach.fresh
        this.#reach.fresh = []
        append(
          ready,
          instrument.map(({ id }) => id),
        )
      } else if (this.#options.scheme === 'a') {
        await this.#reach.expandPassed()
        instrument = await takeAll(this.#reach)
        for (const it of instrument) ready.push(it.id)
      } else {
        await this.#reach.expandPassed()
        instrument = this.#reach.fresh
        this.#reach.fresh = []
        const settled = new Set(readyAmong(this.#reach, instrument))
        append(ready, settled)
        for (const it of instrument) {
          const ref = settled.has(it.id) ? null : this.#reach.refOf(it)
          if (ref !== null) this.#backlog.push(ref)
        }
      }
      for (const id of ready) this.#invoked.add(id)
      const skipped = this.#reach.skipped
      this.#reach.skipped = []
      const reflection = this.#reach.reflection && !this.#reflectionTold
      this.#reflectionTold ||= reflection
      const revelation = { instrument, ready, skipped, reflection }
      debug.reveal?.(revelationText(cause(), performance.now() - started, revelation))
      return revelation
    } finally {
      this.#mirrors.trim()
      this.#analysisMs += performance.now() - started
    }
  }

  #decideInclusion(node: ClassNode): void {
    node.included = this.#filters.admits(node, this.#hierarchy)
    node.added = node.included && this.#filters.isAdded(node)
    node.followed = node.included || this.#filters.follows(node, this.#hierarchy)
    const isJdk = (node.flags & CLASS_JDK) !== 0 && (node.flags & (CLASS_OURS | CLASS_HIDDEN)) === 0
    if (this.#options.jdk && isJdk && !node.followed) this.#reach.jdkIsReadInPart()
  }

  #isJdk(id: number): boolean {
    return ((this.#hierarchy.get(id)?.flags ?? 0) & CLASS_JDK) !== 0
  }

  /** The hook may not know where a class comes from. A package belongs to one module of a loader. */
  #guessFlags(info: LoadingClass): number {
    const known = this.#jdkPackages.has(packageOf(info))
    return known || /^(?:java|jdk|sun)\//.test(info.name) ? CLASS_JDK : 0
  }
}

/** Of those that are looked at before the roots run, so many in a step: each looks into some classes. */
const METHODS_A_STEP = 500
const CLASSES_A_STEP = 250

/** Steps that need not guess because it is known what runs, on top of the usual ones. After them nothing seems to be known. */
const KNOWING_STEPS = 24
const HIDDEN_HERE = 'hidden class: calls of its own methods are not counted, what they call is'

const PROXY = /\$Proxy\d+$/

function asRoot({ node, method }: MethodRef): MethodTarget {
  const { index: methodIndex, name, descriptor } = method
  return { id: 1, classId: node.id, methodIndex, className: node.name, name, descriptor, root: true }
}

function packageOf(it: { readonly name: string; readonly loader: number }): string {
  return `${it.loader}:${it.name.slice(0, it.name.lastIndexOf('/') + 1)}`
}
