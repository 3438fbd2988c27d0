// From methods that were revealed to redefined classes: fetch base bytes, rewrite, extend pools, send
// one batch, and deal with what the rewriter or the JVM refuses.

import { crc32 } from 'node:zlib'
import { append } from '../../base/arrays.ts'
import { debug } from '../../base/debug.ts'
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

/** Base bytes kept for classes that may be rewritten again; beyond it the oldest are fetched anew. */
const CACHE_BYTES = 96 << 20

/** The world stands still for some 15 ms, and for 0.08 ms more with each class. */
const CLASSES_AT_ONCE = 1_000

/** What HotSpot says of a class that cannot be linked, whatever its methods are: no other attempt will do better. */
const CANNOT_BE_LINKED = /invalid class\b|NoClassDefFoundError/

const NO_BYTES = 'the JVM does not show the bytes of its class'

/** A method to rewrite. Found by name and descriptor: the JVM may order methods otherwise than the file. */
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

/** Whether it times a method that the revealer has chosen; else the probe is there for its own sake. */
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

/** A class that has probes, and its bytes from before. */
export interface ClassBefore {
  readonly id: number
  /** Internal. */
  readonly name: string
  /** Null where they are no longer kept. */
  readonly bytes: Uint8Array | null
  /** The methods with probes, by `name(descriptor)`. */
  readonly probed: ReadonlySet<string>
}

export interface InstrumenterOptions {
  /** The JVM takes code for this class as it comes: we check its types before. All classes unless given. */
  readonly unverified?: (classId: number) => boolean
  /** What the probes tell: exact time, unless given. */
  readonly recipe?: Recipe
  /** No first call of a method asks: methods are ready before their probes are in. */
  readonly readyFirst?: boolean
  /** Told of the tasks before their probes run. */
  readonly onTasks?: (tasks: readonly Task[]) => void
  /** Tests put a broken one here. */
  readonly rewriter?: typeof instrumentClass
}

export class Instrumenter {
  private readonly bytes = new Map<number, Uint8Array>()
  private cached = 0
  /** Tasks whose bodies the target holds, by class. */
  private readonly installed = new Map<number, Task[]>()
  /** Classes in which no method will get probes, with the reason. */
  private readonly hopeless = new Map<number, string>()
  /** These have their own code whatever else is wanted of them. */
  private leftOut: ReadonlySet<number> = new Set()
  private unloadedClasses = 0
  private highestId = 0

  constructor(
    private readonly agent: Agent,
    private readonly options: InstrumenterOptions = {},
  ) {}

  /** Whether the target holds the body of this method with its probes. */
  has(methodId: number): boolean {
    for (const tasks of this.installed.values()) if (tasks.some(({ id }) => id === methodId)) return true
    return false
  }

  /** Ids of methods whose code in the target has probes. */
  methodsWithProbes(): ReadonlySet<number> {
    const ids = new Set<number>()
    for (const tasks of this.installed.values())
      for (const { id } of tasks) if (!this.leftOut.has(id)) ids.add(id)
    return ids
  }

  get instrumentedClasses(): number {
    return this.installed.size + this.unloadedClasses
  }

  /** Classes that have probes, as they were before, and which of their methods have some. */
  classesBefore(): ClassBefore[] {
    return [...this.installed].flatMap(([id, tasks]) => {
      const [task] = tasks
      if (task === undefined) return []
      const probed = new Set(tasks.map(({ name, descriptor }) => name + descriptor))
      return [{ id, name: task.className, bytes: this.bytes.get(id) ?? null, probed }]
    })
  }

