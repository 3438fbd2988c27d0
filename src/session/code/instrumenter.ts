// Turns revealed methods into redefined classes: fetches class bytes, rewrites methods, extends constant pools, sends all bodies in one
// batch, and handles methods that the rewriter or the JVM refuses.

import { crc32 } from 'node:zlib'
import { addTo, append } from '../../base/arrays.ts'
import { debug } from '../../base/debug.ts'
import { getOrAdd } from '../../base/maps.ts'
import { CLASS_GONE, classRefusal, hasOtherShape } from '../../base/refusal.ts'
import { type ClassFile, ClassFormatProblem } from '../../classfile/class-file.ts'
import { recentClassFile } from '../../classfile/recent.ts'
import {
  EXACT_TIME,
  type InstrumentedClass,
  instrumentClass,
  type MethodTask,
  type Probe,
  type Recipe,
} from '../../instrument/class.ts'
import type { HandOver } from '../../instrument/hand-over.ts'
import { SiteNumbers } from '../../instrument/sites.ts'
import type { WaitingMethod } from '../../instrument/waits.ts'
import type { MethodTarget } from '../../reveal/method-ids.ts'
import { refusedBodies } from '../../typecheck/rewritten.ts'
import type { Agent, Body, LoadAnswer } from '../../wire/agent.ts'
import type { RedefineResult } from '../../wire/messages.ts'
import { sourceName } from '../target-classes.ts'

/** Size of the cache of original class bytes. Above this size the oldest entries are dropped and fetched again when needed. */
const CACHE_BYTES = 96 << 20

/** Maximum number of classes per redefinition. A redefinition stops all threads for about 15 ms plus 0.08 ms per class. */
const CLASSES_AT_ONCE = 1_000

/** Matches HotSpot's messages for a class that cannot be linked. For such a class, retrying with fewer methods would also fail. */
const CANNOT_BE_LINKED = /invalid class\b|NoClassDefFoundError/

const NO_BYTES = 'the JVM does not show the bytes of its class'

/** A method to rewrite. It is found by name and descriptor, since the method's index in the JVM may differ from the class file. */
export interface Task {
  readonly id: number
  readonly classId: number
  readonly className: string
  readonly name: string
  readonly descriptor: string
  readonly probe: Probe
  readonly handOver?: HandOver
  readonly wait?: WaitingMethod
}

/** Returns whether a task instruments a method that the revealer has chosen. Probes of other tasks have other purposes. */
export function isTimed({ probe }: Task): boolean {
  return probe === 'method' || probe === 'root'
}

export function taskOf(target: MethodTarget): Task {
  return { ...target, probe: target.root ? 'root' : 'method' }
}

export interface Refusal {
  readonly task: Task
  readonly reason: string
}

/** A class with probes, and its original bytes. */
export interface ClassBefore {
  readonly id: number
  /** Internal class name. */
  readonly name: string
  /** Original bytes. Null if they are no longer in the cache. */
  readonly bytes: Uint8Array | null
  /** The methods with probes, as `name(descriptor)`. */
  readonly probed: ReadonlySet<string>
}

export interface InstrumenterOptions {
  /**
   * Returns whether the JVM skips the verification of a class. The types in the code of this class are then checked here. Default: true for
   * all classes.
   */
  readonly unverified?: (classId: number) => boolean
  /** Kind of probes, which defines the data that they report. Default: exact times. */
  readonly recipe?: Recipe
  /** Whether methods are marked as ready before they are instrumented, so that no first call waits. */
  readonly readyFirst?: boolean
  /** Called with the tasks before their probes run. */
  readonly onTasks?: (tasks: readonly Task[]) => void
  /** Replacement for the rewriter, used in tests of refusals. */
  readonly rewriter?: typeof instrumentClass
}

