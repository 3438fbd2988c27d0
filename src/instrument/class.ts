// Instruments one class: the methods that get probes, and the constants that the class needs.
//
// The input is the class bytes from the JVM. The output is the new method bodies and the constants to append; the
// agent inserts them into the class (see `classfile/splice.ts`). If a method cannot be instrumented, the output contains the
// reason; no exception is thrown, since class files belong to other programs.

import { ACC_ABSTRACT, ACC_NATIVE, ACC_STATIC } from '../classfile/access.ts'
import { type ClassFile, ClassFormatProblem, type MethodInfo } from '../classfile/class-file.ts'
import { MAX_POOL_COUNT } from '../classfile/constant-pool.ts'
import { ALOAD_0 } from '../classfile/opcodes.ts'
import type { SplicedBody } from '../classfile/splice.ts'
import type { BlockAnalysis } from './blocks.ts'
import { ANALYSES, type BlockCounting } from './counting.ts'
import {
  HAND_OVER_CLASSES,
  HAND_OVER_SLOTS,
  type HandOver,
  handOverEntry,
  handOverExit,
  handOverReturn,
} from './hand-over.ts'
import { HANDLE_MEMBER_CLASS, HANDLE_MEMBER_RESULT } from './handle-members.ts'
import { leafOf } from './leaf.ts'
import { instrumentMethod, type MethodProbes } from './method.ts'
import { call, idProbe, idSlots, MAX_ID, pushId } from './probe.ts'
import { NotInstrumentable } from './problem.ts'
import { type CodeRegion, REGION_SLOTS } from './regions.ts'
import { RUNTIME_CLASS, type RuntimeBlock, runtimeBlock, VALUE_TYPES, valueType } from './runtime.ts'
import { SAMPLE_SLOTS } from './sampling.ts'
import { returnedClasses } from './shared-exits.ts'
import type { SiteNumbers } from './sites.ts'
import { ROOT_VALUE_SLOTS, rootValueEntry, rootValueReturn, type ValueStart } from './values.ts'
import { WAIT_SLOTS, type WaitingMethod, type WaitRecipe, waitEntry } from './waits.ts'

/**
 * `method`: writes events at entry and exits, while the thread is inside a root.
 * `root`: like `method`, but also counts the thread as inside a root from entry to exit.
 * `reflection`: for JDK methods that call a method by reflection or a handle. Passes the receiver, or the first
 * argument of a static method, to the runtime. Can be combined with another probe.
 * `hand-over`: for JDK methods that submit or run tasks. Can be combined with another probe.
 * `wait`: for JDK methods that only wait. Can be combined with another probe.
 * `handle-member`: for JDK methods that resolve the callee of a method handle (handle-members.ts). Can be combined with another probe.
 */
export type Probe = Timing | 'reflection' | 'hand-over' | 'wait' | 'handle-member'
type Timing = 'method' | 'root'

export interface MethodTask {
  readonly methodIndex: number
  /** Method id, below 2^22. Only tasks with probe `method` or `root` have an id. */
  readonly id: number
  readonly probe: Probe
  /** Data that a `hand-over` probe passes to the runtime. */
  readonly handOver?: HandOver
  /** Data that a `wait` probe passes to the runtime. */
  readonly wait?: WaitingMethod
}

interface InstrumentedBody extends SplicedBody {
  readonly id: number
}

export interface SkippedMethod extends Pick<MethodTask, 'methodIndex' | 'id'> {
  readonly reason: string
}

export interface InstrumentedClass {
  /** Raw constant pool entries to append. They are the same each time the class is instrumented. */
  readonly poolBytes: Uint8Array
  /** Number of pool slots of these entries. */
  readonly poolEntries: number
  /** New bodies of the instrumented methods, at most one per method. */
  readonly bodies: readonly InstrumentedBody[]
  readonly skipped: readonly SkippedMethod[]
}

/**
 * Events written by the probes of methods and roots.
 *
 * `tells` is the content of the events. `time`: time stamps; with `waits`, also waits of threads; with `switched`, methods can be switched
 * on and off, and with `values`, roots store the values from which these paths start. `calls`: no content. `bytecodes`: numbers of executed
 * bytecodes, by an analysis of basic blocks. `samples`: the stack, when a sample is due. `allocations`: allocated bytes. `regions`:
 * durations of regions of roots; methods without regions are unchanged. `jdk`: whether JDK classes have probes, too. `sites`: numbers for
 * call sites; if present, each call also reports its call site.
 */
