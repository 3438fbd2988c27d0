// Instruments one method: probes at its entry and at every exit, and relocation of all other code (JFluid paper,
// section 4.1, and figure 3 for the probes).
//
//     push id; invokestatic methodEntry
//     …                                    old code; before each return:
//     push id; invokestatic methodExit     a result of primitive type or type Object is passed through the probe
//     xreturn
//     …
//   old handler:                           callees may have ended without an exit event (own-handlers.ts)
//     push id; invokestatic methodResume
//     …
//   handler:                               added at the end; catches everything
//     push id; invokestatic methodThrown   the exception is passed through the probe
//     athrow
//
// The method's result is passed to and returned by the exit probe, so that it is not on the stack during this call: C1 reserves space in
// the frame for each value that is live across a call, and its frames grow in steps of 16 bytes.
//
// A method that counts bytecodes has further probes (counting.ts).
//
// A method that would exceed a limit (limits.ts) gets no probes in its old handlers; if it is still too long, it gets
// the compact form (shared-exits.ts).
//
// The rows of the added handler come last in the exception table, so the old handlers have precedence. The
// ranges of the added handler exclude each exit probe and its return instruction, so that an exit is never recorded twice.

import type { ClassFile, MethodInfo } from '../classfile/class-file.ts'
import { MAJOR_6 } from '../classfile/class-file.ts'
import { type Code, instructionLength, parseCode } from '../classfile/code.ts'
import { ALOAD, ATHROW, DRETURN, FRETURN, IRETURN, isReturn, LRETURN, RETURN } from '../classfile/opcodes.ts'
import {
  DOUBLE,
  decodeStackMap,
  encodeStackMap,
  FLOAT,
  type Frame,
  INTEGER,
  initialLocals,
  LONG,
  OBJECT,
  typeOperand,
  typeTag,
  UNINITIALIZED,
  UNINITIALIZED_THIS,
  UnnamedArgument,
  type VerificationType,
  verificationType,
} from '../classfile/stack-map.ts'
import { Writer } from '../classfile/writer.ts'
import { ALLOCATION_SLOTS, allocationProbes, cloneProbes } from './allocations.ts'
import type { BlockAnalysis } from './blocks.ts'
import { moveAttribute } from './code-attributes.ts'
import { THIS_INITIALIZED, THIS_UNINITIALIZED, thisStates } from './constructor.ts'
import { type Counting, countingOf, NO_COUNT } from './counting.ts'
import { lengthLimit, MAX_CODE_BYTES } from './limits.ts'
import { accessCode, type NewLocals, withNewLocals } from './new-local.ts'
import { resumePoints } from './own-handlers.ts'
import { NotInstrumentable, TooLong } from './problem.ts'
import { type RegionTask, timingOf } from './regions.ts'
import { type Addition, type Inserted, type Probes, Relocation } from './relocation.ts'
import type { AllocationRefs, RuntimeBlock } from './runtime.ts'
import { type SampledMethod, type SampleProbes, sampleProbes } from './sampling.ts'
import { returnedClass, type SharedExits, sharedExits } from './shared-exits.ts'
import { joined, SITE_SLOTS, type SiteNumbers, siteProbes } from './sites.ts'
import { slotsOf, stackSlots } from './stack-slots.ts'
import { monitorEntry, WAIT_SLOTS, type WaitRecipe, waitProbes } from './waits.ts'

const MAX_U2 = 65535
/** Maximum number of variables that an append frame can add (JVMS 4.7.4, append_frame). */
const MAX_APPENDED = 3

export interface MethodProbes extends Probes {
  /** Maximum number of stack slots that a probe uses. */
  readonly slots: number
  /**
   * Analysis of basic blocks for the count that is passed to the exit probe; with 'nothing', the count is 0. Absent if
   * exit probes have no count parameter.
   */
  readonly counts?: BlockAnalysis | 'nothing'
  /** Kinds of instructions that may wait and get probes. Not allowed together with `counts`. */
  readonly waits?: WaitRecipe
  /** Set if the method samples itself. At entry, the sampling probes come before all other probes; at exit, after all other probes. */
  readonly samples?: SampledMethod
  /** Regions of the method to time. If present, the method has no other probes. */
  readonly regions?: RegionTask
  /** Set if allocations are recorded. `jdk`: whether JDK classes also have probes. */
  readonly allocations?: { readonly refs: AllocationRefs; readonly jdk: boolean; readonly liveness?: boolean }
  /** Set if call sites are recorded. `id` is the id of this method. */
  readonly sites?: { readonly numbers: SiteNumbers; readonly id: number }
}