export class Instrumenter {
  private readonly bytes = new Map<number, Uint8Array>()
  private cached = 0
  /** Tasks that are installed in the target, keyed by class. */
  private readonly installed = new Map<number, Task[]>()
  /** Classes that cannot be instrumented: class id -> reason. */
  private readonly hopeless = new Map<number, string>()
  /** Ids of methods that keep their original code although they have tasks. */
  private leftOut: ReadonlySet<number> = new Set()
  private unloadedClasses = 0
  private highestId = 0

  constructor(
    private readonly agent: Agent,
    private readonly options: InstrumenterOptions = {},
  ) {}

  /** Returns whether the target has a rewritten body of this method. */
  has(methodId: number): boolean {
    for (const tasks of this.installed.values()) if (tasks.some(({ id }) => id === methodId)) return true
    return false
  }

  /** Returns the ids of methods whose code in the target has probes. */
  methodsWithProbes(): ReadonlySet<number> {
    const ids = new Set<number>()
    for (const tasks of this.installed.values())
      for (const { id } of tasks) if (!this.leftOut.has(id)) ids.add(id)
    return ids
  }

  get instrumentedClasses(): number {
    return this.installed.size + this.unloadedClasses
  }

  /** Returns the classes with probes, with their original bytes and the names of the methods with probes. */
  classesBefore(): ClassBefore[] {
    return [...this.installed].flatMap(([id, tasks]) => {
      const [task] = tasks
      if (task === undefined) return []
      const probed = new Set(tasks.map(({ name, descriptor }) => name + descriptor))
      return [{ id, name: task.className, bytes: this.bytes.get(id) ?? null, probed }]
    })
  }

  /** Returns class bytes as a retransformation sees them; null if the JVM does not provide them. Sends one batch. */
  async classBytes(ids: readonly number[]): Promise<(Uint8Array | null)[]> {
    const missing = ids.filter((id) => !this.bytes.has(id))
    const fetched = new Map<number, Uint8Array | null>()
    if (missing.length > 0) {
      const answers = await this.agent.classBytes(missing)
      missing.forEach((id, i) => {
        const bytes = answers[i] ?? null
        fetched.set(id, bytes)
        if (bytes !== null) this.remember(id, bytes)
      })
    }
    return ids.map((id) => fetched.get(id) ?? this.bytes.get(id) ?? null)
  }

  /**
   * Installs the tasks. Large sets are split into several redefinitions, and each part is rewritten just before it is sent, so that other
   * work can run in between. After the last part the methods are marked as ready, unless classes were loaded during the redefinitions.
   * If the bytes of a class have changed since they were read, they are read again, and the tasks of the class are retried once.
   */
  async install(
    tasks: readonly Task[],
    ready: readonly number[],
  ): Promise<{ refusals: Refusal[]; results: RedefineResult[] }> {
    const refusals: Refusal[] = []
    const results: RedefineResult[] = []
    let wanted: readonly Task[] = tasks
    let readyIds = ready
    let isReady: Promise<void> | undefined
    if (this.options.readyFirst === true && ready.length > 0) {
      for (const { id } of tasks) this.highestId = Math.max(this.highestId, id)
      // The agent may handle other requests first. Meanwhile the classes are rewritten, so the result is awaited later.
      isReady = this.agent.ready(ready, this.highestId)
      isReady.catch(() => {}) // the result is awaited below
      readyIds = []
    }
    for (let attempt = 0; attempt < 2; attempt++) {
      const again: Task[] = []
      const parts = inParts(wanted)
      for (const [i, part] of parts.entries()) {
        const { bodies, byClass } = await this.rewrite(part, refusals)
        // If an earlier part loaded classes, methods of the last part may call methods of these classes. So no method becomes ready here,
        // and the caller first checks the loaded classes.
        const unseen = results.some((it) => it.loadedClasses)
        const letGo = i === parts.length - 1 && !unseen ? readyIds : []
        if (bodies.length === 0 && letGo.length === 0) continue
        this.options.onTasks?.(part)
        await isReady
        const result = await this.agent.redefineMethods(bodies, letGo, this.highestId)
        results.push(result)
        append(again, await this.takeRefusals(result, byClass, attempt === 0, results, refusals))
      }
      if (again.length === 0) break
      wanted = again
      readyIds = []
    }
    await isReady
    return { refusals, results }
  }