export type Recipe = { readonly sites?: SiteNumbers } & (
  | {
      readonly tells: 'time'
      readonly waits?: WaitRecipe
      readonly switched?: boolean
      readonly values?: readonly ValueStart[]
    }
  | { readonly tells: 'calls'; readonly jdk: boolean }
  | { readonly tells: 'samples' }
  | { readonly tells: 'bytecodes'; readonly blocks: BlockCounting | BlockAnalysis; readonly jdk: boolean }
  | { readonly tells: 'allocations'; readonly jdk: boolean; readonly liveness?: boolean }
  | RegionRecipe
)

export interface RegionRecipe {
  readonly tells: 'regions'
  /** Number of this session in the target's runtime. */
  readonly session: number
  /** Returns the regions of a method; empty for a method without regions. */
  regionsOf(classFile: ClassFile, method: MethodInfo, id: number): readonly CodeRegion[]
}

const CLOCKS = {
  time: 'time',
  calls: 'executed',
  bytecodes: 'executed',
  samples: 'executed',
  allocations: 'allocated',
  regions: 'regions',
} as const

export const EXACT_TIME: Recipe = { tells: 'time' }

export function instrumentClass(
  classFile: ClassFile,
  tasks: readonly MethodTask[],
  recipe: Recipe = EXACT_TIME,
): InstrumentedClass {
  const block = blockFor(classFile, recipe)
  const probing = new Probing(classFile, recipe, block)
  const bodies: InstrumentedBody[] = []
  const skipped: SkippedMethod[] = []
  const refusal = refuse(classFile, block)
  for (const work of byMethod(tasks, skipped)) {
    const { methodIndex, id } = work
    try {
      if (refusal !== undefined) throw new NotInstrumentable(refusal)
      const method = instrumentable(classFile, work)
      const probes = probing.of(work, method)
      if (probes === undefined) continue
      const code = instrumentMethod(classFile, method, probes, block)
      bodies.push({ methodIndex, id, code })
    } catch (problem) {
      skipped.push({ methodIndex, id, reason: reasonOf(problem) })
    }
  }
  const { poolBytes, poolEntries } = block
  return { poolBytes, poolEntries, bodies, skipped }
}

function blockFor(classFile: ClassFile, recipe: Recipe): RuntimeBlock {
  const { methods, name, pool } = classFile
  const wanted = {
    clock: CLOCKS[recipe.tells],
    // Class names for the frames of shared exits. Empty unless probes may make a method too long.
    returned: returnedClasses(classFile, recipe.tells),
    handleMembers: name === HANDLE_MEMBER_CLASS,
  }
  if (recipe.tells === 'regions') return runtimeBlock(pool, wanted)
  const values = new Set(methods.map(({ descriptor }) => valueType(descriptor)))
  return runtimeBlock(pool, {
    ...wanted,
    values: recipe.tells === 'samples' ? [] : VALUE_TYPES.filter((type) => values.has(type)),
    handsOver: HAND_OVER_CLASSES.has(name),
    samples: recipe.tells === 'samples',
    sites: recipe.sites !== undefined,
    leaves: hasLeaves(recipe),
    ...(recipe.tells === 'time' && {
      ...(recipe.switched && { clock: 'switched' }),
      waitsOf: recipe.waits && name,
      rootValues: recipe.values !== undefined,
    }),
  })
}

/** Probes for one method. */
interface Work extends Pick<MethodTask, 'methodIndex' | 'id'> {
  timing?: Timing
  reflection?: boolean
  handOver?: HandOver | undefined
  wait?: WaitingMethod | undefined
  handleMember?: boolean
}

const isTiming = (probe: Probe): probe is Timing => probe === 'method' || probe === 'root'