/** A range [start, end) of code that a handler guards, in positions of the new code. */
interface Range {
  readonly start: number
  readonly end: number
}

/** An added handler. */
interface CatchAll {
  readonly position: number
  readonly ranges: readonly Range[]
  /** Types of the local variables in the handler's frame. */
  readonly locals: readonly VerificationType[]
}

/**
 * Returns the new content of the method's Code attribute.
 *
 * @param probes  if the exit probe is empty, exits are not recorded; if `thrown` is empty, exits by
 *                exceptions are not recorded
 * @throws ClassFormatProblem | NotInstrumentable
 */
export function instrumentMethod(
  classFile: ClassFile,
  method: MethodInfo,
  probes: MethodProbes,
  refs: RuntimeBlock,
): Uint8Array {
  return new Rewriting(classFile, method, probes, refs).write()
}

class Rewriting {
  readonly #code: Code
  readonly #hasFrames: boolean
  readonly #frames: readonly Frame[]
  /** Code that regions, sampling, waits or counting add, and all probes of the method together with this code. */
  readonly #more: (Addition & { readonly probes: MethodProbes }) | undefined
  readonly #probes: MethodProbes
  /** Code before `athrow` in the added handlers. */
  readonly #thrown: readonly number[]

  constructor(
    private readonly classFile: ClassFile,
    private readonly method: MethodInfo,
    private readonly asked: MethodProbes,
    private readonly refs: RuntimeBlock,
  ) {
    const code = parseCode(classFile, method)
    if (isEmptyFinalizer(method, code)) {
      throw new NotInstrumentable('an empty finalize(): HotSpot does not finalize objects of such a class')
    }
    this.#code = code
    this.#hasFrames = classFile.major >= MAJOR_6
    this.#frames = this.#hasFrames ? decodeStackMap(classFile, method, code) : []
    this.#more = this.#additionOf()
    this.#probes = this.#more?.probes ?? asked
    this.#thrown = this.#probes.thrown ?? this.#probes.exit
  }