  /** @returns tasks to be retried once */
  private async takeRefusals(
    { refused }: RedefineResult,
    byClass: ReadonlyMap<number, Task[]>,
    mayTryAgain: boolean,
    results: RedefineResult[],
    refusals: Refusal[],
  ): Promise<Task[]> {
    const reasons = new Map(refused.map(({ classId, reason }) => [classId, reason]))
    const again: Task[] = []
    for (const [classId, list] of byClass) {
      const reason = reasons.get(classId)
      if (reason === undefined) {
        this.installed.set(classId, [...(this.installed.get(classId) ?? []), ...list])
      } else if (mayTryAgain && reason.includes('have changed')) {
        debug.redefine?.(`class ${classId} is read again: ${reason}`)
        this.forget(classId)
        append(again, this.installed.get(classId) ?? [])
        append(again, list)
        this.installed.delete(classId)
      } else if (CANNOT_BE_LINKED.test(reason)) {
        this.hopeless.set(classId, reason)
        for (const task of list) refusals.push({ task, reason })
      } else if (mayTryAgain && list.length > 1 && !hasOtherShape(reason)) {
        this.takeRefused(list, await this.oneByOne(list, results, refusals), refusals)
      } else {
        const refused = list.map((task) => ({ task, reason }))
        this.takeRefused(list, refused, refusals)
      }
    }
    return again
  }

  /**
   * Handles refused tasks of one class. The class itself counts as refused if none of its methods has probes, or if the reason does not
   * depend on a method.
   * @param refused  refusals of `tasks`
   */
  private takeRefused(tasks: readonly Task[], refused: readonly Refusal[], refusals: Refusal[]): void {
    const { classId } = tasks[0]!
    const isBare = refused.length === tasks.length && (this.installed.get(classId)?.length ?? 0) === 0
    for (const { task, reason } of refused) {
      const isClass = (isBare && reason !== CLASS_GONE) || hasOtherShape(reason)
      const why = isClass ? classRefusal(reason) : reason
      refusals.push({ task, reason: why })
      // A class that has accepted probes before may accept other probes later.
      if (isBare && hasOtherShape(reason)) this.hopeless.set(classId, why)
    }
  }

  /**
   * Retries each method in a separate redefinition, so that a method that fails verification does not exclude the other methods.
   * @param refusals  the function adds the methods that the rewriter refuses
   * @returns the methods that the JVM refuses
   */
  private async oneByOne(
    tasks: readonly Task[],
    results: RedefineResult[],
    refusals: Refusal[],
  ): Promise<Refusal[]> {
    const refused: Refusal[] = []
    debug.redefine?.(
      `${sourceName(tasks[0]?.className ?? '')} was refused: its ${tasks.length} methods are tried one by one`,
    )
    for (const task of tasks) {
      const { bodies } = await this.rewrite([task], refusals)
      if (bodies.length === 0) continue
      const result = await this.agent.redefineMethods(bodies, [], this.highestId)
      results.push(result)
      const reason = result.refused[0]?.reason
      if (reason !== undefined) refused.push({ task, reason })
      else this.installed.set(task.classId, [...(this.installed.get(task.classId) ?? []), task])
    }
    return refused
  }