/** Combines the tasks of each method. If two tasks have the probe `method` or `root` for the same method, the second task is skipped. */
function byMethod(tasks: readonly MethodTask[], skipped: SkippedMethod[]): Work[] {
  const works = new Map<number, Work>()
  // Tasks with `method` or `root` come first, since their id identifies the new body.
  const ordered = [...tasks].sort((a, b) => Number(isTiming(b.probe)) - Number(isTiming(a.probe)))
  for (const { methodIndex, id, probe, handOver, wait } of ordered) {
    const work: Work = works.get(methodIndex) ?? { methodIndex, id }
    works.set(methodIndex, work)
    if (probe === 'reflection') work.reflection = true
    else if (probe === 'hand-over') work.handOver = handOver
    else if (probe === 'wait') work.wait = wait
    else if (probe === 'handle-member') work.handleMember = true
    else if (work.timing === undefined) work.timing = probe
    else skipped.push({ methodIndex, id, reason: `has probes already, as method ${work.id}` })
  }
  return [...works.values()]
}

function refuse(classFile: ClassFile, block: RuntimeBlock): string | undefined {
  if (classFile.name === RUNTIME_CLASS) return 'is the profiler itself'
  if (classFile.pool.count + block.poolEntries > MAX_POOL_COUNT) return 'no room in the constant pool'
  return undefined
}

function instrumentable({ methods }: ClassFile, work: Work): MethodInfo {
  const { methodIndex, id, timing, reflection, handleMember } = work
  const method = methods[methodIndex]
  if (method === undefined) throw new NotInstrumentable('no such method')
  if (method.access & ACC_ABSTRACT) throw new NotInstrumentable('abstract')
  if (method.access & ACC_NATIVE) throw new NotInstrumentable('native')
  if (timing !== undefined && !(id >= 0 && id <= MAX_ID))
    throw new NotInstrumentable(`id ${id} is out of range`)
  if (reflection && !tellsOfAnObject(method)) {
    throw new NotInstrumentable('has no object to report to the runtime')
  }
  if (handleMember && !method.descriptor.endsWith(`)${HANDLE_MEMBER_RESULT}`)) {
    throw new NotInstrumentable('does not return the target of a method handle')
  }
  return method
}

