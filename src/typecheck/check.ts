// Verification by type checking (JVMS 4.10.1): whether a method's code keeps to the types that its
// StackMapTable promises.
//
// HotSpot does not verify classes of the boot loader, not even when they are redefined: code that pops
// an empty stack is accepted there, and crashes the JVM when it runs. So nothing is sent to such a class that
// has not passed here. The rules are those of HotSpot's ClassVerifier (verifier.cpp), which differ from the
// specification in places; the test `hotspot.test.ts` compares verdicts.
//
// One pass over the code, no recursion; time grows with the code and its frames, and a method made to take
// longer is `unchecked`. Whatever the bytes are, the answer is a value.

import { ACC_STATIC } from '../classfile/access.ts'
import { type ClassFile, ClassFormatProblem, MAJOR_6, type MethodInfo } from '../classfile/class-file.ts'
import { type Code, forEachInstruction, parseCode } from '../classfile/code.ts'
import { readFrames } from './frames.ts'
import { Handlers } from './handlers.ts'
import { Instructions } from './instructions.ts'
import { Members } from './members.ts'
import { TypeProblem, Unchecked } from './problem.ts'
import { type MapFrame, State } from './state.ts'
import { type Hierarchy, type Type, TypeTable, UNINITIALIZED_THIS } from './types.ts'

export type { Hierarchy }

/** Class files of version 50 may fail here and pass HotSpot's older verifier, which infers types. */
const MAJOR_WITHOUT_FAILOVER = MAJOR_6 + 1
/** Slots compared in one method. Code of 64 KiB that a compiler has written needs a few hundred thousand. */
const MAX_STEPS = 20_000_000

export type TypeCheck =
  /** The code is right if these are: each is a sentence about classes that the hierarchy does not know. */
  | { readonly ok: true; readonly assumptions: ReadonlySet<string> }
  | { readonly ok: false; readonly bci: number; readonly reason: string }
  /** No verdict. */
  | { readonly ok: undefined; readonly unchecked: string }

/** Knows no class, so that everything about other classes is an assumption. */
export const KNOWS_NOTHING: Hierarchy = { isAssignable: () => undefined }

/** Checks methods of one class. Keeps what it has read of the constant pool. */
export class TypeChecker {
  readonly #classFile: ClassFile
  readonly #types: TypeTable
  readonly #members: Members

  constructor(classFile: ClassFile, hierarchy: Hierarchy) {
    this.#classFile = classFile
    this.#types = new TypeTable(classFile, hierarchy)
    this.#members = new Members(classFile, this.#types)
  }

  /**
   * @param allowed  when given, what may be assumed; needing anything else is a failure
   */
  check(method: MethodInfo, allowed?: ReadonlySet<string>): TypeCheck {
    const { major } = this.#classFile
    if (method.code === undefined) return { ok: undefined, unchecked: 'it has no code' }
    if (major < MAJOR_6) return { ok: undefined, unchecked: `class files of version ${major} have no frames` }
    try {
      this.#types.assumptions = new Set()
      this.#types.allowed = allowed
      checkCode(this.#classFile, method, parseCode(this.#classFile, method), this.#types, this.#members)
      return { ok: true, assumptions: this.#types.assumptions }
    } catch (problem) {
      return verdict(problem, major)
    }
  }
}

function verdict(problem: unknown, major: number): TypeCheck {
  if (problem instanceof Unchecked) return { ok: undefined, unchecked: problem.message }
  const known = problem instanceof TypeProblem || problem instanceof ClassFormatProblem
  if (!known) throw problem
  if (major < MAJOR_WITHOUT_FAILOVER) {
    return { ok: undefined, unchecked: `version ${major}, without frames that hold: ${problem.message}` }
  }
  return { ok: false, bci: problem instanceof TypeProblem ? problem.bci : 0, reason: problem.message }
}

/** Checks one method. For several of a class a `TypeChecker` is faster. */
export function checkMethod(classFile: ClassFile, method: MethodInfo, hierarchy: Hierarchy): TypeCheck {
  return new TypeChecker(classFile, hierarchy).check(method)
}

function checkCode(
  classFile: ClassFile,
  method: MethodInfo,
  code: Code,
  types: TypeTable,
  members: Members,
): void {
  const { bytecode } = code
  const signature = types.signature(method.descriptor)
  const initial = localsOnEntry(classFile, method, signature.parameters, types)
  if (initial.length > code.maxLocals) throw new TypeProblem(0, 'the arguments do not fit into the locals')
  const starts = new Uint8Array(bytecode.length)
  forEachInstruction(bytecode, (bci) => {
    starts[bci] = 1
  })
  const frames = readFrames(classFile, code, starts, initial, types)
  const byBci = new Map(frames.map((frame) => [frame.bci, frame]))
  const frameAt = (bci: number): MapFrame | undefined => byBci.get(bci)

  let steps = 0
  const spend = (count: number): void => {
    steps += count
    if (steps > MAX_STEPS) throw new Unchecked('it takes too long')
  }
  const state = new State(types, code.maxStack, code.maxLocals)
  state.become({
    bci: 0,
    locals: initial,
    stack: [],
    thisUninitialized: initial[0] === UNINITIALIZED_THIS,
  })
  const handlers = new Handlers(code.handlers, starts, frameAt, types, spend)
  const instructions = new Instructions(classFile, method, code, types, members, handlers, frameAt, spend)

  let nextFrame = 0
  let reachable = true
  for (let bci = 0; bci < bytecode.length; ) {
    state.bci = bci
    const frame = frames[nextFrame]
    if (frame !== undefined && frame.bci === bci) {
      nextFrame++
      spend(frame.locals.length + frame.stack.length + 1)
      if (reachable) state.match(frame, 'control reaching')
      state.become(frame)
    } else if (!reachable) {
      state.fail('no frame after an instruction that does not go on')
    }
    handlers.reach(bci)
    bci = instructions.run(bci, state)
    reachable = instructions.goesOn
  }
  if (reachable) state.fail('control falls off the end of the code')
}

function localsOnEntry(
  classFile: ClassFile,
  method: MethodInfo,
  parameters: readonly Type[],
  types: TypeTable,
): readonly Type[] {
  if ((method.access & ACC_STATIC) !== 0) return parameters
  const uninitialized = method.name === '<init>' && classFile.superName !== null
  return [uninitialized ? UNINITIALIZED_THIS : types.current, ...parameters]
}