  /**
   * Returns the refusals of the rewriter for tasks, without installing the tasks. The JVM does not check the tasks, since that would need
   * a redefinition.
   */
  async refusalsOf(tasks: readonly Task[]): Promise<Refusal[]> {
    const { recipe = EXACT_TIME, rewriter = instrumentClass } = this.options
    // Uses separate call site numbers, since the numbers of the session are only for installed code.
    const apart = recipe.sites === undefined ? recipe : { ...recipe, sites: new SiteNumbers() }
    const refusals: Refusal[] = []
    const asTimed = () => false
    const ids = [...new Set(tasks.map(({ classId }) => classId))]
    const bases = await this.classBytes(ids)
    for (const task of tasks) {
      const base = bases[ids.indexOf(task.classId)] ?? null
      const hopeless = this.hopeless.get(task.classId)
      if (hopeless !== undefined || base === null) refusals.push({ task, reason: hopeless ?? NO_BYTES })
      else {
        rewriteClass(base, [task], refusals, 'judged', asTimed, (classFile, work) =>
          rewriter(classFile, work, apart),
        )
      }
    }
    return refusals
  }

  /**
   * Rewrites methods of a class that is being loaded, so that the class is defined with probes. Types are checked here for every loader:
   * if the JVM refuses a redefinition, nothing happens, but if it refuses a definition, the application gets a VerifyError.
   */
  atLoad(
    classId: number,
    bytes: Uint8Array,
    tasks: readonly Task[],
    ready: readonly number[],
  ): { answer: LoadAnswer; refusals: Refusal[] } {
    const refusals: Refusal[] = []
    const { poolBytes, poolEntries, bodies, done } = this.rewriteClass(classId, bytes, tasks, refusals, true)
    for (const task of tasks) this.highestId = Math.max(this.highestId, task.id)
    if (bodies.length > 0) {
      debug.redefine?.(
        `${sourceName(tasks[0]?.className ?? '')} is defined with ${bodies.length} bodies of ours`,
      )
      this.options.onTasks?.(tasks)
      // From now on `bytes` are the original bytes: HotSpot keeps the bytes that the hook received.
      this.remember(classId, bytes)
      this.installed.set(classId, done)
    }
    return { answer: { poolEntries, poolBytes, bodies, ready, highestId: this.highestId }, refusals }
  }

  /** Discards the data about a class. Called if the JVM has defined the class with other bytes. */
  forgetClass(classId: number): void {
    this.forget(classId)
    this.hopeless.delete(classId)
    this.installed.delete(classId)
  }

  /** Discards the data about classes that stay loaded. Returns their installed tasks, so that the caller can install these tasks again. */
  takeBack(classIds: readonly number[]): Task[] {
    return classIds.flatMap((id) => {
      const tasks = this.installed.get(id) ?? []
      this.forgetClass(id)
      return tasks
    })
  }

  /**
   * Makes `ids` the set of methods that keep their original code. `ids` must not contain roots.
   * @returns the tasks that the caller must install for this change
   */
  leaveOut(ids: ReadonlySet<number>): Task[] {
    const changed = new Set([...ids].filter((id) => !this.leftOut.has(id)))
    for (const id of this.leftOut) if (!ids.has(id)) changed.add(id)
    this.leftOut = new Set(ids)
    return this.reopened(changed)
  }

  /** Methods that keep their original code although they have tasks. */
  get leftOutMethods(): ReadonlySet<number> {
    return this.leftOut
  }

  /**
   * Reverts `leaveOut` for tasks that the JVM refused.
   * @param tasks  refused tasks. Tasks of methods that `leaveOut` did not change are allowed
   * @param before  `leftOutMethods` before the call of `leaveOut`
   */
  keepIn(tasks: readonly Task[], before: ReadonlySet<number>): void {
    const leftOut = new Set(this.leftOut)
    for (const task of tasks) {
      if (before.has(task.id)) leftOut.add(task.id)
      else leftOut.delete(task.id)
      const installed = this.installed.get(task.classId)
      if (installed?.includes(task) === false) this.installed.set(task.classId, [...installed, task])
    }
    this.leftOut = leftOut
  }

  /** Removes the tasks of the methods `changed` from the installed tasks, and returns the removed tasks. */
  private reopened(changed: ReadonlySet<number>): Task[] {
    return [...this.installed].flatMap(([classId, tasks]) => {
      const found = tasks.filter((it) => isTimed(it) && changed.has(it.id))
      if (found.length > 0)
        this.installed.set(
          classId,
          tasks.filter((it) => !found.includes(it)),
        )
      return found
    })
  }

