// Revelation: receives loaded classes and first invocations of methods, and returns the methods that must be instrumented next.
//
// This file is the interface of the folder: it converts each event to requests to `reach.ts`, and returns
// the selected methods. `call-sites.ts` reads bytecode, `linker.ts` resolves names, `instrument/` changes
// code, and `session/` communicates with the JVM and provides the class files (RevealPort).
//
// Calls of these functions must not overlap; the session serialises them. A returned method may be in a class that has
// passed its load hook but that the JVM has not defined yet (for example while its superclass is loaded):
// such a method is instrumented as soon as its class is defined.
//
// Invariant: a method is returned in `instrument` at most once per session.

import { performance } from 'node:perf_hooks'
import { append, maxOf } from '../base/arrays.ts'
import type { ClassInfo } from '../base/class-info.ts'
import { debug, msText, some } from '../base/debug.ts'
import type { Scheme } from '../base/scheme.ts'
import { ACC_SYNTHETIC } from '../classfile/access.ts'
import type { Chosen } from './chosen.ts'
import { Classes, type ClassOptions, type LoadingClass, type MethodFilter } from './classes.ts'
import { type ClassNode, isHidden } from './hierarchy.ts'
import { Lazy, type Past } from './lazy.ts'
import { hasCode, type LoadedSite, type MethodRef } from './linker.ts'
import { MethodIds, type MethodTarget } from './method-ids.ts'
import { type RevealPort, sitesOf } from './mirror.ts'
import { matchesMethod, RANK_NONE, type RootPattern, rootRank } from './patterns.ts'
import { Reach } from './reach.ts'
import { Roots } from './roots.ts'
import { type Skipped, Taker } from './taker.ts'

export interface RevealOptions extends ClassOptions {
  /** `a` selects all reachable methods at once, `b` the callees of a method at its first call, `adaptive` roots and requested methods. */
  readonly scheme: Scheme
  readonly roots: readonly RootPattern[]
  /** Whether a thread that is started inside a root counts as part of this root. */
  readonly followThreads?: boolean
  /** Scheme b: maximum number of methods beyond the direct callees in each of the first answers. Default: LOOK_AHEAD, except in tests. */
  readonly lookAhead?: number
  /** Id of the first method; default 1. */
  readonly firstId?: number
  /** Maximum number of methods besides roots. Default: no limit. */
  readonly maxMethods?: number
}

export interface Revelation {
  readonly instrument: MethodTarget[]
  /** Ids of methods whose callees are all revealed: their probes need no first-invocation request. */
  readonly ready: number[]
  readonly skipped: Skipped[]
  /** Whether Method.invoke and Constructor.newInstance must get their hook now. True at most once per session. */
  readonly reflection: boolean
}

export interface RevealCounters {
  readonly instrumentedMethods: number
  /** Total time of the analysis, including waits for class bytes, ms. */
  readonly analysisMs: number
  readonly parsedClasses: number
  /** Number of classes and reflective targets that could not be read: their calls may be missing. */
  readonly gaps: number
}

/** A class and a method name, which stands for all overloads. */
export interface Callee {
  /** Internal name. */
  readonly className: string
  readonly name: string
}

export class Revealer {
  readonly methods: MethodIds
  readonly classes: Classes
  readonly roots: Roots
  readonly #options: RevealOptions
  readonly #taker: Taker
  readonly #reach: Reach
  readonly #lazy: Lazy
  readonly #appeared = new Set<ClassNode>()
  #started = false
  #reflectionTold = false
  #hasUpcalls = false
  #analysisMs = 0
  #gaps = 0