  /** Class bytes as a retransformation sees them; null where the JVM shows none. One batch. */
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
   * Installs the tasks' bodies, as many as the target bears in one redefinition, each part rewritten when it is due: in
   * between, others have their turn. Marks methods as ready after the last, unless classes were loaded meanwhile.
   *
   * A class whose bytes have changed since they were read is read again and tried once more.
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
      // The agent may have more to do before that: the classes are rewritten meanwhile.
      isReady = this.agent.ready(ready, this.highestId)
      isReady.catch(() => {}) // it is waited for below
      readyIds = []
    }
    for (let attempt = 0; attempt < 2; attempt++) {
      const again: Task[] = []
      const parts = inParts(wanted)
      for (const [i, part] of parts.entries()) {
        const { bodies, byClass } = await this.rewrite(part, refusals)
        // What the last lets go may call what an earlier one has loaded: the caller looks at that first.
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

  /** @returns what is to be tried once more */
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
   * If nothing of a class is in, or its other methods do not matter, the class was refused.
   *
   * @param refused  of these tasks, which are of one class
   */
  private takeRefused(tasks: readonly Task[], refused: readonly Refusal[], refusals: Refusal[]): void {
    const { classId } = tasks[0]!
    const isBare = refused.length === tasks.length && (this.installed.get(classId)?.length ?? 0) === 0
    for (const { task, reason } of refused) {
      const isClass = (isBare && reason !== CLASS_GONE) || hasOtherShape(reason)
      const why = isClass ? classRefusal(reason) : reason
      refusals.push({ task, reason: why })
      // One that has taken probes before may take others again.
      if (isBare && hasOtherShape(reason)) this.hopeless.set(classId, why)
    }
  }

  /**
   * One method the verifier rejects must not cost the class the others.
   *
   * @param refusals  takes those of the rewriter
   * @returns those of the JVM
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

  /** What the rewriter says to these, of which nothing is installed. The JVM is not asked: that would be a redefinition. */
  async refusalsOf(tasks: readonly Task[]): Promise<Refusal[]> {
    const { recipe = EXACT_TIME, rewriter = instrumentClass } = this.options
    // Numbers of call sites are those of what is installed.
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
   * Rewrites methods of a class that is being loaded: they go in with its definition. Types are checked here
   * whoever the loader is: where the JVM refuses a redefinition, nothing has happened, but a class that it refuses
   * to define is a VerifyError in the application.
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
      // From now on these are the base bytes: HotSpot keeps what the hook was shown.
      this.remember(classId, bytes)
      this.installed.set(classId, done)
    }
    return { answer: { poolEntries, poolBytes, bodies, ready, highestId: this.highestId }, refusals }
  }

  /** What is known of a class was true of bytes that the JVM did not define. */
  forgetClass(classId: number): void {
    this.forget(classId)
    this.hopeless.delete(classId)
    this.installed.delete(classId)
  }

  /** The same for classes that are defined and stay. Returns what was installed, to be installed anew. */
  takeBack(classIds: readonly number[]): Task[] {
    return classIds.flatMap((id) => {
      const tasks = this.installed.get(id) ?? []
      this.forgetClass(id)
      return tasks
    })
  }

  /**
   * From now on these methods, and no others, have their own code whatever else is wanted of them. Not for roots.
   *
   * @returns what is to be installed for that
   */
  leaveOut(ids: ReadonlySet<number>): Task[] {
    const changed = new Set([...ids].filter((id) => !this.leftOut.has(id)))
    for (const id of this.leftOut) if (!ids.has(id)) changed.add(id)
    this.leftOut = new Set(ids)
    return this.reopened(changed)
  }

  /** Methods that have their own code whatever else is wanted of them. */
  get leftOutMethods(): ReadonlySet<number> {
    return this.leftOut
  }

  /**
   * The JVM would not have it: these are as they were.
   *
   * @param before  `leftOutMethods` before `leaveOut`. What is refused may be more than what was to change: all of a class
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

  /** Tasks of these methods, which count as not installed until they are again. */
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

  /** The target has dropped the class, and with it what was installed. */
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
      const list = grouped.get(task.classId)
      if (list === undefined) grouped.set(task.classId, [task])
      else list.push(task)
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
    // A body replaces the one before it. A method that is timed and hooked for reflection gets both, whichever came first.
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
    // What is kept is in, whatever becomes of the new body.
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

/** At least one. The tasks of a class stay together, in the order of the classes. */
function inParts(tasks: readonly Task[]): Task[][] {
  const parts: Task[][] = [[]]
  const partOf = new Map<number, Task[]>()
  for (const task of tasks) {
    let part = partOf.get(task.classId)
    if (part === undefined) {
      const full = partOf.size > 0 && partOf.size % CLASSES_AT_ONCE === 0
      if (full) parts.push([])
      part = parts[parts.length - 1]
      partOf.set(task.classId, part)
    }
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

/** A task, and the method that it is for. */
interface Placed {
  readonly task: Task
  readonly methodIndex: number
}

/** In place of a body: the method has its own code. */
const OWN_CODE = new Uint8Array()

/** Which bodies we type-check: `judged` leaves those to the JVM that our checker cannot judge (subroutines). */
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
    // A method that was rewritten all the same is timed under another id.
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
    // A method has one body, and there may be several tasks in it.
    done: indexed.filter(({ task, methodIndex }) => isIn.has(methodIndex) && !refused.has(task)),
  }
}