  /** Discards the data about a class that the target has unloaded. */
  classUnloaded(classId: number): void {
    this.forget(classId)
    this.hopeless.delete(classId)
    if (this.installed.delete(classId)) this.unloadedClasses++
  }

  private async rewrite(
    tasks: readonly Task[],
    refusals: Refusal[],
  ): Promise<{ bodies: Body[]; byClass: Map<number, Task[]> }> {
    const grouped = new Map<number, Task[]>()
    for (const task of tasks) {
      const hopeless = this.hopeless.get(task.classId)
      if (hopeless !== undefined) {
        refusals.push({ task, reason: hopeless })
        continue
      }
      addTo(grouped, task.classId, task)
      this.highestId = Math.max(this.highestId, task.id)
    }
    const ids = [...grouped.keys()]
    const bases = await this.classBytes(ids)
    const bodies: Body[] = []
    const byClass = new Map<number, Task[]>()
    const extensions: Promise<void>[] = []
    ids.forEach((classId, i) => {
      const list = grouped.get(classId)!
      const base = bases[i] ?? null
      if (base === null) {
        for (const task of list) refusals.push({ task, reason: NO_BYTES })
        return
      }
      const rewritten = this.rewriteClass(classId, base, list, refusals)
      if (rewritten.bodies.length === 0) return
      extensions.push(
        this.agent.extendConstantPool(classId, crc32(base), rewritten.poolEntries, rewritten.poolBytes),
      )
      for (const body of rewritten.bodies) bodies.push({ classId, ...body })
      byClass.set(classId, rewritten.done)
    })
    await Promise.all(extensions)
    return { bodies, byClass }
  }

  private rewriteClass(
    classId: number,
    base: Uint8Array,
    tasks: readonly Task[],
    refusals: Refusal[],
    loading = false,
  ): RewrittenClass {
    const { unverified, recipe = EXACT_TIME, rewriter = instrumentClass } = this.options
    // A new body replaces the previous body. A method with both a timing probe and a reflection probe gets both.
    const same = (a: Task) => (b: Task) => a.name === b.name && a.descriptor === b.descriptor
    const kept = (this.installed.get(classId) ?? []).filter(
      (it) => !tasks.includes(it) && tasks.some(same(it)) && it.probe !== tasks.find(same(it))?.probe,
    )
    const all = [...kept, ...tasks]
    const check = (unverified?.(classId) ?? true) ? 'all' : loading ? 'judged' : 'none'
    const isLeftOut = ({ id }: Task) => this.leftOut.has(id)
    const refused: Refusal[] = []
    const rewritten = rewriteClass(base, all, refused, check, isLeftOut, (classFile, work) =>
      rewriter(classFile, work, recipe),
    )
    // The kept tasks stay installed even if the JVM refuses the new body.
    append(
      refusals,
      refused.filter(({ task }) => !kept.includes(task)),
    )
    const done = rewritten.done.map(({ task }) => task).filter((it) => !kept.includes(it))
    return { ...rewritten, done }
  }

  private remember(id: number, bytes: Uint8Array): void {
    this.forget(id)
    this.bytes.set(id, bytes)
    this.cached += bytes.length
    for (const [old] of this.bytes) {
      if (this.cached <= CACHE_BYTES) break
      this.forget(old)
    }
  }

  private forget(id: number): void {
    const old = this.bytes.get(id)
    if (old === undefined) return
    this.cached -= old.length
    this.bytes.delete(id)
  }
}

/** Splits tasks into at least one part. The tasks of a class stay together, and the order of classes is kept. */
function inParts(tasks: readonly Task[]): Task[][] {
  const parts: Task[][] = [[]]
  const partOf = new Map<number, Task[]>()
  for (const task of tasks) {
    const part = getOrAdd(partOf, task.classId, () => {
      const full = partOf.size > 0 && partOf.size % CLASSES_AT_ONCE === 0
      if (full) parts.push([])
      return parts[parts.length - 1]
    })
    part.push(task)
  }
  return parts
}