  write(): Uint8Array {
    const code = this.#code
    const { maxStack, moved, handlers, length } = this.#place()
    const bytecode = new Uint8Array(length)
    moved.write(bytecode)
    for (const { position } of handlers) {
      bytecode.set(this.#thrown, position)
      bytecode[position + this.#thrown.length] = ATHROW
    }
    const out = new Writer(length + 256)
    out.u2(atMost(MAX_U2, maxStack, 'max_stack'))
    out.u2(code.maxLocals + (this.#newLocals?.slots ?? 0))
    out.u4(length)
    out.copy(bytecode)
    writeExceptionTable(out, code, moved, handlers)
    const countAt = out.length
    let count = 0
    out.u2(0)
    const attribute = (nameIndex: number, content: Uint8Array | undefined) => {
      if (content === undefined) return
      out.u2(nameIndex)
      out.u4(content.length)
      out.copy(content)
      count++
    }
    for (const it of code.attributes) attribute(it.nameIndex, moveAttribute(this.classFile.bytes, it, moved))
    if (this.#hasFrames) attribute(this.refs.stackMapTable, this.#stackMap(moved, handlers))
    out.patchU2(countAt, count)
    return out.finish()
  }

  #additionOf(): (Addition & { readonly probes: MethodProbes }) | undefined {
    const { asked, classFile, method, refs } = this
    const code = this.#code
    const { counts, samples, waits, regions } = asked
    if (regions !== undefined) {
      const timing = timingOf(classFile, method, code, regions, refs)
      return { ...timing, probes: { ...asked, ...timing.probes } }
    }
    if (samples !== undefined && refs.samples !== null) {
      const sampling = sampleProbes(classFile, method, code, samples, refs.samples)
      return { ...sampling, probes: aroundProbes(asked, sampling) }
    }
    if (waits !== undefined && refs.waits !== null) {
      const entry = [...monitorEntry(classFile, method, refs.waits), ...asked.entry]
      return { ...NO_COUNT, probes: { ...asked, entry } }
    }
    if (counts === undefined) return undefined
    const counting = counts === 'nothing' ? NO_COUNT : countingOf(classFile, method, code, counts, refs)
    return { ...counting, probes: withCount(asked, counting) }
  }

  get #newLocals(): NewLocals | undefined {
    const { local = -1, localTypes = [] } = this.#more ?? {}
    return local < 0 ? undefined : { first: local, slots: slotsOf(localTypes) }
  }

  /** Adds all probes if the method stays within the limits. Otherwise omits the probes before calls. */
  #place(): Layout & { readonly maxStack: number } {
    const { asked, classFile, method } = this
    const code = this.#code
    const { allocations } = asked
    const allocated = allocations && allocationProbes(classFile, method, code, allocations.refs, allocations)
    const cloning = allocations && cloneProbes(classFile, code, allocations.refs)
    const waitRefs = asked.waits === undefined ? null : this.refs.waits
    const sites = this.#sites()
    const slots = Math.max(
      this.#probes.slots,
      waitRefs === null ? 0 : WAIT_SLOTS,
      allocated === undefined ? 0 : ALLOCATION_SLOTS,
      sites === undefined ? 0 : SITE_SLOTS,
    )
    const place = (announces: boolean) => {
      const waiting =
        waitRefs === null ? undefined : waitProbes(classFile, code, asked.waits!, waitRefs, announces)
      const own = this.#more?.inserted ?? waiting?.inserted ?? cloning
      const put = joined(own, announces ? sites?.told : sites?.untold)
      const behind = waiting?.behind ?? allocated
      const layout = this.#layOut(put, behind)
      const hasHandlers = layout.handlers.length > 0 || code.handlers.length > 0
      const maxStack = stackSlots(classFile, code, this.#frames, put, behind, slots, hasHandlers)
      return { ...layout, maxStack }
    }
    if (waitRefs === null && sites === undefined) return place(false)
    return orIfTooLong(
      () => place(true),
      () => place(false),
    )
  }

  /** Returns the code before calls: `told` if the method stays within the limits, otherwise `untold`. Undefined if no code is needed. */
  #sites(): { readonly told: Inserted; readonly untold?: Inserted } | undefined {
    const { classFile, refs } = this
    const { sites, samples } = this.asked
    if (sites === undefined) return undefined
    const numbers = sites.numbers.of(sites.id, classFile, this.#code)
    if (numbers.size === 0) return undefined
    if (samples === undefined) {
      return refs.sites === null ? undefined : { told: siteProbes(numbers, [], refs.sites.callSite) }
    }
    const site = refs.samples?.site ?? 0
    const local = this.#more?.local ?? -1
    if (site === 0 || local < 0) return undefined
    const load = accessCode(ALOAD, local)
    // Resets the call site at the start of the method. Otherwise the site of an earlier call at the same stack depth would count.
    const none = siteProbes(new Map([[0, 0]]), load, site)
    return { told: siteProbes(numbers, load, site), untold: none }
  }

  /**
   * Inserts a probe in each old handler and before each return if the code stays within the limits. Otherwise omits the probes in
   * old handlers. If the code is still too long, uses shared exits.
   */
  #layOut(put: Inserted | undefined, behind: Inserted | undefined): Layout {
    const code = this.#code
    const { bytecode } = code
    const { exit, resume } = this.#probes
    const limit = lengthLimit(bytecode.length)
    const framed = new Set(this.#frames.map(({ bci }) => bci))
    const hasFrame = (bci: number) => !this.#hasFrames || framed.has(bci)
    const newLocals = this.#newLocals
    const attempt = (shared?: SharedExits, inserted = put): Layout => {
      const moved = new Relocation(bytecode, this.#probes, hasFrame, shared, inserted, newLocals, behind)
      const handlers = this.#thrown.length === 0 ? [] : this.#catchAlls(moved)
      const length = moved.length + handlers.length * (this.#thrown.length + 1)
      if (length > MAX_CODE_BYTES) throw new TooLong('would exceed 65535 bytes')
      if (length > limit) throw new TooLong('would exceed 8000 bytes: HotSpot never compiles larger methods')
      return { moved, handlers, length }
    }
    const compact = (problem: TooLong): Layout => {
      const shareable = (opcode: number) => !this.#hasFrames || this.#returned(opcode) !== undefined
      const shared = sharedExits(this.classFile, code, exit.length, shareable)
      if (shared.opcodes.length === 0) throw problem
      return attempt(shared)
    }
    const plain = () => orIfTooLong(() => attempt(), compact)
    const resumes = resume === undefined ? undefined : resumePoints(code)
    if (resumes === undefined) return plain()
    return orIfTooLong(() => attempt(undefined, withResumes(resumes, resume!, put)), plain)
  }

  /** Returns the types on a stack that holds only the result; undefined if the pool has no entry for the result's class. */
  #returned(opcode: number): VerificationType[] | undefined {
    const known = RETURNED.get(opcode)
    if (known !== undefined) return known
    const index = this.refs.returned.get(returnedClass(this.method) ?? '')
    return index === undefined ? undefined : [verificationType(OBJECT, index)]
  }

  /** Creates the added handlers: one, or in a constructor up to two, whose frames have different types of `this`. */
  #catchAlls(moved: Relocation): CatchAll[] {
    const handlers: CatchAll[] = []
    const add = (locals: VerificationType[], covers: (bci: number) => boolean) => {
      const ranges = rangesWhere(this.#code.bytecode, moved, covers)
      if (ranges.length === 0) return
      const position = moved.length + handlers.length * (this.#thrown.length + 1)
      handlers.push({ position, ranges, locals })
    }
    if (this.method.name === '<init>' && this.classFile.superName !== null) {
      const states = thisStates(this.classFile, this.#code)
      add([UNINITIALIZED_THIS], (bci) => states[bci] === THIS_UNINITIALIZED)
      add([], (bci) => states[bci] === THIS_INITIALIZED)
    } else add([], () => true)
    return handlers
  }

  /** Returns the new StackMapTable; undefined for a class without frames. */
  #stackMap(moved: Relocation, handlers: readonly CatchAll[]): Uint8Array | undefined {
    const thrown = [verificationType(OBJECT, this.refs.throwable)]
    const frames: Frame[] = [
      ...moveFrames(this.#frames, moved),
      ...moved.exits.map(({ opcode, position }) => {
        return { bci: position, locals: [], stack: this.#returned(opcode)! }
      }),
      ...handlers.map(({ position, locals }) => ({ bci: position, locals, stack: thrown })),
    ]
    if (frames.length === 0) return undefined
    const initial = initialLocals(this.classFile, this.method)
    const more = this.#more
    const all = more === undefined || more.local < 0 ? frames : framesWith(more, frames, initial, moved.of(0))
    try {
      return encodeStackMap(all, initial)
    } catch (error) {
      if (!(error instanceof UnnamedArgument)) throw error
      throw new NotInstrumentable('its frames have no room for another local variable')
    }
  }
}

interface Layout {
  readonly moved: Relocation
  readonly handlers: readonly CatchAll[]
  /** Length of the new code, bytes. */
  readonly length: number
}

function orIfTooLong<T>(first: () => T, otherwise: (problem: TooLong) => T): T {
  try {
    return first()
  } catch (problem) {
    if (!(problem instanceof TooLong)) throw problem
    return otherwise(problem)
  }
}

/**
 * Adds the new variables to the frames. The first frame is where the new variables are assigned. Later frames are encoded relative to this
 * frame, so each of them adds no more variables than before.
 */
function framesWith(
  { local, localTypes, localsSet = [] }: Addition,
  frames: readonly Frame[],
  initial: readonly VerificationType[],
  begin: number,
): Frame[] {
  const withLocal = (locals: readonly VerificationType[], types = localTypes) =>
    withNewLocals(locals, local, types)
  const all = frames.map(({ bci, locals, stack }) => ({ bci, locals: withLocal(locals), stack }))
  if (all[0].bci !== begin) all.unshift({ bci: begin, locals: withLocal(initial), stack: [] })
  // A frame can add at most three variables. For more variables, intermediate frames are inserted.
  const between: Frame[] = []
  for (let known = MAX_APPENDED; known < localTypes.length; known += MAX_APPENDED) {
    const locals = withLocal(initial, localTypes.slice(0, known))
    between.push({ bci: localsSet[known - 1], locals, stack: [] })
  }
  return [...between, ...all]
}

function aroundProbes(probes: MethodProbes, { entry, exit, thrown, resume }: SampleProbes): MethodProbes {
  return {
    ...probes,
    entry: [...entry, ...probes.entry],
    exit: [...probes.exit, ...exit],
    thrown: [...(probes.thrown ?? probes.exit), ...thrown],
    ...(resume !== undefined && { resume }),
  }
}

function withCount(probes: MethodProbes, { begin, push }: Counting): MethodProbes {
  const { entry, exit, thrown, slots } = probes
  return {
    ...probes,
    entry: [...begin, ...entry],
    exit: [...push, ...exit],
    ...(thrown !== undefined && { thrown: [...push, ...thrown] }),
    slots: slots + 1,
  }
}

/**
 * Returns whether the method is a finalize() that consists of a single `return`. Instances of its class are not finalizable in HotSpot.
 * With probes in Object.finalize, every object would be finalizable.
 */
function isEmptyFinalizer({ name, descriptor }: MethodInfo, { bytecode }: Code): boolean {
  return name === 'finalize' && descriptor === '()V' && bytecode.length === 1 && bytecode[0] === RETURN
}

/** Returns the insertions `counted`, with a resume probe added at the start of each old handler before the handler's counting code. */
function withResumes(points: Uint8Array, probe: readonly number[], counted: Inserted | undefined): Inserted {
  const inserted: (readonly number[] | undefined)[] = counted?.slice() ?? new Array(points.length)
  for (let bci = 0; bci < points.length; bci++) {
    if (points[bci] === 1) inserted[bci] = [...probe, ...(inserted[bci] ?? [])]
  }
  return inserted
}

/** Types on the stack at a return of a primitive value or void, keyed by return opcode. */
const RETURNED: ReadonlyMap<number, VerificationType[]> = new Map([
  [IRETURN, [INTEGER]],
  [LRETURN, [LONG]],
  [FRETURN, [FLOAT]],
  [DRETURN, [DOUBLE]],
  [RETURN, []],
])

function atMost(limit: number, value: number, what: string): number {
  if (value > limit) throw new NotInstrumentable(`${what} would exceed ${limit}`)
  return value
}

/** Returns the ranges of the instructions that `covers` selects, as few as possible, without exit probes and their return instructions. */
function rangesWhere(bytecode: Uint8Array, moved: Relocation, covers: (bci: number) => boolean): Range[] {
  const ranges: Range[] = []
  let start = -1
  const close = (end: number) => {
    if (start >= 0) ranges.push({ start, end })
    start = -1
  }
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if ((isReturn(bytecode[bci]) && !moved.jumps(bci)) || !covers(bci)) close(moved.of(bci))
    else if (start < 0) start = moved.of(bci)
  }
  close(moved.end)
  return ranges
}

function writeExceptionTable(out: Writer, code: Code, moved: Relocation, ours: readonly CatchAll[]): void {
  const rows = ours.reduce((sum, { ranges }) => sum + ranges.length, code.handlers.length)
  out.u2(atMost(MAX_U2, rows, 'the exception table'))
  for (const { startBci, endBci, handlerBci, catchType } of code.handlers) {
    out.u2(moved.guarded(startBci))
    out.u2(moved.of(endBci))
    out.u2(moved.of(handlerBci))
    out.u2(catchType)
  }
  for (const { position, ranges } of ours) {
    for (const { start, end } of ranges) {
      out.u2(start)
      out.u2(end)
      out.u2(position)
      out.u2(0) // catch_type 0: catches everything
    }
  }
}

function moveFrames(frames: readonly Frame[], moved: Relocation): Frame[] {
  const moveType = (type: VerificationType): VerificationType =>
    typeTag(type) === UNINITIALIZED
      ? verificationType(UNINITIALIZED, moved.instruction(typeOperand(type)))
      : type
  const moveTypes = (types: readonly VerificationType[]) =>
    types.some((type) => typeTag(type) === UNINITIALIZED) ? types.map(moveType) : types
  return frames.map(({ bci, locals, stack }) => ({
    bci: moved.of(bci),
    locals: moveTypes(locals),
    stack: moveTypes(stack),
  }))
}