  constructor(options: RevealOptions, port: RevealPort) {
    const { exclude, include, scheme, maxMethods = Number.POSITIVE_INFINITY } = options
    this.#options = options
    this.methods = new MethodIds(options.firstId)
    this.classes = new Classes(options, port, () => this.#reach.jdkIsReadInPart())
    this.#taker = new Taker(this.classes, this.methods, maxMethods)
    const leavesOut = scheme === 'a' || include.length + exclude.length > 0
    this.#reach = new Reach(this.classes, this.#taker, leavesOut)
    this.#lazy = new Lazy(this.#reach, this.methods, options.lookAhead)
    this.roots = new Roots(options.roots, this.classes.linker, {
      includeRootClass: (node) => this.classes.includeRootClass(node),
      takeRoot: (ref) =>
        (this.#taker.take(ref, true) ?? this.methods.find(ref.node.id, ref.method.index))?.id ?? null,
    })
  }

  /** Whether a method was not selected because the maximum number of methods was reached. */
  get isFull(): boolean {
    return this.#taker.isFull
  }

  /** Adds loaded classes: first the complete list, later the new classes. Fast: fetches no class files and selects no methods. */
  addClasses(infos: readonly ClassInfo[]): void {
    const touched = this.classes.add(infos)
    if (this.#started) for (const node of touched) this.#appeared.add(node)
  }

  /**
   * Selects the roots in loaded classes. The other roots are selected when their classes are loaded. With scheme a, also selects all
   * reachable methods.
   *
   * @throws RootNotFound if a root's class is loaded and does not have the method
   * @throws AbstractOrNativeRoot if a root names only methods without bytecode
   * @throws RootNeverInstrumented if a root names only methods that must not be changed
   */
  async start(): Promise<Revelation> {
    const cause = () => `roots, scheme ${this.#options.scheme}`
    return await this.#answer(cause, async () => {
      this.#started = true
      await this.roots.match(this.classes.hierarchy.nodes(), true)
    })
  }

  /**
   * Scheme b: called before the roots run. Selects the callees of the roots, and the callees of all selected methods that are known
   * to run, as if these methods had been entered. This saves a step per method, and selects only methods that the saved steps would select.
   *
   * Works in steps, since the selection takes seconds in a large program. Classes in the load hook are handled between the steps.
   *
   * @param past  knowledge about methods that have run in this JVM
   */
  rootsWillRun(past: Past): AsyncGenerator<Revelation, void, void> {
    return this.#lazy.rootsWillRun(past, (cause, step, settled) => this.#answer(cause, step, settled))
  }

  /**
   * Selects methods by name in loaded classes that the filters include. For each pattern, selects the matches of the
   * highest rank (RANK_…), with all overloads that have code.
   *
   * @returns methods to instrument, and patterns that match no method with code
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
    const { linker, mirrors } = this.classes
    const named = this.classes
      .ordinary()
      .filter((it) => it.included)
      .map((node) => ({ node, rank: rootRank(pattern, node.name) }))
      .filter(({ rank }) => rank > RANK_NONE)
    await mirrors.fetch(named.map(({ node }) => node.id))
    const found = named.flatMap(({ node, rank }) =>
      linker
        .methodsOf(node)
        .filter((ref) => matchesMethod(pattern, ref.method.name, ref.method.descriptor) && hasCode(ref))
        .map((ref) => ({ rank, ref })),
    )
    const best = maxOf(
      found.map(({ rank }) => rank),
      RANK_NONE,
    )
    for (const { rank, ref } of found) if (rank === best) this.#taker.take(ref)
    return found.length > 0
  }

  /** Excludes methods. Called before `start`. */
  beginLeftOut(isLeftOut: MethodFilter): void {
    this.#taker.leaveOut(isLeftOut)
  }

  /** Sets the filter of excluded methods. Returns the methods that are no longer excluded and must be instrumented. */
  async leaveOut(isLeftOut: MethodFilter): Promise<Revelation> {
    const cause = () => 'what is left out by hand has changed'
    return await this.#answer(cause, async () => {
      this.#taker.leaveOut(isLeftOut)
    })
  }

  /** Includes the targets that the user has added. Called before `start`. */
  beginAdded(added: readonly Chosen[]): void {
    this.classes.include(added)
  }

  /**
   * Sets the targets that the user has included, and selects their reached methods, even if the options exclude these methods. If a
   * target is no longer included, its selected methods keep their ids, and the caller excludes the methods.
   */
  async add(added: readonly Chosen[]): Promise<Revelation> {
    const cause = () => 'what is added by hand has changed'
    return await this.#answer(cause, async () => {
      const opened = this.classes.include(added)
      if (opened.length > 0) await this.#reach.opened(opened)
    })
  }

  /** Scheme b: handles the first invocation of a method. The field `ready` of the result contains the method's id. */
  async firstInvocation(methodId: number): Promise<Revelation> {
    const target = this.methods.get(methodId)
    const entered = [methodId]
    const cause = () => `first call of ${methodText(target)}`
    const enter = async () => {
      const isDone = this.#options.scheme === 'a' || this.#lazy.hasEntered(methodId)
      if (!isDone) await this.#lazy.first(target, entered)
    }
    return await this.#answer(cause, enter, entered)
  }

  /**
   * Handles a class in the load hook. The class is not defined yet, and its supertypes may not be loaded. Methods
   * of this class may be returned; they are instrumented in the hook.
   */
  async classLoading(info: LoadingClass, bytes: Uint8Array): Promise<Revelation> {
    const cause = () => `class ${info.name.replaceAll('/', '.')} is being loaded`
    return await this.#answer(cause, async () => {
      const { node, waiters, mirror } = this.classes.loading(info, bytes)
      this.#appeared.delete(node)
      await this.roots.match([node], false)
      this.#reach.hooked(node, mirror)
      await this.#reach.appeared([node, ...waiters])
    })
  }

  /** Handles new classes that did not pass the load hook, such as lambda proxies. Called after `addClasses`. */
  async classesAppeared(): Promise<Revelation> {
    const cause = () => 'classes have appeared'
    return await this.#answer(cause, async () => {})
  }

  /** Handles a method that is about to be invoked by reflection. Selects nothing if the method is excluded. */
  async reflectiveTarget(classId: number, name: string, descriptor: string): Promise<Revelation> {
    const cause = () => `${name}${descriptor} of class ${classId} is called by reflection or a handle`
    return await this.#answer(cause, async () => {
      const node = this.classes.hierarchy.get(classId)
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
   * Handles a hidden class that is about to be defined. Calls of its methods cannot be counted, and its bytes are not available
   * later. So the callees of all its methods are selected now.
   *
   * @param hostId  id of the lookup class that defines the hidden class, and determines its loader and nest
   */
  async hiddenClass(hostId: number, bytes: Uint8Array): Promise<Revelation> {
    const cause = () => `a hidden class is being defined for class ${hostId}`
    return await this.#answer(cause, async () => {
      const host = this.classes.hierarchy.get(hostId)
      if (host?.followed !== true) return
      const found = sitesOf(bytes)
      if (found === null) {
        this.#gaps++
        return
      }
      if (host.included) this.#taker.skip(found.className, '*', '', HIDDEN_HERE)
      await this.#reach.reach(found.sites.map((site) => ({ site, loader: host.loader })))
    })
  }

  /** Handles classes that another agent has changed: analyses the new code of methods whose old code was analysed. */
  async classesChanged(classIds: readonly number[]): Promise<Revelation> {
    const cause = () => `another agent has redefined ${classIds.length} classes`
    return await this.#answer(cause, async () => {
      if (this.#options.scheme === 'adaptive') return
      const again: MethodRef[] = []
      for (const id of classIds) {
        const node = this.classes.hierarchy.get(id)
        if (node === undefined) continue
        this.classes.mirrors.forgetFile(id)
        for (const ref of this.classes.linker.methodsOf(node)) {
          const target = this.methods.find(id, ref.method.index)
          const waits =
            this.#options.scheme === 'b' && target !== undefined && !this.#lazy.hasEntered(target.id)
          if (this.#taker.isDecided(ref) && !waits) again.push(ref)
        }
      }
      if (again.length > 0) await this.#reach.expand(again)
    })
  }

  /** Handles a method whose instrumentation failed in jfluid or was refused by the JVM. The next answer contains its callees. */
  refused(methodId: number, reason: string): void {
    const target = this.methods.get(methodId)
    this.methods.dropped([methodId])
    this.roots.refused(target, reason)
    this.#taker.skip(target.className, target.name, target.descriptor, reason)
    const ref = this.classes.refOf(target)
    // With scheme a, or if the method has already sent its first-invocation request, its callees are revealed already.
    if (ref !== null && this.#options.scheme === 'b' && !this.#lazy.hasEntered(methodId)) {
      this.#lazy.entered([methodId])
      this.#taker.passed.push(ref)
    }
  }

  /**
   * Handles unloaded classes and loaders. Their methods keep
   * their ids and names, which the profile needs.
   */
  unloaded(classes: readonly number[], loaders: readonly number[]): void {
    const gone = new Set(classes)
    this.#reach.unloaded(gone, new Set(loaders))
    this.#lazy.unloaded(gone)
    for (const node of this.#appeared) if (gone.has(node.id)) this.#appeared.delete(node)
    this.classes.unloaded(gone)
  }

  /**
   * Checks whether these patterns could be roots in the loaded classes. Selects nothing.
   *
   * @returns their methods, with provisional ids
   * @throws RootNotFound, AbstractOrNativeRoot, RootNeverInstrumented, RootNotLoaded
   */
  async checkRoots(patterns: readonly RootPattern[]): Promise<MethodTarget[]> {
    const usable = await this.roots.check(patterns, (ref) => this.classes.isUsable(ref))
    this.classes.mirrors.trim()
    return usable
  }

  /**
   * Returns callees of these methods that could be roots instead of these methods, in code order.
   *
   * @param enough  number of callees after which the search ends: other requests wait until it ends
   */
  async callees(methodIds: Iterable<number>, enough: number): Promise<Callee[]> {
    const found = new Map<string, Callee>()
    for (const id of methodIds) {
      if (found.size >= enough) break
      const ref = this.classes.refOf(this.methods.get(id))
      for (const { node, method } of ref === null ? [] : await this.#reach.calleesOf(ref)) {
        const own = node === ref?.node && method === ref.method
        if (own || !node.included || isHidden(node)) continue
        if (!hasCode({ node, method }) || (method.access & ACC_SYNTHETIC) !== 0) continue
        const callee = { className: node.name, name: method.name }
        found.set(`${callee.className}.${callee.name}`, callee)
      }
    }
    this.classes.mirrors.trim()
    return [...found.values()]
  }

  get counters(): RevealCounters {
    return {
      instrumentedMethods: this.methods.withProbes,
      analysisMs: this.#analysisMs,
      parsedClasses: this.classes.mirrors.parsed,
      gaps: this.#gaps + this.classes.mirrors.unreadable,
    }
  }

  /**
   * First handles the classes that were added since the last event, then the event. Returns the selected methods.
   *
   * @param cause  returns the name of the event for the debug log
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
        await this.roots.match(nodes, false)
        if (this.#options.scheme !== 'adaptive') await this.#reach.appeared(nodes)
      }
      await event()
      const { scheme } = this.#options
      if (scheme !== 'adaptive') {
        await this.#takeUpcalls()
        await this.#reach.expandPassed()
      }
      const instrument = scheme === 'a' ? await this.#takeAll() : this.#takeFresh()
      const ready = [...settled]
      append(ready, scheme === 'b' ? this.#lazy.readyAmong(instrument) : instrument.map(({ id }) => id))
      this.#lazy.entered(ready)
      const { skipped } = this.#taker
      this.#taker.skipped = []
      const reflection = this.#taker.reflection && !this.#reflectionTold
      this.#reflectionTold ||= reflection
      const revelation = { instrument, ready, skipped, reflection }
      debug.reveal?.(revelationText(cause(), performance.now() - started, revelation))
      return revelation
    } finally {
      this.classes.mirrors.trim()
      this.#analysisMs += performance.now() - started
    }
  }

  /**
   * Selects methods that are called without a call site, as soon as there is a root. Until then no call of them is recorded, and in a
   * large program they are many: with scheme a, everything that its class loaders call.
   */
  async #takeUpcalls(): Promise<void> {
    if (this.#hasUpcalls || !this.roots.isFound) return
    // Without --jdk, run() of a thread needs no upcall: like run() of a task, it is a callback from JDK code.
    await this.#reach.takeUpcalls(this.#options.jdk && this.#options.followThreads === true)
    this.#hasUpcalls = true
  }

  #takeFresh(): MethodTarget[] {
    const { fresh } = this.#taker
    this.#taker.fresh = []
    return fresh
  }

  /**
   * Scheme a: eager revelation of a call subgraph (JFluid paper, section 6.1). Selects all methods that are reachable from the roots,
   * directly or indirectly, by class hierarchy analysis. When a class is loaded later, the methods that become reachable
   * are selected, too. No method needs a first-invocation request.
   */
  async #takeAll(): Promise<MethodTarget[]> {
    const taken: MethodTarget[] = []
    for (;;) {
      const batch = this.#takeFresh()
      if (batch.length === 0) return taken
      append(taken, batch)
      await this.#reach.expand(this.#reach.refsOf(batch))
    }
  }
}

const HIDDEN_HERE = 'hidden class: calls of its methods are not counted, but calls made by them are'

/**
 * Formats a revelation for the debug log.
 *
 * @param cause  event that caused it
 * @param ms     duration, including the fetching of class bytes
 */
function revelationText(cause: string, ms: number, revelation: Revelation): string {
  const { instrument, ready, skipped, reflection } = revelation
  const parts = [
    instrument.length === 0 ? 'no methods' : `${instrument.length} methods: ${some(instrument, methodText)}`,
    ...(ready.length === 0 ? [] : [`${ready.length} ready`]),
    ...(skipped.length === 0
      ? []
      : [
          `left out ${skipped.length}: ${some(skipped, ({ className, method, reason }) => `${methodText({ className, name: method })} (${reason})`)}`,
        ]),
    ...(reflection ? ['reflection is hooked'] : []),
  ]
  return `${cause}, ${msText(ms)}: ${parts.join('; ')}`
}

function methodText({ className, name }: Pick<MethodTarget, 'className' | 'name'>): string {
  return `${className.replaceAll('/', '.')}.${name}`
}