interface RewrittenBodies {
  poolBytes: Uint8Array
  poolEntries: number
  bodies: { methodIndex: number; code: Uint8Array }[]
}

interface RewrittenClass extends RewrittenBodies {
  done: Task[]
}

/** A task with the index of its method in the class file. */
interface Placed {
  readonly task: Task
  readonly methodIndex: number
}

/** An empty body: the agent then restores the original code of the method. */
const OWN_CODE = new Uint8Array()

/**
 * Selects the bodies that are type-checked by the client. `judged` skips bodies with subroutines, since this checker does not support
 * subroutines; the JVM verifies these bodies.
 */
type Check = 'all' | 'judged' | 'none'

function rewriteClass(
  base: Uint8Array,
  tasks: readonly Task[],
  refusals: Refusal[],
  check: Check,
  isLeftOut: (task: Task) => boolean,
  rewriter: (classFile: ClassFile, tasks: readonly MethodTask[]) => InstrumentedClass,
): RewrittenBodies & { done: Placed[] } {
  const nothing = { poolBytes: new Uint8Array(), poolEntries: 0, bodies: [], done: [] }
  let classFile: ClassFile
  try {
    classFile = recentClassFile(base)
  } catch (error) {
    if (!(error instanceof ClassFormatProblem)) throw error
    for (const task of tasks) refusals.push({ task, reason: error.message })
    return nothing
  }
  const indexed = tasks.flatMap((task) => {
    const method = classFile.methods.find((m) => m.name === task.name && m.descriptor === task.descriptor)
    if (method !== undefined) return [{ task, methodIndex: method.index }]
    refusals.push({ task, reason: 'the class no longer has this method' })
    return []
  })
  const hasOwnCode = ({ task }: Placed) => isTimed(task) && isLeftOut(task)
  const probed = indexed.filter((it) => !hasOwnCode(it))
  const result = rewriter(
    classFile,
    probed.map(({ task, methodIndex }) => {
      const { id, handOver, probe, wait } = task
      const base = { methodIndex, id, probe }
      return { ...base, ...(handOver !== undefined && { handOver }), ...(wait !== undefined && { wait }) }
    }),
  )
  const refused = new Set<Task>()
  const refuse = (at: number, reason: string, isRefused: (task: Task) => boolean = () => true) => {
    for (const { task, methodIndex } of indexed) {
      if (methodIndex !== at || !isRefused(task)) continue
      refusals.push({ task, reason })
      refused.add(task)
    }
  }
  const rewritten = new Set(result.bodies.map(({ methodIndex }) => methodIndex))
  for (const { methodIndex, id, reason } of result.skipped) {
    // If the method was rewritten for another id, only this task is refused.
    refuse(methodIndex, reason, (task) => !rewritten.has(methodIndex) || (isTimed(task) && task.id === id))
  }
  const problems =
    check === 'none' ? new Map<number, string>() : refusedBodies(classFile, result, check === 'all')
  for (const [methodIndex, reason] of problems) refuse(methodIndex, reason)
  const bodies = result.bodies.filter(({ methodIndex }) => !problems.has(methodIndex))
  const own = indexed.filter((it) => hasOwnCode(it) && !probed.some((o) => o.methodIndex === it.methodIndex))
  const isIn = new Set([...bodies, ...own].map(({ methodIndex }) => methodIndex))
  return {
    poolBytes: result.poolBytes,
    poolEntries: result.poolEntries,
    bodies: [
      ...bodies.map(({ methodIndex, code }) => ({ methodIndex, code })),
      ...own.map(({ methodIndex }) => ({ methodIndex, code: OWN_CODE })),
    ],
    // A method has one body, which may serve several tasks.
    done: indexed.filter(({ task, methodIndex }) => isIn.has(methodIndex) && !refused.has(task)),
  }
}