/** Returns whether local 0 holds an object at method entry: the receiver, or the first argument of a static method. */
function tellsOfAnObject({ access, name, descriptor }: MethodInfo): boolean {
  return (access & ACC_STATIC) === 0 ? name !== '<init>' : /^\([L[]/.test(descriptor)
}

/** Selects the probes for the methods of a class. */
class Probing {
  constructor(
    private readonly classFile: ClassFile,
    private readonly recipe: Recipe,
    private readonly refs: RuntimeBlock,
  ) {}

  /** Returns the probes of a method; undefined if the method needs none. */
  of(work: Work, method: MethodInfo): MethodProbes | undefined {
    const { recipe, refs } = this
    if (recipe.tells === 'regions' && work.timing !== undefined) {
      const regions = recipe.regionsOf(this.classFile, method, work.id)
      const task = { regions, session: recipe.session }
      return regions.length === 0 ? undefined : { entry: [], exit: [], regions: task, slots: REGION_SLOTS }
    }
    const timing = this.#leaf(work, method) ?? this.#timing(work, method)
    const timed = work.handleMember ? withHandleMember(timing, refs) : timing
    const waiting = work.wait === undefined ? timed : withWait(timed, work.wait, refs)
    return work.handOver === undefined ? waiting : withHandOver(waiting, work.handOver, refs)
  }

  /** Returns the single probe of a method that calls no other method; undefined if the method needs other probes. */
  #leaf(
    { id, timing, reflection, handOver, wait, handleMember }: Work,
    method: MethodInfo,
  ): MethodProbes | undefined {
    const { recipe } = this
    if (timing !== 'method' || !hasLeaves(recipe)) return undefined
    if (reflection || handleMember || handOver !== undefined || wait !== undefined) return undefined
    const executed = leafOf(this.classFile, method, this.#counts, recipe.jdk)
    if (executed === undefined) return undefined
    const entry = [...pushId(executed), ...idProbe(id, this.refs.countLeaf)]
    return { entry, exit: [], slots: 1 + idSlots(id) }
  }

  #timing({ id, timing, reflection }: Work, method: MethodInfo): MethodProbes {
    const { recipe, refs } = this
    const receiver = reflection ? [ALOAD_0, ...call(refs.reflectiveCall)] : []
    const sites = recipe.sites && { sites: { numbers: recipe.sites, id } }
    if (timing === undefined) return { entry: receiver, exit: [], slots: 1 }
    const isRoot = timing === 'root'
    if (recipe.tells === 'samples')
      return { entry: receiver, exit: [], slots: SAMPLE_SLOTS, samples: { id, isRoot }, ...sites }
    const values = recipe.tells === 'time' && isRoot && refs.rootValues !== null ? (recipe.values ?? []) : []
    const stored = values.length === 0 ? [] : rootValueEntry(values, method, refs.rootValues!)
    const returned = values.length === 0 ? [] : rootValueReturn(values, method, refs.rootValues!)
    const methodExit = refs.valueExits.get(valueType(method.descriptor) ?? '') ?? refs.methodExit
    const entry = idProbe(id, isRoot ? refs.rootEntry : refs.methodEntry)
    return {
      entry: [...stored, ...(refs.sites === null ? [] : call(refs.sites.siteEntry)), ...entry, ...receiver],
      exit: [...returned, ...idProbe(id, isRoot ? refs.rootExit : methodExit)],
      thrown: idProbe(id, isRoot ? refs.rootThrown : refs.methodThrown),
      resume: idProbe(id, refs.methodResume),
      slots: Math.max(idSlots(id), values.length === 0 ? 0 : ROOT_VALUE_SLOTS),
      ...(recipe.tells !== 'time' && { counts: this.#counts }),
      ...(recipe.tells === 'time' && recipe.waits !== undefined && { waits: recipe.waits }),
      ...(recipe.tells === 'allocations' &&
        refs.allocations !== null && { allocations: { ...recipe, refs: refs.allocations } }),
      ...sites,
    }
  }

  get #counts(): BlockAnalysis | 'nothing' {
    const { recipe } = this
    if (recipe.tells !== 'bytecodes') return 'nothing'
    return typeof recipe.blocks === 'string' ? ANALYSES[recipe.blocks] : recipe.blocks
  }
}

/** Returns whether methods may have a single probe per call (leaf.ts). False with call sites, which need a word before the entry event. */
function hasLeaves(recipe: Recipe): recipe is Recipe & { readonly tells: 'calls' | 'bytecodes' } {
  return (recipe.tells === 'calls' || recipe.tells === 'bytecodes') && recipe.sites === undefined
}

/** Adds the code that passes the returned callee through the runtime (handle-members.ts). Exceptions are not changed. */
function withHandleMember(timed: MethodProbes, { handleMember }: RuntimeBlock): MethodProbes {
  if (handleMember === 0) throw new NotInstrumentable('its class returns no target of a method handle')
  const { exit, thrown = exit } = timed
  return { ...timed, exit: [...exit, ...call(handleMember)], thrown }
}

/** Adds probes for a wait that lasts for the whole method. The wait begins after the entry event and ends before the exit event. */
function withWait(timed: MethodProbes, wait: WaitingMethod, { waits: refs }: RuntimeBlock): MethodProbes {
  if (refs === null) throw new NotInstrumentable('waits are not reported')
  const end = call(refs.waitEnds)
  return {
    ...timed,
    entry: [...timed.entry, ...waitEntry(wait, refs)],
    exit: [...end, ...timed.exit],
    ...(timed.thrown !== undefined && { thrown: [...end, ...timed.thrown] }),
    slots: Math.max(timed.slots, WAIT_SLOTS),
  }
}

/**
 * Adds the probes for tasks. In a method that runs a task, the thread is inside the root before the method's entry event and until after
 * its exit event. In a method that submits a task, the probe follows the entry event.
 */
function withHandOver(
  timed: MethodProbes,
  handOver: HandOver,
  { handOver: refs }: RuntimeBlock,
): MethodProbes {
  if (refs === null) throw new NotInstrumentable('no task is submitted in this class')
  const entry = handOverEntry(handOver, refs)
  const takesUp = handOver.exit !== undefined || handOver.entry.tell.startsWith('worker')
  const end = handOverExit(handOver, refs)
  return {
    ...timed,
    entry: takesUp ? [...entry, ...timed.entry] : [...timed.entry, ...entry],
    exit: [...timed.exit, ...end, ...handOverReturn(handOver, refs)],
    thrown: [...(timed.thrown ?? timed.exit), ...end],
    slots: Math.max(timed.slots, HAND_OVER_SLOTS),
  }
}

function reasonOf(problem: unknown): string {
  if (problem instanceof NotInstrumentable) return problem.message
  if (problem instanceof ClassFormatProblem) return `malformed: ${problem.message}`
  throw problem
}
