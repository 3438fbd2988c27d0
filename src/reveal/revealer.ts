// Revelation: receives classes and first invocations, and returns the methods to instrument next.
//
// This file is the interface of the folder: it orders events, turns them into requests to `reach.ts`, and
// packs the answers. `call-sites.ts` reads bytecode, `linker.ts` resolves names, `instrument/` changes
// code, and `session/` communicates with the JVM, seen from here as a RevealPort.
//
// Calls must not overlap; the session serialises them. A returned method may be in a class whose
// load hook has been answered but which the JVM has not defined yet (another class of the same load
// led to it): such a method is instrumented as soon as its class is defined.
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
  /** `a` selects all reachable methods at once, `b` on first invocations, `adaptive` the roots and requested methods. */
  readonly scheme: Scheme
  readonly roots: readonly RootPattern[]
  /** Whether threads started inside a root belong to it. */
  readonly followThreads?: boolean
  /** Scheme b: maximum number of methods in one of the first answers, beyond the direct callees. LOOK_AHEAD except in tests. */
  readonly lookAhead?: number
  /** Id of the first method; default 1. */
  readonly firstId?: number
  /** Maximum number of methods besides roots. Default: no limit. */
  readonly maxMethods?: number
}

export interface Revelation {
  readonly instrument: MethodTarget[]
  /** Ids of methods whose callees are all revealed: their probes need not ask. */
  readonly ready: number[]
  readonly skipped: Skipped[]
  /** True once: when Method.invoke and Constructor.newInstance must get their hook. */
  readonly reflection: boolean
}

export interface RevealCounters {
  readonly instrumentedMethods: number
  /** Time spent in revelation, including waits for class bytes. */
  readonly analysisMs: number
  readonly parsedClasses: number
  /** Number of classes and reflective targets that could not be read: their calls may be missing. */
  readonly gaps: number
}

/** A method by name, with all its overloads. */
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

  /** Whether the maximum number of methods was exceeded. */
  get isFull(): boolean {
    return this.#taker.isFull
  }

  /** Adds the initial list of loaded classes, and later deltas. Cheap: fetches and reveals nothing. */
  addClasses(infos: readonly ClassInfo[]): void {
    const touched = this.classes.add(infos)
    if (this.#started) for (const node of touched) this.#appeared.add(node)
  }

  /**
   * Selects the loaded roots; roots of unloaded classes stay armed. With scheme a, also selects all reachable methods.
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
      if (this.#options.scheme === 'adaptive') return
      // Without --jdk, excluded code calls the run() method of a thread as a callback, like that of a task.
      await this.#reach.takeUpcalls(this.#options.jdk && this.#options.followThreads === true)
    })
  }

  /**
   * Scheme b: called before the roots run. Selects the methods reachable from the roots and from all methods below them that are known
   * to run, as if these methods had been entered. This saves a step per method, and selects only methods that the saved steps would select.
   *
   * Runs in steps: on a server all steps need seconds, and classes in the load hook are handled between the steps.
   *
   * @param past  knowledge of this JVM's methods
   */
  rootsWillRun(past: Past): AsyncGenerator<Revelation, void, void> {
    return this.#lazy.rootsWillRun(past, (cause, step, settled) => this.#answer(cause, step, settled))
  }

  /**
   * Selects methods by name, in known classes that the filters include: for each pattern the best kind of match,
   * all overloads that have code.
   *
   * @returns methods to instrument, and patterns without any such method
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

  /** Called before `start`: excludes these methods. */
  beginLeftOut(isLeftOut: MethodFilter): void {
    this.#taker.leaveOut(isLeftOut)
  }

  /** Excludes these methods from now on; returns formerly excluded methods that must be instrumented. */
  async leaveOut(isLeftOut: MethodFilter): Promise<Revelation> {
    const cause = () => 'what is left out by hand has changed'
    return await this.#answer(cause, async () => {
      this.#taker.leaveOut(isLeftOut)
    })
  }

  /** Called before `start`: includes the targets that the user has added. */
  beginAdded(added: readonly Chosen[]): void {
    this.classes.include(added)
  }

  /**
   * Sets the targets included by the user: their reached methods are selected, for any filters. Selected methods
   * of former targets keep their ids; the caller excludes them.
   */
  async add(added: readonly Chosen[]): Promise<Revelation> {
    const cause = () => 'what is added by hand has changed'
    return await this.#answer(cause, async () => {
      const opened = this.classes.include(added)
      if (opened.length > 0) await this.#reach.opened(opened)
    })
  }

  /** Scheme b: handles a method's first invocation. Its id is returned in `ready`. */
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
   * Handles a class in the load hook: it is not defined yet, and its supertypes may not even be loaded. Methods
   * of this class may be returned; the hook rewrites them.
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

  /** Called after `addClasses` of a delta: handles classes that did not pass the hook, such as lambda proxies. */
  async classesAppeared(): Promise<Revelation> {
    const cause = () => 'classes have appeared'
    return await this.#answer(cause, async () => {})
  }

  /** Handles a method about to be invoked by reflection. Reveals nothing if it is excluded. */
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
   * Handles a hidden class that is about to be defined: its calls cannot be counted, and its bytes are not visible
   * later. The callees of all its methods count as called.
   *
   * @param hostId  class in whose name it is defined, which determines its loader and nest
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

  /** Handles classes changed by another agent: analyses the new code of methods that had been analysed before. */
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

  /** Handles a method refused by the JVM or the rewriter. Its callees are revealed with the next answer. */
  refused(methodId: number, reason: string): void {
    const target = this.methods.get(methodId)
    this.methods.dropped([methodId])
    this.roots.refused(target, reason)
    this.#taker.skip(target.className, target.name, target.descriptor, reason)
    const ref = this.classes.refOf(target)
    // With scheme a, or if the method ran before the refusal, its callees are revealed already.
    if (ref !== null && this.#options.scheme === 'b' && !this.#lazy.hasEntered(methodId)) {
      this.#lazy.entered([methodId])
      this.#taker.passed.push(ref)
    }
  }

  /**
   * Handles unloaded classes and loaders. Their methods keep
   * ids and names.
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
   * Returns callees of these methods that could be roots in their place, in code order.
   *
   * @param enough  maximum number of callees. Other requests wait until the callees are found
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
   * Runs one event, with classes that have appeared since the last event, and packs the selected methods.
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
        await this.roots.match(nodes, false)
        if (this.#options.scheme !== 'adaptive') await this.#reach.appeared(nodes)
      }
      await event()
      const { scheme } = this.#options
      if (scheme !== 'adaptive') await this.#reach.expandPassed()
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

  #takeFresh(): MethodTarget[] {
    const { fresh } = this.#taker
    this.#taker.fresh = []
    return fresh
  }

  /**
   * Scheme a: eager revelation of a call subgraph (JFluid paper, section 6.1). All methods that class hierarchy analysis finds reachable
   * from the roots, directly or transitively, are selected at once; a class loaded later adds its own, again
   * transitively. No method needs a first-invocation request, so every method is ready from the start.
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
